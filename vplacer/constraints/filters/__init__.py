"""Predicates on host x demand, one a module; the registry names them in order."""
