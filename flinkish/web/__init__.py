"""The web page of running jobs, and their REST interface with Flink's paths.

Imports from ``flinkish.api`` only: it knows a job through its ``JobClient``.
"""
