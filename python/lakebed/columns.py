"""Columns as arguments name them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["names"]


def names(given: str | Sequence[str] | None) -> list[str] | None:
    """The names of columns, of which one may stand alone."""
    return None if given is None else [given] if isinstance(given, str) else list(given)
