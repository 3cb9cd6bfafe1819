"""vplacer: plans NUMA-, PCIe- and NVLink-local placement of GPU virtual machines on vSphere 8 and later."""

__version__ = "0.1.0"
