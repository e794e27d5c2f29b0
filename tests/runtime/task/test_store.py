"""The owner of an opened task, and the time at which it is closed."""

from __future__ import annotations

import os

from flinkish.runtime.task.store import JobRun, TaskKey, TaskStore


class Task:
    def __init__(self, failing=False):
        self.closed = 0
        self.failing = failing

    def close(self):
        self.closed += 1
        if self.failing:
            raise ValueError("no close")


def key(run="1", job="a", subtask=0):
    return TaskKey(JobRun(job, run), "stage 1", subtask)


def test_a_task_is_taken_once():
    store, task = TaskStore(), Task()
    store.keep(key(), task)
    assert store.take(key(subtask=1)) is None
    assert store.take(key()) is task
    assert store.take(key()) is None
    assert task.closed == 0


def test_the_one_that_has_waited_longest_is_closed_first():
    store, tasks = TaskStore(most=2), [Task(failing=True) for _ in range(3)]
    for number, task in enumerate(tasks):
        store.keep(key(subtask=number), task)
    assert [task.closed for task in tasks] == [1, 0, 0]
    assert store.take(key(subtask=0)) is None
    assert store.take(key(subtask=2)) is tasks[2]


def test_a_task_of_another_run_of_the_job_is_closed_one_of_another_job_is_not():
    store, old, other = TaskStore(), Task(), Task()
    store.keep(key(run="1"), old)
    store.keep(key(run="3", job="b"), other)
    assert store.take(key(run="2")) is None
    assert (old.closed, other.closed) == (1, 0)
    assert store.take(key(run="3", job="b")) is other


def test_the_tasks_of_a_run_that_ended_are_closed():
    store, task, other = TaskStore(), Task(), Task()
    store.keep(key(), task)
    store.keep(key(run="2", job="b"), other)
    store.closeRun(JobRun("a", "1"))
    assert (task.closed, other.closed, len(store)) == (1, 0, 1)


def test_a_forked_process_leaves_the_tasks_to_their_own(monkeypatch):
    store, task = TaskStore(), Task()
    store.keep(key(), task)
    forked = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: forked)
    assert store.take(key()) is None
    assert (task.closed, len(store)) == (0, 0)
