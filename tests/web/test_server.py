"""The REST interface of running jobs: Flink's documents, Prometheus' text, and who may ask for what."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
import xml.etree.ElementTree as ElementTree

import pytest

import flinkish as fl
from flinkish.api.execution.client import JobStatus
from flinkish.web.server import JOBS_KEPT, WebServer
from tests.web.jobs import MARKUP, Client, details


@pytest.fixture
def server():
    served = WebServer()
    yield served
    served.close()


@pytest.fixture
def client(server):
    told = Client(details())
    server.addJob(told)
    return told


def asked(server, path, method="GET", body=None, **headers):
    """The status, the headers and the text of an answer."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", server._server.server_address[1], timeout=20
    )
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def document(server, path):
    status, headers, text = asked(server, path)
    assert (status, headers["Content-Type"]) == (200, "application/json; charset=utf-8")
    return json.loads(text)


def bearer(server):
    return {"Authorization": f"Bearer {server.token}"}


@pytest.mark.parametrize("prefix", ["/api", "/v1", "/api/v1", ""])
def test_the_jobs_are_where_flink_has_them(server, client, prefix):
    assert document(server, f"{prefix}/jobs") == {"jobs": [{"id": "a1", "status": "RUNNING"}]}


def test_flinks_documents(server, client):
    (job,) = document(server, "/api/jobs/overview")["jobs"]
    assert {"jid", "name", "state", "start-time", "end-time", "duration", "tasks"} <= set(job)
    assert (job["state"], job["end-time"], job["tasks"]["running"]) == ("RUNNING", -1, 7)
    assert document(server, "/api/overview")["jobs-running"] == 1
    assert document(server, "/api/config")["features"]["web-cancel"] is True
    whole = document(server, "/api/jobs/a1")
    assert [v["metrics"]["read-records"] for v in whole["vertices"]] == [100, 800, 900, 90]
    assert whole["status-counts"]["RUNNING"] == 7
    plan = document(server, "/api/jobs/a1/plan")["plan"]
    assert plan == whole["plan"]
    (windows,) = (node for node in plan["nodes"] if node["id"] == "w")
    assert [read["id"] for read in windows["inputs"]] == ["s0", "s1"]
    vertex = document(server, "/api/jobs/a1/vertices/w")
    assert (vertex["name"], len(vertex["subtasks"])) == ("windows -> Map", 1)
    (watermark,) = document(server, "/api/jobs/a1/vertices/w/watermarks")
    assert watermark["id"] == "1.currentInputWatermark"
    assert document(server, "/api/jobs/a1/vertices/s1/watermarks") == []
    checkpoints = document(server, "/api/jobs/a1/checkpoints")
    assert checkpoints["counts"] == {
        "restored": 1,
        "total": 40,
        "in_progress": 0,
        "completed": 40,
        "failed": 0,
    }
    assert checkpoints["latest"]["completed"]["id"] == checkpoints["history"][0]["id"] == 39
    assert checkpoints["summary"]["end_to_end_duration"]["avg"] == 60
    exceptions = document(server, "/api/jobs/a1/exceptions")
    assert exceptions["root-exception"] == f"UserFunctionError: Map: on {MARKUP}\nin {MARKUP}"
    assert document(server, "/api/jobs/a1/checkpoints/config")["mode"] == "exactly_once"
    assert document(server, "/api/jobs/a1/config")["execution-config"]["job-parallelism"] == 2


def test_metrics_are_named_first_and_then_asked_for(server, client):
    path = "/api/jobs/a1/vertices/w/metrics"
    assert {"id": "0.numRecordsIn"} in document(server, path)
    assert document(server, f"{path}?get=0.numRecordsIn,0.windows.clicks,nothing") == [
        {"id": "0.numRecordsIn", "value": "900"},
        {"id": "0.windows.clicks", "value": "9.0"},
    ]
    assert document(server, "/api/jobs/a1/metrics?get=numberOfCompletedCheckpoints") == [
        {"id": "numberOfCompletedCheckpoints", "value": "40"}
    ]


def test_a_job_without_a_batch_has_its_documents_too(server):
    server.addJob(Client(details(batches=0, directory=None)))
    for name in ("", "/plan", "/checkpoints", "/exceptions", "/config", "/details", "/metrics"):
        document(server, f"/api/jobs/a1{name}")
    assert document(server, "/api/jobs/a1/checkpoints")["latest"]["completed"] is None


@pytest.mark.parametrize(
    "path",
    [
        "/api/jobs/no",
        "/api/jobs/a1/no",
        "/api/jobs/a1/vertices/no",
        "/api/no",
        "/no.html",
        "/../server.py",
        "/static/page.js",
        "/api/jobs/a1/vertices/w/no",
    ],
)
def test_what_there_is_not_is_said_as_flink_says_it(server, client, path):
    status, _, text = asked(server, path)
    assert status == 404
    assert json.loads(text)["errors"]


def test_the_drawing_is_xml_whatever_names_are_in_it(server, client):
    status, headers, text = asked(server, "/api/jobs/a1/graph.svg")
    assert (status, headers["Content-Type"]) == (200, "image/svg+xml")
    root = ElementTree.fromstring(text)
    assert not [e for e in root.iter() if e.tag.rpartition("}")[2] in ("script", "img")]
    assert MARKUP in {e.text.removeprefix("Source: ") for e in root.iter() if e.text}


SAMPLE = re.compile(
    r'^[a-zA-Z_:][a-zA-Z0-9_:]*\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\} -?[0-9.e+]+$'
)


def test_prometheus_reads_the_metrics_under_flinks_names(server, client):
    client.told = details(name='a "name"\n with \\ signs')
    status, headers, text = asked(server, "/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert samples
    for line in samples:
        assert SAMPLE.match(line), line
    names = {line.partition("{")[0] for line in samples}
    assert {
        "flink_jobmanager_job_uptime",
        "flink_jobmanager_job_numberOfCompletedCheckpoints",
        "flink_taskmanager_job_task_busyTimeMsPerSecond",
        "flink_taskmanager_job_task_operator_numRecordsIn",
        "flink_taskmanager_job_task_operator_currentInputWatermark",
        "flink_taskmanager_job_task_operator_clicks",
        "flink_taskmanager_job_task_operator_inputHoldsBack",
        "flink_taskmanager_job_task_operator_pendingRecords",
        "flink_taskmanager_job_task_operator_pendingBytes",
    } <= names
    types = [line for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types)) == len(names)
    assert len({line.rpartition(" ")[0] for line in samples}) == len(samples)


def test_no_job_is_stopped_without_the_token(server, client):
    for headers in ({}, {"Authorization": "Bearer no"}, {"Authorization": server.token}):
        assert asked(server, "/api/jobs/a1?mode=cancel", "PATCH", **headers)[0] == 401
        assert asked(server, "/api/jobs/a1/stop", "POST", **headers)[0] == 401
    by_query = f"/api/jobs/a1?mode=cancel&token={server.token}"
    assert asked(server, by_query, "PATCH")[0] == 401
    assert client.asked == []
    assert asked(server, "/api/jobs/a1?mode=cancel", "PATCH", **bearer(server))[0] == 202
    wait_until(lambda: client.asked == ["cancel"])


def test_a_job_is_stopped_with_its_savepoint(server, client):
    status, _, text = asked(server, "/v1/jobs/a1/stop", "POST", **bearer(server))
    assert status == 202
    wait_until(lambda: client.asked == ["stop"])
    trigger = json.loads(text)["request-id"]
    place = f"/v1/jobs/a1/savepoints/{trigger}"
    wait_until(lambda: document(server, place)["status"]["id"] == "COMPLETED")
    assert document(server, f"/v1/jobs/a1/savepoints/{trigger}") == {
        "status": {"id": "COMPLETED"},
        "operation": {"location": "/data/checkpoint"},
    }


def test_a_job_without_a_checkpoint_directory_can_only_be_cancelled(server):
    client = Client(details(directory=None))
    server.addJob(client)
    status, _, text = asked(server, "/api/jobs/a1/stop", "POST", **bearer(server))
    assert status == 400
    assert "enableCheckpointing" in json.loads(text)["errors"][0]
    assert client.asked == []


def test_savepoints_are_asked_for_as_in_flink(server, client):
    body = json.dumps({"target-directory": "/data/savepoint", "cancel-job": False})
    status, _, text = asked(server, "/v1/jobs/a1/savepoints", "POST", body, **bearer(server))
    assert status == 202
    wait_until(lambda: client.asked == ["savepoint"])
    place = f"/v1/jobs/a1/savepoints/{json.loads(text)['request-id']}"
    wait_until(lambda: document(server, place)["status"]["id"] == "COMPLETED")
    assert document(server, place)["operation"] == {"location": "/data/savepoint"}
    assert asked(server, "/v1/jobs/a1/savepoints/other")[0] == 404
    assert asked(server, "/v1/jobs/a1/savepoints", "POST", body)[0] == 401
    for wrong in ("", "{}", "[]", "{", '{"target-directory": 1}', '{"target-directory": ""}'):
        answer = asked(server, "/v1/jobs/a1/savepoints", "POST", wrong, **bearer(server))
        assert (answer[0], "target-directory" in answer[2]) == (400, True)
    cancelling = json.dumps({"target-directory": "/data/savepoint", "cancel-job": True})
    assert asked(server, "/v1/jobs/a1/savepoints", "POST", cancelling, **bearer(server))[0] == 202
    wait_until(lambda: client.asked == ["savepoint", "stop"])


def test_a_savepoint_that_fails_says_why(server, client, monkeypatch):
    def refused(directory):
        raise fl.CheckpointStorageError(f"{directory} is not empty")

    monkeypatch.setattr(client, "triggerSavepoint", refused)
    body = json.dumps({"target-directory": "/data/full"})
    _, _, text = asked(server, "/v1/jobs/a1/savepoints", "POST", body, **bearer(server))
    place = f"/v1/jobs/a1/savepoints/{json.loads(text)['request-id']}"
    wait_until(lambda: document(server, place)["status"]["id"] == "COMPLETED")
    failure = document(server, place)["operation"]["failure-cause"]
    assert failure == {
        "class": "CheckpointStorageError",
        "stack-trace": "/data/full is not empty",
    }


def test_a_job_is_stopped_with_a_savepoint_elsewhere(server):
    client = Client(details(directory=None))
    server.addJob(client)
    body = json.dumps({"targetDirectory": "/data/savepoint", "drain": False})
    _, _, text = asked(server, "/v1/jobs/a1/stop", "POST", body, **bearer(server))
    place = f"/v1/jobs/a1/savepoints/{json.loads(text)['request-id']}"
    wait_until(lambda: document(server, place)["status"]["id"] == "COMPLETED")
    assert document(server, place)["operation"] == {"location": "/data/savepoint"}
    draining = json.dumps({"drain": True, "targetDirectory": "/data/other"})
    status, _, text = asked(server, "/v1/jobs/a1/stop", "POST", draining, **bearer(server))
    assert (status, "drain" in text) == (400, True)


@pytest.mark.parametrize("method", ["PATCH", "POST"])
def test_nothing_else_can_be_changed(server, client, method):
    assert asked(server, "/api/jobs/a1/rescaling", method, **bearer(server))[0] == 404
    assert asked(server, "/api/jobs/no?mode=cancel", "PATCH", **bearer(server))[0] == 404


def test_a_name_that_was_made_to_lead_here_gets_nothing(server, client):
    """A page of another site whose name resolves to 127.0.0.1 is refused."""
    port = server._server.server_address[1]
    for path in ("/api/jobs", "/metrics", "/"):
        assert asked(server, path, Host=f"evil.example:{port}")[0] == 421
    assert asked(server, "/api/jobs", Host=f"localhost:{port}")[0] == 200
    assert asked(server, "/api/jobs", Host=f"[::1]:{port}")[0] == 200


def test_on_another_address_all_data_needs_the_token():
    server = WebServer("0.0.0.0", token="open sesame")
    try:
        server.addJob(Client(details()))
        for path in ("/api/jobs", "/metrics", "/api/jobs/a1/graph.svg", "/api/jobs/a1/details"):
            assert asked(server, path)[0] == 401
            assert asked(server, path, Authorization="Bearer open sesame")[0] == 200
        for path in ("/", "/page.js", "/style.css"):
            assert asked(server, path)[0] == 200
    finally:
        server.close()


def test_the_page_may_load_nothing_from_elsewhere(server):
    for path in ("/", "/page.js", "/style.css"):
        status, headers, text = asked(server, path)
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_it_is_on_this_machine_only_unless_told_otherwise():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    web = env.enableWebUI()
    try:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[\w-]{20,}", web.url)
        port = int(web.url.partition("#")[0].rstrip("/").rpartition(":")[2])
        with pytest.raises(fl.FlinkishError, match=f"127.0.0.1:{port}: .* Pass port=0"):
            fl.StreamExecutionEnvironment.getExecutionEnvironment().enableWebUI(port)
    finally:
        web.close()


def test_a_port_that_cannot_be_is_named():
    with pytest.raises(fl.FlinkishError, match=r"enableWebUI: .* Pass port=0"):
        WebServer(port=70_000)
    with pytest.raises(fl.FlinkishError, match=r"enableWebUI: .*as host"):
        WebServer("256.0.0.1")


def test_the_last_jobs_that_ended_are_kept_and_all_that_run(server):
    running = Client(details("running"))
    server.addJob(running)
    for number in range(JOBS_KEPT + 5):
        server.addJob(Client(details(f"j{number}", JobStatus.FINISHED)))
    jobs = [job["id"] for job in document(server, "/api/jobs")["jobs"]]
    assert len(jobs) == JOBS_KEPT + 1
    assert jobs[0] == f"j{JOBS_KEPT + 4}"
    assert jobs[-1] == "running"


def test_all_that_is_known_or_only_some_batches(server, client):
    path = "/api/jobs/a1/details"
    whole = document(server, path)
    assert [batch["id"] for batch in whole["batches"]] == list(range(40))
    assert whole["checkpoint"]["latest"] == whole["batches"][-1]
    assert whole["vertices"][2]["operators"][0]["inputs"][0]["holdsBack"] is True
    assert whole["exceptions"][0]["element"] == MARKUP
    assert [batch["id"] for batch in document(server, f"{path}?batches=2")["batches"]] == [38, 39]
    assert document(server, f"{path}?batches=0")["batches"] == []
    assert len(document(server, f"{path}?batches=many")["batches"]) == 40


def test_many_may_look_at_once(server, client):
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(document(server, "/api/jobs/a1/details")))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 16


def wait_until(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
