"""A mistyped address of Kafka is reported as a job starts, not when its clients give up."""

from __future__ import annotations

import logging

import pytest

import flinkish as fl
from flinkish.deployment import brokers
from tests.spark.waiting import wait_for

pytestmark = pytest.mark.slow("waits for brokers that are not there")

pytest.importorskip("confluent_kafka", reason="pip install 'flinkish[kafka]'")

NOBODY = "127.0.0.1:1"


@pytest.fixture
def said(caplog):
    """The warnings so far."""
    caplog.set_level(logging.WARNING, "flinkish.kafka")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "flinkish.kafka"]


@pytest.fixture
def env(monkeypatch):
    monkeypatch.setattr(brokers, "SECONDS", 0.3)
    monkeypatch.setattr("flinkish.runtime.kafka.planner.FIRST_ANSWER_SECONDS", 0.1)
    monkeypatch.setattr("flinkish.runtime.kafka.broker_view._REQUEST_SECONDS", 1.0)
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def source(servers):
    builder = fl.KafkaSource.builder().setBootstrapServers(servers).setTopics("clicks")
    return builder.setValueOnlyDeserializer(fl.SimpleStringSchema()).build()


def sink(servers):
    values = fl.KafkaRecordSerializationSchema.builder().setTopic("counts")
    values = values.setValueSerializationSchema(fl.SimpleStringSchema())
    builder = fl.KafkaSink.builder().setBootstrapServers(servers)
    # It gives up soon, so that the test ends
    builder = builder.setProperty("delivery.timeout.ms", "2500")
    return builder.setRecordSerializer(values.build()).build()


def test_the_limit_leaves_time_to_say_it_within_five_seconds():
    assert brokers.SECONDS <= 4


def test_a_source_and_a_sink_of_one_address_are_one_warning(env, said):
    env.fromSource(source(NOBODY), fl.WatermarkStrategy.noWatermarks()).sinkTo(sink(NOBODY))
    client = env.executeAsync()
    wait_for(said, seconds=20)
    client.cancel()
    (message,) = said()
    assert message.startswith(f"KafkaSource: no broker answers at {NOBODY}: ")
    assert "fix setBootstrapServers" in message
    assert "KafkaError{" not in message


def test_a_sink_says_it_while_it_still_tries(env, said):
    env.fromData("a").sinkTo(sink(NOBODY))
    client = env.executeAsync()
    wait_for(said, seconds=20)
    (message,) = said()
    assert message.startswith(f"KafkaSink: no broker answers at {NOBODY}: ")
    with pytest.raises(fl.JobExecutionError, match="could not be written to the topic 'counts'"):
        client.getJobExecutionResult()


def test_properties_that_the_job_refuses_are_left_to_it(env, said):
    builder = fl.KafkaSource.builder().setBootstrapServers(NOBODY).setTopics("clicks")
    builder = builder.setProperty("no.such.property", "1")
    wrong = builder.setValueOnlyDeserializer(fl.SimpleStringSchema()).build()
    env.fromSource(wrong, fl.WatermarkStrategy.noWatermarks()).print()
    with pytest.raises(ValueError, match="No such configuration property"):
        env.execute()
    assert said() == []
