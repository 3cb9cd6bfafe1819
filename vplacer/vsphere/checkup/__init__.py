"""Reads what the doctor looks at beside the inventory. Nothing here changes anything in a vCenter."""
