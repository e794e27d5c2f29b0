"""A broker for the whole run, and topics on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.kafka.broker import KafkaBroker
from tests.kafka.topics import Topics


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
    return Topics(broker.bootstrapServers)


_numbers = itertools.count(1)


@pytest.fixture
def topic(request: pytest.FixtureRequest, topics: Topics) -> str:
    """The name of a new topic of two partitions."""
    name = f"{request.node.originalname.removeprefix('test_')[:60]}-{next(_numbers)}"
    topics.create(name, 2)
    return name
