"""``flinkish completion``: what Tab completes in a shell, written by shtab."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from flinkish.api.errors import IllegalStateError

SHELLS = ("bash", "zsh")

_DIRECTORIES = ("DIR", "directory")
_FILES = ("script", "arguments")

_IDS = """$(flinkish list 2>/dev/null | awk '$1 == "started" { print $4 }')"""
_PREAMBLE = {
    "bash": f'_flinkish_jobs() {{ compgen -W "{_IDS}" -- "$1"; }}',
    "zsh": f'_flinkish_jobs() {{ compadd -- ${{(f)"{_IDS}"}}; }}',
}
_JOBS = dict.fromkeys(SHELLS, "_flinkish_jobs")


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """A script for ``shell`` that completes commands, options, paths and ids of running jobs."""
    try:
        import shtab
    except ImportError:
        raise IllegalStateError(
            "completion: shtab writes it, which is not installed. Run pip install 'flinkish[completion]'."
        ) from None
    for action in _actions(parser):
        if action.dest == "job":
            vars(action)["complete"] = _JOBS
        elif action.metavar in _DIRECTORIES or action.dest in _DIRECTORIES:
            vars(action)["complete"] = shtab.DIRECTORY
        elif action.dest in _FILES:
            vars(action)["complete"] = shtab.FILE
    return str(shtab.complete(parser, shell, preamble=_PREAMBLE[shell]))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
