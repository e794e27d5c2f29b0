"""Tools to test a job without Spark."""

from flinkish.testing.harness import StreamTestHarness

__all__ = ["StreamTestHarness"]
