"""Prices of thousands of hosts at once: one table a kind of NUMA node, and look-ups for every host."""
