"""Functions of modules that a worker could not import are shipped by value, like those of the main
script.

PyFlink may run a function on the same machine as the program, and so finds any module that the
program has.
"""

from __future__ import annotations

import importlib.machinery
import sys
from functools import cache

import cloudpickle

from flinkish.api.type_variables import T


def shippable(function: T) -> T:
    """``function``, which is pickled by value from now on if another process could not import its
    module, such as one that a test runner or a notebook has loaded from a file itself."""
    owner = function if hasattr(function, "__qualname__") else type(function)
    name = getattr(owner, "__module__", None)
    module = sys.modules.get(name) if isinstance(name, str) else None
    file = getattr(module, "__file__", None)
    if module is not None and name != "__main__" and file and not _is_importable(str(name), file):
        cloudpickle.register_pickle_by_value(module)
    return function


@cache
def _is_importable(name: str, file: str) -> bool:
    """Whether an import of ``name`` would find ``file``."""
    path = None
    found = None
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        found = importlib.machinery.PathFinder.find_spec(".".join(parts[:end]), path)
        if found is None:
            return False
        path = found.submodule_search_locations
    return found is not None and found.origin == file
