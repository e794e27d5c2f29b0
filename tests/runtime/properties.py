"""Settings of properties that are collected once for each of many jobs."""

from __future__ import annotations

from hypothesis import settings


def part_of_examples(parts: int) -> settings:
    """One of so many ``parts`` of the examples that a property draws in this profile."""
    return settings(max_examples=max(2, settings.default.max_examples // parts))
