"""A client that is killed, and a server that is: the job goes on from its checkpoint."""

from __future__ import annotations

import pytest

import flinkish as fl
from tests.reliability.processes import kill, launched, tree_of
from tests.spark.connect.client_job import build, written
from tests.spark.waiting import wait_for

pytestmark = [pytest.mark.connect, pytest.mark.kills, pytest.mark.timeout(600)]


def check_goes_on(env, directory):
    """The job writes more than there is, and then each number was counted and written once."""
    before = len(written(directory))
    assert before
    build(env, directory)
    client = env.executeAsync("counts")
    wait_for(lambda: len(written(directory)) > before + 50, 240)
    client.stopWithSavepoint()
    found = written(directory)
    assert found == [(number, number // 2 + 1) for number in range(len(found))]


@pytest.mark.slow("a separate program, which is killed")
def test_another_client_goes_on_where_the_first_was_killed(env, server, there, monkeypatch):
    with monkeypatch.context() as during:
        during.setenv("SPARK_REMOTE", server.url)
        log = there / "client.log"
        client = launched(log, "tests.spark.connect.client_job", str(there))
    try:
        assert client.stdout is not None
        for _ in range(20):
            assert client.stdout.readline(), log.read_text()
    finally:
        kill(process.pid for process in tree_of(client.pid))
        client.wait()
        client.stdin.close()
        client.stdout.close()
    check_goes_on(env, there)


@pytest.mark.slow("starts the server a second time")
def test_a_job_goes_on_after_its_server_was_killed(env, server, sessions, there):
    build(env, there)
    client = env.executeAsync("counts")
    wait_for(lambda: len(written(there)) > 20, 240)
    server.kill()
    with pytest.raises(fl.JobExecutionError, match="the server of Spark Connect is gone"):
        client.getJobExecutionResult()
    build(env, there)
    with pytest.raises(fl.JobExecutionError, match="the server of Spark Connect is gone"):
        env.execute("counts")
    server.start()
    check_goes_on(fl.StreamExecutionEnvironment.getExecutionEnvironment(sessions.current()), there)
