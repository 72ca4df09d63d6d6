"""Locations of tables, with one meaning for every process that reads or writes them.

The core decides which location a string means. The functions of this package run in the caller's
process and know its folder: :func:`of_caller`. ``format("lakebed")`` runs in processes that Spark
starts in other folders, and does not know the caller's folder: :func:`of_option`.
"""

from __future__ import annotations

import os

from lakebed import _lakebed, arguments
from lakebed.errors import InvalidInputError

__all__ = ["of_caller", "of_option"]


def of_caller(uri: str | os.PathLike[str]) -> str:
    """Returns a URL or an absolute path. A relative path begins in the current folder of this
    process.
    """
    given = arguments.location("uri", uri)
    return _of_processes(given, _lakebed.place_of(given))


def of_option(path: str) -> str:
    """Returns a URL or an absolute path. Relative paths are refused."""
    # Invalid locations are refused first.
    found = _lakebed.place_of(path)
    if _lakebed.is_relative(path):
        if path.startswith("~"):
            raise InvalidInputError(
                f"{path}: Spark does not pass the home folder for ~ to format('lakebed'): give the full path, os.path.expanduser({path!r})"
            )
        raise InvalidInputError(
            f"{path}: this path is relative, and Spark does not pass the working folder to format('lakebed'): give the full path, "
            f"os.path.abspath({path!r})"
        )
    return _of_processes(path, found)


def _of_processes(given: str, place: str) -> str:
    """Returns a location that more than one process can open."""
    if place.startswith("memory:"):
        raise InvalidInputError(
            f"{given}: a table in memory exists in one process only, and Spark's workers are other processes: use a folder or an object store, "
            "or lakebed.Table and lakebed.write without Spark"
        )
    return place
