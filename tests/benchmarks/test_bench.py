"""The benchmark on a few thousand elements: its jobs run on flinkish and Spark, and what differs fails it."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tests.benchmarks import __main__ as bench_command
from tests.benchmarks import growth, guard, lookups, micro_batches, one_by_one, peers, quoted, texts
from tests.benchmarks.__main__ import Bench, Figure, Run, put_into_page, whole_groups
from tests.benchmarks.files import Workload
from tests.benchmarks.flink import CHECKPOINTED as CHECKPOINTED_RUN
from tests.benchmarks.flink import PLAIN, JavaFlink
from tests.benchmarks.inputs import INPUTS, LATENESS, Input, elements_of, halves_of
from tests.benchmarks.jobs import JOBS, chosen
from tests.benchmarks.report import (
    CHECKPOINTED,
    GROUPS,
    JAVA,
    PYFLINK,
    Measured,
    Row,
    page,
    read_measured,
    run_lines,
)
from tests.benchmarks.results import DifferentResultsError, Digest, check_equal, digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_SOURCES = "\n".join(
    path.read_text("utf-8") for path in (Path(__file__).parent / "java").glob("*.java")
)


# ---------------------------------------------------------------- whole runs


def bench(spark: SparkSession | None, root: Path) -> Bench:
    return Bench(
        sides=("flinkish", "Spark"),
        workload=Workload(files=2, elements=1_000),
        batches=(1_000, 2_000),
        runs=1,
        patience=600,
        root=root,
        spark=spark,
        warmUp=Workload(files=2, elements=100),
    )


@pytest.mark.slow("a job on flinkish and on Spark, with two sizes of a batch")
@pytest.mark.thorough("six batches of a job on each of two sides")
@pytest.mark.parametrize("name", ["tumbling_sum", "interval_join"])
def test_flinkish_and_spark_give_the_same_results(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    rows = bench(spark, tmp_path).measure(JOBS[name])
    assert [row.batch for row in rows] == [1_000, 2_000]
    for row in rows:
        assert set(row.seconds) == {"flinkish", "Spark"}
        assert all(seconds > 0 for seconds in row.seconds.values())
        assert "addBatch" in row.steps
        assert not row.results.startswith("0 ")


@pytest.mark.slow("a job on flinkish, and the start of one on Spark")
@pytest.mark.thorough("a job on each of two sides")
def test_a_job_on_spark_that_is_not_done_in_time_is_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = bench(spark, tmp_path)
    run.batches, run.patience = (2_000,), 0.1
    (row,) = run.measure(JOBS["tumbling_sum"])
    assert row.cell("Spark") == "not done after 0 s"
    assert set(row.seconds) == {"flinkish"}
    assert not spark.streams.active


def test_a_side_that_differs_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def side(results: str) -> Any:
        def run(spark, job, inputs, files, output, patience=0.0):
            written(output / "results", results)
            return micro_batches.Batches([0.0], [1.0], [{}])

        return run

    run = bench(None, tmp_path)
    run.batches = (2_000,)
    monkeypatch.setattr(micro_batches, "run_flinkish", side("key-1,7,7\n"))
    monkeypatch.setattr(micro_batches, "run_spark", side("key-1,7,7\n"))
    (row,) = run.measure(JOBS["rows"])
    assert row.results.startswith("1 ")
    monkeypatch.setattr(micro_batches, "run_spark", side("key-1,7,7\nkey-1,7,7\n"))
    with pytest.raises(DifferentResultsError, match=r"^rows: .*flinkish.*results.*; Spark"):
        run.measure(JOBS["rows"])


def test_the_best_of_the_runs_that_count_is_shown_and_the_first_does_not() -> None:
    results = Digest(3, 7)
    found = iter([Run(1.0, results), Run(3.0, results), Run(2.0, results), None])
    rows = [Row("a job", "table", size) for size in (1_000, 2_000)]
    figure = Figure("Spark", rows, lambda: next(found))
    figure.run()
    figure.show("too slow")
    assert [row.cell("Spark") for row in rows] == ["too slow", "too slow"]
    # The fourth is not done in time, and a fifth would be one more than there are
    for _ in range(4):
        figure.run()
    figure.show("too slow")
    assert [row.cell("Spark") for row in rows] == ["2.00", "2.00"]


# ---------------------------------------------------------------- Java


def java(
    directory: Path, script: str, patience: float, monkeypatch: pytest.MonkeyPatch
) -> JavaFlink:
    """A side whose ``java`` is a shell script."""
    program = directory / "java"
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return JavaFlink("classes", JOBS["tumbling"], {}, directory / "output", patience)


def test_each_run_in_java_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
    while read kind
    do
        echo "a line of Flink's"
        case $kind in
            plain) echo '{"seconds": 1.5}' ;;
            checkpointed) echo '{"seconds": 2.5}' ;;
        esac
    done
    """
    with java(tmp_path, script, 60, monkeypatch) as flink:
        assert [flink.run(kind) for kind in (PLAIN, CHECKPOINTED_RUN, PLAIN)] == [1.5, 2.5, 1.5]


def test_a_run_in_java_that_is_not_done_in_time_is_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
    read kind && echo '{"seconds": 1.5}'
    read kind && sleep 600
    """
    with java(tmp_path, script, 60, monkeypatch) as flink:
        assert flink.run(PLAIN) == 1.5
        flink._patience = 0.1
        assert [flink.run(PLAIN) for _ in range(2)] == [None, None]


def test_java_that_fails_fails_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "read kind; echo 'no such job' >&2; exit 1"
    side = java(tmp_path, script, 60, monkeypatch)
    with side as flink, pytest.raises(RuntimeError, match="no such job"):
        flink.run(PLAIN)


# ---------------------------------------------------------------- inputs and results


def read(directory: Path) -> pa.Table:
    return pa.csv.read_csv(directory, pa.csv.ReadOptions(column_names=["key", "value", "at"]))


def test_no_element_is_late_where_files_are_read_in_order(tmp_path: Path) -> None:
    directory = elements_of(INPUTS["events"].write(tmp_path, 3, 2_000))
    files = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime)
    assert [path.name for path in files] == ["0000.csv", "0001.csv", "0002.csv"]
    at = np.concatenate([read(path)["at"].to_numpy() for path in files])
    assert (at >= 0).all()
    behind = np.maximum.accumulate(at) - at
    assert 0 < behind.max() < LATENESS


def test_both_tasks_of_flink_read_elements_of_the_same_time(tmp_path: Path) -> None:
    directory = INPUTS["events"].write(tmp_path, 2, 2_000)
    halves = sorted(halves_of(directory).iterdir())
    assert [path.name for path in halves] == [
        "0000-0.csv",
        "0000-1.csv",
        "0001-0.csv",
        "0001-1.csv",
    ]
    for number, (even, odd) in enumerate(zip(halves[::2], halves[1::2])):
        whole = (elements_of(directory) / f"{number:04d}.csv").read_text().splitlines()
        assert even.read_text().splitlines() == whole[::2]
        assert odd.read_text().splitlines() == whole[1::2]


def test_inputs_are_the_same_each_time_and_stay(tmp_path: Path) -> None:
    one, other = (INPUTS["left"].write(tmp_path / name, 1, 500) for name in ("a", "b"))
    first = elements_of(one) / "0000.csv"
    assert first.read_bytes() == (elements_of(other) / "0000.csv").read_bytes()
    assert len(first.read_bytes().splitlines()) == 250  # half of the elements of both sides
    written = first.stat().st_ctime_ns
    INPUTS["left"].write(tmp_path / "a", 1, 500)
    assert first.stat().st_ctime_ns == written


@pytest.mark.parametrize("made", INPUTS.values(), ids=lambda made: made.name)
def test_an_input_has_the_columns_of_its_schema(made: Input) -> None:
    columns = made.columns(0, 200)
    assert list(columns) == [column.split()[0] for column in made.schema.split(",")]


def written(directory: Path, *files: str) -> Path:
    for number, text in enumerate(files):
        path = directory / f"part={number}" / "part-0.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def test_a_digest_does_not_depend_on_order_or_files(tmp_path: Path) -> None:
    schema = "key string, value long"
    one = digest(written(tmp_path / "one", "a,1\nb,2\n", "a,1\n"), schema)
    assert one == digest(written(tmp_path / "other", "a,1\n", "", "a,1\nb,2\n"), schema)
    assert one.count == 3
    for different in ("a,1\nb,2\nb,2\n", "a,2\nb,1\na,1\n", "a,1\nb,2\n", "a,1\nb,2\nc,1\n"):
        assert one != digest(written(tmp_path / different.replace("\n", "-"), different), schema)


def test_what_spark_keeps_beside_results_is_no_result(tmp_path: Path) -> None:
    written(tmp_path, "1\n2\n")
    for name in ("_spark_metadata/0", ".part-0.csv.crc", "_SUCCESS"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    assert digest(tmp_path, "value long").count == 2


def test_no_results_at_all_are_an_error() -> None:
    with pytest.raises(DifferentResultsError, match="no results: flinkish: 0 results"):
        check_equal("job", {"flinkish": Digest(0, 0), "Spark": Digest(0, 0)})
    check_equal("job", {"flinkish": Digest(1, 5), "Spark": Digest(1, 5)})


# ---------------------------------------------------------------- jobs and the page


def test_every_job_that_is_measured_by_elements_has_a_twin_in_java() -> None:
    for job in JOBS.values():
        needs_none = job.group == "smallest" or job.format != "csv"
        assert needs_none or f'case "{job.name}":' in JAVA_SOURCES, job.name


def test_jobs_are_chosen_by_name_and_by_group() -> None:
    assert [job.name for job in chosen(["sessions", "rows"])] == ["sessions", "rows"]
    assert len(chosen(["nexmark"])) == 10
    assert len(chosen([])) == len(JOBS)
    with pytest.raises(SystemExit, match=r"no job 'session'.*sessions"):
        chosen(["sessions", "session"])


def test_the_page_shows_seconds_ratios_and_what_was_not_done() -> None:
    table = Row("sums", "table", 1_000, {"flinkish": 0.5, "Spark": 1.5, JAVA: 0.25})
    table.unfinished[CHECKPOINTED] = "not done after 5 s"
    smallest = Row("small", "smallest", 0, {"flinkish": 0.25}, steps="addBatch 60%")
    pyflink = Row("sums", "pyflink", 0, {"flinkish": 0.5, PYFLINK: 200.0})
    run = list(run_lines("make bench", ["There is no JDK."], None))
    text = page(
        {row.group: Measured([row], run) for row in (table, smallest)}
        | {"pyflink": Measured([pyflink], ["another run"])}
    )
    assert "| sums | 0.50 | 1.50 | 0.25 | not done after 5 s | 3.00 | 0.50 | - |" in text
    assert "## Batches of 1,000 elements" in text
    assert "| small | 0.25 | - | addBatch 60% |" in text
    assert "| sums | 0.50 | 200.00 | - | 400.00 | - |" in text
    assert "- `make bench`, " in text
    assert "- There is no JDK." in text
    assert "\n\nBatches of both sizes, the smallest batch:\n\n- `make bench`" in text
    assert text.endswith("\n\nPyFlink:\n\n- another run\n")


def test_a_part_that_is_measured_again_replaces_that_part_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured, shown = tmp_path / "measured.json", tmp_path / "page.md"
    monkeypatch.setattr(bench_command, "MEASURED", measured)
    monkeypatch.setattr(bench_command, "PAGE", shown)
    old = {
        group: Measured([Row(f"{group} job", group, 10, {"flinkish": 1.0})], ["old"])
        for group in ("table", "nexmark")
    }
    put_into_page(old)
    assert read_measured(measured) == old
    put_into_page({"nexmark": Measured([Row("again", "nexmark", 10, {"flinkish": 7.0})], ["new"])})
    text = shown.read_text("utf-8")
    assert "table job" in text
    assert "nexmark job" not in text
    assert "| again | 7.00 |" in text
    assert "\n\nBatches of 10 events:\n\n| job |" in text
    assert text.endswith("Batches of both sizes:\n\n- old\n\nNexmark:\n\n- new\n")


def test_a_part_of_the_page_needs_all_its_jobs() -> None:
    assert whole_groups(chosen(["nexmark", "tumbling_sum"])) == {"nexmark"}
    assert whole_groups(chosen(["table"])) == {"table", "pyflink"}
    assert whole_groups(chosen([])) == set(GROUPS)
    assert whole_groups(chosen(["table"]), ["flinkish", "Spark", "Java"]) == {"table"}
    assert whole_groups(chosen([]), ["flinkish", "Java"]) == set()


def test_the_page_is_what_was_measured() -> None:
    """docs/benchmarks.md has no figure that was not measured."""
    assert bench_command.PAGE.read_text("utf-8") == page(read_measured(bench_command.MEASURED))


@pytest.mark.parametrize("quoting_page", quoted.PAGES, ids=str)
def test_other_pages_quote_what_was_measured(quoting_page: Path) -> None:
    text = quoting_page.read_text("utf-8")
    assert text == quoted.quoting(text, read_measured(bench_command.MEASURED))
    assert quoted.names(quoting_page)


def test_a_place_with_a_name_is_filled() -> None:
    measured = read_measured(bench_command.MEASURED)
    (row,) = [r for r in measured["smallest"].rows if "1 keyed" in r.title]
    row.seconds["flinkish"] = 9.0
    text = "from <!--smallest-batch-flinkish-->0.1 s<!----> on"
    assert quoted.quoting(text, measured) == text.replace("0.1", "9.00")


def test_rows_in_which_another_side_is_far_quicker_are_named_first() -> None:
    close = Row("close", "table", 1_000, {"flinkish": 1.0, "Spark": 4.0, JAVA: 0.5})
    slow = Row("slow", "more", 1_000, {"flinkish": 1.0, "Spark": 4.0, JAVA: 0.49})
    slower = Row("slower", "peers", 0, {"flinkish": 1.0, "Bytewax": 0.2, "Pathway": 3.0})
    text = page({row.group: Measured([row], []) for row in (close, slow, slower)})
    named = "- slower: 0.20 (Bytewax)\n- slow, 1,000 a batch: 0.49 (Java)\n\n## Batches"
    assert named in text
    assert "In no row" in page({"table": Measured([close], [])})


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_elements_are_the_same_in_each_format(format_: str, tmp_path: Path) -> None:
    made = INPUTS["events"]
    one = elements_of(made.write(tmp_path, 2, 100))
    other = elements_of(made.write(tmp_path, 2, 100, format_))
    assert digest(one, made.schema) == digest(other, made.schema)
    assert digest(one, made.schema).count == 200


def test_of_updates_the_last_counts(tmp_path: Path) -> None:
    schema = "key string, end long, sum long, count long"
    updated = written(tmp_path / "one", "a,1,2,1\nb,1,9,1\n", "a,1,6,2\n")
    final = written(tmp_path / "other", "a,1,6,2\nb,1,9,1\n")
    assert digest(updated, schema, 2) == digest(final, schema, 2)
    assert digest(updated, schema, 2).count == 2
    assert digest(updated, schema) != digest(final, schema)


# ---------------------------------------------------------------- peers, and how cost grows


def test_a_peer_is_given_what_it_reads_and_its_seconds_are_the_last_that_it_prints(
    tmp_path: Path,
) -> None:
    inputs = {"events": INPUTS["events"].write(tmp_path, 1, 20)}
    python = tmp_path / "python"
    python.write_text(
        """#!/bin/sh
        echo "$2" > "$4/job.csv"; ls "$3" > "$4/files.csv"; echo "$PATHWAY_THREADS" > "$4/threads.csv"
        echo '{"seconds": 9}'; echo a warning; echo '{"seconds": 1.5}'
        """
    )
    python.chmod(0o755)
    files = {"Bytewax": "0000-0.csv\n0000-1.csv\n", "Pathway": "0000.csv\n"}
    for peer in peers.PEERS:
        output = tmp_path / peer.side
        assert peer.run(python, JOBS["tumbling"], inputs, output, patience=60) == 1.5
        assert (output / "job.csv").read_text() == "tumbling\n"
        assert (output / "files.csv").read_text() == files[peer.side]
        assert (output / "threads.csv").read_text() == "2\n"


def test_jobs_that_peers_run_are_jobs_of_one_input() -> None:
    assert all(len(JOBS[name].inputs) == 1 for name in peers.JOBS)


def test_axes_are_chosen_by_name_with_numbers_of_ones_own() -> None:
    assert growth.chosen([]) == list(growth.AXES)
    keys, files = growth.chosen(["keys=10,20", "files"])
    assert (keys.name, keys.values) == ("keys", [10, 20])
    assert files.values == [1, 10, 100, 1_000]
    for wrong in ("key=10", "keys=many", "keys=0"):
        with pytest.raises(SystemExit, match=wrong):
            growth.chosen([wrong])


def test_the_page_of_growth_has_a_plot_and_a_table_for_each_axis(tmp_path: Path) -> None:
    axes = growth.chosen(["keys=10,20"])
    found = {"keys": [growth.Point(10, 0.5), growth.Point(20, 1.25)]}
    text = growth.written(axes, found, "--growth keys=10,20")
    assert "`python -m tests.benchmarks --growth keys=10,20`" in text
    assert "(images/growth-keys.svg)" in text
    assert "| 10 | 0.50 |\n| 20 | 1.25 |" in text
    growth.plot(axes[0], found["keys"], tmp_path / "images" / "growth-keys.svg")
    assert "<svg" in (tmp_path / "images" / "growth-keys.svg").read_text()


# ---------------------------------------------------------------- the guard


@pytest.mark.parametrize("guarded", guard.GUARDED, ids=lambda guarded: guarded.job)
def test_a_loop_gives_the_results_of_its_job(guarded: guard.Guarded, tmp_path: Path) -> None:
    assert guard.measured(guarded, tmp_path, files=2, elements=300, runs=1) > 0


def test_a_job_that_takes_longer_than_its_bound_fails_the_guard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {"tumbling": 1.0, "rows": 9.0}
    guarded = [each for each in guard.GUARDED if each.job in times]
    monkeypatch.setattr(guard, "GUARDED", guarded)
    monkeypatch.setattr(guard, "measured", lambda each, *_: times[each.job])
    ratios = {"within": 1.2, "beyond": 1.3}
    either = [one_by_one.Either(name, lambda: None, 1.2) for name in ratios]
    monkeypatch.setattr(one_by_one, "either_way", lambda directory: either)
    monkeypatch.setattr(one_by_one, "measured", lambda each: ratios[each.name])
    monkeypatch.setattr(texts, "ratios", lambda directory: [("within", 3.0), ("beyond", 3.1)])
    monkeypatch.setattr(guard, "quick", lambda port: ())
    assert guard.main() == 1
    slow = [line.endswith("TOO SLOW") for line in capsys.readouterr().out.splitlines()]
    assert slow == [False, True] * 3


def test_a_job_that_differs_over_columns_fails_the_guard() -> None:
    results = itertools.count()
    with pytest.raises(AssertionError, match="counts: results differ"):
        one_by_one.measured(one_by_one.Either("counts", lambda: next(results), 1.2))


# ---------------------------------------------------------------- lookups


def test_lookups_have_a_result_for_each_element_through_both_doors() -> None:
    assert lookups.core(20, 10) == lookups.core(20, 10, ordered=False) == 20
    assert lookups.pyflink(20, 10) == 20
