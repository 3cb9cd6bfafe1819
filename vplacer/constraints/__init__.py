"""The judge: one small module per constraint, the placement state they look at, and their registry."""
