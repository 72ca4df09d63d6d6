"""Paths of data files as Hadoop spells them, and the paths that Spark's reader cannot read exactly.

The log has paths as URLs, relative to the table's root or absolute. Hadoop takes them without
escapes. Read :func:`place` first.
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit

__all__ = ["SCHEMES", "hadoop_root", "objection", "place"]

#: Hadoop's names of the stores that it knows.
SCHEMES = {"file": "file", "hdfs": "hdfs", "s3": "s3a", "s3a": "s3a", "gs": "gs", "abfs": "abfs", "abfss": "abfss"}

#: Plain paths. Almost all paths are plain, and none of the following reasons applies to them.
_PLAIN = re.compile(r"(?:(?!\.\.?/)[^/%:]+/)*[A-Za-z0-9][^/%:]*(?<!\._COPYING_)")


def hadoop_root(root: str) -> str:
    """Returns a table's URL as Hadoop spells it."""
    scheme, _, rest = root.partition("://")
    return f"{SCHEMES[scheme]}://{unquote(rest)}"


def place(root: str, path: str) -> str:
    """Returns the path of a file, from its path in the log and the root of `hadoop_root`."""
    if _PLAIN.fullmatch(path):
        return f"{root}/{path}"
    if urlsplit(path).scheme:
        return re.sub("^file:/*", "file:///", unquote(path))
    if path.startswith("/"):
        return f"{root.partition('://')[0]}://{unquote(path)}"
    return f"{root}/{unquote(path)}"


def objection(path: str, place: str, size_bytes: int, absolute_paths: bool) -> str | None:
    """Returns the reason why Spark's reader must not read a file of this size at this path, or None
    if it may.
    """
    if not _PLAIN.fullmatch(path):
        if _is_absolute(path) and not (absolute_paths and place.startswith("file:")):
            return "an absolute path"
        parts = place.partition("://")[2].removeprefix("/").split("/")
        if not {"", ".", ".."}.isdisjoint(parts):
            return "a path with . or .."
        # Spark silently ignores files with such names. A colon makes Hadoop parse a URL.
        if parts[-1].startswith((".", "_")) or parts[-1].endswith("._COPYING_") or ":" in parts[-1]:
            return "a file name that Spark ignores"
    # Spark silently reads nothing from an empty file. The join with deletion vectors needs the
    # size.
    if place.startswith("file:") and _size_on_disk(place) != size_bytes:
        return "the size differs from the log"
    return None


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or urlsplit(path).scheme != ""


def _size_on_disk(place: str) -> int | None:
    try:
        return os.stat(place.removeprefix("file://")).st_size
    except OSError:
        return None
