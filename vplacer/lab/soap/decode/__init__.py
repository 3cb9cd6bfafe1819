"""What clients order, from the wire's data objects to the state machine's values."""
