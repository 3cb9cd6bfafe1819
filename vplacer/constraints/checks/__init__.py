"""Constraints on a whole state, one a module; the registry names them in order."""
