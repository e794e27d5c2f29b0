"""Planners decide what each batch reads from a source: files, numbers or a collection.

A *planner* makes the steps of a source. The plan log keeps them, and the planner continues after
them when the job restarts. The pieces of a step are divided among tasks and sent to the workers as
*descriptors*, texts in JSON. ``[3, "/in/a.csv", 0, 1000, 1000]``, for example, is part 3 of the
batch, a file with a range of its bytes, and the size of the file. The workers read the pieces
themselves.
"""

from __future__ import annotations

import copy
import glob
import json
import os
import re
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from flinkish.api.execution.read_progress import UNKNOWN_BACKLOG, ReadProgress, SourceBacklog
from flinkish.api.time.elements import MAX_TIMESTAMP

if TYPE_CHECKING:
    from flinkish.api.connectors.file_source import FileSource

Piece = Sequence[Any]
"""A file, a range of numbers or a frame, as texts and numbers for JSON."""

Task = list[Piece]
"""The pieces that one Spark task reads, in order. They are one slice of the source's channel."""


@dataclass(frozen=True)
class Step:
    """The pieces that one batch reads from a source. ``last``: the source ends with this step."""

    pieces: Sequence[Piece]
    last: bool = False


class SourcePlanner(ABC):
    """Plans the steps of a source. It may be pickled before it plans the first."""

    @abstractmethod
    def plan(self) -> Step | None:
        """The next step; None if there is nothing to read now or the source has ended."""

    @abstractmethod
    def restore(self, snapshot: list[Any] | None, steps: Iterable[Step]) -> None:
        """Continue after ``snapshot`` and the ``steps`` that follow it."""

    @abstractmethod
    def snapshot(self) -> list[Any]:
        """A summary of all steps so far, as a list of values for JSON."""

    @abstractmethod
    def position(self) -> dict[str, Any]:
        """The position at which the source continues after all steps so far, for a savepoint:
        values for JSON, without batches and without the directories of files."""

    @abstractmethod
    def begin(self, position: Mapping[str, Any]) -> None:
        """Begin at a position from a savepoint. Called before anything is planned or restored."""

    def backlog(self) -> SourceBacklog:
        """The amount in the steps so far, and the amount left at the last step."""
        return UNKNOWN_BACKLOG

    @abstractmethod
    def tasks(self, step: Step) -> list[Task]:
        """The pieces of a step, divided among tasks in order; always the same for a step."""

    def clear(self) -> None:
        """Called from time to time: remove files for steps that no batch will read again."""

    def freeze(self) -> None:
        """From now on, plan only input that exists now: all of that of bounded sources."""

    def descriptors(self, step: Step, firstPart: int) -> list[list[str]]:
        """The descriptors of a step, a list for each task. Each descriptor has the number of the
        part, counted from ``firstPart``, and the piece. A part without a piece means that the
        source has ended."""
        tasks = [
            [json.dumps([part, *piece]) for piece in task]
            for part, task in enumerate(self.tasks(step), firstPart)
        ]
        if step.last:
            end = json.dumps([firstPart + len(tasks)])
            tasks[-1:] = [[*(tasks[-1] if tasks else []), end]]
        return tasks


# ---- files -------------------------------------------------------------------------------------

SMALLEST_SPLIT = 1 << 20

LARGEST_SPLIT = 128 << 20

OPENING = 256 << 10
"""Opening a file costs as much as reading this many bytes."""


@dataclass(frozen=True)
class FileToRead:
    """A file that was found. ``changed`` is the time of its last change in ns."""

    changed: int
    path: str
    size: int


LISTING_PAUSE = 5
"""The pause before a directory is listed again, as a multiple of the time that the listing took."""

FRESH_SECONDS = 60
"""If a file was changed in this many seconds before it was planned, it may still be being written.
So it is checked for the same time afterwards."""

GROWTH_PAUSE = 1.0
"""The pause between two such checks in seconds."""


class FilePlanner(SourcePlanner):
    """Plans the files of ``source`` at the local ``path``, each once, the oldest first.

    ``path`` is a file, a directory with everything below it, or a pattern. Names that begin with
    ``_`` or ``.`` are skipped. A step has at most ``filesPerBatch`` files (None: all), and at most
    ``bytesPerBatch`` bytes unless it is a single file. Files that are more than ``maxFileAge`` ms
    older than the newest are skipped (None: no file is).

    If the source is not ``monitored``, it ends when all files have been read; if the job is
    restarted after that, it reads the files that are new. If it is ``monitored``, a file is planned
    as soon as it is not empty. If it grows afterwards, there is a warning, as the rest is not read.

    ``splits`` says whether the file of a path may be cut into ranges for several of the
    ``parallelism`` tasks.
    """

    def __init__(
        self, source: FileSource[Any], path: str, splits: Callable[[str], bool], parallelism: int
    ) -> None:
        self._path = path
        self._filesPerBatch = source.filesPerBatch
        self._bytesPerBatch = source.bytesPerBatch
        self._maxAge = source.maxFileAge
        self._monitored = source.monitored
        self._splits = splits
        self._parallelism = parallelism
        self._seen: set[str] = set()
        self._begun = 0
        """The number of files read before the savepoint that the job began with."""
        self._newest = 0
        self._waiting: list[FileToRead] = []
        self._ended = False
        self._had_ended = False
        self._frozen = False
        self._next_look = 0.0
        self._fresh: list[tuple[float, FileToRead]] = []
        """Files that may still be being written, each with the time at which its checks end."""
        self._next_growth_look = 0.0

    def plan(self) -> Step | None:
        if self._ended:
            return None
        if not self._waiting:
            self._look()
        if not self._waiting and (self._monitored or self._had_ended):
            return None
        count = self._next_count()
        files, self._waiting = self._waiting[:count], self._waiting[count:]
        self._take(files)
        if self._monitored:
            self._note_fresh(files)
        if not self._waiting and not self._monitored:
            # Marking this step as the last saves an empty batch
            self._look()
            self._ended = not self._waiting
        return Step([(file.changed, file.path, file.size) for file in files], self._ended)

    def _next_count(self) -> int:
        """The number of waiting files that go into the next step."""
        most = min(self._filesPerBatch or len(self._waiting), len(self._waiting))
        sizes = accumulate(file.size for file in self._waiting[:most])
        within = sum(1 for _ in takewhile(lambda size: size <= self._bytesPerBatch, sizes))
        return max(within, min(most, 1))

    @property
    def isOneStep(self) -> bool:
        """Whether all files that exist now fit into one step."""
        looked = copy.deepcopy(self)
        looked._look()
        return looked._next_count() == len(looked._waiting)

    def freeze(self) -> None:
        self._next_look = 0.0
        self._look()
        self._frozen = True

    def restore(self, snapshot: list[Any] | None, steps: Iterable[Step]) -> None:
        if snapshot is not None:
            (self._newest, self._had_ended), *paths = snapshot
            self._seen.update(paths)
        for step in steps:
            self._take([FileToRead(*piece) for piece in step.pieces])
            self._had_ended = step.last

    def snapshot(self) -> list[Any]:
        return [(self._newest, self._ended or self._had_ended), *self._seen]

    def position(self) -> dict[str, Any]:
        root = self._root() or "."
        return {
            "newest": self._newest,
            "seen": sorted(os.path.relpath(path, root) for path in self._seen),
        }

    def backlog(self) -> SourceBacklog:
        waiting = sum(file.size for file in self._waiting)
        if self._monitored:
            return SourceBacklog(pendingBytes=waiting)
        done = len(self._seen)
        progress = ReadProgress(done, done + len(self._waiting), "files", self._begun)
        return SourceBacklog(progress, pendingBytes=waiting)

    def begin(self, position: Mapping[str, Any]) -> None:
        root = self._root()
        self._newest = position["newest"]
        self._seen.update(os.path.join(root, path) for path in position["seen"])
        self._begun = len(self._seen)

    def _root(self) -> str:
        """The directory of the files. A savepoint has paths relative to it."""
        if not is_pattern(self._path):
            return self._path if os.path.isdir(self._path) else os.path.dirname(self._path)
        fixed = re.split(r"[*?\[{]", self._path, maxsplit=1)[0]
        return os.path.dirname(fixed)

    def tasks(self, step: Step) -> list[Task]:
        files = [FileToRead(*piece) for piece in step.pieces]
        weight = sum(file.size + OPENING for file in files)
        target = min(max(weight // self._parallelism, SMALLEST_SPLIT), LARGEST_SPLIT)
        tasks: list[Task] = [[]]
        room = target
        for file in files:
            start, splits = 0, self._splits(file.path)
            room -= OPENING
            while True:
                left = file.size - start
                if splits and left > room + SMALLEST_SPLIT // 2 and room >= SMALLEST_SPLIT // 4:
                    tasks[-1].append((file.path, start, room, file.size))
                    start += room
                elif left <= room + target // 4 or not tasks[-1]:
                    tasks[-1].append((file.path, start, left, file.size))
                    room -= left
                    break
                tasks.append([])
                room = target - OPENING
            if room < SMALLEST_SPLIT // 4:
                tasks.append([])
                room = target
        return [task for task in tasks if task]

    def _take(self, files: Sequence[FileToRead]) -> None:
        self._seen.update(file.path for file in files)
        self._newest = max([self._newest, *(file.changed for file in files)])

    def _look(self) -> None:
        """Find new files, and append them to those that wait to be planned."""
        began = time.monotonic()
        if self._frozen or (self._monitored and began < self._next_look):
            return
        self._look_for_growth(began)
        waiting = {file.path for file in self._waiting}
        found = [file for file in files_at(self._path, self._seen) if file.path not in waiting]
        if self._monitored:
            # A file that is being written is empty at first
            found = [file for file in found if file.size]
        if self._maxAge is not None:
            found = self._young(found)
        self._waiting += sorted(found, key=attrgetter("changed", "path"))
        # Spark asks a hundred times a second, and listing a large directory takes long
        ended = time.monotonic()
        self._next_look = ended + LISTING_PAUSE * (ended - began)

    def _note_fresh(self, files: Sequence[FileToRead]) -> None:
        until = time.monotonic() + FRESH_SECONDS
        oldest = time.time_ns() - FRESH_SECONDS * 1_000_000_000
        self._fresh += [(until, file) for file in files if file.changed > oldest]

    def _look_for_growth(self, now: float) -> None:
        """Warn about files whose size has changed since they were planned."""
        if not self._fresh or now < self._next_growth_look:
            return
        self._next_growth_look = now + GROWTH_PAUSE
        fresh, self._fresh = self._fresh, []
        for until, file in fresh:
            found = next(_file(file.path, file.path), None)
            if found is None:
                continue
            if found.size != file.size:
                warnings.warn(
                    f"FileSource of {self._path}: {file.path} had {file.size} bytes when it was read, and has"
                    f" {found.size} now. A file is read once, so what came later is not read. Let files appear"
                    " whole: write each under a name that begins with a dot, then rename it.",
                    RuntimeWarning,
                    stacklevel=2,
                )
            elif now < until:
                self._fresh.append((until, file))

    def _young(self, found: list[FileToRead]) -> list[FileToRead]:
        assert self._maxAge is not None
        newest = max([self._newest, *(file.changed for file in found)])
        young = [file for file in found if file.changed >= newest - self._maxAge * 1_000_000]
        if len(young) < len(found):
            kept = {file.path for file in young}
            self._seen.update(file.path for file in found if file.path not in kept)
            warnings.warn(
                f"FileSource of {self._path}: {len(found) - len(young)} files are older than the newest"
                f" by more than {self._maxAge} ms, and are not read: withMaxFileAge says so.",
                RuntimeWarning,
                stacklevel=2,
            )
        return young


def files_at(path: str, seen: set[str] | frozenset[str] = frozenset()) -> Iterator[FileToRead]:
    """The files at a path or pattern whose paths are not in ``seen``."""
    if not is_pattern(path):
        roots = [path]
    else:
        matches = (match for pattern in _alternatives(path) for match in glob.iglob(pattern))
        roots = sorted({match for match in matches if not _is_hidden(os.path.basename(match))})
    for root in roots:
        if os.path.isdir(root):
            yield from _files_below(root, seen)
        elif root not in seen:
            yield from _file(root, root)


def is_pattern(path: str) -> bool:
    """Whether ``path`` has the wildcards of Hadoop's patterns."""
    return re.search(r"[*?\[{]", path) is not None and not os.path.exists(path)


def _files_below(directory: str, seen: set[str] | frozenset[str]) -> Iterator[FileToRead]:
    try:
        entries = list(os.scandir(directory))
    except FileNotFoundError:
        return
    for entry in entries:
        if _is_hidden(entry.name):
            continue
        if entry.path not in seen:
            if entry.is_dir():
                yield from _files_below(entry.path, seen)
            else:
                yield from _file(entry, entry.path)


def _file(entry: os.DirEntry[str] | str, path: str) -> Iterator[FileToRead]:
    try:
        status = os.stat(entry) if isinstance(entry, str) else entry.stat()
    except FileNotFoundError:
        # The file was removed after the listing
        return
    yield FileToRead(status.st_mtime_ns, path, status.st_size)


def _is_hidden(name: str) -> bool:
    # A directory such as _year=2024 is a partition
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _alternatives(pattern: str) -> list[str]:
    """The alternatives of a pattern with ``{a,b}``, as patterns for Python's ``glob``."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern.replace("[^", "[!")]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [p for part in found.group(1).split(",") for p in _alternatives(before + part + after)]


# ---- numbers -----------------------------------------------------------------------------------

FEWEST_NUMBERS = 10_000
"""The fewest numbers that a task gets, unless there are no more."""


class NumberPlanner(SourcePlanner):
    """Plans the numbers from ``first`` to ``last``, with at most ``perBatch`` in a step."""

    def __init__(self, first: int, last: int, perBatch: int, parallelism: int) -> None:
        self._next = self._first = self._begun = first
        self._last = last
        self._perBatch = perBatch
        self._parallelism = parallelism
        self._ended = False

    def plan(self) -> Step | None:
        if self._ended:
            return None
        end = min(self._next + self._available(), self._last + 1)
        if end == self._next <= self._last:
            return None
        step = Step([(self._next, end - 1)] if end > self._next else [], end > self._last)
        self.restore(None, [step])
        return step

    def _available(self) -> int:
        return self._perBatch

    def restore(self, snapshot: list[Any] | None, steps: Iterable[Step]) -> None:
        if snapshot is not None:
            [[self._next, self._ended]] = snapshot
        for step in steps:
            for _, last in step.pieces:
                self._next = last + 1
            self._ended = step.last

    def snapshot(self) -> list[Any]:
        return [(self._next, self._ended)]

    def position(self) -> dict[str, Any]:
        return {"next": self._next}

    def begin(self, position: Mapping[str, Any]) -> None:
        # A source that has ended may have no position
        self._next = self._begun = position.get("next", self._next)

    def backlog(self) -> SourceBacklog:
        total, left = self._last - self._first + 1, self._last + 1 - self._next
        if self._last >= MAX_TIMESTAMP - 1:
            return UNKNOWN_BACKLOG
        done, before = self._next - self._first, self._begun - self._first
        return SourceBacklog(ReadProgress(done, total, "records", before), left)

    def tasks(self, step: Step) -> list[Task]:
        tasks: list[Task] = []
        for first, last in step.pieces:
            each = max(-(-(last - first + 1) // self._parallelism), FEWEST_NUMBERS)
            starts = range(first, last + 1, each)
            tasks += ([(start, min(start + each - 1, last))] for start in starts)
        return tasks


class RatedNumberPlanner(NumberPlanner):
    """Plans the numbers from ``first`` to ``last``, ``perSecond`` of them in each second of the
    clock. The time for which the job is stopped does not count: after a restart, the numbers
    continue at the same rate."""

    def __init__(
        self,
        first: int,
        last: int,
        perSecond: int,
        parallelism: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(first, last, perSecond, parallelism)
        self._clock = clock
        self._began: tuple[float, int] | None = None
        self._frozen_at: float | None = None

    def freeze(self) -> None:
        self._available()
        self._frozen_at = self._clock()

    def _available(self) -> int:
        now = self._clock() if self._frozen_at is None else self._frozen_at
        if self._began is None:
            self._began = now, self._next
        since, first = self._began
        # The first number comes at once
        return max(first + 1 + int((now - since) * self._perBatch) - self._next, 0)


class FramePlanner(SourcePlanner):
    """Plans the frames of a collection. Each line of the file ``index`` has the pieces of a step,
    and the number of elements up to its end."""

    def __init__(self, index: str, parallelism: int) -> None:
        self._index = index
        self._parallelism = parallelism
        self._next = 0
        self._first = 0
        self._steps: list[dict[str, Any]] | None = None

    def plan(self) -> Step | None:
        steps = self._read()
        if self._next >= len(steps):
            return None
        self._next += 1
        return Step(steps[self._next - 1]["frames"], self._next == len(steps))

    def _read(self) -> list[dict[str, Any]]:
        if self._steps is None:
            with open(self._index, encoding="utf-8") as lines:
                self._steps = [json.loads(line) for line in lines]
        return self._steps

    def position(self) -> dict[str, Any]:
        return {"next": self._read()[self._next - 1]["elements"] if self._next else self._first}

    def backlog(self) -> SourceBacklog:
        end, done = self._read()[-1]["elements"], self.position()["next"]
        return SourceBacklog(ReadProgress(done, end, "records", self._first), end - done)

    def begin(self, position: Mapping[str, Any]) -> None:
        # The index has only the elements after that position
        self._first = position["next"]

    def restore(self, snapshot: list[Any] | None, steps: Iterable[Step]) -> None:
        if snapshot is not None:
            [self._next] = snapshot
        self._next += sum(1 for _ in steps)

    def snapshot(self) -> list[Any]:
        return [self._next]

    def tasks(self, step: Step) -> list[Task]:
        each = -(-len(step.pieces) // self._parallelism) or 1
        return [
            list(step.pieces[start : start + each]) for start in range(0, len(step.pieces), each)
        ]
