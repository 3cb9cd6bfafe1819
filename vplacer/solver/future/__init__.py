"""What could still be placed of the VMs expected later, host by host: the first part of level "room"."""
