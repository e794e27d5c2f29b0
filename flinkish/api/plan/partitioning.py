"""Partitionings: how elements are distributed over tasks; Flink's ``StreamPartitioner`` as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Partitioning:
    """The base of partitionings; elements stay where they are."""

    name: str = "FORWARD"


@dataclass(frozen=True)
class HashPartitioning(Partitioning):
    """By key: all elements of a key go to the task that owns its key group."""

    keySelector: Callable[[Any], Any]
    keyType: str = ""
    """The type of the keys; empty if unknown."""
    allowsNullKeys: bool = False
    """Whether None is a valid key, as in other systems whose programs flinkish runs."""
    name: str = "HASH"


@dataclass(frozen=True)
class BroadcastPartitioning(Partitioning):
    """Every element to every task."""

    name: str = "BROADCAST"


@dataclass(frozen=True)
class ArbitraryPartitioning(Partitioning):
    """Rebalance, rescale, shuffle, global, custom: which task gets an element does not affect the
    results, so flinkish leaves elements where they are."""

    name: str
