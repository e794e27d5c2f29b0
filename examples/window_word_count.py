"""WindowWordCount: counts the last ten uses of each word, every five uses.

``python -m examples.window_word_count --window 10 --slide 5 --input a-text-file``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from examples.hamlet import SOLILOQUY, words_of
from flinkish import Collector, DataStream, FlatMapFunction, StreamExecutionEnvironment


def build(
    lines: DataStream[str], window_size: int = 10, slide_size: int = 5
) -> DataStream[tuple[str, int]]:
    """The job, from lines to pairs of a word and its count."""
    return (
        lines.flatMap(Tokenizer())
        .keyBy(lambda pair: pair[0])
        .countWindow(window_size, slide_size)
        .sum(1)
    )


class Tokenizer(FlatMapFunction[str, tuple[str, int]]):
    """Turns a line into pairs of a word and 1."""

    def flatMap(self, value: str, out: Collector[tuple[str, int]]) -> None:
        for word in words_of(value):
            out.collect((word, 1))


def main(arguments: Sequence[str] | None = None) -> None:
    """Count the words of a file, or of Hamlet's soliloquy."""
    parser = argparse.ArgumentParser(prog="python -m examples.window_word_count")
    parser.add_argument("--input", help="a text file or a directory of them")
    parser.add_argument("--window", type=int, default=10, help="words a window: %(default)s")
    parser.add_argument("--slide", type=int, default=5, help="words from one to the next")
    options = parser.parse_args(arguments)

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    lines = env.readTextFile(options.input) if options.input else env.fromCollection(SOLILOQUY)
    build(lines, options.window, options.slide).print()
    env.execute("WindowWordCount")


if __name__ == "__main__":
    main()
