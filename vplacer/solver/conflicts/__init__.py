"""Why demands have no place, as sets of things that cannot all hold, and the cheapest ways to give some up.

Both are found by solving: every set and every way out is what the solver says of a problem in which just
these things are dropped.
"""
