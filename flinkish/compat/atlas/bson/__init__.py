"""BSON: its types in Python, their order, and how they calculate."""
