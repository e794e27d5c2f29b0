"""The metrics of jobs for OpenTelemetry."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

import flinkish as fl
from flinkish.web.opentelemetry import OpenTelemetryMetricReporter
from tests.spark.waiting import wait_for
from tests.web.jobs import Client, details


def collected(reader):
    """By name, the values and their attributes. Names do not differ by case, and the SDK lowers it."""
    data = reader.get_metrics_data()
    return {
        metric.name.lower(): [
            (point.value, dict(point.attributes)) for point in metric.data.data_points
        ]
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


@pytest.fixture
def reader():
    pytest.importorskip("opentelemetry.sdk.metrics", reason="opentelemetry-sdk is not installed")
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    return InMemoryMetricReader()


def test_metrics_have_flinks_names_and_say_what_they_are_of(reader):
    from opentelemetry.sdk.metrics import MeterProvider

    reporter = OpenTelemetryMetricReporter(MeterProvider([reader], shutdown_on_exit=False))
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.registerJobListener(reporter)
    client = Client(details())
    reporter.onJobSubmitted(client, None)
    found = collected(reader)
    ((completed, labels),) = found["flink.jobmanager.job.numberofcompletedcheckpoints"]
    assert (completed, labels) == (40, {"job_id": "a1", "job_name": "clicks by user"})
    of_operators = found["flink.taskmanager.job.task.operator.numrecordsin"]
    assert {labels["operator_name"]: value for value, labels in of_operators}["windows"] == 900
    assert found["flink.taskmanager.job.task.operator.clicks"][0][0] == 9.0


def test_a_metric_that_a_function_registers_later_is_reported(reader):
    from opentelemetry.sdk.metrics import MeterProvider

    reporter = OpenTelemetryMetricReporter(MeterProvider([reader], shutdown_on_exit=False))
    client = Client(details())
    reporter.onJobSubmitted(client, None)
    vertex = client.told.vertices[2]
    operator = vertex.operators[0]
    metrics = replace(operator.metrics, user={"later & strange": 5.0})
    changed = replace(vertex, operators=(replace(operator, metrics=metrics),))
    client.told = replace(client.told, vertices=(changed,))
    name = "flink.taskmanager.job.task.operator.later___strange"
    wait_for(lambda: collected(reader).get(name), seconds=20)
    assert collected(reader)[name][0][0] == 5.0


def test_without_the_package_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(fl.NotSupportedError, match=r"flinkish\[opentelemetry\]"):
        OpenTelemetryMetricReporter()
