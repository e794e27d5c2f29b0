"""``OpenTelemetryMetricReporter``: the metrics of jobs for OpenTelemetry, as Flink's reporter of this name has them.

Needs the package opentelemetry-api (``pip install 'flinkish[opentelemetry]'``), and in the program a
``MeterProvider`` of the SDK that says where metrics go.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from functools import partial
from typing import Any

from flinkish.api.errors import NotSupportedError
from flinkish.api.execution.client import JobClient, JobExecutionResult, JobListener
from flinkish.web.samples import Sample, samples

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./-]")

_LONGEST_NAME = 255


class OpenTelemetryMetricReporter(JobListener):
    """Reports the metrics of the jobs of the environments that it is registered with
    (``env.registerJobListener(reporter)``) as gauges of a meter ``flinkish``.

    ``meterProvider``: by default that of the program.
    """

    def __init__(self, meterProvider: Any = None) -> None:
        try:
            from opentelemetry import metrics
        except ImportError:
            raise NotSupportedError(
                "OpenTelemetryMetricReporter: the package opentelemetry-api is not installed. Run pip"
                " install 'flinkish[opentelemetry]'."
            ) from None
        provider = meterProvider or metrics.get_meter_provider()
        self._observation = metrics.Observation
        self._meter = provider.get_meter("flinkish")
        self._jobs: list[JobClient] = []
        self._names: set[str] = set()
        self._lock = threading.Lock()

    def onJobSubmitted(self, jobClient: JobClient | None, throwable: BaseException | None) -> None:
        if jobClient is not None:
            self._jobs.append(jobClient)
            self._register()

    def onJobExecuted(
        self, jobExecutionResult: JobExecutionResult | None, throwable: BaseException | None
    ) -> None:
        """Does nothing: the last values of a job stay."""

    def _register(self) -> None:
        """Create a gauge for each metric that has none yet."""
        with self._lock:
            new = {_name(sample) for sample in self._samples()} - self._names
            self._names |= new
        for name in new:
            self._meter.create_observable_gauge(name, callbacks=[partial(self._observe, name)])

    def _observe(self, name: str, options: object) -> Iterable[Any]:
        found = list(self._samples())
        if not {_name(sample) for sample in found} <= self._names:
            # Functions register metrics when they are opened. The SDK allows no new gauge in a callback.
            threading.Thread(target=self._register, daemon=True).start()
        return [
            self._observation(sample.value, sample.labels)
            for sample in found
            if _name(sample) == name
        ]

    def _samples(self) -> Iterable[Sample]:
        return samples(client.getJobDetails() for client in list(self._jobs))


def _name(sample: Sample) -> str:
    return _NOT_IN_NAMES.sub("_", f"{sample.scope}.{sample.name}")[:_LONGEST_NAME]
