"""Searches every byte below a table for a value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

#: The value that must go.
MARK = "zq-marker-zq"


def values(value: Any) -> Iterator[str]:
    """All strings in a value of Arrow as Python has it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from values(key)
            yield from values(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from values(inner)
    elif value is not None:
        yield value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def holders(root: Path, mark: str = MARK) -> list[str]:
    """The files and folders below `root` that hold `mark`: in the name, in the bytes, or, in Parquet
    files, in any row (also rows that a vector deletes) or in the footer."""
    found = set()
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if mark in name:
            found.add(name)
        if path.is_dir():
            continue
        content = path.read_bytes()
        if mark.encode() in content:
            found.add(name)
        if content[:4] == b"PAR1" and any(mark in text for text in values(pq.read_table(path, partitioning=None).to_pylist())):
            found.add(name)
    return sorted(found)
