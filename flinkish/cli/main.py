"""``python -m flinkish``: runs, lists, stops and explains jobs, as Flink's ``bin/flink`` does."""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NoReturn

from flinkish.api.environment.configuration import Configuration
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import FlinkishError, IllegalStateError
from flinkish.cli import azure
from flinkish.cli.doctor import examine
from flinkish.cli.project import create
from flinkish.cli.run_directory import Program, programs, registered
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.summary import SavepointSummary
from flinkish.web.server import WebServer

if TYPE_CHECKING:
    from flinkish.api.execution.client import JobClient
    from flinkish.api.execution.executor import Plan
    from flinkish.api.plan.transformations import SinkTransformation
    from flinkish.api.savepoint.queries import StateQuery
    from flinkish.api.savepoint.writer import SavepointChanges
    from flinkish.api.streams.data_stream import DataStream

_RUNNING = ("RUNNING", "RESTARTING")
_POLL_SECONDS = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    own = list(sys.argv[1:] if arguments is None else arguments)
    programs_own: list[str] = []
    if "--" in own:
        own, programs_own = own[: own.index("--")], own[own.index("--") + 1 :]
    given = _parser().parse_args(own)
    if given.name in _OPTIONS:
        _take_options_after_script(given)
        given.arguments += programs_own
        if not os.path.isfile(given.script):
            print(f"flinkish {given.name}: there is no file {given.script}.", file=sys.stderr)
            return 1
    try:
        return int(given.command(given) or 0)
    except FlinkishError as error:
        if given.shows_traceback:
            raise
        print(f"flinkish {given.name}: {error}", file=sys.stderr)
        return 1


def _called() -> str:
    """How the user has called this: by the script or the module."""
    return "flinkish" if os.path.basename(sys.argv[0]) == "flinkish" else "python -m flinkish"


def _version() -> str:
    try:
        return version("flinkish")
    except PackageNotFoundError:
        return "unknown"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=_called(), description="Runs flinkish jobs.")
    parser.add_argument("--version", action="version", version=f"flinkish {_version()}")
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run the jobs of a program")
    _add_run_options(run)
    _add_program(run)
    run.set_defaults(command=_run, shows_traceback=True)

    listed = commands.add_parser("list", help="the jobs of this user that `run` has started")
    listed.add_argument("--all", "-a", action="store_true", help="also those that have ended")
    listed.set_defaults(command=_list, shows_traceback=False)

    stop = commands.add_parser("stop", help="stop a job after its batch, to go on later")
    stop.add_argument("job", help="its id or the beginning of it, or its name")
    stop.add_argument("--cancel", action="store_true", help="do not wait for the end of the batch")
    stop.set_defaults(command=_stop, shows_traceback=False)

    cancel = commands.add_parser("cancel", help="stop a job at once: `stop --cancel`")
    cancel.add_argument("job", help="its id or the beginning of it, or its name")
    cancel.set_defaults(command=_stop, cancel=True, shows_traceback=False)

    explain = commands.add_parser(
        "explain", help="show what a program would run, without running it"
    )
    _add_explain_options(explain)
    _add_program(explain)
    explain.set_defaults(command=_explain, shows_traceback=True)

    savepoint = commands.add_parser("savepoint", help="show what is in a savepoint")
    savepoint.add_argument("directory", help="a path, or a URI such as s3://bucket/savepoint")
    savepoint.add_argument("--check", action="store_true", help="compare all checksums first")
    savepoint.add_argument("--json", action="store_true", help="as JSON")
    savepoint.set_defaults(command=_savepoint, shows_traceback=False)

    doctor = commands.add_parser("doctor", help="try what jobs need on this machine")
    doctor.add_argument(
        "--checkpoint", metavar="DIR", help="a directory for checkpoints, to try too"
    )
    doctor.add_argument("--no-job", action="store_true", help="do not run a small job on Spark")
    doctor.set_defaults(command=_doctor, shows_traceback=False)

    query = commands.add_parser("azure", help="run a query of Azure Stream Analytics over files")
    azure.add_arguments(query)
    query.set_defaults(command=azure.run, shows_traceback=False)

    new = commands.add_parser("new", help="write a small typed project with a test")
    new.add_argument("directory")
    new.set_defaults(command=_new, shows_traceback=False)
    return parser


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", metavar="DIR", help="where to go on from after a restart")
    parser.add_argument(
        "--fromSavepoint", "-s", metavar="DIR", help="the savepoint that the jobs begin from"
    )
    parser.add_argument(
        "--allowNonRestoredState",
        "-n",
        action="store_true",
        help="drop the state of operators that a job has no more",
    )
    parser.add_argument(
        "--web",
        nargs="?",
        type=int,
        const=0,
        metavar="PORT",
        help="say where the web page is, at that port or a free one",
    )
    parser.add_argument(
        "--parallelism", "-p", type=int, metavar="N", help="the default parallelism"
    )


def _add_explain_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON, similar to Flink's")


_OPTIONS = {"run": _add_run_options, "explain": _add_explain_options}

_WITH_VALUE = ("--checkpoint", "--fromSavepoint", "--parallelism", "-p")
_WITH_NUMBER_OR_NONE = ("--web",)
_WITHOUT_VALUE = ("--json", "--allowNonRestoredState")


def _take_options_after_script(given: argparse.Namespace) -> None:
    """Options of the command may also follow the script directly; what begins with another argument is
    the program's."""
    parser = argparse.ArgumentParser(prog=f"{_called()} {given.name}", add_help=False)
    _OPTIONS[given.name](parser)
    arguments, taken = given.arguments, 0
    while taken < len(arguments):
        option, assigned, _ = arguments[taken].partition("=")
        if option not in (*_WITH_VALUE, *_WITH_NUMBER_OR_NONE, *_WITHOUT_VALUE):
            break
        taken += 1
        is_number = taken < len(arguments) and arguments[taken].isdecimal()
        if not assigned and (
            option in _WITH_VALUE or (option in _WITH_NUMBER_OR_NONE and is_number)
        ):
            taken += 1
    parser.parse_args(arguments[:taken], given)
    given.arguments = arguments[taken:]


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", help="the file of the program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the arguments of the program")


# ---------------------------------------------------------------------- run


def _run(given: argparse.Namespace) -> None:
    options: dict[str, Any] = {}
    if given.checkpoint is not None:
        options["execution.checkpointing.dir"] = given.checkpoint
    if given.fromSavepoint is not None:
        options["execution.state-recovery.path"] = given.fromSavepoint
        options["execution.state-recovery.ignore-unclaimed-state"] = given.allowNonRestoredState
    if given.parallelism is not None:
        options["parallelism.default"] = given.parallelism
    web = WebServer(port=given.web or 0)
    if given.web is not None:
        print(f"The web page is at {web.url}", file=sys.stderr, flush=True)
    StreamExecutionEnvironment.contextConfiguration = Configuration(options)
    StreamExecutionEnvironment.contextWebUI = web
    try:
        with registered(Program(os.getpid(), given.script, web.address, web.token)):
            _run_script(given)
    finally:
        StreamExecutionEnvironment.contextConfiguration = None
        StreamExecutionEnvironment.contextWebUI = None
        web.close()


def _run_script(given: argparse.Namespace) -> None:
    """Run a file as ``python file`` does."""
    script = os.path.abspath(given.script)
    kept = sys.argv, sys.path[:]
    sys.argv = [given.script, *given.arguments]
    sys.path[0:0] = [os.path.dirname(script)]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = kept


# ---------------------------------------------------------------------- list and stop


@dataclass(frozen=True)
class _Job:
    program: Program
    jid: str
    name: str
    state: str
    startTime: int
    duration: int


def _jobs() -> Iterator[_Job]:
    for program in programs():
        try:
            found = program.asked("jobs/overview")["jobs"]
        except OSError:  # it is about to end
            continue
        for job in found:
            yield _Job(
                program,
                job["jid"],
                job["name"],
                job["state"],
                job["start-time"],
                job["duration"],
            )


def _list(given: argparse.Namespace) -> None:
    jobs = [job for job in _jobs() if given.all or job.state in _RUNNING]
    if not jobs:
        print("No job is running." if not given.all else "There is no job.")
    for job in sorted(jobs, key=lambda job: job.startTime):
        started = datetime.fromtimestamp(job.startTime / 1000).strftime("%Y-%m-%d %H:%M:%S")
        print(
            f"{started}  {job.jid}  {job.state:8}  {job.duration // 1000:6} s  {job.name}"
            f"  ({job.program.script}, process {job.program.pid}, {job.program.address})"
        )


def _stop(given: argparse.Namespace) -> None:
    job = _the_one(given.job)
    path = f"jobs/{job.jid}"
    if given.cancel:
        job.program.asked(f"{path}?mode=cancel", "PATCH")
    else:
        try:
            job.program.asked(f"{path}/stop", "POST")
        except IllegalStateError as error:
            raise IllegalStateError(f"{job.name}: {error} Or stop it with --cancel.") from None
    try:
        # The program may end with its job, and no longer answer
        while (status := job.program.asked(path)["state"]) in _RUNNING:
            time.sleep(_POLL_SECONDS)
        directory = job.program.asked(f"{path}/checkpoints/config")["checkpoint_storage"]
    except OSError:
        print(f"{job.name} ({job.jid}) has stopped.")
        return
    if status == "FAILED":
        raise IllegalStateError(f"{job.name} ({job.jid}) has failed before it could be stopped.")
    goes_on = f" A later run goes on from {directory}." if directory else ""
    print(f"{job.name} ({job.jid}) has stopped.{goes_on}")


def _the_one(wanted: str) -> _Job:
    running = [job for job in _jobs() if job.state in _RUNNING]
    found = [job for job in running if job.name == wanted or job.jid.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise IllegalStateError(
            f"several jobs are {wanted!r}: {', '.join(job.jid for job in found)}. Say which by its id."
        )
    raise IllegalStateError(
        f"no job {wanted!r} is running that this user has started with `python -m flinkish run`; `list`"
        " shows those that are."
    )


# ---------------------------------------------------------------------- explain, savepoint and new


class _Explained(BaseException):
    """Ends a program at the point where its job would start."""


class _Explainer:
    """Takes the place of the executor: shows the plan of the first job and ends the program."""

    def __init__(self, json: bool) -> None:
        loader = StreamExecutionEnvironment.executorLoader
        assert loader is not None
        self._planner = loader()
        self._json = json

    def executeAsync(
        self,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        jobName: str,
    ) -> JobClient:
        plan = self._planner.plan(environment, sinks)
        print(plan.asJson() if self._json else f"{jobName}\n{plan.asText()}")
        raise _Explained

    def toDataFrame(
        self, environment: StreamExecutionEnvironment, stream: DataStream[Any], schema: Any
    ) -> NoReturn:
        raise IllegalStateError(
            "explain: the program makes a DataFrame of its stream, whose query Spark explains."
        )

    def plan(
        self, environment: StreamExecutionEnvironment, sinks: Sequence[SinkTransformation]
    ) -> Plan:
        return self._planner.plan(environment, sinks)

    def readSavepoint(
        self, environment: StreamExecutionEnvironment, savepointPath: str, query: StateQuery
    ) -> Any:
        return self._planner.readSavepoint(environment, savepointPath, query)

    def writeSavepoint(
        self,
        environment: StreamExecutionEnvironment,
        changes: SavepointChanges,
        savepointPath: str,
    ) -> None:
        raise IllegalStateError(
            "explain: the program writes a savepoint, and has no job to explain."
        )


def _explain(given: argparse.Namespace) -> int:
    explainer = _Explainer(given.json)
    loader = StreamExecutionEnvironment.executorLoader
    StreamExecutionEnvironment.executorLoader = staticmethod(lambda: explainer)
    try:
        _run_script(given)
    except _Explained:
        return 0
    finally:
        StreamExecutionEnvironment.executorLoader = loader
    print("flinkish explain: the program ended without a job.", file=sys.stderr)
    return 1


def _savepoint(given: argparse.Namespace) -> None:
    directory = SavepointDirectory("savepoint", given.directory)
    if given.check:
        metadata = directory.readMetadata()
        directory.check(metadata)
        print(
            f"{directory.path}: all {len(metadata.fields['files'])} file(s) are as they were written.",
            file=sys.stderr,
        )
    summary = SavepointSummary.of(directory)
    print(json.dumps(summary.asDict(), indent=1) if given.json else "\n".join(summary.lines()))


def _doctor(given: argparse.Namespace) -> int:
    failed = 0
    for finding in examine(given.checkpoint, not given.no_job):
        print(finding, flush=True)
        failed += bool(finding.fix)
    print(f"{failed} to mend." if failed else "All that jobs need is there.")
    return 1 if failed else 0


def _new(given: argparse.Namespace) -> None:
    path = create(given.directory)
    print(f"{path} is there. Its README says how to test and to run it.")
