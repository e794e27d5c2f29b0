"""Kafka's client, confluent-kafka over librdkafka, with the properties of Java's."""

from __future__ import annotations

import importlib
import logging
import re
import time
from collections.abc import Iterable
from typing import Any

from flinkish.api.connectors.kafka.source import Properties
from flinkish.api.errors import IllegalArgumentError, JobExecutionError, NotSupportedError, shown

LOG = logging.getLogger("flinkish.kafka")


def confluent_kafka(user: str) -> Any:
    """The module confluent_kafka. Raises NotSupportedError for ``user`` if it is missing."""
    try:
        importlib.import_module("confluent_kafka.admin")
        return importlib.import_module("confluent_kafka")
    except ImportError as error:
        raise NotSupportedError(
            f"{user} needs the package confluent-kafka, which this Python does not have ({error}):"
            " pip install 'flinkish[kafka]', on the driver and the workers."
        ) from None


READING = {
    # The default of Java, and so of Flink; librdkafka's differs.
    "isolation.level": "read_uncommitted",
    # A consumer must name a group even if it belongs to none.
    "group.id": "flinkish",
}
"""The properties that make consumers behave as in Flink, unless a user sets them."""

_OURS = {
    # Of Flink's connector or of Java's client, for flinkish itself
    "client.id.prefix",
    "commit.offsets.on.checkpoint",
    "default.api.timeout.ms",
    "max.block.ms",
    "partition.discovery.interval.ms",
    "register.consumer.metrics",
    "topic.recreated",
    # Of Java's client, without effect: flinkish itself decides what is read and when
    "allow.auto.create.topics",
    "auto.offset.reset",
    "enable.auto.commit",
    "auto.commit.interval.ms",
    "interceptor.classes",
    "key.deserializer",
    "key.serializer",
    "max.poll.records",
    "metric.reporters",
    "partition.assignment.strategy",
    "request.timeout.ms",
    "value.deserializer",
    "value.serializer",
    # Of a truststore of Java's, which certificates in PEM do not have
    "ssl.truststore.password",
    "ssl.truststore.type",
}
"""The properties that librdkafka does not get."""

_RENAMED = {
    "buffer.memory": "queue.buffering.max.kbytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.truststore.location": "ssl.ca.location",
}

REFUSED = ("_AUTHENTICATION", "_SSL")
"""The errors by which a client says that a broker is there, and does not let it in."""

_REFUSAL_SECONDS = 3.0
"""How long a client may take to find out that it is not let in."""

_JAAS = re.compile(r"""(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")


def client_properties(user: str, properties: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The properties for librdkafka. Those of Java's client are renamed; errors name ``user``.

    >>> client_properties("KafkaSource", [("sasl.mechanism", "PLAIN"), ("max.poll.records", "500")])
    {'sasl.mechanisms': 'PLAIN'}
    """
    found: dict[str, Any] = {}
    for name, value in properties:
        if name in _OURS:
            continue
        if name == "sasl.jaas.config":
            found.update(_credentials(user, value))
        elif name == "ssl.truststore.location" and not value.lower().endswith((".pem", ".crt")):
            raise IllegalArgumentError(
                f"{user}: ssl.truststore.location is {shown(value)}, which librdkafka cannot read: it takes"
                " certificates in PEM. Export them, as with keytool -exportcert -rfc, and pass that file."
            )
        elif name == "ssl.endpoint.identification.algorithm":
            found[name] = value or "none"
        elif name == "buffer.memory":
            found[_RENAMED[name]] = max(int(value) // 1024, 1)
        else:
            found[_RENAMED.get(name, name)] = value
    return found


def _credentials(user: str, jaas: str) -> dict[str, str]:
    found = {name: double or single for name, double, single in _JAAS.findall(jaas)}
    if "username" not in found or "password" not in found:
        raise IllegalArgumentError(
            f"{user}: sasl.jaas.config has no username and password. Set sasl.username and sasl.password,"
            " or librdkafka's properties for another way to log in."
        )
    return {f"sasl.{name}": re.sub(r"\\(.)", r"\1", text) for name, text in found.items()}


def opened(user: str, make: Any, properties: dict[str, Any]) -> Any:
    """A client, such as a ``Consumer``. Raises IllegalArgumentError if it refuses a property."""
    return _made(user, make, {"log_level": 2, "error_cb": _log_error, **properties}, LOG)


def opened_quietly(user: str, make: Any, properties: dict[str, Any]) -> Any:
    """A consumer for requests only. Nobody polls it, so it logs nothing; its calls raise errors."""
    own = {"enable.auto.commit": False, "log_level": 0}
    return _made(user, make, {"socket.timeout.ms": 10_000, **READING, **properties, **own}, None)


def _made(user: str, make: Any, properties: dict[str, Any], logger: Any) -> Any:
    try:
        return make(properties) if logger is None else make(properties, logger=logger)
    except Exception as error:
        reason = error.args[0].str() if hasattr(error.args[0], "str") else str(error)
        raise IllegalArgumentError(
            f"{user}: Kafka's client refuses its properties: {reason}. Fix it with setProperty: names are"
            " those of Java's client, or librdkafka's."
        ) from None


def _log_error(error: Any) -> None:
    # The call that fails raises what matters
    LOG.debug("Kafka: %s", error)


def number_property(
    user: str, properties: Iterable[tuple[str, str]], name: str, default: int
) -> int:
    value = dict(properties).get(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise IllegalArgumentError(
            f"{user}: the property {name} is {shown(value)}. Set it to a number of milliseconds."
        ) from None


def is_transient(error: Any) -> bool:
    """Whether an error of Kafka is transient: the broker is away, or is just starting."""
    return error.name() in {
        "_TRANSPORT",
        "_ALL_BROKERS_DOWN",
        "_TIMED_OUT",
        "_RESOLVE",
        "_DESTROY",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "NOT_COORDINATOR",
        "NETWORK_EXCEPTION",
        "REQUEST_TIMED_OUT",
        "BROKER_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "OFFSET_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "UNSTABLE_OFFSET_COMMIT",
    }


def unreachable(user: str, properties: Properties, error: object) -> JobExecutionError:
    """The error of a job whose brokers do not answer, or do not let it in."""
    servers = dict(properties)["bootstrap.servers"]
    return refusal(user, properties) or JobExecutionError(
        f"{user}: no broker answers at {servers}: {error}. Start it, or fix setBootstrapServers and the"
        " properties for security."
    )


def refusal(user: str, properties: Properties) -> JobExecutionError | None:
    """The error of a job that the brokers do not let in; None if they do, or do not answer. To a call,
    a client that is not let in says the same as one without a broker, so another client is asked."""
    given = client_properties(user, properties)
    if given.get("security.protocol", "PLAINTEXT").upper() == "PLAINTEXT":
        return None
    errors: list[Any] = []
    client = opened_quietly(
        user, confluent_kafka(user).Consumer, {**given, "error_cb": errors.append}
    )
    until = time.monotonic() + _REFUSAL_SECONDS
    try:
        while time.monotonic() < until:
            client.poll(0.1)
            for error in errors:
                if error.name() in REFUSED:
                    return refused(user, given["bootstrap.servers"], error)
        return None
    finally:
        client.close()


def refused(user: str, servers: str, error: Any) -> JobExecutionError:
    """The error of a job for which a client has reported an ``error`` that is one of ``REFUSED``."""
    said = "authentication failed" if error.name() == "_AUTHENTICATION" else "TLS failed"
    return JobExecutionError(
        f"{user}: {said} at {servers}: {error.str()}. Fix the properties for security, such as"
        " sasl.mechanism, sasl.jaas.config and ssl.truststore.location."
    )
