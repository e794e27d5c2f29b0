"""The addresses on which the processes of a job listen."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from pathlib import Path

from tests.reliability.processes import tree_of

_LISTENING = "0A"


def listening(pids):
    """The addresses on which those processes listen."""
    inodes = set()
    for pid in pids:
        with suppress(OSError):
            for descriptor in Path("/proc", str(pid), "fd").iterdir():
                with suppress(OSError):
                    name = os.readlink(descriptor)
                    if name.startswith("socket:["):
                        inodes.add(name.removeprefix("socket:[").rstrip("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and fields[9] in inodes:
                    found.add(_address(fields[1].partition(":")[0]))
    return found


def _address(number):
    """An address as the kernel writes it: words of four bytes, each in the order of the machine."""
    words = [int(number[start : start + 8], 16) for start in range(0, len(number), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    kind = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return socket.inet_ntop(kind, packed)


def test_nothing_listens_beyond_this_machine(env):
    def addresses():
        return listening(process.pid for process in tree_of(os.getpid()))

    seen = []
    page = env.enableWebUI()
    numbers = env.fromElements(1, 2).keyBy(lambda number: number).map(lambda number: number)
    numbers.forEachBatch(lambda values, batch: seen.append(addresses()))
    env.execute()
    assert seen, "looked at while the job ran"
    found = set().union(*seen)
    assert found, "the JVM and the page listen"
    assert found <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}, page


def test_an_address_beyond_is_seen():
    with socket.socket() as beyond:
        beyond.bind(("0.0.0.0", 0))
        beyond.listen()
        assert "0.0.0.0" in listening([os.getpid()])
