"""Tools to test a job without Spark."""

from flinkish.api.absent import unknown_names as _unknown_names
from flinkish.testing.harness import StreamTestHarness

__all__ = ["StreamTestHarness"]

__getattr__ = _unknown_names(__name__)
