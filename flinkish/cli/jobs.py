"""The commands for running jobs: ``list``, ``stop``, ``cancel`` and ``savepoint JOB DIRECTORY``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from flinkish.api.errors import IllegalStateError
from flinkish.cli.run_directory import Program, programs
from flinkish.deployment.open_transactions import transactional_sinks
from flinkish.deployment.savepoint.files import SavepointDirectory

_RUNNING = ("RUNNING", "RESTARTING")
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class RunningJob:
    """A job of a running program; the job itself may have ended."""

    program: Program
    jid: str
    name: str
    state: str
    startTime: int
    duration: int

    @property
    def runs(self) -> bool:
        """Whether the job still runs."""
        return self.state in _RUNNING

    @property
    def path(self) -> str:
        """The job's path in the REST interface of its program."""
        return f"jobs/{self.jid}"

    def __str__(self) -> str:
        return f"{self.name} ({self.jid})"


def jobs() -> Iterator[RunningJob]:
    """The jobs of all programs that answer."""
    for program in programs():
        try:
            found = program.asked("jobs/overview")["jobs"]
        except OSError:  # the program is about to end
            continue
        for job in found:
            yield RunningJob(
                program=program,
                jid=job["jid"],
                name=job["name"],
                state=job["state"],
                startTime=job["start-time"],
                duration=job["duration"],
            )


def list_jobs(withEnded: bool) -> None:
    """Print the jobs that run, and those that have ended in programs that still run."""
    found = sorted(jobs(), key=lambda job: job.startTime)
    running = [job for job in found if job.runs]
    for job in running:
        _print_job(job, "started", job.startTime)
    if not running:
        print("No job is running.")
    ended = [job for job in found if not job.runs]
    if withEnded and ended:
        print("Ended, in programs that still run:")
        for job in ended:
            _print_job(job, "ended", job.startTime + job.duration)


def _print_job(job: RunningJob, what: str, timestamp: int) -> None:
    at = datetime.fromtimestamp(timestamp / 1000).strftime("%Y-%m-%d %H:%M:%S")
    print(
        f"{what} {at}  {job.jid}  {job.state:8}  {job.duration // 1000:6} s  {job.name}"
        f"  ({job.program.script}, process {job.program.pid}, {job.program.address})"
    )


def running_jobs(wanted: str) -> list[RunningJob]:
    """The running jobs with that name, or with an id that begins with it."""
    running = (job for job in jobs() if job.runs)
    return [job for job in running if job.name == wanted or job.jid.startswith(wanted)]


def the_job(wanted: str) -> RunningJob:
    """The running job of that name or id. Raises IllegalStateError if there is none, or there are
    several."""
    found = running_jobs(wanted)
    if len(found) == 1:
        return found[0]
    if found:
        raise IllegalStateError(
            f"several jobs are {wanted!r}: {', '.join(job.jid for job in found)}. Say which by its id."
        )
    raise IllegalStateError(
        f"no job {wanted!r} is running that this user has started with `flinkish run`; `flinkish list` shows"
        " those that are."
    )


def abort_transactions_of(checkpoint: str, properties: Mapping[str, str]) -> None:
    """Abort the transactions that the job of a checkpoint has left open in Kafka, and say so."""
    sinks = transactional_sinks("cancel", checkpoint)
    for sink in sinks:
        count = sink.abort(properties)
        print(
            f"What the sink {sink.name!r} had left open at {sink.servers} is aborted: {count} transactional"
            f" id(s) {sink.prefix}-writer-N."
        )
    if not sinks:
        print(f"The job of {checkpoint} has no KafkaSink with EXACTLY_ONCE.")


def cancel_job(job: RunningJob) -> None:
    """Cancel a job, and wait until it has ended."""
    job.program.asked(f"{job.path}?mode=cancel", "PATCH")
    try:
        while job.program.asked(job.path)["state"] in _RUNNING:
            time.sleep(_POLL_SECONDS)
        directory = job.program.asked(f"{job.path}/checkpoints/config")["checkpoint_storage"]
    except OSError:  # the program has ended with its job
        directory = None
    except IllegalStateError:  # it runs locally, without checkpoints
        directory = None
    goes_on = f" A later run goes on from {directory}." if directory else ""
    print(f"{job} has stopped.{goes_on}")


def stop_job(job: RunningJob, savepoint: str | None) -> None:
    """Stop a job after its batch, with a savepoint if a directory for one is given."""
    directory = None if savepoint is None else _absolute(savepoint)
    try:
        location = _written(job, f"{job.path}/stop", {"targetDirectory": directory})
    except IllegalStateError as error:
        raise IllegalStateError(
            f"{error} Or stop it with --savepointPath DIR, or with --cancel."
        ) from None
    if directory is not None:
        if (
            location is None
        ):  # the program has ended with its job: whether it is whole shows in the directory
            SavepointDirectory("stop", directory).readMetadata()
        print(f"{job} has stopped. A later run begins from its savepoint {directory}.")
    else:
        print(
            f"{job} has stopped." + (f" A later run goes on from {location}." if location else "")
        )


def trigger_savepoint(job: RunningJob, savepoint: str) -> None:
    """Write a savepoint of a job, which keeps running."""
    directory = _absolute(savepoint)
    if _written(job, f"{job.path}/savepoints", {"target-directory": directory}) is None:
        raise IllegalStateError(f"{job} has ended, and wrote no whole savepoint {directory}.")
    print(f"The savepoint {directory} of {job} is written.")


def _written(job: RunningJob, path: str, body: dict[str, str | None]) -> str | None:
    """The directory of the requested savepoint, once it is written; None if the program ended before it answered."""
    trigger = job.program.asked(path, "POST", body)["request-id"]
    try:
        while True:
            answer = job.program.asked(f"{job.path}/savepoints/{trigger}")
            if answer["status"]["id"] == "COMPLETED":
                break
            time.sleep(_POLL_SECONDS)
    except OSError:
        return None
    failure = answer["operation"].get("failure-cause")
    if failure is not None:
        raise IllegalStateError(f"{job}: {failure['stack-trace']}")
    return str(answer["operation"]["location"])


def _absolute(directory: str) -> str:
    """A path made absolute, as the program may have another working directory; a URI is
    unchanged."""
    return directory if "://" in directory else os.path.abspath(directory)
