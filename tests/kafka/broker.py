"""``KafkaBroker``: Kafka 3.9 in a JVM of its own, one node without ZooKeeper (KRaft).

Its jars come from Maven Central, as ``pom.xml`` names them, into ``build/kafka`` once, and are compared with the
hashes in ``jars.sha256``.

    python -m tests.kafka.broker jars     brings the jars
    python -m tests.kafka.broker pin      writes their hashes anew, after the version in pom.xml has changed
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
POM, PINS = HERE / "pom.xml", HERE / "jars.sha256"

CLUSTER = "flinkishBrokerForTest1"
"""The id of the cluster: 22 characters of base64."""

START_SECONDS = 90.0

JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""

_LOG4J = """log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c %m%n
"""

_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
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


def jars() -> Path:
    """The directory with the jars of the broker, brought if they are not there."""
    pom = POM.read_text("utf-8")
    version = re.search(r"kafka_2\.13</artifactId>\s*<version>([^<]+)<", pom)
    assert version is not None
    directory = ROOT / "build" / "kafka" / version[1]
    if not directory.is_dir():
        draft = directory.with_name(f".{directory.name}.{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        _copy_jars(draft)
        check_jars(draft, PINS.read_text("utf-8"))
        draft.rename(directory)
    return directory


def _copy_jars(directory: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError(
            "there is no Maven (mvn) to bring the broker's jars: make test-kafka installs it."
        )
    command = [maven, "--batch-mode", "--quiet", "--file", str(POM), "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Maven could not bring the broker's jars:\n{done.stdout}{done.stderr}")


def check_jars(directory: Path, pins: str) -> None:
    """Raises RuntimeError unless ``directory`` has just the jars of ``pins``."""
    pinned = {line.split()[1]: line.split()[0] for line in pins.splitlines()}
    found = hashes(directory)
    wrong = sorted(name for name in pinned.keys() | found if pinned.get(name) != found.get(name))
    if wrong:
        raise RuntimeError(f"the broker's jars are not those of {PINS.name}: {', '.join(wrong)}.")


def hashes(directory: Path) -> dict[str, str]:
    """The SHA-256 of each jar of a directory."""
    files = sorted(directory.glob("*.jar"))
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


class KafkaBroker:
    """A broker on a port of its own, whose data are in ``directory``, by default a new one of ``/tmp``."""

    def __init__(self, directory: Path | None = None) -> None:
        self._temporary = directory is None
        self._directory = directory or Path(tempfile.mkdtemp(prefix="flinkish-kafka-"))
        self._port, self._controller = _free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrapServers(self) -> str:
        """Its address, which stays the same when it is stopped and started."""
        return f"127.0.0.1:{self._port}"

    @property
    def log(self) -> str:
        """What it has logged."""
        return (self._directory / "broker.log").read_text("utf-8", "replace")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        properties = self._directory / "server.properties"
        if not properties.exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            (self._directory / "log4j.properties").write_text(_LOG4J)
            data = self._directory / "data"
            ports = {"port": self._port, "controller": self._controller}
            properties.write_text(_PROPERTIES.format(data=data, **ports))
            tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(properties)]
            self._run(tool).wait(START_SECONDS)
        self._process = self._run(["kafka.Kafka", str(properties)])
        until = time.monotonic() + START_SECONDS
        while not _answers(self._port):
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"the broker has not started:\n{self.log[-3000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it; its data stay, and ``start`` goes on with them."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it, and remove its data if their directory was not given."""
        self.kill()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _run(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else "java"
        logging = f"-Dlog4j.configuration=file:{self._directory}/log4j.properties"
        command = [java, *JVM, logging, "-cp", f"{jars()}/*", *arguments]
        with (self._directory / "broker.log").open("ab") as log:
            # In a session of its own, so that Ctrl-C in a test ends the test first
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _end_with_parent() -> None:
    """Called in the new process: it is killed when the one that started it ends, however that ends."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def main(arguments: list[str]) -> None:
    """Bring the jars, or write their hashes anew."""
    if arguments == ["jars"]:
        print(jars())
    elif arguments == ["pin"]:
        with tempfile.TemporaryDirectory() as directory:
            _copy_jars(Path(directory))
            found = hashes(Path(directory))
        PINS.write_text("".join(f"{digest}  {name}\n" for name, digest in found.items()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
