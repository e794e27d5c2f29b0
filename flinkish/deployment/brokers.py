"""Warns as a job starts if no Kafka broker answers at an address that it reads from or writes to.

Kafka's clients ask again for half a minute and more before they fail, and a mistyped address is a
common mistake.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress

from flinkish.api.connectors.kafka.sink import KafkaSink
from flinkish.api.connectors.kafka.source import KafkaSource, Properties
from flinkish.api.errors import FlinkishError
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.kafka.client import (
    LOG,
    client_properties,
    confluent_kafka,
    is_transient,
    opened_quietly,
    unreachable,
)

SECONDS = 3.0
"""The time that brokers may take before the warning."""


def ask_brokers(nodes: Iterable[StreamNode]) -> None:
    """Ask the brokers of the Kafka sources and sinks among ``nodes``, in unawaited threads."""
    asked: dict[str, tuple[str, Properties]] = {}
    for node in nodes:
        content = node.content
        if isinstance(content, (KafkaSource, KafkaSink)):
            servers = dict(content.properties)["bootstrap.servers"]
            asked.setdefault(servers, (type(content).__name__, content.properties))
    for servers, (user, properties) in asked.items():
        threading.Thread(
            target=_ask,
            args=(servers, user, properties),
            name=f"flinkish-brokers {servers}",
            daemon=True,
        ).start()


def _ask(servers: str, user: str, properties: Properties) -> None:
    # The job itself raises what is wrong with its properties
    with suppress(FlinkishError):
        kafka = confluent_kafka(user)
        client = opened_quietly(user, kafka.Consumer, client_properties(user, properties))
        try:
            client.list_topics(timeout=SECONDS)
        except kafka.KafkaException as raised:
            error = raised.args[0]
            if is_transient(error):
                LOG.warning(
                    "%s The job asks again for a while.", unreachable(user, properties, error.str())
                )
        finally:
            client.close()
