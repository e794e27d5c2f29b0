"""Spark's executors, read on demand from the REST interface of Spark's own web page."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

_SECONDS = 3.0

_open = build_opener(ProxyHandler({})).open


def executors(engineUI: str | None) -> dict[str, Any]:
    """Host, memory, tasks, garbage collection and logs of each executor; ``error`` says why there
    are none. Logs are links to pages of the cluster, by name (stdout, stderr)."""
    if engineUI is None:
        return {
            "executors": [],
            "error": "The session has no web page of Spark's, which knows its executors:"
            ' .config("spark.ui.enabled", "true") turns it on.',
        }
    try:
        (application, *_) = _read(f"{engineUI}/api/v1/applications")
        found = _read(f"{engineUI}/api/v1/applications/{application['id']}/allexecutors")
        return {"executors": [_shown(executor) for executor in found], "error": None}
    except (URLError, OSError, ValueError, LookupError) as error:
        return {"executors": [], "error": f"Spark's web page at {engineUI} does not say: {error}"}


def _read(url: str) -> Any:
    with _open(url, timeout=_SECONDS) as answer:
        return json.load(answer)


def _shown(executor: dict[str, Any]) -> dict[str, Any]:
    peak = executor.get("peakMemoryMetrics") or {}
    return {
        "id": executor["id"],
        "address": executor["hostPort"],
        "active": executor["isActive"],
        "cores": executor["totalCores"],
        "activeTasks": executor["activeTasks"],
        "failedTasks": executor["failedTasks"],
        "memoryUsed": executor["memoryUsed"],
        "maxMemory": executor["maxMemory"],
        "peakHeap": peak.get("JVMHeapMemory", 0),
        "taskMillis": executor["totalDuration"],
        "gcMillis": executor["totalGCTime"],
        "logs": {
            name: url
            for name, url in (executor.get("executorLogs") or {}).items()
            if urlsplit(url).scheme in ("http", "https")
        },
    }
