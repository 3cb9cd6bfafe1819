"""From the lab's model to the objects and properties of the vSphere API.

Each function turns one model object into the data object of one top-level property. Built when first
read, so that a large site starts at once.
"""
