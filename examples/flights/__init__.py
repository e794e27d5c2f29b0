"""The demo: a year of New York's flights as a stream of late events.

``python -m examples.flights`` runs it, and ``job.py`` is the part to read first.
"""
