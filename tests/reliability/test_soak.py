"""A job under steady load with kills and rescales gives each result once: docs/reliability.md."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reliability.soak import (
    ELEMENTS_A_FILE,
    Event,
    differences,
    elements_of,
    grown,
    medians,
    random_events,
    soak,
)
from tests.reliability.soak_job import CLOCKED, OUT_OF_ORDER, WINDOW

# ---- a model of the job ------------------------------------------------------------------------


def rows_of_job(files, batches):
    """Return the job's output for files that come in batches, given by their numbers of files."""
    watermark = -1 - OUT_OF_ORDER
    counts, quiet, windows, rows = {}, {}, defaultdict(list), []
    files = iter(files)
    for size in batches:
        batch = [element for _ in range(size) for element in next(files)]
        for element in batch:
            key = element.key
            counts[key] = counts.get(key, 0) + 1
            quiet[key] = max(quiet.get(key, 0), element.at + WINDOW)
            rows.append(("counted", key, element.id, counts[key]))
            if element.id % CLOCKED == 0:
                rows.append(("fired", key, element.id))
            start = element.at // WINDOW * WINDOW
            if start + WINDOW - 1 <= watermark:
                rows.append(("late", key, element.id))
            else:
                windows[key, start].append(element.id)
        watermark = max(watermark, max(e.at for e in batch) - OUT_OF_ORDER - 1)
        for key, start in [w for w in windows if w[1] + WINDOW - 1 <= watermark]:
            rows.append(("window", key, start, sorted(windows.pop((key, start)))))
        for key in [key for key, due in quiet.items() if due <= watermark]:
            rows.append(("expired", key, quiet.pop(key), counts.pop(key)))
    return rows


FILES = [elements_of(file, file == 59) for file in range(60)]
ROWS = rows_of_job(FILES, [4] * 15)


def index_of(kind, rows=ROWS):
    """Return the index of the middle row of a kind."""
    found = [index for index, row in enumerate(rows) if row[0] == kind]
    return found[len(found) // 2]


def test_all_kinds_of_results_are_there():
    assert {row[0] for row in ROWS} == {"counted", "fired", "expired", "window", "late"}
    expired = Counter(row[1] for row in ROWS if row[0] == "expired")
    assert len([key for key, times in expired.items() if times > 1]) > 10


@pytest.mark.slow("each example is a job cut in two ways")
@settings(max_examples=20)
@given(st.lists(st.integers(1, 20)))
def test_wherever_batches_are_cut_a_right_job_does_not_differ(sizes):
    batches, left = [], len(FILES)
    for size in (*sizes, *[1] * left):
        batches.append(min(size, left))
        left -= batches[-1]
        if not left:
            break
    assert differences(FILES, rows_of_job(FILES, batches)) == []


@pytest.mark.parametrize("kind", ["counted", "fired", "expired", "window", "late"])
def test_a_lost_and_a_doubled_result_differ(kind):
    index = index_of(kind)
    assert differences(FILES, ROWS[:index] + ROWS[index + 1 :]) != []
    assert differences(FILES, [*ROWS, ROWS[index]]) != []


def test_an_element_that_was_lost_altogether_differs():
    lost = ROWS[index_of("counted")][2]
    files = [[element for element in file if element.id != lost] for file in FILES]
    assert differences(FILES, rows_of_job(files, [4] * 15)) != []


def test_an_element_that_was_read_twice_differs():
    twice = ROWS[index_of("counted")][2]
    files = [
        [e for element in file for e in [element] * (1 + (element.id == twice))] for file in FILES
    ]
    assert differences(FILES, rows_of_job(files, [4] * 15)) != []


def test_elements_of_a_key_in_another_order_differ():
    file = next(file for file in FILES if len({element.key for element in file}) < len(file))
    files = [[*reversed(f)] if f is file else f for f in FILES]
    found = differences(FILES, rows_of_job(files, [4] * 15))
    assert any("-th after the" in difference for difference in found)


def test_files_in_another_order_differ():
    files = [*FILES[:20], FILES[21], FILES[20], *FILES[22:]]
    assert differences(FILES, rows_of_job(files, [4] * 15)) != []


def test_a_batch_whose_state_was_lost_differs():
    """The counts of its keys begin anew, and no timer has told them to."""
    cut = 30 * ELEMENTS_A_FILE
    rows = [row for row in ROWS if row[0] != "counted" or row[2] < cut]
    counts = {}
    for row in ROWS:
        if row[0] == "counted" and row[2] >= cut:
            counts[row[1]] = counts.get(row[1], 0) + 1
            rows.append((*row[:3], counts[row[1]]))
    assert differences(FILES, rows) != []


def test_an_element_that_was_late_while_its_window_was_open_differs():
    index = index_of("window")
    kind, key, start, (moved, *others) = ROWS[index]
    rows = [*ROWS[:index], (kind, key, start, others), *ROWS[index + 1 :], ("late", key, moved)]
    found = differences(FILES, rows)
    assert any("its window was open" in difference for difference in found)


def test_an_element_in_the_window_of_another_time_or_key_differs():
    index = index_of("window")
    kind, key, start, ids = ROWS[index]
    for other in ((kind, key, start + WINDOW, ids), (kind, "another", start, ids)):
        found = differences(FILES, [*ROWS[:index], other, *ROWS[index + 1 :]])
        assert any("is in the window of" in difference for difference in found)


def test_a_window_that_fires_in_two_parts_differs():
    index = next(i for i, row in enumerate(ROWS) if row[0] == "window" and len(row[3]) > 1)
    kind, key, start, ids = ROWS[index]
    parts = [(kind, key, start, ids[:1]), (kind, key, start, ids[1:])]
    found = differences(FILES, [*ROWS[:index], *parts, *ROWS[index + 1 :]])
    assert found == [f"window fired 2 times: {(key, start)}"]


# ---- memory ------------------------------------------------------------------------------------


def test_medians_are_those_of_each_sixth_of_the_time():
    samples = [{"at": 100.0 + second, "driver": second} for second in range(50)]
    assert medians(samples, ["driver"], 100.0, 160.0) == {"driver": [4, 14, 24, 34, 44, None]}


def test_what_has_grown_by_more_than_a_fifth_is_said():
    flat: list[int | None]
    more: list[int | None]
    flat, more = [900, 200, 90, 100, 130, 120], [100, 100, 100, 100, 120, 121]
    assert grown({"driver": flat, "jvm": more, "workers": [None] * 6}) == [
        "jvm: 100 in the fourth sixth, 121 in the last"
    ]


# ---- events ------------------------------------------------------------------------------------


def test_all_processes_are_killed_in_the_first_third_only(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    kinds = defaultdict(list)
    for event in random_events(60, random.Random(1)):
        clock[0] += event.after
        kinds[event.kind].append(clock[0])
    assert kinds.pop("end") == [3600.0]
    assert set(kinds) == {"worker", "rescale", "tree", "killed rescale"}
    assert max(kinds["tree"] + kinds["killed rescale"]) < 1200 + 30
    assert min(max(kinds["worker"]), max(kinds["rescale"])) > 3400
    assert min(map(len, kinds.values())) > 3


# ---- on Spark ----------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.rotating("test_kill_loop.py kills a job with each commit")
@pytest.mark.slow("starts three JVMs, and kills two of them")
@pytest.mark.timeout(1200)
def test_a_job_that_is_killed_and_rescaled_gives_each_result_once(tmp_path):
    events = [
        Event(5, "worker"),
        Event(5, "rescale", 3),
        Event(2, "worker", soon=True),
        Event(5, "killed rescale", 1, 1.0),
        Event(5, "tree"),
        Event(5, "rescale", 4),
        Event(5, "end"),
    ]
    result = soak(tmp_path, events, seed=1)
    assert result["differences"] == []
    assert result["events"] == {"worker": 2, "rescale": 2, "killed rescale": 1, "tree": 1}
    assert result["found"]["worker: at work"] > 0
    assert result["elements"] > 60 * ELEMENTS_A_FILE
    for kind in ("counted", "fired", "expired", "window", "late"):
        assert result["results"][kind] > 0, kind
