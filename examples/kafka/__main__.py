"""Runs the demo: starts a broker, sends sales in real time, and shows the results of the job."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from examples.kafka.job import define
from flinkish import StreamExecutionEnvironment
from tests.kafka.broker import KafkaBroker

SHOPS = ("Antwerp", "Bremen", "Cork")
ITEMS = {"tea": 450, "coffee": 690, "cups": 1290}
SALES, TAKINGS = "sales", "takings"
SALES_A_SECOND = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return the exit status: 1 if nothing came out."""
    options = _options(arguments)
    with ExitStack() as at_end:
        servers = options.servers
        if servers is None:
            print("Starting a broker ...", flush=True)
            broker = KafkaBroker()
            at_end.callback(broker.close)
            broker.start()
            servers = broker.bootstrapServers
        _create_topics(servers)
        print(
            f"Kafka is at {servers}. {SALES_A_SECOND} sales a second go to {SALES!r}.", flush=True
        )
        stopping = threading.Event()
        seller = threading.Thread(target=_sell, args=(servers, stopping))
        seller.start()
        at_end.callback(seller.join)
        at_end.callback(stopping.set)

        environment = StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(2)
        if options.local:
            environment.setLocalExecution()
        else:
            checkpoint = at_end.enter_context(tempfile.TemporaryDirectory())
            environment.enableCheckpointing(checkpoint)
        define(environment, servers, SALES, TAKINGS)
        print("Starting the job. Its first windows end after five seconds ...", flush=True)
        client = environment.executeAsync("Takings")
        try:
            shown = _show(servers, options.results, options.seconds)
        finally:
            client.cancel()
    print(f"{shown} results came from the topic {TAKINGS!r}.")
    return 0 if shown else 1


def _create_topics(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    topics = [NewTopic(name, 2, 1) for name in (SALES, TAKINGS)]
    for made in admin.create_topics(topics).values():
        made.result()


def _sell(servers: str, stopping: threading.Event) -> None:
    """Send sales until the demo stops."""
    producer = Producer({"bootstrap.servers": servers})
    choice = random.Random(7)
    while not stopping.wait(1 / SALES_A_SECOND):
        item = choice.choice(list(ITEMS))
        sale = {"shop": choice.choice(SHOPS), "item": item, "cents": ITEMS[item]}
        # No key: so both partitions have sales at all times
        producer.produce(SALES, json.dumps(sale).encode(), partition=choice.randrange(2))
        producer.poll(0)
    producer.flush(10)


def _show(servers: str, results: int, seconds: float) -> int:
    """Print the results as they come: so many, or what comes in that time."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "demo",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([TAKINGS])
    shown, until = 0, time.monotonic() + seconds
    while shown < results and time.monotonic() < until:
        message = consumer.poll(0.2)
        value = None if message is None or message.error() is not None else message.value()
        if value is None:
            continue
        found = json.loads(value)
        ended = time.strftime("%H:%M:%S", time.localtime(found["until"] / 1000))
        takings = f"{found['sales']:3} sales, {found['cents'] / 100:8.2f} euros"
        print(f"until {ended}  {found['shop']:8} {takings}", flush=True)
        shown += 1
    consumer.close()
    return shown


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.kafka", description=__doc__)
    parser.add_argument("--servers", help="a running broker, instead of starting one")
    parser.add_argument("--results", type=int, default=30, help="stop after so many results")
    parser.add_argument("--seconds", type=float, default=120, help="stop after so many seconds")
    parser.add_argument("--local", action="store_true", help="without Spark")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
