"""The web page of running jobs, and their REST interface with Flink's paths.

Imports from ``flinkish.api`` only: of a job it knows what a ``JobClient`` tells.
"""
