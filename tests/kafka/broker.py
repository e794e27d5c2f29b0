"""``KafkaBroker``: Kafka 3.9 in a separate JVM, one node without ZooKeeper (KRaft)."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import tempfile
from pathlib import Path

from tests.kafka.jvm import START_SECONDS, JvmServer, free_ports
from tests.maven import BROKER

CLUSTER = "flinkishBrokerForTest1"
"""The id of the cluster: 22 characters of base64."""

_LOG4J = """log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c %m%n
"""

_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},SASL_PLAINTEXT://127.0.0.1:{sasl}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
  org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="right";
log.dirs={data}
auto.create.topics.enable=false
delete.topic.enable=true
log.retention.ms=-1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class KafkaBroker:
    """A broker on a free port, whose data are in ``directory``, by default a new one of ``/tmp``. In a directory
    where one has been it goes on with its data and its port."""

    def __init__(self, directory: Path | None = None) -> None:
        self._temporary = directory is None
        self._directory = directory or Path(tempfile.mkdtemp(prefix="flinkish-kafka-"))
        self._properties = self._directory / "server.properties"
        if self._properties.exists():
            listeners = re.search("^listeners=.*", self._properties.read_text(), re.MULTILINE)
            assert listeners is not None
            self._port, self._controller, self._sasl = map(int, re.findall(r":(\d+)", listeners[0]))
        else:
            self._port, self._controller, self._sasl = free_ports(3)
        self._server = JvmServer("broker", self._directory / "broker.log")

    @property
    def bootstrapServers(self) -> str:
        """Its address, which stays the same when it is stopped and started."""
        return f"127.0.0.1:{self._port}"

    @property
    def saslServers(self) -> str:
        """The address at which it wants the name "ann" and the password "right" (PLAIN, without TLS)."""
        return f"127.0.0.1:{self._sasl}"

    @property
    def log(self) -> str:
        """The log of the broker."""
        return self._server.log

    def start(self) -> None:
        """Start it, and wait until it answers."""
        properties = self._properties
        logging = f"-Dlog4j.configuration=file:{self._directory}/log4j.properties"
        java = ["-Xmx256m", logging, "-cp", f"{BROKER.directory()}/*"]
        if not properties.exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            (self._directory / "log4j.properties").write_text(_LOG4J)
            data = self._directory / "data"
            ports = {"port": self._port, "controller": self._controller, "sasl": self._sasl}
            properties.write_text(_PROPERTIES.format(data=data, **ports))
            tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(properties)]
            self._server.run([*java, *tool]).wait(START_SECONDS)
        self._server.start([*java, "kafka.Kafka", str(properties)], self._answers)

    def stop(self) -> None:
        """Stop it; its data stay, and ``start`` goes on with them."""
        self._server.end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._server.end(signal.SIGKILL)

    def close(self) -> None:
        """End it, and remove its data if their directory was not given."""
        self.kill()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True
