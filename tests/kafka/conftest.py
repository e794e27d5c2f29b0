"""A broker for the whole run, and topics on it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.kafka.broker import KafkaBroker

if TYPE_CHECKING:
    from tests.kafka.topics import Topics

CLIENTS = ("confluent_kafka", "fastavro")

if not all(map(find_spec, CLIENTS)) and "FLINKISH_TEST_SERVERS" not in os.environ:
    # What make test leaves to make test-kafka anyway need not be imported without Kafka's client
    collect_ignore_glob = ["*.py"]


@pytest.fixture(scope="session")
def broker() -> Iterator[KafkaBroker]:
    """One broker for all tests that leave it running."""
    broker = KafkaBroker()
    broker.start()
    yield broker
    broker.close()


@pytest.fixture(scope="session")
def topics(broker: KafkaBroker) -> Topics:
    """Makes, writes and reads topics."""
    from tests.kafka.topics import Topics

    return Topics(broker.bootstrapServers)


_numbers = itertools.count(1)


@pytest.fixture
def topic(request: pytest.FixtureRequest, topics: Topics) -> str:
    """The name of a new topic of two partitions."""
    name = f"{request.node.originalname.removeprefix('test_')[:60]}-{next(_numbers)}"
    topics.create(name, 2)
    return name
