"""Flink's State Processor API: what a savepoint is asked for, and what one is built and changed with.

It may import every other room of ``api``; the engines do what is described here.
"""
