"""PyFlink's ``pyflink.metrics``."""

from flinkish.pyflink.metrics.metricbase import Counter as Counter
from flinkish.pyflink.metrics.metricbase import Distribution as Distribution
from flinkish.pyflink.metrics.metricbase import Meter as Meter
from flinkish.pyflink.metrics.metricbase import Metric as Metric
from flinkish.pyflink.metrics.metricbase import MetricGroup as MetricGroup
