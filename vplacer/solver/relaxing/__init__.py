"""What to give up so that all of a request finds a place: the cheapest combinations, found by solving."""
