"""SideOutputExample: counts short words in windows of five seconds, and sends long ones to a side
output.

``python -m examples.side_output --input a-text-file``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from examples.hamlet import SOLILOQUY, words_of
from flinkish import (
    Collector,
    DataStream,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)

REJECTED_WORDS = OutputTag[str]("rejected")


class Line(NamedTuple):
    """A line, and when it was said, in ms."""

    at: int
    text: str


class Streams(NamedTuple):
    """What the job gives."""

    counts: DataStream[tuple[str, int]]
    rejected: DataStream[str]


def build(lines: DataStream[Line]) -> Streams:
    """The job, from lines to counts of short words and to the long words."""
    tokenized = lines.assignTimestampsAndWatermarks(
        WatermarkStrategy[Line]
        .forMonotonousTimestamps()
        .withTimestampAssigner(lambda line, timestamp: line.at)
    ).process(Tokenizer())

    rejected = tokenized.getSideOutput(REJECTED_WORDS).map(lambda word: f"rejected: {word}")
    counts = (
        tokenized.keyBy(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .sum(1)
    )
    return Streams(counts, rejected)


class Tokenizer(ProcessFunction[Line, tuple[str, int]]):
    """Turns a line into pairs of a word and 1; words of more than five letters go aside."""

    def processElement(
        self, value: Line, ctx: ProcessFunction.Context, out: Collector[tuple[str, int]]
    ) -> None:
        for word in words_of(value.text):
            if len(word) > 5:
                ctx.output(REJECTED_WORDS, word)
            else:
                out.collect((word, 1))


def main(arguments: Sequence[str] | None = None) -> None:
    """Count words of a file or of Hamlet's soliloquy, read aloud at a line a second."""
    parser = argparse.ArgumentParser(prog="python -m examples.side_output")
    parser.add_argument("--input", type=Path, help="a text file")
    options = parser.parse_args(arguments)
    lines = options.input.read_text("utf-8").splitlines() if options.input else SOLILOQUY

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    streams = build(env.fromCollection([Line(i * 1000, line) for i, line in enumerate(lines)]))
    streams.counts.print()
    streams.rejected.print()
    env.execute("Streaming WordCount SideOutput")


if __name__ == "__main__":
    main()
