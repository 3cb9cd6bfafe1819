"""Readers of what other tools say of a host's topology; each makes an overlay."""
