"""Adapter to a real vCenter: session, collector, record and replay."""
