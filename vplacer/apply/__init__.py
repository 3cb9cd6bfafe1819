"""Carries a plan out over the port: safely, resumably, and back again. Knows no adapter."""
