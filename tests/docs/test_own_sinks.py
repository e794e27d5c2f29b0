"""The sinks of docs/own_sinks.md write: to moto's S3, a real Redis, and a stand-in for Elasticsearch."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish import StreamExecutionEnvironment
from flinkish.api.errors import UserFunctionError
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.runtime.sinks.user_sinks import BatchContext, commit
from tests.docs.pages import DOCS, blocks

pytestmark = pytest.mark.slow("imports what is like S3, Delta and Iceberg")


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page defines."""
    names: dict[str, Any] = {"__name__": "own_sinks"}
    for language, code in blocks(DOCS / "own_sinks.md"):
        if language == "python":
            exec(compile(code, "own_sinks.md", "exec", dont_inherit=True), names)
    return names


@pytest.fixture
def local() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


# ---------------------------------------------------------------------- S3


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    boto3, moto = import_module("boto3"), import_module("moto")
    with moto.mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="orders")
        yield client


def contents(s3: Any) -> dict[str, str]:
    keys = [found["Key"] for found in s3.list_objects_v2(Bucket="orders").get("Contents", ())]
    objects = {key: s3.get_object(Bucket="orders", Key=key)["Body"].read() for key in keys}
    return {key: body.decode() for key, body in objects.items()}


def test_s3_gets_an_object_for_each_batch(page, local, s3):
    local.getConfig().setElementsPerBatch(2)
    local.fromData("a", "b", "c").sinkTo(page["S3Lines"]("orders", "2026"))
    local.execute()
    assert contents(s3) == {"2026/0-0.txt": "a\nb\n", "2026/1-0.txt": "c\n"}


def test_s3_shows_nothing_before_the_commit_and_takes_it_twice(page, s3):
    sink, context = page["S3Lines"]("orders", "2026"), BatchContext(TaskInfo("Writer"), 3)
    writer = sink.createWriter(context)
    writer.write("a", None)
    prepared = writer.prepareCommit()
    assert contents(s3) == {}
    for _ in range(2):
        commit("Writer", sink, prepared, context)
        assert contents(s3) == {"2026/3-0.txt": "a\n"}


@pytest.fixture
def forgets(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 answers NoSuchUpload for an upload that it knows no more, where moto raises a KeyError."""
    backend: Any = import_module("moto.s3.models").S3Backend
    unknown: Any = import_module("moto.s3.exceptions").NoSuchUpload
    complete = backend.complete_multipart_upload

    def checked(self: Any, bucket: str, upload: str, body: Any) -> Any:
        if upload not in self.get_bucket(bucket).multiparts:
            raise unknown(upload_id=upload)
        return complete(self, bucket, upload, body)

    monkeypatch.setattr(backend, "complete_multipart_upload", checked)


@pytest.mark.usefixtures("forgets")
@pytest.mark.parametrize("there", [True, False])
def test_an_upload_that_s3_has_forgotten_is_committed_only_if_its_object_is_there(page, s3, there):
    sink, context = page["S3Lines"]("orders", "2026"), BatchContext(TaskInfo("Writer"), 3)
    writer = sink.createWriter(context)
    writer.write("a", None)
    [upload] = prepared = writer.prepareCommit()
    s3.abort_multipart_upload(**{name: upload[name] for name in ("Bucket", "Key", "UploadId")})
    if there:
        s3.put_object(Bucket="orders", Key=upload["Key"], Body=b"a\n")
        commit("Writer", sink, prepared, context)
    else:
        with pytest.raises(UserFunctionError, match="404"):
            commit("Writer", sink, prepared, context)


# ---------------------------------------------------------------------- Redis


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A temporary server on a free port."""
    server = shutil.which("redis-server")
    if server is None or find_spec("redis") is None:
        reason = "it needs a Redis server and redis: make test-kafka installs both"
        assert "FLINKISH_TEST_SERVERS" not in os.environ, reason
        pytest.skip(reason)
    port = free_port()
    command = [server, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir"]
    directory: Path = tmp_path_factory.mktemp("redis")
    with subprocess.Popen([*command, str(directory)], stdout=subprocess.DEVNULL) as process:
        try:
            await_port(port)
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()


def await_port(port: int) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.02)


def totals(environment: StreamExecutionEnvironment, sink: Any) -> None:
    environment.getConfig().setElementsPerBatch(4)
    amounts = environment.fromCollection([(f"user-{n % 3}", n) for n in range(12)])
    amounts.keyBy(lambda a: a[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).sinkTo(sink)
    environment.execute()


TOTALS = {b"user-0": b"18", b"user-1": b"22", b"user-2": b"26"}


def test_redis_has_the_latest_total_of_each_user(page, local, redis_url):
    with page["redis"].Redis.from_url(redis_url) as client:
        for _ in range(2):  # the second run writes the same batches again
            totals(local, page["RedisHash"](redis_url, "local"))
            assert client.hgetall("local") == TOTALS


def test_workers_of_spark_write_to_redis(page, env, redis_url):
    totals(env, page["RedisHash"](redis_url, "spark"))
    with page["redis"].Redis.from_url(redis_url) as client:
        assert client.hgetall("spark") == TOTALS


# ---------------------------------------------------------------------- Elasticsearch


class Index(ThreadingHTTPServer):
    """Takes documents as Elasticsearch's bulk interface does, and refuses those with a text as amount."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Bulk)
        self.documents: dict[str, Any] = {}
        self.requests = 0


class Bulk(BaseHTTPRequestHandler):
    server: Index

    def do_POST(self) -> None:
        assert self.path == "/orders/_bulk"
        assert self.headers["Content-Type"] == "application/x-ndjson"
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert body.endswith(b"\n")
        lines = [json.loads(line) for line in body.splitlines()]
        self.server.requests += 1
        items = [
            self.index(lines[n]["index"]["_id"], lines[n + 1]) for n in range(0, len(lines), 2)
        ]
        errors = any("error" in item["index"] for item in items)
        answer = json.dumps({"took": 1, "errors": errors, "items": items}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def index(self, number: str, document: Any) -> dict[str, Any]:
        if not isinstance(document["amount"], int):
            error = {"type": "mapper_parsing_exception", "reason": "failed to parse field [amount]"}
            return {"index": {"_id": number, "status": 400, "error": error}}
        self.server.documents[number] = document
        return {"index": {"_id": number, "status": 201}}

    def log_message(self, *args: Any) -> None:
        """Nothing is logged."""


@pytest.fixture
def index() -> Iterator[Index]:
    with Index() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def test_documents_are_indexed_by_their_ids(page, local, index):
    orders = [{"id": f"o{n % 6000}", "amount": n} for n in range(6001)]
    sink = page["Documents"](f"http://127.0.0.1:{index.server_port}", "orders")
    local.fromCollection(orders).sinkTo(sink)
    local.execute()
    assert index.documents == {order["id"]: order for order in orders}
    assert index.requests == 2


def test_a_refused_document_fails_the_job(page, local, index):
    sink = page["Documents"](f"http://127.0.0.1:{index.server_port}", "orders")
    local.fromData({"id": "a", "amount": 1}, {"id": "b", "amount": "much"}).sinkTo(sink)
    with pytest.raises(UserFunctionError, match="mapper_parsing_exception"):
        local.execute()


# ---------------------------------------------------------------------- Delta and Iceberg

ORDERS = [{"user": name, "amount": amount} for amount, name in enumerate("abcdefgh")]


class DeltaOrders:
    """An empty table of Delta's."""

    def __init__(self, page: dict[str, Any], directory: Path) -> None:
        self.page, self.path = page, str(directory / "table")
        page["DeltaTable"].create(self.path, COLUMNS)

    def sink(self, application: str) -> Any:
        return self.page["DeltaRows"](self.path, application)

    def rows(self) -> list[dict[str, Any]]:
        found = self.page["DeltaTable"](self.path).to_pyarrow_table().to_pylist()
        return sorted(found, key=lambda row: row["amount"])

    def commits(self) -> int:
        # The first one created the table
        return len(self.page["DeltaTable"](self.path).history()) - 1


class IcebergOrders:
    """An empty table of Iceberg's, in a catalog in a file."""

    def __init__(self, page: dict[str, Any], directory: Path) -> None:
        uri, warehouse = f"sqlite:///{directory}/catalog.db", f"file://{directory}"
        self.page = page
        self.catalog = {"type": "sql", "uri": uri, "warehouse": warehouse}
        catalog = page["load_catalog"]("flinkish", **self.catalog)
        catalog.create_namespace("shop")
        catalog.create_table("shop.orders", COLUMNS)

    def sink(self, application: str) -> Any:
        return self.page["IcebergRows"](self.catalog, "shop.orders", application)

    def rows(self) -> list[dict[str, Any]]:
        found = self.sink("").open().scan().to_arrow().to_pylist()
        return sorted(found, key=lambda row: row["amount"])

    def commits(self) -> int:
        return len(self.sink("").open().history())


COLUMNS = pa.schema([("user", pa.string()), ("amount", pa.int64())])


@pytest.fixture(params=[DeltaOrders, IcebergOrders])
def orders(request: pytest.FixtureRequest, page: dict[str, Any], tmp_path: Path) -> Any:
    return request.param(page, tmp_path)


def test_a_table_gets_a_commit_for_each_batch(orders, local):
    local.getConfig().setElementsPerBatch(3)
    local.fromCollection(ORDERS).sinkTo(orders.sink("job"))
    local.execute()
    assert orders.rows() == ORDERS
    assert orders.commits() == 3


def test_a_table_knows_a_batch_that_comes_again(orders):
    def write(sink: Any, batch: int, rows: list[dict[str, Any]]) -> None:
        context = BatchContext(TaskInfo("Writer"), batch)
        prepared = []
        for row in rows:
            writer = sink.createWriter(context)
            writer.write(row, None)
            prepared += writer.prepareCommit()
        commit("Writer", sink, prepared, context)

    for _ in range(2):
        # Other files each time, as after a crash between the commit and the note of it
        write(orders.sink("job"), 0, ORDERS[:2])
    assert orders.rows() == ORDERS[:2]
    write(orders.sink("job"), 1, ORDERS[2:3])
    write(orders.sink("another job"), 0, ORDERS[3:4])
    write(orders.sink("job"), 1, ORDERS[4:])
    assert orders.rows() == ORDERS[:4]


@pytest.mark.recovery
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_table_has_all_rows_once_after_a_batch_that_failed(orders, env, tmp_path, elsewhere):
    """The commit of the second batch is done, and its note in the checkpoint is not. The job goes on from there, or
    begins ``elsewhere``."""
    broken = [True]

    def job(environment: StreamExecutionEnvironment, directory: str = "checkpoint") -> None:
        environment.enableCheckpointing(str(tmp_path / directory))
        environment.getConfig().setElementsPerBatch(4)
        sink = orders.sink("job")
        rows = environment.fromCollection(ORDERS).uid("orders").keyBy(lambda row: row["user"])
        rows.map(lambda row: row).uid("rows").sinkTo(sink).uid("table")
        committer = sink.createCommitter

        def breaks(context: Any) -> Any:
            made = committer(context)
            commit_ = made.commit

            def commit_and_break(requests: Any) -> None:
                commit_(requests)
                if context.getBatchId() == 1 and broken.pop():
                    raise OSError("power cut")

            made.commit = commit_and_break
            return made

        sink.createCommitter = breaks
        environment.execute()

    with pytest.raises(UserFunctionError, match="power cut"):
        job(env.setParallelism(2))
    assert orders.rows() == ORDERS
    broken.append(False)
    again = StreamExecutionEnvironment.getExecutionEnvironment(env._sparkSession)
    if elsewhere:
        again.setSavepoint(str(tmp_path / "checkpoint")).setParallelism(3)
        job(again, "elsewhere")
    else:
        job(again.setParallelism(2))
    assert orders.rows() == ORDERS
    assert orders.commits() == 2
