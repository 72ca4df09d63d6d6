"""A scan: a description of rows to read. Making a scan reads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed import _lakebed, arguments
from lakebed.adapters.pyarrow import read, reader
from lakebed.options import Storage, takes
from lakebed.rows import Rows, narrowed

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

__all__ = ["ExplainedConjunct", "Explanation", "Scan", "read_task"]


@dataclass(frozen=True)
class ExplainedConjunct:
    """One of the predicates that the filter joins by AND, and the files that it skips.

    A file is skipped by the first predicate that can: by partition values first, then by
    statistics.
    """

    text: str
    #: The files that it skips by partition values, and by statistics.
    skipped_by_partition: int
    skipped_by_statistics: int
    #: The reason why it does not skip the other files. None if no file is left.
    reason: str | None

    def __str__(self) -> str:
        counts = [(self.skipped_by_partition, "by partition"), (self.skipped_by_statistics, "by statistics")]
        skipped = ", ".join(f"{count} {how}" for count, how in counts if count) or "none"
        return f"`{self.text}` skips {skipped}" + (f"; the rest may match: {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class Explanation:
    """The plan of a scan: the files that it would read, and the reasons why it does not skip more."""

    #: The table's URL and version.
    table: str
    version: int
    #: The files to read, and their size.
    files: int
    size_bytes: int
    #: The files that partition values skip.
    skipped_by_partition: int
    #: The files that statistics skip.
    skipped_by_statistics: int
    #: The predicate after simplification, or None.
    filter: str | None
    #: The predicates that the filter joins by AND, in order.
    conjuncts: tuple[ExplainedConjunct, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.table} at version {self.version}",
            f"filter: {self.filter or 'none'}",
            f"reads {self.files} files ({self.size_bytes} bytes)",
            f"skips {self.skipped_by_partition} files by partition, {self.skipped_by_statistics} by statistics",
        ]
        return "\n".join(lines + [f"  {conjunct}" for conjunct in self.conjuncts])


class Scan(Rows):
    """A scan of one version of a table.

    Nothing is read until one of the ``to_`` methods or a consumer of Arrow streams requests rows.

    >>> import lakebed as lb
    >>> scan = lb.Table("examples/trips").scan(columns=["city"], where="fare > 20", limit=1)
    >>> scan.to_arrow().column_names
    ['city']
    """

    def __init__(
        self,
        table: _lakebed.Table,
        columns: str | Sequence[str] | None,
        where: str | None,
        limit: int | None,
        row_columns: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._table = table
        self._options = narrowed(columns, where, limit)
        if pairs := arguments.pairs("row_columns", row_columns):
            self._options["row_columns"] = pairs

    def __arrow_c_schema__(self) -> object:
        return self._table.scan_schema(self._options)

    def _stream(self) -> _lakebed.ArrowStream:
        return self._table.scan(self._options)

    def _delta_schema(self) -> str:
        text: str = self._table.metadata()["schemaString"]
        return text

    def head(self, n: int = 5) -> pa.Table:
        """Returns the first ``n`` rows, or all rows if there are fewer, as a pyarrow table.

        A table has no order, so these can be any rows.
        """
        most = arguments.given("n", arguments.integer("n", n))
        options = {**self._options, "limit": min(most, self._options.get("limit", most))}
        return read(self._table.scan(options))

    def count(self) -> int:
        """Returns the number of rows. If the statistics are exact, no data is read."""
        return self._table.count(self._options)

    def files(self, *, statistics: bool = False) -> pa.Table:
        """Returns the data files that may contain rows: path, typed partition values, size, times
        and row counts.

        ``statistics=True`` adds what the log says about the columns of each file: the structs
        ``null_count``, ``min`` and ``max``. ``min`` and ``max`` are bounds. Long strings are cut
        off, and the rows that had these values may be deleted.
        """
        extra = "statistics" if arguments.flag("statistics", statistics) else None
        return read(self._table.files(self._options, extra))

    def _files_for_engines(self) -> pa.Table:
        """Returns the same files, and whether the bounds in their footers are known to cover NaN.
        May read footers.
        """
        return read(self._table.files(self._options, "complete_bounds"))

    def tasks(self, *, target_task_size: int = 128 << 20, paths: Iterable[str] | None = None) -> list[bytes]:
        """Splits the scan into independent tasks, which any process can run with :func:`read_task`.

        ``target_task_size`` is the approximate size of files that a task reads, in bytes; a file is
        never split. ``paths`` limits the tasks to these files, as :meth:`files` names them.
        """
        size = arguments.task_size("target_task_size", target_task_size)
        return self._table.tasks(self._options, size, arguments.texts("paths", paths))

    def _deleted_tasks(self, paths: Iterable[str]) -> list[bytes]:
        """Returns one task for each of these files that has a deletion vector. It reads the deleted
        rows.
        """
        return self._table.deleted_tasks(self._options, set(paths))

    def explain(self) -> Explanation:
        """Returns how many files each predicate of the filter skips, and the reason why it does not
        skip the others.

        It reads the log, but no data.
        """
        found = self._table.explain(self._options)
        return Explanation(**{**found, "conjuncts": tuple(ExplainedConjunct(**conjunct) for conjunct in found["conjuncts"])})

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"Scan({self._table.uri!r}, version={self._table.version}{options})"


@takes(Storage)
def read_task(task: bytes, *, absolute_paths: bool = False, **storage: Unpack[Storage]) -> pa.RecordBatchReader:
    """Runs one task of a scan, in any process.

    ``task`` comes from :meth:`Scan.tasks` or :meth:`Changes.tasks`. A task holds no secrets, so
    ``storage_options`` and ``credentials`` are given here, or they come from the environment.
    ``absolute_paths=True`` follows paths out of the table's root, as :class:`lakebed.Table` does.
    """
    if not isinstance(task, (bytes, bytearray)):
        raise TypeError(f"task is of type {type(task).__name__}: it must be the bytes of a task")
    options = arguments.strings("storage_options", storage.get("storage_options"))
    credentials = arguments.function("credentials", storage.get("credentials"))
    return reader(_lakebed.read_task(bytes(task), options, credentials, arguments.flag("absolute_paths", absolute_paths)))
