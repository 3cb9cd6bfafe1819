"""The SOAP wire format, both directions, on pyVmomi's own type tables."""
