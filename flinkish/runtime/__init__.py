"""Runs a job without knowing Spark: operators, timers, windows, state, and the tasks around them.

It may import ``api``. ``registry`` says which operator runs a description.
"""
