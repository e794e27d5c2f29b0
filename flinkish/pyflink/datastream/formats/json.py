"""JSON schemas of Java's connectors, which flinkish has none of."""

from __future__ import annotations

from typing import NoReturn

from flinkish.api.errors import NotSupportedError

_FIX = "Map the elements with json.loads or json.dumps instead."


class JsonRowDeserializationSchema:
    """Not supported: for Java's connectors."""

    @staticmethod
    def builder() -> NoReturn:
        """Says what to write instead."""
        raise NotSupportedError(
            f"JsonRowDeserializationSchema: it is for Java's connectors. {_FIX}"
        )


class JsonRowSerializationSchema:
    """Not supported: for Java's connectors."""

    @staticmethod
    def builder() -> NoReturn:
        """Says what to write instead."""
        raise NotSupportedError(f"JsonRowSerializationSchema: it is for Java's connectors. {_FIX}")
