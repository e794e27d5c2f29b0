"""Reads a user's source: its generator, with the position after each element.

The generator runs in a thread of one process and is read ahead of the batches. The elements of a
batch are first written to a file of frames, and the position after them goes into the plan log with
the step. So a batch that is run again has the same elements, even if the source could not emit them
again, and the generator continues after the last planned element.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from flinkish.api.arguments import instance, time_in_millis
from flinkish.api.connectors.function_source import FunctionSource
from flinkish.api.connectors.source import Source
from flinkish.api.errors import (
    CorruptCheckpointError,
    NotSupportedError,
    UnfitElementError,
    hide_elements,
    shown,
)
from flinkish.api.functions.functions import RichFunction
from flinkish.api.functions.runtime_context import OpenContext, RuntimeContext, TaskInfo
from flinkish.api.functions.source_function import SourceFunction
from flinkish.api.program_classes import current_classes, use_classes
from flinkish.api.stored_values import as_text, of_text
from flinkish.api.time.elements import StreamRecord, Watermark, WatermarkStatus
from flinkish.runtime.formats.base import ReadResult
from flinkish.runtime.records.copies import ATOMS, copied
from flinkish.runtime.records.frames import (
    Frame,
    Marks,
    MarksBuilder,
    SplitMark,
    decode_frame,
    encode_frame,
)
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, timestamps_of
from flinkish.runtime.records.user_code import user_method_of
from flinkish.runtime.sources.planners import SourcePlanner, Step, Task

if TYPE_CHECKING:
    from pyarrow import fs

_LOG = logging.getLogger("flinkish")

ELEMENTS_A_BATCH = 100_000
"""The most elements of a batch, unless the user sets another number. As many are read ahead."""

ELEMENTS_A_FRAME = 10_000

_FRAMES = ".frames"

_RETAINED = 200
"""The number of files of frames to keep: as many as the plan log keeps steps."""


@dataclass(frozen=True)
class Portion:
    """The part of a source that a batch takes: the records and the watermarks among them, the
    position after them, and whether the source has ended."""

    records: Records
    watermarks: Marks
    position: Any
    last: bool


class ReadAhead:
    """Runs the generator of ``source`` in a thread, from ``position`` on, up to ``most`` elements
    ahead. From an unbounded source, a batch takes the elements that have arrived. From a bounded
    one it takes ``most`` elements, so that its batches do not depend on its speed."""

    def __init__(self, name: str, source: Source[Any], position: Any, most: int) -> None:
        self.name = source.name if isinstance(source, FunctionSource) else name
        self._source = source
        self.bounded = source.bounded
        """Whether the source is bounded."""
        self._position = position
        self._most = most
        self._read: deque[tuple[Any, int, Any]] = deque()
        self._ended = False
        self._error: BaseException | None = None
        self._room = threading.Event()
        self._room.set()
        self._closed = False
        # A context variable says whether elements are hidden in errors
        context = copy_context()
        threading.Thread(
            target=context.run, args=(self._run, source), name=f"read() of {name}", daemon=True
        ).start()

    @property
    def waiting(self) -> int:
        """The number of elements read ahead."""
        return len(self._read)

    def take(self, most: int | None = None) -> Portion | None:
        """The next portion, with at most ``most`` elements; None if there is none yet. Raises the
        error of the source after all elements before it have been taken."""
        ended = self._ended
        count = min(len(self._read), self._most if most is None else most)
        if not ended and (count == 0 or (self.bounded and count < self._most)):
            return None
        if count == 0 and self._error is not None:
            raise self._error
        values: list[Any] = []
        timestamps: list[int] = []
        marks = MarksBuilder()
        for _ in range(count):
            value, timestamp, self._position = self._read.popleft()
            if type(value) is Watermark:
                marks.addWatermark(len(values), value.timestamp)
                continue
            values.append(value)
            timestamps.append(timestamp)
        self._room.set()
        last = ended and self._error is None and not self._read
        records = Records(values, timestamps_of(timestamps))
        return Portion(records, marks.build(), self._position, last)

    def close(self) -> None:
        self._closed = True
        self._room.set()
        if not self._ended:
            with suppress(Exception):  # nobody needs the elements any more
                cancel_source(self._source)

    def _run(self, source: Source[Any]) -> None:
        try:
            if isinstance(source, FunctionSource):
                with user_method_of(self.name, "run()"):
                    run_source_function(source, self._append)
                return
            with user_method_of(self.name, "read()"):
                elements = iter(source.read(self._position))
                try:
                    self._append_all(elements)
                finally:
                    close = getattr(elements, "close", None)
                    if close is not None:
                        close()
        except BaseException as error:
            self._error = error
        finally:
            self._ended = True

    def _append_all(self, elements: Iterator[Any]) -> None:
        for element in elements:
            if type(element) is not tuple or len(element) != 2:
                raise UnfitElementError(
                    f"read() yielded {shown(element)}, which is not a pair. Write yield element,"
                    " position, where position is what read(position) gets to go on after that"
                    " element.",
                    self.name,
                )
            value, position = element
            self._read_one(value, position)
            if self._closed:
                return

    def _append(self, value: Any) -> None:
        """Take an element of a SourceFunction, which has no position."""
        if not self._closed:
            self._read_one(value, None)
        if self._closed:
            raise Cancelled

    def _read_one(self, value: Any, position: Any) -> None:
        timestamp = NO_TIMESTAMP
        if type(value) is StreamRecord:
            value, given = value.value, value.timestamp
            timestamp = NO_TIMESTAMP if given is None else given
        # Copied, as the generator may change the element later
        value = value if type(value) in ATOMS else copied(value)
        position = position if type(position) in ATOMS else copied(position)
        self._read.append((value, timestamp, position))
        if len(self._read) >= self._most:
            self._room.clear()
            # A batch may have taken elements before the room was cleared
            if len(self._read) >= self._most and not self._closed:
                self._room.wait()


@dataclass(frozen=True)
class FrameFiles:
    """Files of frames in a directory: of this machine, or of pyarrow's file system."""

    directory: str
    system: fs.FileSystem | None = None

    def write(self, name: str, frames: Iterable[bytes]) -> list[tuple[str, int, int]]:
        """Write a new file. Returns the path, start and length of each frame."""
        path = f"{self.directory}/{name}"
        if self.system is not None:
            # An object appears only when it is complete
            with self.system.open_output_stream(path) as stream:
                return _written(path, stream, frames)
        os.makedirs(self.directory, exist_ok=True)
        with open(path, "wb") as file:
            places = _written(path, file, frames)
            file.flush()
            os.fsync(file.fileno())
        return places

    def read(self, path: str, start: int, length: int) -> Frame:
        return decode_frame(self.content(path, start, length), stored=True)

    def content(self, path: str, start: int, length: int) -> bytes:
        with open(path, "rb") if self.system is None else self.system.open_input_file(path) as file:
            file.seek(start)
            data: bytes = file.read(length)
        if len(data) < length:
            raise CorruptCheckpointError(
                f"the file {path} of the checkpoint ends before byte {start + length}, where elements of a"
                " source were. Restore it from a copy, or begin anew with another checkpoint directory."
            )
        return data

    def removeUpTo(self, step: int) -> None:
        for name in self._names():
            if name.endswith(_FRAMES) and int(name.partition("-")[0]) <= step:
                if self.system is None:
                    Path(self.directory, name).unlink(missing_ok=True)
                else:
                    self.system.delete_file(f"{self.directory}/{name}")

    def _names(self) -> list[str]:
        if self.system is None:
            return os.listdir(self.directory) if os.path.isdir(self.directory) else []
        from pyarrow import fs

        found = self.system.get_file_info(fs.FileSelector(self.directory, allow_not_found=True))
        return [file.base_name for file in found]


def _written(path: str, file: Any, frames: Iterable[bytes]) -> list[tuple[str, int, int]]:
    places, end = [], 0
    for frame in frames:
        file.write(frame)
        places.append((path, end, len(frame)))
        end += len(frame)
    return places


@dataclass(eq=False, repr=False)
class UserSourcePlanner(SourcePlanner):
    """Plans the elements that a user's source emits, and writes them to ``frames``. ``source`` is
    the pickled source. The first piece of a step has the number of the step and the position after
    it. Each other piece is a frame: a file, and the place of the frame in it."""

    name: str
    source: bytes
    frames: FrameFiles
    perBatch: int | None
    parallelism: int
    elementsHidden: bool = False

    def __post_init__(self) -> None:
        self._most = self.perBatch or ELEMENTS_A_BATCH
        self._classes = current_classes()
        self._number = 0
        self._position = as_text(None)
        self._ended = False
        self._began_ended = False
        self._frozen: int | None = None
        self._reading: ReadAhead | None = None

    def plan(self) -> Step | None:
        if self._ended:
            return None
        if self._began_ended:
            self._number, self._ended = self._number + 1, True
            return Step([(self._number, self._position)], last=True)
        hide_elements(self.elementsHidden)
        reading = self._reader()
        portion = reading.take(self._frozen)
        if portion is None:
            return None
        if self._frozen is not None:
            self._frozen -= len(portion.records) + len(portion.watermarks)
        self._number += 1
        self._position = as_text(portion.position)
        self._ended = portion.last
        if portion.last and not reading.bounded:
            _LOG.warning(
                "%s has ended. The job goes on, as the source does not say that it is bounded: let bounded be True, or pass"
                " bounded=True to addSource, and the job ends with it.",
                reading.name,
            )
        some = len(portion.records) or len(portion.watermarks)
        # A planner may outlive its killed job for a moment, and must not write to the next one's file
        file = f"{self._number:012d}-{uuid.uuid4().hex}{_FRAMES}"
        frames = self.frames.write(file, frames_of(self.name, portion)) if some else []
        return Step([(self._number, self._position), *frames], portion.last)

    def restore(self, snapshot: list[Any] | None, steps: Iterable[Step]) -> None:
        if snapshot is not None:
            [[self._number, self._position, self._ended]] = snapshot
        for step in steps:
            self._number, self._position = step.pieces[0]
            self._ended = step.last

    def clear(self) -> None:
        self.frames.removeUpTo(self._number - _RETAINED)

    def snapshot(self) -> list[Any]:
        return [(self._number, self._position, self._ended)]

    def position(self) -> dict[str, Any]:
        return {"position": self._position, "ended": self._ended}

    def begin(self, position: Mapping[str, Any]) -> None:
        self._position, self._began_ended = position["position"], position["ended"]

    def freeze(self) -> None:
        # All elements of a bounded source exist
        if not (self._ended or self._began_ended) and not self._reader().bounded:
            self._frozen = self._reader().waiting

    def tasks(self, step: Step) -> list[Task]:
        frames = list(step.pieces[1:])
        each = -(-len(frames) // self.parallelism) or 1
        return [frames[start : start + each] for start in range(0, len(frames), each)]

    def _reader(self) -> ReadAhead:
        use_classes(self._classes)
        if self._reading is None:
            source, position = pickle.loads(self.source), of_text(self._position)
            self._reading = ReadAhead(self.name, source, position, self._most)
        return self._reading


def frames_of(name: str, portion: Portion) -> Iterator[bytes]:
    """The elements and watermarks in a portion of the source ``name``, as frames."""
    records, marks = portion.records, portion.watermarks
    for start in range(0, max(len(records), 1), ELEMENTS_A_FRAME):
        end = min(start + ELEMENTS_A_FRAME, len(records))
        here = (marks.positions >= start) & ((marks.positions < end) | (end == len(records)))
        positions = marks.positions[here] - start
        among = Marks(positions, marks.kinds[here], marks.watermarks[here])
        yield encode_frame(Frame(records.slice(start, end), among), name, stored=True)


def read_frame(frame: Frame) -> Iterator[ReadResult]:
    for segment in frame.segments():
        if isinstance(segment, Records):
            yield segment
        elif not isinstance(segment, (WatermarkStatus, SplitMark)):
            yield from map(Watermark, segment)


class Cancelled(BaseException):
    """Ends ``run`` within a call of its context; no ``except Exception`` catches it."""


def run_source_function(source: FunctionSource[Any], emit: Callable[[Any], None]) -> None:
    """Run the function of ``source``; ``emit`` gets elements, StreamRecords and Watermarks."""
    function = source.function
    rich = function if isinstance(function, RichFunction) else None
    try:
        if rich is not None:
            rich.setRuntimeContext(SourceRuntimeContext(source.name))
            rich.open(OpenContext())
        yielded = source.run(_Context(emit))
        if isinstance(yielded, Iterator):
            for element in yielded:
                emit(element)
    except Cancelled:
        pass
    finally:
        if rich is not None:
            rich.close()


def cancel_source(source: Source[Any]) -> None:
    """Let ``run`` of a SourceFunction end. Other sources end with their generator."""
    if isinstance(source, FunctionSource):
        source.cancel()


class _Context(SourceFunction.SourceContext[Any]):
    __slots__ = ("_emit", "_lock")

    def __init__(self, emit: Callable[[Any], None]) -> None:
        self._emit = emit
        self._lock = threading.RLock()

    def collect(self, element: Any) -> None:
        self._emit(StreamRecord(element))

    def collectWithTimestamp(self, element: Any, timestamp: int) -> None:
        self._emit(StreamRecord(element, time_in_millis("collectWithTimestamp", timestamp)))

    def emitWatermark(self, mark: Watermark) -> None:
        self._emit(instance("emitWatermark", mark, Watermark, "Pass one, such as Watermark(999)."))

    def getCheckpointLock(self) -> threading.RLock:
        return self._lock


def _refused(method: str) -> Callable[..., NoReturn]:
    def refuse(self: SourceRuntimeContext, *_: object, **__: object) -> NoReturn:
        raise NotSupportedError(
            f"{self.name}: {method} belongs to operators, and a SourceFunction runs before the first. Call it in a function"
            " behind the source, and pass parameters to the function's constructor."
        )

    return refuse


class SourceRuntimeContext(RuntimeContext):
    """The context of a function outside a task: it has the source's name, and no more."""

    def __init__(self, name: str) -> None:
        self.name = name

    def getTaskInfo(self) -> TaskInfo:
        return TaskInfo(self.name)

    def isObjectReuseEnabled(self) -> bool:
        return False

    getState = _refused("getState")
    getListState = _refused("getListState")
    getMapState = _refused("getMapState")
    getReducingState = _refused("getReducingState")
    getAggregatingState = _refused("getAggregatingState")
    getMetricGroup = _refused("getMetricGroup")
    addAccumulator = _refused("addAccumulator")
    getGlobalJobParameters = _refused("getGlobalJobParameters")
