"""The simulated vCenter behind the real SOAP protocol."""
