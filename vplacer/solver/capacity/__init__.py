"""How many more VMs of each kind a site takes, and what is left when hosts are lost."""
