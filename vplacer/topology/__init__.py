"""Host and vCenter graphs, distances between devices, importers, exporters and the hardware catalogue."""
