"""Jobs that have ended, kept for later programs; what the program logs; flame graphs; executors."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
import time
from contextlib import closing
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import flinkish as fl
from flinkish.api.execution.client import JobStatus
from flinkish.web import executors
from flinkish.web.logs import ProgramLog
from flinkish.web.server import WebServer
from tests.spark.waiting import wait_for
from tests.web.jobs import Client, details


def document(server, path, method="GET"):
    headers = {"Authorization": f"Bearer {server.token}"} if method != "GET" else {}
    with urlopen(Request(f"{server.address}/api/{path}", headers=headers, method=method)) as answer:
        return json.load(answer)


def test_a_job_that_has_ended_is_shown_by_a_later_program(tmp_path):
    archive = tmp_path / "jobs"
    with closing(WebServer(archive=str(archive))) as server:
        server.addJob(Client(details("b2", JobStatus.FAILED, "yesterday's")))
        server.addJob(Client(details("a1")))
        first = {path: document(server, f"jobs/b2/{path}") for path in ("details", "exceptions")}
    (file,) = archive.iterdir()
    assert file.name == "b2.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with closing(WebServer(archive=str(archive))) as server:
        (job,) = document(server, "jobs/overview")["jobs"]
        assert (job["jid"], job["state"], job["archived"]) == ("b2", "FAILED", True)
        for path, shown in first.items():
            assert document(server, f"jobs/b2/{path}") == shown
        assert len(document(server, "jobs/b2/operators/w/batches")) == 40
        with urlopen(f"{server.address}/api/jobs/b2/graph.svg") as answer:
            assert answer.headers["Content-Type"] == "image/svg+xml"
            assert answer.read().startswith(b"<svg")
        with pytest.raises(HTTPError, match="404"):
            document(server, "jobs/c3")
        with pytest.raises(HTTPError, match="404"):
            document(server, "jobs/b2?mode=cancel", "PATCH")


PROGRAM = """
import sys
import flinkish as fl
env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
env.enableWebUI(archive=sys.argv[1])
env.fromSequence(1, 9).keyBy(lambda n: n % 3).reduce(max).forEachBatch(lambda v, b: None)
env.execute("short")
"""


@pytest.mark.slow("a separate program")
def test_a_program_that_ends_with_its_job_leaves_it_in_the_archive(tmp_path):
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, timeout=120)
    with closing(WebServer(archive=str(tmp_path))) as server:
        (job,) = document(server, "jobs/overview")["jobs"]
        assert (job["name"], job["state"]) == ("short", "FINISHED")
        assert document(server, f"jobs/{job['jid']}/details")["batches"][-1]["recordsIn"] == 9


def test_a_damaged_archive_and_one_that_cannot_be_made(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with closing(WebServer(archive=str(tmp_path))) as server:
        assert document(server, "jobs/overview") == {"jobs": []}
    with pytest.raises(fl.IllegalArgumentError, match="cannot be used"):
        WebServer(archive=str(tmp_path / "x.json" / "below"))


def test_logs_of_the_program(capfd):
    before = logging.getLogRecordFactory()
    with closing(WebServer()) as server:
        logging.getLogger("shop").warning("price %d is low", 3)
        logging.getLogger("shop").info("of no level that counts")
        try:
            raise ValueError("no")
        except ValueError:
            logging.getLogger("shop").exception("failed")
        lines = document(server, "logs")["lines"][-2:]
        assert [line["message"].splitlines()[0] for line in lines] == ["price 3 is low", "failed"]
        assert lines[1]["message"].endswith("ValueError: no")
        after = document(server, f"logs?after={lines[0]['number']}")["lines"]
        assert [line["level"] for line in after] == ["ERROR"]
        with urlopen(f"{server.address}/api/jobmanager/log") as answer:
            assert b"WARNING  shop: price 3 is low" in answer.read()
    made = logging.getLogRecordFactory()
    assert made is before


def test_logs_of_functions_in_workers_name_their_operator():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()

    def priced(value):
        logging.getLogger("shop").warning("sold %d", value)
        return value

    with closing(WebServer()) as server:
        env.fromSequence(1, 2).map(priced).name("prices").forEachBatch(lambda v, b: None)
        env.execute()
        said = [line["message"] for line in document(server, "logs")["lines"]]
    assert any("sold 2" in message for message in said)


def test_a_batch_is_profiled_on_demand():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()

    def slowly(value):
        until = time.perf_counter() + 0.02
        while time.perf_counter() < until:
            pass
        return value

    source = fl.DataGeneratorSource(lambda n: n, elementsPerSecond=40)
    numbers = env.fromSource(source, None, "numbers").keyBy(lambda n: n % 3)
    numbers.reduce(max).map(slowly).name("slow").forEachBatch(lambda values, batch: None)
    client = env.executeAsync("profiled")
    with closing(WebServer()) as server:
        server.addJob(client)
        path = f"jobs/{client.getJobID()}"
        try:
            assert document(server, f"{path}/profile")["batch"] is None
            assert client.getJobDetails().profile is None

            def profiled():
                # Again, as a request is dropped if its batches are too short to be sampled
                document(server, f"{path}/profile", "POST")
                return document(server, f"{path}/profile")["batch"] is not None

            wait_for(profiled)
            wait_for(lambda: not document(server, f"{path}/profile")["requested"])
            found = document(server, f"{path}/profile")
            most = found["functions"][0]
            assert "slowly (web/test_archive.py:" in most["function"]
            assert most["millis"] > 0
            (tree,) = (v["data"] for v in found["vertices"] if v["id"] == most["vertex"])
            flame = document(server, f"{path}/vertices/{most['vertex']}/flamegraph")
            assert flame["data"] == tree
            assert sum(child["value"] for child in tree["children"]) == tree["value"]
            assert not found["requested"]
            (worker,) = document(server, f"{path}/executors")["workers"]
            assert worker["residentBytes"] > 10 << 20
        finally:
            client.cancel()
        with pytest.raises(fl.IllegalStateError, match="has ended"):
            client.profileBatch()


def test_logs_are_closed_in_any_order():
    before = logging.getLogRecordFactory()
    first, second = ProgramLog(), ProgramLog()
    first.close()
    logging.getLogger("shop").warning("for the second")
    second.close()
    assert logging.getLogRecordFactory() is before
    assert [line.message for line in first.after(0)] == []
    assert [line.message for line in second.after(0)] == ["for the second"]


def test_the_logs_of_executors_are_linked_where_the_cluster_serves_them(monkeypatch):
    ui, logs = "http://127.0.0.1:4040", {"stderr": "http://worker:8081/log", "x": "javascript:x"}
    found = {
        **dict.fromkeys(("totalCores", "activeTasks", "failedTasks"), 1),
        "memoryUsed": 3,
        "maxMemory": 4,
        "totalDuration": 50,
        "totalGCTime": 6,
        "peakMemoryMetrics": {"JVMHeapMemory": 7},
        "id": "0",
        "hostPort": "worker:1",
        "isActive": True,
    }
    answers = {
        f"{ui}/api/v1/applications": [{"id": "app-1"}],
        f"{ui}/api/v1/applications/app-1/allexecutors": [{**found, "executorLogs": logs}, found],
    }
    monkeypatch.setattr(executors, "_read", answers.__getitem__)
    first, second = executors.executors(ui)["executors"]
    assert first["logs"] == {"stderr": "http://worker:8081/log"}
    assert second["logs"] == {}
    told = ("memoryUsed", "maxMemory", "taskMillis", "gcMillis", "peakHeap")
    assert [first[name] for name in told] == [3, 4, 50, 6, 7]


def test_executors_that_spark_does_not_tell_of(monkeypatch):
    assert "spark.ui.enabled" in executors.executors(None)["error"]
    assert "does not say" in executors.executors("http://127.0.0.1:9")["error"]
