"""``make demo-kafka``, without Spark."""

from __future__ import annotations

import pytest

from examples.kafka.__main__ import main
from tests.kafka.broker import KafkaBroker

pytestmark = pytest.mark.kafka


@pytest.mark.slow("waits for windows of five seconds to end")
def test_the_demo_shows_results(broker: KafkaBroker, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--servers", broker.bootstrapServers, "--local", "--results", "3"]
    assert main([*arguments, "--seconds", "40"]) == 0
    assert "3 results came from the topic 'takings'" in capsys.readouterr().out
