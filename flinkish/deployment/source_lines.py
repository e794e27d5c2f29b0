"""Adds source lines to tracebacks of workers, which lack notebooks and the driver's files."""

from __future__ import annotations

import linecache
import re
import sys

_FRAME = re.compile(r'(?P<indent> *)File "(?P<file>.+)", line (?P<line>\d+)(?P<rest>, in .+)?$')


def with_source_lines(trace: str) -> str:
    """``trace`` with the missing source lines that this process has. Notebook cells get the names
    that IPython shows, such as ``Cell In[3]``."""
    lines = trace.split("\n")
    result = []
    for line, following in zip(lines, [*lines[1:], ""]):
        frame = _FRAME.match(line)
        if frame is None:
            result.append(line)
            continue
        indent, file, number = frame["indent"], frame["file"], int(frame["line"])
        cell = _cell(file)
        result.append(
            line if cell is None else f"{indent}{cell}, line {number}{frame['rest'] or ''}"
        )
        source = linecache.getline(file, number).strip()
        if source and not following.startswith(f"{indent}  "):
            result.append(f"{indent}  {source}")
    return "\n".join(result)


def _cell(file: str) -> str | None:
    """IPython's name for the cell that was compiled as ``file``."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    name = None if shell is None else shell.compile.format_code_name(file)
    return None if name is None else " ".join(name)
