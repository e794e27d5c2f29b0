"""Runs a pipeline over documents, in local execution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flinkish import StreamExecutionEnvironment
from flinkish.compat import atlas


@dataclass
class Run:
    """The output of a pipeline."""

    results: list[dict[str, Any]] = field(default_factory=list)
    deadLetters: list[dict[str, Any]] = field(default_factory=list)

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The results without the fields that the processor adds."""
        return [bare(document) for document in self.results]

    @property
    def failures(self) -> list[tuple[dict[str, Any], str]]:
        """The dead letters: the document and the stage."""
        return [(bare(letter["doc"]), letter["stage"]) for letter in self.deadLetters]


def bare(document: Any) -> Any:
    """A document without the fields that the processor adds."""
    if not isinstance(document, dict):
        return document
    return {k: v for k, v in document.items() if k not in ("_ts", "_stream_meta")}


def run(
    stages: Any,
    documents: list[Any],
    environment: StreamExecutionEnvironment | None = None,
    source: str = "in",
    connections: dict[str, Any] | None = None,
    perBatch: int | None = None,
    **options: Any,
) -> Run:
    """Run ``stages`` over ``documents``, in local execution unless an environment is given."""
    env = environment
    if env is None:
        env = StreamExecutionEnvironment.getExecutionEnvironment()
        env.setLocalExecution().setParallelism(1)
    if perBatch is not None:
        env.getConfig().setElementsPerBatch(perBatch)
    stream = env.fromCollection(documents)
    given = {source: stream, **(connections or {})}
    pipeline = atlas.pipeline(stages, given, deadLetterQueue=True, **options)
    out = Run()
    pipeline.results.forEachBatch(lambda found, batch: out.results.extend(found))
    pipeline.deadLetterQueue.forEachBatch(lambda found, batch: out.deadLetters.extend(found))
    env.execute("pipeline")
    return out
