"""What a checkpoint notes of its transactional sinks. Aborting them: ``tests/kafka``."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

import flinkish as fl
from flinkish.cli.main import main
from flinkish.deployment.open_transactions import NOTED, TransactionalSink, transactional_sinks
from flinkish.graph.stream_graph import StreamGraph


def sink(guarantee, **properties):
    values = fl.KafkaRecordSerializationSchema.builder().setTopic("counts")
    values = values.setValueSerializationSchema(fl.SimpleStringSchema())
    builder = (
        fl.KafkaSink.builder().setBootstrapServers("kafka:9092").setDeliveryGuarantee(guarantee)
    )
    builder.setTransactionalIdPrefix("orders").setKafkaProducerConfig(properties)
    return builder.setRecordSerializer(values.build()).build()


def noted(sink):
    env = fl.StreamExecutionEnvironment()
    env.fromData("a").sinkTo(sink).name("ledger")
    (node,) = [n for n in StreamGraph.of(env._sinks) if n.content is sink]
    return TransactionalSink.of(node, 3)


def test_a_sink_is_noted_without_its_passwords(tmp_path):
    secret = {"sasl.password": "hidden", "transaction.timeout.ms": "60000"}
    found = noted(sink(fl.DeliveryGuarantee.EXACTLY_ONCE, **secret))
    assert found == TransactionalSink("ledger", "kafka:9092", "orders", 60_000, 3)
    assert noted(sink(fl.DeliveryGuarantee.EXACTLY_ONCE)).timeoutMillis == 300_000
    assert noted(sink(fl.DeliveryGuarantee.AT_LEAST_ONCE)) is None
    (tmp_path / "plan").mkdir()
    for plan, expected in (({NOTED: [asdict(found)]}, [found]), ({}, [])):
        (tmp_path / "plan/text").write_text(json.dumps(plan))
        assert transactional_sinks("cancel", str(tmp_path)) == expected


def test_a_directory_without_a_checkpoint(capsys):
    assert main(["cancel", "--checkpoint", "nowhere"]) == 1
    assert "there is no checkpoint in nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["job", "--checkpoint", "dir"]])
def test_a_job_or_a_checkpoint_is_cancelled(given, capsys):
    with pytest.raises(SystemExit):
        main(["cancel", *given])
    assert "--checkpoint" in capsys.readouterr().err


def test_a_property_without_a_value_is_refused_and_not_shown(capsys):
    with pytest.raises(SystemExit):
        main(["cancel", "--checkpoint", "dir", "--property", "secret"])
    said = capsys.readouterr().err
    assert "there is no = in it" in said
    assert "secret" not in said
