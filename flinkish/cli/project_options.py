"""The additions of the options of ``flinkish new`` to a project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ProjectOption:
    """The additions of one option."""

    files: Mapping[str, str]
    readme: str
    extras: tuple[str, ...] = ()
    """The extras of flinkish that the option needs."""
    modules: tuple[str, ...] = ()
    """The modules that the option adds."""
    withOthers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The files that the option adds if another option is given too."""


KAFKA = ProjectOption(
    files={
        "PROJECT_kafka.py": '''
            """The same job between two topics of Kafka."""

            from __future__ import annotations

            import os

            from PROJECT import Click, clicks_a_minute

            from flinkish import (
                DeliveryGuarantee,
                JsonDeserializationSchema,
                JsonSerializationSchema,
                KafkaRecordSerializationSchema,
                KafkaSink,
                KafkaSource,
                OffsetsInitializer,
                StreamExecutionEnvironment,
                WatermarkStrategy,
            )

            SERVERS = os.environ.get("KAFKA_SERVERS", "localhost:9092")


            def build(env: StreamExecutionEnvironment) -> None:
                """Count the clicks of the topic "clicks", such as {"user": "ada", "time": 1000}, into "counts"."""
                source = (
                    KafkaSource.builder()
                    .setBootstrapServers(SERVERS)
                    .setTopics("clicks")
                    .setGroupId("PROJECT")
                    .setStartingOffsets(OffsetsInitializer.earliest())
                    .setValueOnlyDeserializer(JsonDeserializationSchema(Click))
                    .build()
                )
                sink = (
                    KafkaSink.builder()
                    .setBootstrapServers(SERVERS)
                    .setRecordSerializer(
                        KafkaRecordSerializationSchema.builder()
                        .setTopic("counts")
                        .setValueSerializationSchema(JsonSerializationSchema())
                        .build()
                    )
                    .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                    .setTransactionalIdPrefix("PROJECT")
                    .build()
                )
                clicks = env.fromSource(source, WatermarkStrategy.noWatermarks(), "clicks")
                clicks_a_minute(clicks).sinkTo(sink).uid("counts")


            def main() -> None:
                env = StreamExecutionEnvironment.getExecutionEnvironment()
                build(env)
                env.execute("PROJECT")


            if __name__ == "__main__":
                main()
            ''',
        "test_PROJECT_kafka.py": '''
            """The plan of the job on Kafka, which needs no broker."""

            from __future__ import annotations

            from PROJECT_kafka import build

            from flinkish import StreamExecutionEnvironment


            def test_the_job_counts_between_its_topics() -> None:
                env = StreamExecutionEnvironment.getExecutionEnvironment()
                build(env)
                plan = env.explain()
                assert "clicks a minute" in plan
                assert "Kafka" in plan
            ''',
    },
    readme="""
            # clicks come from Kafka, at KAFKA_SERVERS or localhost:9092
            flinkish run PROJECT_kafka.py --checkpoint /path/to/checkpoint --web
        """,
    extras=("kafka",),
    modules=("PROJECT_kafka",),
    withOthers={
        "docker": {
            "compose.yaml": """
                # WEB_TOKEN=... docker compose up --build: a broker, its topics and the job, whose page is at
                # http://localhost:8081/#token=... with that token
                services:
                  kafka:
                    image: apache/kafka:3.9.1
                    ports: ["127.0.0.1:9092:9092"]
                    environment:
                      KAFKA_NODE_ID: 1
                      KAFKA_PROCESS_ROLES: broker,controller
                      KAFKA_LISTENERS: PLAINTEXT://:9092,INSIDE://:29092,CONTROLLER://:9093
                      KAFKA_ADVERTISED_LISTENERS: PLAINTEXT://localhost:9092,INSIDE://kafka:29092
                      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT
                      KAFKA_INTER_BROKER_LISTENER_NAME: INSIDE
                      KAFKA_CONTROLLER_LISTENER_NAMES: CONTROLLER
                      KAFKA_CONTROLLER_QUORUM_VOTERS: 1@localhost:9093
                      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: 1
                      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: 1
                      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: 1
                    healthcheck:
                      test: /opt/kafka/bin/kafka-topics.sh --bootstrap-server localhost:29092 --list
                      interval: 5s
                      retries: 20
                  topics:
                    image: apache/kafka:3.9.1
                    depends_on: {kafka: {condition: service_healthy}}
                    entrypoint: [sh, -c]
                    command:
                      - for topic in clicks counts; do /opt/kafka/bin/kafka-topics.sh --bootstrap-server kafka:29092 --create --if-not-exists --topic $$topic || exit 1; done
                  job:
                    build: .
                    command: [flinkish, run, --web, "8081", --host, 0.0.0.0, --checkpoint, /data/checkpoint, PROJECT_kafka.py]
                    environment:
                      KAFKA_SERVERS: kafka:29092
                      FLINKISH_WEB_TOKEN: ${WEB_TOKEN:?Choose a token for the page of the job}
                    ports: ["127.0.0.1:8081:8081"]
                    volumes: ["data:/data"]
                    restart: on-failure
                    depends_on: {topics: {condition: service_completed_successfully}}
                volumes:
                  data:
                """,
        }
    },
)

DOCKER = ProjectOption(
    files={
        "Dockerfile": """
            # Another one of Debian's or Ubuntu's with Python and pip will do
            ARG BASE=python:3.12-slim-bookworm
            FROM ${BASE}
            # Spark needs Java 17, and ps in its scripts
            RUN apt-get update \\
                && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \\
                && rm -rf /var/lib/apt/lists/*
            # Hadoop wants a user with a name
            RUN useradd --create-home job && mkdir /data && chown job /data
            WORKDIR /home/job
            COPY pyproject.toml *.py ./
            RUN --mount=type=bind,source=wheels,target=/wheels pip install --no-cache-dir --find-links /wheels .
            USER job
            VOLUME /data
            # As Ctrl-C, which ends the job; Python as the first process takes no notice of SIGTERM
            STOPSIGNAL SIGINT
            CMD ["flinkish", "run", "PROJECT.py", "--checkpoint", "/data/checkpoint"]
            """,
        ".dockerignore": """
            .git
            .venv
            **/__pycache__
            """,
        "wheels/README": """
            A wheel of flinkish, where pip has none from an index:
            pip wheel --no-deps --wheel-dir wheels /path/to/flinkish
            """,
    },
    readme="""
            # wheels/README says where the image gets flinkish from
            docker build --tag PROJECT .
            docker run --volume data:/data PROJECT
        """,
)


def _cell(kind: str, *lines: str) -> dict[str, object]:
    code: dict[str, object] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": "\n".join(lines), **code}


_CELLS = [
    _cell("markdown", "# PROJECT", "", "The job in this process, without Spark."),
    _cell(
        "code",
        "from flinkish import StreamExecutionEnvironment",
        "from PROJECT import Click, clicks_a_minute",
        "",
        "env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()",
        'clicks = env.fromData(Click("ada", 1_000), Click("bob", 2_000), Click("ada", 59_000))',
        "counts = clicks_a_minute(clicks)",
        "counts",
    ),
    _cell("code", "counts.preview()"),
    _cell("code", "counts.collectAsPandas()"),
]

NOTEBOOK = ProjectOption(
    files={
        "PROJECT.ipynb": json.dumps(
            {
                "cells": [{"id": f"cell-{n}", **cell} for n, cell in enumerate(_CELLS)],
                "metadata": {
                    "kernelspec": {
                        "display_name": "Python 3",
                        "language": "python",
                        "name": "python3",
                    }
                },
                "nbformat": 4,
                "nbformat_minor": 5,
            },
            indent=1,
        )
        + "\n"
    },
    readme="""
            pip install jupyterlab
            jupyter lab PROJECT.ipynb              # the job in a notebook
        """,
    extras=("notebook",),
)

OPTIONS = {"kafka": KAFKA, "notebook": NOTEBOOK, "docker": DOCKER}
