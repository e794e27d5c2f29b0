"""Functions are pickled by value, as cloudpickle does, and keep the name of their file.

cloudpickle 3.1.3 replaces it by ``<dynamic-code>``: a traceback on a worker would name no file and show no line.
"""

from __future__ import annotations

import io
from collections import ChainMap
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import cloudpickle


def _code_of_file(
    create: Callable[..., CodeType], arguments: tuple[Any, ...], file: str
) -> CodeType:
    return create(*arguments).replace(co_filename=file)


def _reduce_code(code: CodeType) -> tuple[Any, ...]:
    # The code of nested functions is among the arguments, and reduced like this one
    create, arguments = cloudpickle.Pickler.dispatch_table[CodeType](code)
    if code.co_filename in arguments:
        return create, arguments
    return _code_of_file, (create, arguments, code.co_filename)


TABLES = ({CodeType: _reduce_code}, *cloudpickle.Pickler.dispatch_table.maps)
"""How objects of a class are reduced; the first table that has the class counts."""


class FunctionPickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle is not typed
    """cloudpickle's pickler, whose functions keep the name of their file."""

    dispatch_table: Mapping[Any, Any] = ChainMap(*TABLES)


def dumps(value: Any) -> bytes:
    """``value`` as bytes, with functions by value; ``pickle.loads`` reads them."""
    file = io.BytesIO()
    FunctionPickler(file, protocol=5).dump(value)
    return file.getvalue()
