"""The splits in the snapshot of a watermark strategy: they go to the key groups that the splits go to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.records.held_elements import HeldElements


def split_states(snapshot: Mapping[str, Any]) -> dict[Any, Any] | None:
    """What a snapshot holds of each split; None if its operator tells no splits apart."""
    if "order" in snapshot:
        return {None: (snapshot["order"], None)}
    if "partitions" in snapshot:
        held = HeldElements(snapshot.get("held")).byPartition()
        partitions = enumerate(snapshot["partitions"].items())
        return {partition: (order, held.get(number)) for number, (partition, order) in partitions}
    generators = snapshot.get("generators")
    if generators is None or not isinstance(generators[0], dict):
        return None
    generations, (watermarks, idle, *_), *finished = generators
    ended: set[Any] = set(*finished)
    states = zip(generations.items(), watermarks, idle)
    return {split: (kept, at, rests, split in ended) for (split, kept), at, rests in states}


def with_split_states(snapshot: Mapping[str, Any], states: Mapping[Any, Any]) -> dict[str, Any]:
    """A snapshot of the same operator with these splits, which has emitted nothing of them yet."""
    changed = {**snapshot, "emitter": (MIN_TIMESTAMP, False)}
    if "generators" not in snapshot:
        changed.pop("order", None)
        partitions = {partition: order for partition, (order, _) in states.items()}
        held = {number: waits for number, (_, waits) in enumerate(states.values())}
        together = HeldElements.ofPartitions(held).snapshot()
        return {**changed, "partitions": partitions, "held": together}
    generations = {split: kept for split, (kept, *_) in states.items()}
    watermarks = [at for _, at, _, _ in states.values()]
    idle = [rests for _, _, rests, _ in states.values()]
    joined = watermarks, idle, MIN_TIMESTAMP, False
    finished = {split for split, (*_, ended) in states.items() if ended}
    generators = (generations, joined, finished) if finished else (generations, joined)
    return {**changed, "generators": generators}
