"""Sizing of machine-learning workloads; knows no vSphere."""
