"""The simulated vCenter."""
