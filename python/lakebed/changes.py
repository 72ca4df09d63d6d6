"""The change data feed: the rows that the versions of a table inserted, updated or deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from lakebed import _lakebed, arguments
from lakebed.rows import Rows, narrowed
from lakebed.times import milliseconds

__all__ = ["Changes"]


class Changes(Rows):
    """The changes of some versions of a table: the table's columns, and three columns about the
    change.

    ``_change_type`` is ``insert``, ``delete``, ``update_preimage`` (the row before an update) or
    ``update_postimage`` (the row after it). ``_commit_version`` and ``_commit_timestamp`` are those
    of the commit. No row is read until one of the ``to_`` methods or a consumer of Arrow streams
    requests rows. :meth:`lakebed.Table.changes` makes this object.

    >>> import lakebed as lb, pyarrow as pa
    >>> feed = {"delta.enableChangeDataFeed": True}
    >>> table = lb.create("memory://docs/changes", pa.schema([("id", pa.int64())]), properties=feed)
    >>> _ = table.append(pa.table({"id": [1, 2]}))
    >>> _ = table.overwrite(pa.table({"id": [20]}), where="id >= 2")
    >>> changes = table.changes(2)
    >>> changes.schema.names
    ['id', '_change_type', '_commit_version', '_commit_timestamp']
    >>> for row in changes.to_arrow().to_pylist():
    ...     print(row["_commit_version"], row["_change_type"], row["id"])
    2 delete 2
    2 insert 20
    """

    def __init__(
        self,
        table: _lakebed.Table,
        start: int | datetime | str,
        end: int | datetime | str | None,
        columns: str | Sequence[str] | None,
        where: str | None,
    ) -> None:
        if start is None:
            raise TypeError("start=None: it must be a version, a datetime with a zone, or an ISO string with one")
        self._options = narrowed(columns, where)
        #: The table's URL, without secrets.
        self.uri = table.uri
        self._changes = table.changes({**self._options, **_bound("start", start), **_bound("end", end)})

    @property
    def start_version(self) -> int:
        """The first version.

        If no version lies between two timestamps, it is the version after :attr:`end_version`.
        """
        return self._changes.versions[0]

    @property
    def end_version(self) -> int:
        """The last version. The feed has its columns."""
        return self._changes.versions[1]

    def __arrow_c_schema__(self) -> object:
        return self._changes.schema()

    def _stream(self) -> _lakebed.ArrowStream:
        return self._changes.stream()

    def _delta_schema(self) -> str:
        return self._changes.delta_schema()

    def tasks(self, *, target_task_size: int = 128 << 20) -> list[bytes]:
        """Splits the changes into independent tasks, which any process can run with
        :func:`lakebed.read_task`.

        ``target_task_size`` is the approximate size of files that a task reads, in bytes.
        """
        return self._changes.plan().tasks(arguments.task_size("target_task_size", target_task_size))

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"Changes({self.uri!r}, versions {self.start_version} to {self.end_version}{options})"


def _bound(which: str, bound: int | datetime | str | None) -> dict[str, Any]:
    """Returns a bound in the form that `_lakebed` takes.

    Commit timestamps are whole milliseconds, so a start between two of them is rounded up.
    """
    if bound is None:
        return {}
    if isinstance(bound, (str, date)):
        return {which: {"timestamp_ms": milliseconds(which, bound, up=which == "start")}}
    return {which: {"version": arguments.integer(which, bound)}}
