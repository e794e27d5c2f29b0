"""Logs of user code reach the driver's log, with the operator's name and bounded in rate."""

from __future__ import annotations

import logging
import threading

import pytest

import flinkish as fl
from flinkish.runtime.task_logs import RECORDS_A_BATCH, TaskLog, log_again
from tests.runtime.micro_batches import MicroBatches

log = logging.getLogger("myjob.functions")


class Logging(fl.KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        log.warning("saw %s", value)
        log.info("not asked for")
        out.collect(value)


def noisy(value):
    log.error("each %s", value)
    return value


@pytest.fixture
def logged():
    """The logs in the reports of all tasks."""
    found = []

    def run(build, elements):
        job = MicroBatches(build, keyGroups=2)
        add = job.metrics.add

        def noted(reports):
            found.extend(record for report in reports for record in report.logs)
            add(reports)

        job.metrics.add = noted
        job.process([[(element, 0) for element in elements]])
        return found

    return run


def test_a_record_has_the_name_of_its_operator_and_its_logger(logged):
    found = logged(lambda s: s.keyBy(lambda n: n).process(Logging()).name("watch"), [1, 2])
    assert sorted((r.operator, r.logger, r.message) for r in found) == [
        ("watch", "myjob.functions", "saw 1"),
        ("watch", "myjob.functions", "saw 2"),
    ]
    assert {record.level for record in found} == {logging.WARNING}


def test_of_two_chained_operators_each_is_named(logged):
    found = logged(lambda s: s.map(noisy).name("first").map(noisy).name("second"), ["a"])
    assert [record.operator for record in found] == ["first", "second"]


def test_a_function_that_logs_each_element_is_bounded(logged):
    found = logged(lambda s: s.map(noisy).name("first"), range(1_000))
    assert len(found) == RECORDS_A_BATCH + 1
    assert found[-1].message.startswith(f"... and {1_000 - RECORDS_A_BATCH} more records")


def test_the_driver_logs_it_under_the_same_logger(logged, caplog):
    found = logged(lambda s: s.keyBy(lambda n: n).process(Logging()).name("watch"), [1])
    caplog.clear()
    log_again(found)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("myjob.functions", logging.WARNING)
    assert record.getMessage() == "[watch] saw 1"
    assert record.operator == "watch"
    caplog.clear()
    log.setLevel(logging.ERROR)
    try:
        log_again(found)
    finally:
        log.setLevel(logging.NOTSET)
    assert not caplog.records


def test_loggers_are_left_as_they_were():
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    task = TaskLog("a source", logging.INFO)
    with task.kept():
        log.info("from no operator")
        logging.getLogger("py4j.clientserver").error("not the user's")
    task.emit(log.makeRecord("a", logging.INFO, "f", 1, "%d", ("no number",), None))
    assert (root.level, list(root.handlers)) == before
    first, second = task.reports()
    assert (first.operator, first.message) == ("a source", "from no operator")
    assert "do not fit" in second.message
    assert task.reports() == ()


def test_what_was_logged_before_an_error_goes_to_standard_error(capsys):
    task = TaskLog("a source", logging.INFO)

    def fails():
        with task.kept():
            log.info("the last words")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert "myjob.functions: [a source] the last words" in capsys.readouterr().err
    assert task.reports() == ()


def test_long_messages_are_cut():
    task = TaskLog("a source", logging.INFO)
    with task.kept():
        log.info("x" * 10_000)
    assert len(task.reports()[0].message) == 2_000


def test_what_the_main_thread_logs_is_not_of_the_task_of_another(caplog):
    log, inside, go_on = TaskLog("task", logging.WARNING), threading.Event(), threading.Event()

    def work():
        with log.kept():
            logging.getLogger("mine").warning("of the task")
            inside.set()
            go_on.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    logging.getLogger("mine").warning("of the program")
    go_on.set()
    thread.join()
    assert [report.message for report in log.reports()] == ["of the task"]
    assert "of the program" in caplog.messages
