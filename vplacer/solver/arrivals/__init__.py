"""One VM now, more to come: slots kept for a mix of shapes, and the policy that places into them.

It knows places with amounts of resources, and nothing of what they are: hosts with the cores and memory of
their NUMA nodes and their cards, or any other bins.
"""
