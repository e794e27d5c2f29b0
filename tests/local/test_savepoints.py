"""Savepoints in local execution: a job that is stopped and goes on, with any parallelism and changed, has the
results of one that never stopped."""

from __future__ import annotations

import json
import pickletools
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.plan.window_operator import EVICTING_LAYOUT
from flinkish.runtime.savepoint.saved_state import saved_states
from flinkish.runtime.state.page_codec import Envelope
from tests.savepoint_jobs import BY_TIME, PARTS, Run, asked, gone_on, stopped

pytestmark = pytest.mark.slow("jobs that stop and go on")

COUNT = 150


def local(parallelism=1, perBatch=15, maxParallelism=None):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(parallelism).getConfig().setElementsPerBatch(perBatch)
    if maxParallelism is not None:
        env.setMaxParallelism(maxParallelism)
    return env


def stop(client, directory, held):
    """Stop a job that waits for ``held`` in its first batch with a savepoint behind that batch."""
    stopping = threading.Thread(target=client.stopWithSavepoint, args=(directory,))
    stopping.start()
    asked(client)
    held.set()
    stopping.join(60)
    assert client.getJobStatus() is fl.JobStatus.CANCELED


def never_stopped(parts, perBatch=15, count=COUNT):
    """The results of a job with the same batches, for event time moves on at their ends."""
    run = Run()
    env = local(perBatch=perBatch)
    run.build(env, parts, count)
    env.execute()
    return run.sorted


@settings(max_examples=12)
@given(data=st.data())
def test_a_job_goes_on_with_any_parallelism_as_if_it_had_never_stopped(data):
    parts = data.draw(st.lists(st.sampled_from(list(PARTS)), min_size=1, max_size=3, unique=True))
    parallelisms = data.draw(st.lists(st.integers(1, 16), min_size=2, max_size=3))
    cut, perBatch = data.draw(st.integers(1, 80)), data.draw(st.integers(10, 40))
    results = []
    with TemporaryDirectory() as directory:
        for number, parallelism in enumerate(parallelisms[:-1]):
            env = local(parallelism, perBatch, 2 * parallelism)
            if number:
                env.setSavepoint(f"{directory}/{number - 1}")
            results += stopped(env, parts, COUNT, 1 if number else cut, f"{directory}/{number}")
        env = local(parallelisms[-1], perBatch, 2 * parallelisms[-1])
        results += gone_on(env, parts, COUNT, f"{directory}/{len(parallelisms) - 2}")
    assert sorted(map(repr, results)) == never_stopped(parts, perBatch)


@pytest.mark.parametrize("part", PARTS)
def test_from_one_to_sixteen_and_back(part, tmp_path):
    first = stopped(local(1), [part], COUNT, 1, f"{tmp_path}/1")
    env = local(16, maxParallelism=128).setSavepoint(f"{tmp_path}/1")
    second = stopped(env, [part], COUNT, 1, f"{tmp_path}/2")
    third = gone_on(local(1), [part], COUNT, f"{tmp_path}/2")
    assert sorted(map(repr, [*first, *second, *third])) == never_stopped([part])


def test_the_job_goes_on_after_a_triggered_savepoint(tmp_path):
    run = Run()
    env = local(2, perBatch=5)
    run.build(env, ["totals"], COUNT, holdAt=10)
    client = env.executeAsync()
    assert run.reached.wait(30)

    def go_on():
        asked(client)
        run.goOn.set()

    threading.Thread(target=go_on).start()
    assert client.triggerSavepoint(f"{tmp_path}/savepoint") == f"{tmp_path}/savepoint"
    client.getJobExecutionResult()
    assert run.sorted == never_stopped(["totals"], 5)
    again = gone_on(local(3, 5), ["totals"], COUNT, f"{tmp_path}/savepoint")
    # What came after the savepoint comes again, and nothing else
    seen = len(run.results) - len(again)
    assert sorted(map(repr, run.results[seen:])) == sorted(map(repr, again))
    assert 10 <= seen < len(run.results)


def test_a_savepoint_may_be_moved_and_has_no_absolute_path(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"{number}.txt").write_text(f"{number}\n{number + 10}\n")
    seen: list[int] = []
    held = threading.Event()

    def job(env):
        lines = env.fromSource(fl.FileSource.forLines(f"{tmp_path}/in").withFilesPerBatch(1))

        def collect(values, batch):
            seen.extend(values)
            held.wait(60)

        numbers = lines.uid("lines").map(int)
        sums = numbers.keyBy(lambda n: n % 2).reduce(lambda a, b: a + b).uid("sums")
        sums.forEachBatch(collect)
        return env

    stop(job(local()).executeAsync(), f"{tmp_path}/savepoint", held)
    assert 0 < len(seen) < 8
    for file in Path(tmp_path, "savepoint").rglob("*"):
        assert not file.is_file() or str(tmp_path).encode() not in file.read_bytes()
    shutil.move(tmp_path / "savepoint", tmp_path / "moved")
    job(local(2).setSavepoint(f"{tmp_path}/moved")).execute()
    assert sorted(seen) == sorted([0, 10, 1, 12, 12, 24, 15, 28])


def test_a_savepoint_goes_into_a_new_directory(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    run = Run()
    env = local(perBatch=30)
    run.build(env, ["totals"], COUNT, holdAt=1)
    client = env.executeAsync()
    with pytest.raises(fl.CheckpointStorageError, match="not empty"):
        client.stopWithSavepoint(f"{tmp_path}/there")
    run.goOn.set()
    client.getJobExecutionResult()
    with pytest.raises(fl.IllegalStateError, match="has ended"):
        client.triggerSavepoint(f"{tmp_path}/new")


# ---------------------------------------------------------------------- damage


@pytest.fixture
def savepoint(tmp_path):
    stopped(local(2), ["totals", "sessions"], COUNT, 20, f"{tmp_path}/savepoint")
    return tmp_path / "savepoint"


def refused(savepoint, error, match, **options):
    with pytest.raises(error, match=match) as raised:
        gone_on(local(), ["totals", "sessions"], COUNT, str(savepoint), **options)
    return str(raised.value)


@settings(max_examples=15)
@given(data=st.data())
def test_an_altered_or_truncated_file_names_itself(data):
    with TemporaryDirectory() as directory:
        savepoint = Path(directory, "savepoint")
        stopped(local(2), ["totals"], 40, 5, str(savepoint))
        files = [file for file in savepoint.rglob("*") if file.is_file()]
        file = data.draw(st.sampled_from(sorted(files)))
        whole = file.read_bytes()
        content = bytearray(whole)
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            file.write_bytes(content[:place])
        else:
            content[place] ^= data.draw(st.integers(1, 255))
            file.write_bytes(content)
        raised = None
        try:
            results = gone_on(local(), ["totals"], 40, str(savepoint))
        except (fl.CorruptCheckpointError, fl.IncompatibleCheckpointError) as error:
            raised = error
        if raised is not None:
            assert file.name in str(raised)
        else:
            # A byte that says nothing, such as a statistic of Parquet's
            file.write_bytes(whole)
            assert results == gone_on(local(), ["totals"], 40, str(savepoint))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("operator", "sessions"),
        ("table", "maps"),
        ("state", "other"),
        ("keyGroup", 1),
        ("entries", 99),
    ],
)
def test_each_column_of_a_row_counts_in_its_checksum(savepoint, column, value):
    file = next((savepoint / "state").glob("*.parquet"))
    rows = pq.read_table(file)
    values = rows.column(column).to_pylist()
    values[0] = value if values[0] != value else type(value)()
    number = rows.schema.get_field_index(column)
    field = rows.schema.field(number)
    pq.write_table(rows.set_column(number, field, pa.array(values, field.type)), file)
    refused(savepoint, fl.CorruptCheckpointError, file.name)


def test_a_missing_file_and_a_missing_savepoint_are_named(savepoint):
    refused(savepoint.parent / "nowhere", fl.CorruptCheckpointError, "nowhere")
    next((savepoint / "state").glob("*.parquet")).unlink()
    refused(
        savepoint, fl.CorruptCheckpointError, r"part-00000.parquet of the savepoint .* is missing"
    )


def test_another_format_is_refused_with_both_versions(savepoint):
    text = savepoint / "metadata" / "text"
    text.write_text(json.dumps({**json.loads(text.read_text()), "version": 99}))
    refused(savepoint, fl.IncompatibleCheckpointError, "format 99")


# ---------------------------------------------------------------------- changed jobs


def test_state_without_an_operator_is_refused_unless_it_is_allowed(savepoint):
    with pytest.raises(fl.IncompatibleCheckpointError, match=r"'KeyedProcess' \(totals\).*is gone"):
        gone_on(local(), ["sessions"], COUNT, str(savepoint))
    assert gone_on(local(3), ["sessions"], COUNT, str(savepoint), allowNonRestoredState=True)


def test_new_operators_begin_empty_beside_the_old(savepoint):
    both = gone_on(local(3), ["totals", "sessions", "counted"], COUNT, str(savepoint))
    assert {name for name, *_ in both} == {"total", "timer", "session", "counted"}


def test_configuration_says_the_savepoint_as_in_flink(savepoint):
    env = local()
    env.configure(
        fl.Configuration(
            {
                "execution.state-recovery.path": str(savepoint),
                "execution.state-recovery.ignore-unclaimed-state": True,
            }
        )
    )
    settings_ = env.getSavepointRestoreSettings()
    assert settings_ == fl.SavepointRestoreSettings.forPath(str(savepoint), True)
    assert settings_.restoreSavepoint()
    assert not fl.SavepointRestoreSettings.none().restoreSavepoint()
    run = Run()
    run.build(env, ["sessions"], COUNT)
    env.execute()
    assert run.results


def sums(env, held, name=None, hashed=None):
    """Running sums, with an operator that may have a uid and one that it had before."""
    results = []
    numbers = env.fromSequence(0, 49).uid("numbers").assignTimestampsAndWatermarks(BY_TIME)
    summed = numbers.keyBy(lambda n: n % 3).reduce(lambda a, b: a + b)
    if name is not None:
        summed.uid(name)
    if hashed is not None:
        summed.setUidHash(hashed)

    def collect(values, batch):
        results.extend(values)
        held.wait(60)

    summed.forEachBatch(collect)
    return results


def test_a_uid_that_is_given_later_finds_the_state_by_setUidHash(tmp_path):
    env = local(perBatch=5)
    held = threading.Event()
    first = sums(env, held)
    stop(env.executeAsync(), f"{tmp_path}/savepoint", held)
    assert len(first) < 50
    env = local(2).setSavepoint(f"{tmp_path}/savepoint")
    sums(env, held, "sums")
    with pytest.raises(fl.IncompatibleCheckpointError, match="setUidHash") as refusal:
        env.execute()
    hashed = str(refusal.value).partition("' (")[2].partition(")")[0]
    env = local(2).setSavepoint(f"{tmp_path}/savepoint")
    second = sums(env, held, "sums", hashed)
    env.execute()
    assert max(second) == sum(range(1, 50, 3))
    assert len(first) + len(second) == 50


@dataclass
class Point:
    x: int
    y: int


def test_values_of_classes_and_windows_need_no_class_to_be_listed(tmp_path):
    env = local(perBatch=5)
    numbers = env.fromSequence(0, 49).uid("numbers").assignTimestampsAndWatermarks(BY_TIME)
    points = numbers.map(lambda n: Point(n % 3, n)).keyBy(lambda p: p.x)
    windows = points.window(fl.TumblingEventTimeWindows.of(100)).process(
        lambda key, context, values: [len(list(values))]
    )
    held = threading.Event()
    windows.uid("windows").forEachBatch(lambda values, batch: None)
    numbers.forEachBatch(lambda values, batch: held.wait(60) and None)
    stop(env.executeAsync(), f"{tmp_path}/savepoint", held)

    table = pq.read_table(tmp_path / "savepoint" / "state")
    kept = [s for b in table.to_batches() for s in saved_states(b) if s.operator == "windows"]
    values = [state for state in kept if state.table == "windows"]
    assert values
    for state in values:
        sections = Envelope.of(state.content).sections
        assert b"Point" in bytes(sections["values"])
        assert b"Point" not in bytes(sections["keys"]) + bytes(sections["namespaces"])


def test_no_class_of_flinkish_is_named_but_by_a_name_that_stays(tmp_path):
    stopped(local(2), list(PARTS), COUNT, 60, f"{tmp_path}/savepoint")
    named = set()
    for batch in pq.read_table(tmp_path / "savepoint" / "state").to_batches():
        for state in saved_states(batch):
            for section in Envelope.of(state.content).sections.values():
                texts: list[str] = []
                for operation, argument, _ in pickletools.genops(bytes(section)):
                    if isinstance(argument, str):
                        texts.append(argument)
                    if operation.name == "STACK_GLOBAL":
                        named.add(tuple(texts[-2:]))
    assert named == {("flinkish", "_restored")}


AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda row, at: row.at)


def test_windows_of_columns_go_on_with_other_key_groups(tmp_path):
    """Rows of tables are kept as Arrow columns, folded or as they came."""
    (tmp_path / "in").mkdir()
    for file in range(5):
        rows = [f"{n % 7},{n},{n * n}" for n in range(file * 40, file * 40 + 40) if n % 13 < 9]
        (tmp_path / "in" / f"{file}.csv").write_text("\n".join(rows) + "\n")

    def job(env, results):
        source = fl.FileSource.forCsv(f"{tmp_path}/in", "k int, at bigint, v bigint")
        rows = env.fromSource(source.withFilesPerBatch(1)).uid("rows")
        keyed = rows.assignTimestampsAndWatermarks(AT).keyBy(lambda row: row.k)
        folded = keyed.window(fl.TumblingEventTimeWindows.of(150)).sum("v").uid("folded")
        listed = keyed.window(fl.TumblingEventTimeWindows.of(150)).apply(
            lambda key, window, values: [(key, sorted(row.v for row in values))]
        )
        gaps = keyed.window(fl.EventTimeSessionWindows.withGap(15)).sum("v").uid("gaps")
        timed = rows.assignTimestampsAndWatermarks(AT)
        sides = (
            timed.coGroup(timed.map(lambda row: (row.k // 2, row.v)))
            .where("k")
            .equalTo(0)
            .window(fl.TumblingEventTimeWindows.of(150))
            .apply(lambda one, two: [(tuple(map(tuple, one)), tuple(two))])
        )
        for stream in (folded, listed.uid("listed"), gaps, sides.uid("sides")):
            stream.map(str).forEachBatch(lambda values, batch: results.extend(values))
        rows.forEachBatch(lambda values, batch: held.wait(60) and None)
        return env

    before: list[str] = []
    held = threading.Event()
    stop(job(local(2), before).executeAsync(), f"{tmp_path}/savepoint", held)
    expected: list[str] = []
    job(local(), expected).execute()
    operators = json.loads((tmp_path / "savepoint/metadata/text").read_text())["operators"]
    kinds = {
        name.partition(" ")[0] for operator in operators.values() for name in operator["entries"]
    }
    assert {"columns", "rows"} <= kinds
    for parallelism in (1, 5):
        after: list[str] = []
        job(local(parallelism).setSavepoint(f"{tmp_path}/savepoint"), after).execute()
        assert sorted([*before, *after]) == sorted(expected)


def evicting(numbers):
    windows = (
        numbers.map(lambda n: (n % 4, n)).keyBy(0).window(fl.SlidingEventTimeWindows.of(300, 100))
    )
    listed = windows.evictor(fl.TimeEvictor.of(120)).apply(
        lambda key, window, values: [("evicting", key, window.start, sorted(values))]
    )
    return listed.uid("evicting")


def test_windows_with_an_evictor_go_on_where_an_earlier_version_kept_them_by_key(
    monkeypatch, tmp_path
):
    monkeypatch.setitem(PARTS, "evicting", evicting)
    count, perBatch = 30 * COUNT, 10 * COUNT
    with monkeypatch.context() as earlier:
        layouts = "flinkish.api.plan.window_operator.window_layout"
        earlier.setattr(layouts, lambda *of: EVICTING_LAYOUT)
        results = stopped(local(1, perBatch), ["evicting"], count, 1, f"{tmp_path}/1")
    env = local(4, perBatch).setSavepoint(f"{tmp_path}/1")
    results += stopped(env, ["evicting"], count, 1, f"{tmp_path}/2")
    results += gone_on(local(2, perBatch), ["evicting"], count, f"{tmp_path}/2")
    assert sorted(map(repr, results)) == never_stopped(["evicting"], perBatch, count)
