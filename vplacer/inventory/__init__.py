"""What a vCenter holds, as frozen values: the model, snapshots, overlays and the inventory YAML."""
