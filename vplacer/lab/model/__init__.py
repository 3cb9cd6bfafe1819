"""The state machine behind the simulated vCenter; knows no protocol."""
