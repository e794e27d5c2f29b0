"""``python -m flinkish``: runs, lists, stops and explains jobs, as Flink's ``bin/flink`` does."""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from flinkish.api.environment.configuration import Configuration
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import FlinkishError, IllegalArgumentError, IllegalStateError
from flinkish.cli import atlas, azure
from flinkish.cli.completion import SHELLS, completion
from flinkish.cli.doctor import examine
from flinkish.cli.jobs import (
    abort_transactions_of,
    cancel_job,
    list_jobs,
    running_jobs,
    stop_job,
    the_job,
    trigger_savepoint,
)
from flinkish.cli.project import create
from flinkish.cli.run_directory import Program, registered
from flinkish.deployment.savepoint.files import SavepointDirectory
from flinkish.deployment.savepoint.summary import SavepointSummary
from flinkish.spark.session.quiet_logs import LOGGING
from flinkish.web.server import WebServer, flinkish_version

if TYPE_CHECKING:
    from flinkish.api.execution.client import JobClient
    from flinkish.api.plan.transformations import SinkTransformation


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    own = list(sys.argv[1:] if arguments is None else arguments)
    programs_own: list[str] = []
    if "--" in own:
        own, programs_own = own[: own.index("--")], own[own.index("--") + 1 :]
    runs_script = own[:1] in (["run"], ["explain"])
    given = _parser(_called()).parse_args(_options_first(own) if runs_script else own)
    if runs_script:
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
    """How the user called the command line: by the script or the module."""
    return "flinkish" if os.path.basename(sys.argv[0]) == "flinkish" else "python -m flinkish"


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="Runs flinkish jobs.")
    parser.add_argument("--version", action="version", version=f"flinkish {flinkish_version()}")
    parser.set_defaults(shows_traceback=False)
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run the jobs of a program")
    _add_run_options(run)
    _add_program(run)
    run.set_defaults(command=_run, shows_traceback=True)

    listed = commands.add_parser("list", help="list the jobs of this user that `run` has started")
    listed.add_argument(
        "--all",
        "-a",
        action="store_true",
        help="also those that have ended in programs that still run",
    )
    listed.set_defaults(command=lambda given: list_jobs(given.all))

    stop = commands.add_parser("stop", help="stop a job after its batch, to continue later")
    stop.add_argument("job", help="its id or the beginning of it, or its name")
    how = stop.add_mutually_exclusive_group()
    how.add_argument("--cancel", action="store_true", help="do not wait for the end of the batch")
    how.add_argument(
        "--savepointPath",
        "-p",
        metavar="DIR",
        help="write a savepoint there: a new directory or URI",
    )
    stop.set_defaults(command=_stop)

    cancel = commands.add_parser("cancel", help="stop a job at once: `stop --cancel`")
    which = cancel.add_mutually_exclusive_group(required=True)
    which.add_argument("job", nargs="?", help="its id or the beginning of it, or its name")
    which.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="instead, abort the transactions that the job of this checkpoint left open in Kafka when it was killed",
    )
    _add_property(cancel)
    cancel.set_defaults(command=_cancel)

    explain = commands.add_parser(
        "explain", help="show what a program would run, without running it"
    )
    explain.add_argument("--json", action="store_true", help="as JSON, similar to Flink's")
    _add_program(explain)
    explain.set_defaults(command=_explain, shows_traceback=True)

    savepoint = commands.add_parser(
        "savepoint", help="write a savepoint of a running job, or show one"
    )
    savepoint.add_argument("job", nargs="?", help="the job to write one of: its name or id")
    savepoint.add_argument("directory", help="a path, or a URI such as s3://bucket/savepoint")
    savepoint.add_argument("--check", action="store_true", help="compare all checksums first")
    savepoint.add_argument("--json", action="store_true", help="as JSON")
    savepoint.add_argument(
        "--keys", metavar="N", type=int, default=0, help="of each state the N largest keys"
    )
    savepoint.set_defaults(command=_savepoint)

    doctor = commands.add_parser("doctor", help="check what jobs need on this machine")
    doctor.add_argument(
        "--checkpoint", metavar="DIR", help="also check a directory for checkpoints"
    )
    _add_property(doctor)
    doctor.add_argument("--no-job", action="store_true", help="do not run a small job on Spark")
    doctor.set_defaults(command=_doctor)

    logging = commands.add_parser(
        "logging", help="print the URI of the settings that keep Spark's logs off the screen"
    )
    logging.set_defaults(command=lambda _: print(LOGGING.as_uri()))

    pipeline = commands.add_parser("atlas", help="run a pipeline of MongoDB Atlas over files")
    atlas.add_arguments(pipeline)
    pipeline.set_defaults(command=atlas.run)
    query = commands.add_parser("azure", help="run a query of Azure Stream Analytics over files")
    azure.add_arguments(query)
    query.set_defaults(command=azure.run)

    new = commands.add_parser("new", help="write a small typed project with a test")
    new.add_argument("directory")
    for option, adds in (
        ("kafka", "the same job between topics of Kafka"),
        ("notebook", "a notebook that shows the job"),
        ("docker", "an image to run the job in; with --kafka also a broker"),
    ):
        new.add_argument(
            f"--{option}", dest="options", action="append_const", const=option, help=f"add {adds}"
        )
    new.set_defaults(command=_new)

    completed = commands.add_parser(
        "completion", help="print a script that completes commands in a shell"
    )
    completed.add_argument("shell", choices=SHELLS)
    completed.set_defaults(
        command=lambda given: print(completion(_parser("flinkish"), given.shell)),
    )
    return parser


_TOKEN = "FLINKISH_WEB_TOKEN"


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", metavar="DIR", help="the checkpoint directory")
    parser.add_argument(
        "--fromSavepoint", "-s", metavar="DIR", help="the savepoint that the jobs begin from"
    )
    parser.add_argument(
        "--allowNonRestoredState",
        "-n",
        action="store_true",
        help="drop the state of operators that are gone",
    )
    parser.add_argument(
        "--allowRepeatedOutput",
        action="store_true",
        help="do not finish the batch in which the job of the checkpoint -s was killed; write it again",
    )
    parser.add_argument(
        "--web",
        nargs="?",
        type=int,
        const=0,
        metavar="PORT",
        help="print the URL of the web page, at that port or a free one",
    )
    parser.add_argument(
        "--host",
        metavar="HOST",
        help="the address at which the web page listens instead of this machine's loopback; there every request"
        f" needs the token in {_TOKEN}, or a random one",
    )
    parser.add_argument(
        "--parallelism", "-p", type=int, metavar="N", help="the default parallelism"
    )


_WITH_VALUE = ("--checkpoint", "--fromSavepoint", "--parallelism", "-p", "-s", "--host")
_AFTER_SCRIPT = (
    *("--checkpoint", "--fromSavepoint", "--parallelism", "-p", "--web"),
    *("--json", "--allowNonRestoredState", "--allowRepeatedOutput"),
)
"""Programs may have ``-s``, ``-n`` and ``--host`` themselves."""


def _options_first(arguments: list[str]) -> list[str]:
    """``arguments`` with the options that directly follow the script put before it; the program
    gets all from the first other one on."""
    command, *rest = arguments
    before = _taken(rest, lambda option: option.startswith("-"))
    script, rest = rest[:1], rest[1:]
    after = _taken(rest, lambda option: option in _AFTER_SCRIPT)
    return [command, *before, *after, *script, *rest]


def _taken(arguments: list[str], takes: Callable[[str], bool]) -> list[str]:
    """Take the options that ``arguments`` begin with. A ``--web`` without a port gets port 0, as
    argparse would take the script for the port."""
    taken = []
    while arguments and takes(arguments[0].partition("=")[0]):
        option = arguments.pop(0)
        if "=" not in option and _names(option, ("--web",)):
            has_port = bool(arguments) and arguments[0].isdecimal()
            option = f"{option}={arguments.pop(0) if has_port else 0}"
        taken.append(option)
        if "=" not in option and _names(option, _WITH_VALUE):
            taken += arguments[:1]
            del arguments[:1]
    return taken


def _names(option: str, options: Sequence[str]) -> bool:
    """Whether ``option`` is one of ``options``, or the beginning of one as argparse allows it."""
    begins = len(option) > 2 and option.startswith("--")
    return option in options or (begins and any(each.startswith(option) for each in options))


def _add_property(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--property",
        dest="properties",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_property,
        help="a property with which Kafka's client logs in, as the sink has it",
    )


def _property(given: str) -> tuple[str, str]:
    name, assigned, value = given.partition("=")
    if not assigned:
        # Not shown, as it may be a password
        raise argparse.ArgumentTypeError("there is no = in it, as in security.protocol=SASL_SSL")
    return name, value


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
        options["execution.state-recovery.allow-repeated-output"] = given.allowRepeatedOutput
    if given.parallelism is not None:
        options["parallelism.default"] = given.parallelism
    # With the token from the environment, a page stays reachable when the program is restarted, as in a container
    web = WebServer(given.host or "127.0.0.1", given.web or 0, os.environ.get(_TOKEN))
    if given.web is not None or given.host is not None:
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


# ---------------------------------------------------------------------- running jobs


def _stop(given: argparse.Namespace) -> None:
    job = the_job(given.job)
    if given.cancel:
        cancel_job(job)
    else:
        stop_job(job, given.savepointPath)


def _cancel(given: argparse.Namespace) -> None:
    if given.checkpoint is not None:
        abort_transactions_of(given.checkpoint, dict(given.properties))
    else:
        cancel_job(the_job(given.job))


# ---------------------------------------------------------------------- explain, savepoint and new


class _Explained(BaseException):
    """Ends a program at the point where its job would start."""


class _Explainer:
    """Takes the place of the executor: shows the plan of the first job and ends the program."""

    def __init__(self, json: bool) -> None:
        loader = StreamExecutionEnvironment.executorLoader
        assert loader is not None
        planner = loader()
        self.plan = planner.plan
        self.readSavepoint = planner.readSavepoint
        self._json = json

    def executeAsync(
        self,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        jobName: str,
    ) -> JobClient:
        plan = self.plan(environment, sinks)
        print(plan.asJson() if self._json else f"{jobName}\n{plan.asText()}")
        raise _Explained

    def toDataFrame(self, *arguments: Any, **named: Any) -> NoReturn:
        raise IllegalStateError(
            "explain: the program makes a DataFrame of its stream, whose query Spark explains."
        )

    def writeSavepoint(self, *arguments: Any, **named: Any) -> NoReturn:
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
    if given.job is not None:
        if given.check or given.json or given.keys:
            raise IllegalArgumentError(
                "savepoint JOB DIRECTORY writes one; --check, --json and --keys go with DIRECTORY alone."
            )
        trigger_savepoint(the_job(given.job), given.directory)
        return
    if not os.path.exists(given.directory) and running_jobs(given.directory):
        raise IllegalArgumentError(
            f"{given.directory} is a running job. To write a savepoint of it, name a directory:"
            f" flinkish savepoint {shlex.quote(given.directory)} DIRECTORY."
        )
    directory = SavepointDirectory("savepoint", given.directory)
    if given.check:
        metadata = directory.readMetadata()
        directory.check(metadata)
        print(
            f"{directory.path}: all {len(metadata.fields['files'])} file(s) are as they were written.",
            file=sys.stderr,
        )
    summary = SavepointSummary.of(directory, given.keys)
    print(json.dumps(summary.asDict(), indent=1) if given.json else "\n".join(summary.lines()))


def _doctor(given: argparse.Namespace) -> int:
    failed = 0
    for finding in examine(given.checkpoint, not given.no_job, dict(given.properties)):
        print(finding, flush=True)
        failed += bool(finding.fix)
    print(f"{failed} to fix." if failed else "Everything that jobs need is there.")
    return 1 if failed else 0


def _new(given: argparse.Namespace) -> None:
    path = create(given.directory, given.options or ())
    print(f"Wrote {path}. Its README says how to test and to run it.")
