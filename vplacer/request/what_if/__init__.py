"""A site as it might be: hosts, GPUs and VMs added to an inventory or taken out of it."""
