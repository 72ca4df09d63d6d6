"""Where data files are, as Hadoop spells it, and which of them Spark's own reader would not read as the log means it.

The log writes paths as URLs, below the table's root or absolute; Hadoop takes them with nothing escaped. Read :func:`place` first.
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit

__all__ = ["SCHEMES", "hadoop_root", "objection", "place"]

#: What Hadoop calls the stores that it knows.
SCHEMES = {"file": "file", "hdfs": "hdfs", "s3": "s3a", "s3a": "s3a", "gs": "gs", "abfs": "abfs", "abfss": "abfss"}

#: Paths that have no peculiarities, as nearly all: for these, all that follows is decided at once.
_PLAIN = re.compile(r"(?:(?!\.\.?/)[^/%:]+/)*[A-Za-z0-9][^/%:]*(?<!\._COPYING_)")


def hadoop_root(root: str) -> str:
    """A table's URL as Hadoop spells it."""
    scheme, _, rest = root.partition("://")
    return f"{SCHEMES[scheme]}://{unquote(rest)}"


def place(root: str, path: str) -> str:
    """Where a file is, by its path in the log and the root as `hadoop_root` gives it."""
    if _PLAIN.fullmatch(path):
        return f"{root}/{path}"
    if urlsplit(path).scheme:
        return re.sub("^file:/*", "file:///", unquote(path))
    if path.startswith("/"):
        return f"{root.partition('://')[0]}://{unquote(path)}"
    return f"{root}/{unquote(path)}"


def objection(path: str, place: str, size_bytes: int, absolute_paths: bool) -> str | None:
    """Why Spark's reader must not be given a file of that size at that place."""
    if not _PLAIN.fullmatch(path):
        if _is_absolute(path) and not (absolute_paths and place.startswith("file:")):
            return "an absolute path"
        parts = place.partition("://")[2].removeprefix("/").split("/")
        if not {"", ".", ".."}.isdisjoint(parts):
            return "a path with dots"
        # Spark takes such names for no data, without a word; of a colon Hadoop makes a URL.
        if parts[-1].startswith((".", "_")) or parts[-1].endswith("._COPYING_") or ":" in parts[-1]:
            return "a name that Spark hides"
    # Of an empty file Spark reads nothing, without a word; and by its size a file finds its deletion vector.
    if place.startswith("file:") and _size_on_disk(place) != size_bytes:
        return "not of the size that the log says"
    return None


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or urlsplit(path).scheme != ""


def _size_on_disk(place: str) -> int | None:
    try:
        return os.stat(place.removeprefix("file://")).st_size
    except OSError:
        return None
