"""Other ways to place the same VMs, measured beside vplacer on the same instances."""
