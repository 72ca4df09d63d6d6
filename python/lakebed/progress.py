"""Passes the progress of long work on to its caller."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["watcher"]

_Progress = TypeVar("_Progress")


def watcher(
    progress: bool | Callable[[_Progress], Any] | None, kind: Callable[..., _Progress], line: Callable[[_Progress], str]
) -> Callable[..., None] | None:
    """Returns the function that the extension calls, or None without a progress.

    It makes a ``kind`` of its arguments and calls ``progress`` with that. ``progress=True`` prints
    ``line`` on one line of the terminal, over the last one.
    """
    if progress is None or progress is False:
        return None

    def show(current: _Progress) -> None:
        print(f"\r{line(current)}", end="", file=sys.stderr, flush=True)

    tell = show if progress is True else progress

    def watch(*counts: Any) -> None:
        tell(kind(*counts))

    return watch
