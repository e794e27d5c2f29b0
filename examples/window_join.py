"""WindowJoin: all pairs of a grade and a salary of the same person in the same window.

``python -m examples.window_join --window-size 2000``
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from typing import NamedTuple

from flinkish import (
    DataStream,
    JoinFunction,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)

NAMES = ["tom", "jerry", "alice", "bob", "john", "grace"]


class Grade(NamedTuple):
    """A person's grade, 1 to 5, at a time in ms."""

    name: str
    grade: int
    at: int


class Salary(NamedTuple):
    """A person's salary at a time in ms."""

    name: str
    salary: int
    at: int


class Person(NamedTuple):
    """A grade and a salary of one window."""

    name: str
    grade: int
    salary: int


def build(
    grades: DataStream[Grade], salaries: DataStream[Salary], window_size: int = 2000
) -> DataStream[Person]:
    """The job, from both streams to the pairs."""
    timed_grades = grades.assignTimestampsAndWatermarks(
        WatermarkStrategy[Grade]
        .forMonotonousTimestamps()
        .withTimestampAssigner(lambda grade, timestamp: grade.at)
    )
    timed_salaries = salaries.assignTimestampsAndWatermarks(
        WatermarkStrategy[Salary]
        .forMonotonousTimestamps()
        .withTimestampAssigner(lambda salary, timestamp: salary.at)
    )
    return (
        timed_grades.join(timed_salaries)
        .where(lambda grade: grade.name)
        .equalTo(lambda salary: salary.name)
        .window(TumblingEventTimeWindows.of(window_size))
        .apply(ToPerson())
    )


class ToPerson(JoinFunction[Grade, Salary, Person]):
    """Makes a person of a grade and a salary."""

    def join(self, first: Grade, second: Salary) -> Person:
        return Person(first.name, first.grade, second.salary)


def main(arguments: Sequence[str] | None = None) -> None:
    """Join made-up grades and salaries, three of each a second."""
    parser = argparse.ArgumentParser(prog="python -m examples.window_join")
    parser.add_argument("--window-size", type=int, default=2000, help="in ms: %(default)s")
    parser.add_argument("--rate", type=int, default=3, help="elements a second: %(default)s")
    parser.add_argument("--elements", type=int, default=20, help="of each stream: %(default)s")
    options = parser.parse_args(arguments)

    chance = random.Random(1)
    times = [1000 * i // options.rate for i in range(options.elements)]
    grades = [Grade(chance.choice(NAMES), chance.randint(1, 5), at) for at in times]
    salaries = [Salary(chance.choice(NAMES), chance.randint(1, 10_000), at) for at in times]

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    build(env.fromCollection(grades), env.fromCollection(salaries), options.window_size).print()
    env.execute("Windowed Join Example")


if __name__ == "__main__":
    main()
