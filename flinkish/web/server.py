"""``WebServer``: serves the page of running jobs and their REST interface, from the driver.

By default it binds to this machine's loopback address, where reading needs no token. Any call that
changes something needs the token, in the header ``Authorization``, which no other site's page can
send. On any other address every call for data needs it.
"""

from __future__ import annotations

import atexit
import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from flinkish.api.arguments import instance
from flinkish.api.display.job_drawing import JOB_STYLE, job_drawing
from flinkish.api.errors import FlinkishError, IllegalArgumentError
from flinkish.api.execution.client import JobClient
from flinkish.api.execution.details import JobDetails, VertexDetails
from flinkish.web import rest
from flinkish.web.archive import JobArchive, archived
from flinkish.web.executors import executors
from flinkish.web.flame_graph import flame_graph, profile
from flinkish.web.logs import ProgramLog
from flinkish.web.samples import CONTENT_TYPE, exposition
from flinkish.web.savepoints import SavepointRequests

JOBS_KEPT = 50
"""The number of finished jobs to show."""

_PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/index.html": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
}

_JSON = "application/json; charset=utf-8"
_KINDS = {"log": "text/plain; charset=utf-8", "graph.svg": "image/svg+xml"}
"""The kinds of documents that are not JSON, by the last part of their paths."""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_IDLE_SECONDS = 30


class WebServer:
    """The web page of the jobs that are added to it."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        archive: str | None = None,
    ) -> None:
        instance("enableWebUI", host, str, "Pass an address of this machine, such as '127.0.0.1'.")
        if token is not None and not token.isascii():
            raise IllegalArgumentError("enableWebUI: the token must be of ASCII characters only.")
        self._token = token or secrets.token_urlsafe(24)
        self._host = host
        self._jobs: dict[str, JobClient] = {}
        self._archive = None if archive is None else JobArchive(archive)
        self._archived: set[str] = set()
        self._archiving = threading.Lock()
        self._savepoints = SavepointRequests()
        self._batches: dict[str, rest.EncodedBatches] = {}
        self._lock = threading.Lock()
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            kind = type("_Server", (_Server,), {"address_family": family})
            self._server = kind((host, port), partial(_Handler, self))
        except (OSError, OverflowError) as error:
            raise IllegalArgumentError(
                f"enableWebUI: the web page cannot listen at {host}:{port}: {error}. Pass port=0 for"
                " one that is free, and an address of this machine as host."
            ) from None
        self._log = ProgramLog()
        if self._archive is not None:
            atexit.register(self._archive_ended)
        # So often does it look whether it is to end, for which a program that ends waits
        serve = partial(self._server.serve_forever, poll_interval=0.05)
        threading.Thread(target=serve, name="flinkish web page", daemon=True).start()

    @property
    def url(self) -> str:
        """The URL to open in a browser, with the token that allows stopping jobs."""
        return f"{self.address}/#token={self._token}"

    @property
    def address(self) -> str:
        """The URL without the token, for Prometheus for instance."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._server.server_address[1]}"

    @property
    def token(self) -> str:
        """The token."""
        return self._token

    @property
    def isLoopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self._host == "localhost":
            return True
        try:
            return ip_address(self._host).is_loopback
        except ValueError:
            return False

    def addJob(self, client: JobClient) -> None:
        """Show a job from now on."""
        with self._lock:
            self._jobs[client.getJobID()] = client
            ended = [
                jid for jid, c in self._jobs.items() if c.getJobStatus().isGloballyTerminalState()
            ]
            for jid in ended[:-JOBS_KEPT]:
                del self._jobs[jid]
                self._batches.pop(jid, None)
        if self._archive is not None:
            threading.Thread(target=self._archive_at_end, args=(client,), daemon=True).start()

    def close(self) -> None:
        """Stop serving the page."""
        self._log.close()
        self._archive_ended()
        atexit.unregister(self._archive_ended)
        self._server.shutdown()
        self._server.server_close()

    def isTokenOf(self, given: str) -> bool:
        """Whether ``given`` equals the token."""
        return hmac.compare_digest(given.encode(), self._token.encode())

    def isOwnName(self, host: str) -> bool:
        """Whether a request for ``host`` is meant for this server. Another site whose name resolves to this machine
        (DNS rebinding) would send its own name."""
        name = urlsplit(f"//{host}").hostname or ""
        return not self.isLoopback or name in ("localhost", "127.0.0.1", "::1", self._host)

    # ------------------------------------------------------------------ jobs that have ended

    def _archive_at_end(self, client: JobClient) -> None:
        with suppress(BaseException):
            client.getJobExecutionResult()
        self._archive_ended()

    def _archive_ended(self) -> None:
        """Archive the jobs that have ended; also called when the program ends, as daemon threads may be stopped
        before."""
        if self._archive is None:
            return
        with self._lock:
            clients = list(self._jobs.items())
        with self._archiving:  # at the end of the program, wait for a thread that is writing
            for jid, client in clients:
                ended = client.getJobStatus().isGloballyTerminalState()
                if ended and jid not in self._archived:
                    self._archive.write(jid, self._documents(jid, client.getJobDetails()))
                    self._archived.add(jid)

    def _documents(self, jid: str, found: JobDetails) -> dict[str, Any]:
        vertices = [vertex.id for vertex in found.vertices]
        documents = archived(self.document, jid, vertices, list(found.operators))
        return {**documents, "/jobs/overview": rest.jobs_overview([found])}

    def archivedDocument(self, path: list[str]) -> Any:
        """The document of a job of an earlier program. Raises LookupError if there is none."""
        if self._archive is None or (len(path) > 1 and path[1] in self._jobs):
            raise LookupError(f"there is nothing at /{'/'.join(path)}")
        return self._archive.document("/" + "/".join(path))

    # ------------------------------------------------------------------ answers

    def jobs(self) -> list[JobDetails]:
        """All jobs, the last first."""
        with self._lock:
            clients = list(self._jobs.values())
        return [client.getJobDetails() for client in reversed(clients)]

    def document(self, path: list[str], query: Mapping[str, str] = MappingProxyType({})) -> Any:
        """The document at ``path``: a text, or what JSON encodes. Raises LookupError if there is none."""
        match path:
            case ["jobmanager", "log"]:
                return self._log.text()
            case ["jobs", jid, "details"]:
                return self._details(jid, query.get("batches"))
            case ["jobs", jid, "graph.svg"]:
                return job_drawing(self._job(jid))
            case ["config"]:
                return rest.config(flinkish_version())
            case ["overview"]:
                return rest.overview(self.jobs(), flinkish_version())
            case ["jobs"]:
                return {"jobs": [{"id": j.jid, "status": j.status.value} for j in self.jobs()]}
            case ["jobs", "overview"]:
                known = rest.jobs_overview(self.jobs())["jobs"]
                earlier = () if self._archive is None else self._archive.overviews()
                here = {job["jid"] for job in known}
                return {"jobs": [*known, *(job for job in earlier if job["jid"] not in here)]}
            case ["logs"]:
                after = query.get("after", "")
                lines = self._log.after(int(after) if after.isdecimal() else 0)
                return {"lines": [vars(line) for line in lines]}
            case ["jobs", jid, "executors"]:
                found = self._job(jid)
                return {
                    **executors(found.engineUI),
                    "workers": [vars(worker) for worker in found.workers],
                }
            case ["jobs", jid, "vertices", uid, "flamegraph"]:
                details = self._job(jid)
                return flame_graph(details, _vertex(details, uid).id)
            case ["jobs", jid]:
                return rest.job(self._job(jid))
            case ["jobs", jid, "metrics"]:
                return rest.selected(rest.job_metrics(self._job(jid)), query.get("get"))
            case ["jobs", jid, "savepoints", trigger]:
                return self._savepoints.document(self._job(jid).jid, trigger)
            case ["jobs", jid, "checkpoints", "config"]:
                return rest.checkpoint_config(self._job(jid))
            case ["jobs", jid, name] if name in _OF_A_JOB:
                return _OF_A_JOB[name](self._job(jid))
            case ["jobs", jid, "operators", uid, "batches"]:
                return rest.operator_batches(self._job(jid), uid)
            case ["jobs", jid, "vertices", uid]:
                details = self._job(jid)
                return rest.vertex(details, _vertex(details, uid))
            case ["jobs", jid, "vertices", uid, "watermarks"]:
                return rest.watermarks(_vertex(self._job(jid), uid))
            case ["jobs", jid, "vertices", uid, "metrics"]:
                values = rest.vertex_metrics(_vertex(self._job(jid), uid))
                return rest.selected(values, query.get("get"))
        raise LookupError(f"there is nothing at /{'/'.join(path)}")

    def _details(self, jid: str, number: str | None) -> str:
        """``/jobs/:jobid/details`` as JSON, with the last ``number`` batches, or all."""
        found = self._job(jid)
        first = max(len(found.batches) - int(number), 0) if number and number.isdecimal() else 0
        with self._lock:
            encoded = self._batches.setdefault(jid, rest.EncodedBatches())
            batches = encoded.of(found.batches[first:])
        return f'{_encoded(rest.everything(found))[:-1]},"batches":{batches}}}'

    def cancel(self, jid: str) -> dict[str, Any]:
        """``PATCH /jobs/:jobid``."""
        self._client(jid).cancelSoon()
        return {}

    def profile(self, jid: str) -> dict[str, Any]:
        """``POST /jobs/:jobid/profile``."""
        self._client(jid).profileBatch()
        return {}

    def stop(self, jid: str, body: dict[str, Any]) -> dict[str, Any]:
        """``POST /jobs/:jobid/stop``."""
        client, directory = self._client(jid), _directory(body, "targetDirectory")
        if body.get("drain"):
            raise IllegalArgumentError("drain is not supported: stop the job without.")
        if directory is None and client.getJobDetails().checkpoint.directory is None:
            raise IllegalArgumentError(
                "the job has no checkpoint directory to go on from: cancel it, or call"
                " env.enableCheckpointing(directory) before it starts."
            )
        return self._savepoints.start(jid, partial(client.stopWithSavepoint, directory))

    def savepoint(self, jid: str, body: dict[str, Any]) -> dict[str, Any]:
        """``POST /jobs/:jobid/savepoints``."""
        client, directory = self._client(jid), _directory(body, "target-directory")
        if directory is None:
            raise IllegalArgumentError(
                "there is no default directory for savepoints: name one by target-directory."
            )
        write = client.stopWithSavepoint if body.get("cancel-job") else client.triggerSavepoint
        return self._savepoints.start(jid, partial(write, directory))

    def _client(self, jid: str) -> JobClient:
        with self._lock:
            if jid not in self._jobs:
                raise LookupError(f"Job {jid} not found")
            return self._jobs[jid]

    def _job(self, jid: str) -> JobDetails:
        return self._client(jid).getJobDetails()


_OF_A_JOB: dict[str, Callable[[JobDetails], Any]] = {
    "plan": rest.plan,
    "checkpoints": rest.checkpoints,
    "exceptions": rest.exceptions,
    "config": rest.job_config,
    "profile": profile,
}


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores browsers that close the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    wbufsize = (
        -1
    )  # head and body are sent together: sent apart, each answer waits 40 ms for an acknowledgement
    disable_nagle_algorithm = True
    server_version = "flinkish"
    sys_version = ""

    def __init__(self, web: WebServer, *arguments: Any) -> None:
        self._web = web
        super().__init__(*arguments)

    def do_GET(self) -> None:
        path, query = self._asked()
        if not self._is_meant():
            return
        if path in _PAGE:
            name, kind = _PAGE[path]
            self._send(HTTPStatus.OK, _asset(name), kind)
        elif self._is_allowed(query, changes=False):
            self._answer(partial(self._data, path, query))

    def _data(self, path: str, query: dict[str, str]) -> None:
        if path == "/metrics":
            self._send(HTTPStatus.OK, exposition(self._web.jobs()).encode(), CONTENT_TYPE)
            return
        parts = _parts(path)
        try:
            document = self._web.document(parts, query)
        except LookupError as error:
            try:
                document = self._web.archivedDocument(parts)
            except LookupError:
                raise error from None
        if isinstance(document, str):
            self._send(HTTPStatus.OK, document.encode(), _KINDS.get(parts[-1], _JSON))
        else:
            self._json(HTTPStatus.OK, document)

    def do_POST(self) -> None:
        path, query = self._asked()
        # Read, as the next request follows it on the same connection
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 16))
        if not self._is_meant() or not self._is_allowed(query, changes=True):
            return
        web = self._web
        match self.command, _parts(path):
            case "PATCH", ["jobs", jid] if query.get("mode", "cancel") == "cancel":
                self._answer(lambda: self._json(HTTPStatus.ACCEPTED, web.cancel(jid)))
            case "POST", ["jobs", jid, "stop"]:
                self._answer(lambda: self._json(HTTPStatus.ACCEPTED, web.stop(jid, _fields(body))))
            case "POST", ["jobs", jid, "profile"]:
                self._answer(lambda: self._json(HTTPStatus.ACCEPTED, web.profile(jid)))
            case "POST", ["jobs", jid, "savepoints"]:
                self._answer(
                    lambda: self._json(HTTPStatus.ACCEPTED, web.savepoint(jid, _fields(body)))
                )
            case _:
                self._error(HTTPStatus.NOT_FOUND, f"there is no {self.command} of {path}")

    do_PATCH = do_POST

    def _asked(self) -> tuple[str, dict[str, str]]:
        url = urlsplit(self.path)
        return url.path, {name: values[-1] for name, values in parse_qs(url.query).items()}

    def _is_meant(self) -> bool:
        if self._web.isOwnName(self.headers.get("Host", "")):
            return True
        self._error(HTTPStatus.MISDIRECTED_REQUEST, "the request is for another host")
        return False

    def _is_allowed(self, query: dict[str, str], changes: bool) -> bool:
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        if (kind == "Bearer" and self._web.isTokenOf(given)) or (
            self._web.isLoopback and not changes
        ):
            return True
        self._error(
            HTTPStatus.UNAUTHORIZED,
            "the token is missing: open the whole url that enableWebUI() gave, or send it in the"
            " header Authorization: Bearer TOKEN",
        )
        return False

    def _answer(self, answer: Callable[[], None]) -> None:
        try:
            answer()
        except LookupError as error:
            self._error(HTTPStatus.NOT_FOUND, str(error.args[0]))
        except FlinkishError as error:
            self._error(HTTPStatus.BAD_REQUEST, str(error))

    def _error(self, status: HTTPStatus, message: str) -> None:
        self._json(status, {"errors": [message]})

    def _json(self, status: HTTPStatus, document: Any) -> None:
        self._send(status, _encoded(document).encode(), _JSON)

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Logs nothing, as the page sends a request every second."""


def _encoded(document: Any) -> str:
    return json.dumps(document, default=str, separators=(",", ":"))


def _fields(body: bytes) -> dict[str, Any]:
    """The fields in the body of a request, which may be empty."""
    with suppress(ValueError):
        fields = json.loads(body or b"{}")
        if isinstance(fields, dict):
            return fields
    raise IllegalArgumentError(
        'the body of the request is no JSON object such as {"target-directory": "/data/savepoint"}.'
    )


def _directory(body: dict[str, Any], name: str) -> str | None:
    directory = body.get(name)
    if directory is not None and not isinstance(directory, str):
        raise IllegalArgumentError(f"{name} is {directory!r}: it must be a text.")
    return directory or None


def _parts(path: str) -> list[str]:
    """The parts of a path; ``/api`` and Flink's ``/v1`` before it may be left out."""
    parts = [unquote(part) for part in path.split("/") if part]
    while parts and parts[0] in ("api", "v1"):
        parts = parts[1:]
    return parts


def _vertex(details: JobDetails, uid: str) -> VertexDetails:
    for vertex in details.vertices:
        if vertex.id == uid:
            return vertex
    raise LookupError(f"the job {details.jid} has no vertex {uid}")


def _asset(name: str) -> bytes:
    content = (resources.files("flinkish.web") / "static" / name).read_bytes()
    return content + JOB_STYLE.encode() if name == "style.css" else content


def flinkish_version() -> str:
    """The version of flinkish that is installed."""
    try:
        return version("flinkish")
    except PackageNotFoundError:
        return "unknown"
