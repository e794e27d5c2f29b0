"""Flink's State Processor API: queries of savepoints, and descriptions by which one is built or changed.

It may import every other room of ``api``; the engines do what is described here.
"""
