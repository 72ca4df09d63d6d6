"""Where a caller says that a table is, with one meaning for every process that reads or writes it.

The functions of this package run in the caller's process and know its folder: :func:`of_caller`. ``format("lakebed")`` runs in processes
that Spark starts elsewhere, and is told nothing of the caller's folder: :func:`of_option`.
"""

from __future__ import annotations

import os
import re

from lakebed.errors import InvalidInputError

__all__ = ["of_caller", "of_option"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/{0,2})")
#: Words that are schemes also where no slash follows. Other words before a colon may begin the name of a folder.
_SCHEMES = {"abfs", "abfss", "az", "dbfs", "file", "gs", "hdfs", "memory", "s3", "s3a", "viewfs"}


def of_caller(uri: str | os.PathLike[str]) -> str:
    """A URL as it is, or a whole path: relative ones begin in the folder of this process, as it is now."""
    if not isinstance(uri, (str, os.PathLike)):
        raise TypeError(f"uri takes a path or a URL of a table, not a {type(uri).__name__}")
    given = os.fsdecode(uri)
    if _is_url(given):
        return given
    path = os.path.expanduser(given)
    if path.startswith("~"):
        raise InvalidInputError(f"{given}: this machine has no such user; a folder of that name is written ./{given}")
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def of_option(path: str) -> str:
    """A URL or a whole path as it is; others are refused."""
    if _is_url(path) or os.path.isabs(path):
        return path
    if path.startswith("~"):
        raise InvalidInputError(
            f"{path}: Spark does not tell format('lakebed') whose home ~ is: give the whole path, os.path.expanduser({path!r})"
        )
    raise InvalidInputError(
        f"{path}: this path is relative, and Spark does not tell format('lakebed') to which folder: give the whole path, "
        f"os.path.abspath({path!r})"
    )


def _is_url(text: str) -> bool:
    """Whether a text is a URL and no path. Refuses what is neither."""
    if not text:
        raise InvalidInputError("which table? The path is empty")
    found = _SCHEME.match(text)
    if found is None:
        return False
    scheme, slashes = found[1].lower(), found[2]
    if scheme == "memory":
        raise InvalidInputError(
            f"{text}: a table in memory is known to one process alone, and Spark's workers are others: use a folder or an object store, "
            "or lakebed.Table and lakebed.write without Spark"
        )
    if not slashes:
        if scheme not in _SCHEMES:
            return False
        wanted = "file:///folder/table" if scheme == "file" else f"{scheme}://…"
        raise InvalidInputError(
            f"{text}: a URL has slashes behind {scheme}:, as in {wanted}; a folder of that name is written ./{text}"
        )
    if slashes == "/" and scheme == "dbfs":
        raise InvalidInputError(
            f"{text}: a path of DBFS is written /dbfs{text[len('dbfs:') :]}, or by the URL of the store that has the table"
        )
    if slashes == "/" and scheme != "file":
        raise InvalidInputError(
            f"{text}: a URL has two slashes behind {scheme}:, as in {scheme}://…; a folder of that name is written ./{text}"
        )
    return True
