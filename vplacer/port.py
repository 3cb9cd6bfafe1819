"""The one narrow port to anything that behaves like a vCenter."""
