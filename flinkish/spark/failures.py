"""Translates the exceptions that Spark raises when a job fails into flinkish's own errors."""

from __future__ import annotations

import itertools
import re
import sys
from typing import TYPE_CHECKING

from flinkish.api import errors
from flinkish.api.errors import FlinkishError
from flinkish.deployment.source_lines import with_source_lines
from flinkish.spark.session.drivers import driver_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OURS = re.compile(r"^flinkish\.api\.errors\.(\w+): (.*?)$", re.MULTILINE)
# Raised when files of RocksDB, changelogs, or logs of sources cannot be read
_DAMAGED = re.compile(r"\[CANNOT_LOAD_STATE_STORE[\w.]*\][^\n]*|Failed to read log file [^\n]*")
_MALFORMED = re.compile(r"Malformed records are detected in record parsing: .*?\]\.")
# Spark's message, which may be empty, when a worker or the planner of a source is gone
_PROCESS_ENDED = re.compile(
    r"Python worker exited unexpectedly"
    r"|terminated with exception: *(?:Broken pipe|Stream closed|Connection reset[^\n]*?)? *(?:SQLSTATE|$)"
)
_NOT_CONNECTED = re.compile(
    "Python worker failed to connect back|Timed out while waiting for the Python worker"
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n.*", re.DOTALL)


def session_error(
    session: SparkSession, error: BaseException, elementsHidden: bool
) -> BaseException:
    """The error to raise for ``error``: that the driver is gone, else ``translated``."""
    driver = driver_of(session)
    return driver.goneError() if driver.isGone() else translated(error, elementsHidden)


def translated(error: BaseException, elementsHidden: bool = False) -> BaseException:
    """``error`` as an error of flinkish, with the lines of the worker's traceback in user code as a note.

    Its class is that of the error raised in the worker, so ``except UserFunctionError`` works. With
    ``elementsHidden`` it has only flinkish's own message, as other messages may quote elements.
    """
    result = _translated(error, elementsHidden)
    if elementsHidden:
        result.__cause__ = None
        result.__suppress_context__ = True
        result.__dict__.pop("__notes__", None)
    return result


def _translated(error: BaseException, elementsHidden: bool) -> BaseException:
    if isinstance(error, FlinkishError):
        return error
    text = str(error)
    trace = _worker_traceback(text)
    found = list(_OURS.finditer(text))
    if found:
        name, message = found[-1].groups()
        kind = getattr(errors, name, FlinkishError)
        result = _with_message(kind, message)
        for line in itertools.takewhile(_is_note, text[found[-1].end() :].splitlines()[1:]):
            result.add_note(line.split(" SQLSTATE: ")[0])
        trace = _without_internals(trace)
        if not trace:
            return result
    elif missing := _NOT_STARTED.search(trace):
        return errors.InvalidProgramError(
            f"the workers' Python has no module {missing.group(1)}, which the job needs. If they run"
            f" another Python than this one, set PYSPARK_PYTHON={sys.executable} before the"
            " SparkSession is built; on a cluster, install the module where they run."
        )
    elif malformed := _MALFORMED.search(text):
        said = "." if elementsHidden else f"; Spark says: {malformed.group()}"
        result = errors.MalformedRecordError(
            f"a source has a record that does not fit its schema{said}"
            " Fix the file or the schema, or pass mode='PERMISSIVE' to FileSource, which reads None"
            " where a value does not fit."
        )
        trace = ""
    elif damage := _DAMAGED.search(text):
        result = errors.CorruptCheckpointError(
            f"a file of the checkpoint cannot be read; Spark says: {damage.group().strip()} A file in"
            " query/state or query/sources of the checkpoint directory is damaged or missing: restore the"
            " directory from a copy, or begin anew with another one."
        )
        trace = ""
    elif _NOT_CONNECTED.search(text):
        return errors.JobExecutionError(
            "the job failed: a Python process that Spark started has not connected to it for ten seconds"
            f"{_java_cause(text)}. Either that Python does not start: set PYSPARK_PYTHON={sys.executable} before"
            " the SparkSession is built. Or the machine is busy: run fewer tasks at a time"
            " (env.setParallelism(n), and .master('local[n]')). Or a firewall or VPN blocks connections from"
            " the machine to itself: set spark.python.unix.domain.socket.enabled to true on the"
            " SparkSession."
        )
    elif _PROCESS_ENDED.search(text):
        result = errors.JobExecutionError(
            "the job failed: one of its Python processes has ended without a word. It was killed, perhaps"
            " since the machine ran out of memory, or crashed in the native code of a library; the"
            " machine's log may say more. A job with enableCheckpointing(directory) goes on after its"
            " last batch."
        )
        trace = ""
    else:
        last = (trace.splitlines() or text.strip().splitlines() or [type(error).__name__])[
            -1 if trace else 0
        ]
        if elementsHidden:
            last = f"{type(error).__name__} (its message is hidden)"
        result = errors.JobExecutionError(f"the job failed: {last}")
    if trace:
        result.add_note(f"In the worker:\n{with_source_lines(trace.strip())}")
    result.__cause__ = error if not trace else None
    return result


def _is_note(line: str) -> bool:
    """Whether a line after an error's message is one of its notes."""
    return bool(line.strip()) and _SPARKS_LINE.match(line) is None


def _java_cause(text: str) -> str:
    """The cause of Spark's exception according to Java, in parentheses; empty if none."""
    causes = re.findall(r"^Caused by: (.*?)\s*$", text, re.MULTILINE)
    return f" ({causes[-1]})" if causes else ""


def _worker_traceback(text: str) -> str:
    """The last traceback in Spark's message, with the causes of its exception."""
    found = _TRACEBACK.search(text)
    if found is None:
        return ""
    kept: list[str] = []
    for line in found.group().splitlines():
        if _SPARKS_LINE.match(line):
            break
        kept.append(line.split(" SQLSTATE: ")[0])
    trace = "\n".join(kept).strip().rpartition(_IN_THE_WORKER)[2].strip()
    # The exception of the user function comes first; the rest is internal to flinkish and Spark.
    return trace.partition(_CAUSE)[0].strip()


def _without_internals(trace: str) -> str:
    """``trace`` without the frames of Spark, flinkish and Arrow; empty if there are no others."""
    head, *frames = re.split(r'^(?=  File ")', trace, flags=re.MULTILINE)
    kept = [frame for frame in frames if not _INTERNAL.match(frame)]
    if not kept:
        return ""
    # The exception itself follows the last frame, without indent.
    raised = re.search(r"^\S.*", frames[-1], re.MULTILINE | re.DOTALL)
    last = "" if frames[-1] is kept[-1] or raised is None else raised.group()
    return head + "".join(kept) + last


_INTERNAL = re.compile(
    r'  File "(?:.*/pyspark/|.*/flinkish/(?:api|compat|graph|runtime|spark)/|pyarrow/'
    r"|.*/contextlib\.py)"
)
# Spark's workers unpickle the job before its first element.
_NOT_STARTED = re.compile(
    r"loads\(.*^ModuleNotFoundError: No module named (\S+)$", re.MULTILINE | re.DOTALL
)
_IN_THE_WORKER = "An exception was thrown from the Python worker:"
_CAUSE = "The above exception was the direct cause of the following exception:"
_SPARKS_LINE = re.compile(r"\s+at [\w.$/]+\(|\s*SQLSTATE: |=== |JVM stacktrace")


def _with_message(kind: type[FlinkishError], message: str) -> FlinkishError:
    """An error of a subclass of ``kind`` with exactly that message."""
    members = {"__init__": _no_fields, "__str__": _only_message, "__module__": kind.__module__}
    remote: type[FlinkishError] = type(kind.__name__, (kind,), members)
    error = remote()
    error.args = (message,)
    return error


def _no_fields(self: FlinkishError) -> None:
    FlinkishError.__init__(self)


def _only_message(self: FlinkishError) -> str:
    return str(self.args[0])
