"""A job on Spark that knows passwords, and shows all that it shows: ``python -m tests.kafka.secret_job``.

Arguments: Spark's master, the brokers, a topic with a record, and a directory, where it leaves a checkpoint, a savepoint
and Spark's event log. What it logs and prints goes to its standard output and error.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from flinkish import (
    DeliveryGuarantee,
    JdbcConnectionOptions,
    JdbcSink,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from flinkish.web.rest import everything

PASSWORD = "hunter2-of-the-job"

SECURITY = {
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'PlainLoginModule required username="ann" password="{PASSWORD}";',
    "ssl.key.password": PASSWORD,
}
"""Without effect, as the broker asks for nothing: clients are given them all the same."""


def main(master: str, servers: str, topic: str, directory: Path) -> None:
    """Run the job until it has written a record, and stop it."""
    logging.basicConfig(level=logging.INFO)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    events = directory / "events"
    events.mkdir()
    spark = (
        SparkSession.builder.master(master)
        .config("spark.executor.memory", "1g")
        .config("spark.executor.syncLogLevel.enabled", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", events.as_uri())
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("INFO")
    env = StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(2)
    env.enableCheckpointing(str(directory / "checkpoint"))
    builder = KafkaSource.builder().setBootstrapServers(servers).setTopics(topic)
    builder.setProperties(SECURITY).setValueOnlyDeserializer(SimpleStringSchema())
    database = directory / "written.db"
    options = JdbcConnectionOptions(f"jdbc:sqlite:{database}", "ann", PASSWORD)
    table = JdbcSink.builder().withQueryStatement("INSERT INTO texts VALUES (?)", _set)
    schema = KafkaRecordSerializationSchema.builder().setTopic(f"{topic}-results")
    results = (
        KafkaSink.builder()
        .setBootstrapServers(servers)
        .setRecordSerializer(schema.setValueSerializationSchema(SimpleStringSchema()).build())
        .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .setKafkaProducerConfig(SECURITY)
    )
    source, sink, tables = builder.build(), results.build(), table.buildExactlyOnce(options)
    texts = env.fromSource(source, WatermarkStrategy.noWatermarks(), "texts")
    counted = texts.keyBy(lambda text: text).reduce(lambda one, other: one)
    counted.sinkTo(sink)
    counted.sinkTo(tables)
    written: list[str] = []
    counted.forEachBatch(lambda values, _: written.extend(values))
    print(source, sink, tables, vars(env), env.explain(), env.getExecutionPlan())
    client = env.executeAsync("secret")
    while not written:
        time.sleep(0.1)
    print(client, client.getJobDetails(), json.dumps(everything(client.getJobDetails())))
    for query in spark.streams.active:
        print(query.lastProgress)
        query.explain(extended=True)
    client.stopWithSavepoint(str(directory / "savepoint"))
    spark.stop()


def _set(statement: Any, text: str) -> None:
    statement.setString(1, text)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
