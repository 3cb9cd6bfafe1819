"""Packs many VMs of a few shapes into bins of cores, memory and equal divisible devices.

A plain instance, without NUMA nodes and rules: what a mix of shapes can fill at best. Slots kept for VMs
to come are planned with it where a share of a device may be any number.
"""
