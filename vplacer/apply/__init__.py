"""Executes a plan over the port."""
