"""The metrics of jobs in the text format of Prometheus, under the names of Flink's reporter.

So dashboards for Flink find them: ``flink_taskmanager_job_task_operator_numRecordsIn`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flinkish.api.execution.details import JobDetails
from flinkish.web.samples import samples

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_:]")


def exposition(jobs: Sequence[JobDetails]) -> str:
    """All metrics of all jobs."""
    # By labels, as user metrics whose names differ only in characters that Prometheus does not allow become one
    by_name: dict[str, dict[str, float]] = {}
    for sample in samples(jobs):
        name = _NOT_IN_NAMES.sub("_", f"{sample.scope}.{sample.name}")
        by_name.setdefault(name, {})[_labels(sample.labels)] = sample.value
    lines: list[str] = []
    for name, values in sorted(by_name.items()):
        lines.append(f"# TYPE {name} gauge")
        lines += [f"{name}{{{labels}}} {_value(value)}" for labels, value in values.items()]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _value(value: float) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, int) else f"{value:.17g}"
