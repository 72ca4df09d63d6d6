"""A table at one version: the way in for everything that reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from lakebed import _lakebed, arguments
from lakebed.adapters.pyarrow import schema_of
from lakebed.alter import Alter
from lakebed.arguments import Evolution, Partitions, SchemaMode, VacuumMode
from lakebed.changes import Changes
from lakebed.detail import Checkpoint, Detail, Protocol, protocol
from lakebed.display import html_table
from lakebed.dml import Merge, delete_rows, update_rows, upsert_rows
from lakebed.history import History, entry
from lakebed.input import stream
from lakebed.maintain import layout, optimize, plan_optimize, vacuum
from lakebed.options import Appending, Changing, Merging, Opening, Optimizing, Overwriting, Rewriting, checked, located, takes
from lakebed.results import CommitResult, WriteMetrics
from lakebed.scan import Scan
from lakebed.times import milliseconds, moment

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from typing_extensions import Unpack

    from lakebed.maintain import PlannedGroup, Progress
    from lakebed.results import ChangeResult, OptimizeResult, VacuumResult

__all__ = ["Table"]


class Table:
    """A Delta table at one version: an immutable handle, cheap to keep, safe to share between threads, to fork and to pickle.

    ``uri`` is a URL (``s3://bucket/path``, ``abfss://container@account.dfs.core.windows.net/path``, ``file:///path``, ...) or a path on this
    machine, in which a leading ``~`` stands for your home folder.
    ``version`` or ``timestamp`` (a ``datetime`` with a zone, or ISO text with one) open an older version; without them it is the latest one.
    ``storage_options`` take the keys of object_store and deltalake. ``credentials`` is called for them anew before they expire: it
    returns a mapping of options, with ``expires_at`` (a ``datetime``) when they do. ``absolute_paths=True`` follows paths out of the
    table's root, which shallow clones have.

    >>> import lakebed as lb
    >>> table = lb.Table("examples/trips", version=0)
    >>> table.scan().count()
    4
    """

    @takes(Opening)
    def __init__(self, uri: str | os.PathLike[str], **options: Unpack[Opening]) -> None:
        version, timestamp = options.get("version"), options.get("timestamp")
        if version is not None and timestamp is not None:
            raise TypeError("give version or timestamp, not both")
        self._given: dict[str, Any] = {
            **located(uri, options),
            "absolute_paths": arguments.flag("absolute_paths", options.get("absolute_paths", False)),
        }
        at = {
            "version": arguments.integer("version", version),
            "timestamp_ms": None if timestamp is None else milliseconds("timestamp", timestamp),
        }
        self._table = _lakebed.Table.open({**self._given, **at})

    @classmethod
    def _wrap(cls, table: _lakebed.Table, given: dict[str, Any]) -> Table:
        self = cls.__new__(cls)
        self._given = given
        self._table = table
        return self

    def _with(self, table: _lakebed.Table) -> Table:
        """The handle of another version of this table."""
        return self._wrap(table, self._given)

    @property
    def uri(self) -> str:
        """Where the table is, without secrets."""
        return self._table.uri

    @property
    def version(self) -> int:
        """The version of this handle."""
        return self._table.version

    @property
    def schema(self) -> pa.Schema:
        """The schema, with the types that scans give."""
        return schema_of(self._table.schema())

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the partition columns, in order."""
        return tuple(self._table.metadata()["partitionColumns"])

    @property
    def properties(self) -> dict[str, str]:
        """The properties that are set."""
        configuration = self._table.metadata()["configuration"]
        return {name: value for name, value in sorted(configuration.items()) if value is not None}

    @property
    def protocol(self) -> Protocol:
        """What readers and writers of this version must know."""
        return protocol(self._table.protocol())

    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        *,
        where: str | None = None,
        limit: int | None = None,
        row_columns: Sequence[tuple[str, str]] = (),
    ) -> Scan:
        """A lazy scan of some ``columns`` (``"a.b"`` for a field of a struct), of the rows for which the SQL text ``where`` is true, and of at
        most ``limit`` of them.

        Among the columns can be named, where the table has no column ``_metadata`` of its own, what tells about rows:
        ``"_metadata.file_path"``, ``"_metadata.file_size"`` and ``"_metadata.row_index"`` (where a row is), and in a table that tracks rows
        ``"_metadata.row_id"`` (which stays with a row when it moves) and ``"_metadata.row_commit_version"`` (the version that last wrote it).
        They can stand in ``where``, too.

        >>> import lakebed as lb, pyarrow as pa
        >>> tracked = {"delta.enableRowTracking": True}
        >>> table = lb.write("memory://docs/scan", pa.table({"name": ["a", "b"]}), properties=tracked).table
        >>> table.scan(columns=["_metadata.row_id", "name"]).to_arrow().to_pylist()
        [{'_metadata.row_id': 0, 'name': 'a'}, {'_metadata.row_id': 1, 'name': 'b'}]

        ``row_columns`` tell the same behind the others, each given by what it holds and its name: ``("row_id", "_id")``.
        """
        return Scan(self._table, columns, where, limit, row_columns)

    def to_arrow(
        self, columns: str | Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pa.Table:
        """All rows as a pyarrow table: short for ``scan(columns, where=where, limit=limit).to_arrow()``."""
        return self.scan(columns, where=where, limit=limit).to_arrow()

    def to_reader(
        self, columns: str | Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pa.RecordBatchReader:
        """All rows as record batches one after the other: short for ``scan(columns, where=where, limit=limit).to_reader()``."""
        return self.scan(columns, where=where, limit=limit).to_reader()

    def to_pandas(
        self, columns: str | Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pd.DataFrame:
        """All rows as a pandas data frame: short for ``scan(columns, where=where, limit=limit).to_pandas()``."""
        return self.scan(columns, where=where, limit=limit).to_pandas()

    def to_polars(
        self, columns: str | Sequence[str] | None = None, *, where: str | None = None, limit: int | None = None
    ) -> pl.DataFrame:
        """All rows as a polars data frame: short for ``scan(columns, where=where, limit=limit).to_polars()``."""
        return self.scan(columns, where=where, limit=limit).to_polars()

    def to_duckdb(
        self,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """All rows as a DuckDB relation: short for ``scan(columns, where=where, limit=limit).to_duckdb(connection)``."""
        return self.scan(columns, where=where, limit=limit).to_duckdb(connection)

    def head(self, n: int = 5, *, columns: str | Sequence[str] | None = None, where: str | None = None) -> pa.Table:
        """The first ``n`` rows, or fewer where there are not so many: short for ``scan(columns, where=where).head(n)``."""
        return self.scan(columns, where=where).head(n)

    def changes(
        self,
        start: int | datetime | str,
        end: int | datetime | str | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
    ) -> Changes:
        """The change data feed: what the versions from ``start`` to ``end``, both included, did to which rows; see :class:`lakebed.Changes`.

        Without ``end`` it goes to the newest version of the table, whatever the version of this handle. Both are versions, or moments (a
        ``datetime`` with a zone, or ISO text with one): it then begins with the first version that was made at that moment or later, and ends
        with the last one that was made at that moment or earlier. What to read is decided here: later versions do not come into it.

        The table must have recorded its changes in all of these versions (``delta.enableChangeDataFeed``), and comes with the columns of
        the last of them: rows from before a column was added have nulls there, versions from before a column was renamed or dropped must be
        asked for separately. ``columns`` are the only ones of the table that come, ``where`` is a condition on them in SQL.

        A version that does not exist is a :class:`lakebed.VersionNotFoundError`, and so is a moment that no version answers to: a start after
        the newest version, or before the oldest that the log has kept. Two moments with no version between them give no changes.
        """
        return Changes(self._table, start, end, columns, where)

    def files(self, *, where: str | None = None) -> pa.Table:
        """The files of this version, or those of them that may hold rows for which ``where`` is true."""
        return self.scan(where=where).files()

    def count(self, where: str | None = None) -> int:
        """How many rows, or for how many of them the SQL text ``where`` is true. Taken from the statistics where these are exact.

        >>> import lakebed as lb
        >>> lb.Table("examples/trips").count("fare > 20")
        2
        """
        return self.scan(where=where).count()

    def history(self, limit: int | None = None) -> History:
        """The commits up to this version that the log still has, newest first, and at most ``limit`` of them."""
        return History([entry(*found) for found in self._table.history(arguments.integer("limit", limit))])

    def detail(self) -> Detail:
        """What the table is. Counts its files, which costs reading them where no checksum tells."""
        found = self._table.detail()
        for name in ("created_at", "last_modified"):
            found[name] = None if found[name] is None else moment(found[name])
        found["protocol"] = protocol(found["protocol"])
        fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
        return Detail(**fields)

    def transaction_version(self, app_id: str) -> int | None:
        """The highest number that a write of the application ``app_id`` had, as given with ``txn``; None if the table does not know it.

        A write with that number or a lower one is not done again. A stream that writes by its query's id is known by that.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/transactions", pa.table({"id": [1]}), txn=("nightly load", 7)).table
        >>> table.transaction_version("nightly load")
        7
        """
        return self._table.transaction_version(arguments.given("app_id", arguments.words("app_id", app_id)))

    @property
    def alter(self) -> Alter:
        """What can be changed about the table."""
        return Alter(self)

    def checkpoint(self) -> Checkpoint:
        """Writes a checkpoint of this version: opening it, or a later one, then reads none of the commits before.

        Writers do that by themselves, every ``delta.checkpointInterval`` versions.

        >>> import lakebed as lb, pyarrow as pa
        >>> lb.write("memory://docs/checkpoint", pa.table({"id": [1]})).table.checkpoint().num_files
        1
        """
        return Checkpoint(**self._table.checkpoint())

    def compact_log(self, first: int, last: int) -> str | None:
        """Writes one file that stands for the commits from version ``first`` to ``last``, and tells its name; ``None`` if there is one already.

        It is for engines that read such files, where many commits lie between two checkpoints; lakebed itself reads the commits. All removals
        of the versions are kept in it.

        >>> import lakebed as lb, pyarrow as pa
        >>> t = lb.write("memory://docs/compact_log", pa.table({"id": [1]})).table
        >>> for number in range(3):
        ...     _ = t.append(pa.table({"id": [number]}))
        >>> t.refresh().compact_log(1, 3)
        '00000000000000000001.00000000000000000003.compacted.json'
        """
        start = arguments.given("first", arguments.integer("first", first))
        end = arguments.given("last", arguments.integer("last", last))
        return self._table.compact_log(start, end)

    def refresh(self) -> Table:
        """A handle on the latest version: costs one listing and the new commits. This handle stays as it is."""
        return self._with(self._table.refresh())

    @takes(Appending)
    def append(self, data: Any, *, schema_mode: Evolution = "enforce", **options: Unpack[Appending]) -> CommitResult:
        """Adds the rows of ``data``, on top of the latest version whatever the version of this handle; the options are those of
        :func:`lakebed.write`. Where the table is gone, or another one was made in its place, nothing is written.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.create("memory://docs/append", pa.schema([("id", pa.int64())]))
        >>> table.append(pa.table({"id": [1, 2]})).version
        1
        """
        evolution = arguments.word("schema_mode", schema_mode, Evolution)
        return self._write(data, {**options, "mode": "append", "schema_mode": evolution})

    @takes(Overwriting)
    def overwrite(
        self,
        data: Any,
        *,
        where: str | None = None,
        partitions: Partitions = "static",
        schema_mode: SchemaMode = "enforce",
        **options: Unpack[Overwriting],
    ) -> CommitResult:
        """Puts the rows of ``data`` in the place of all others, or of those for which ``where`` is true, on top of the latest version; the
        options are those of :func:`lakebed.write`. ``partition_by``, ``cluster_by`` and ``properties`` go with ``schema_mode="overwrite"``.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/overwrite", pa.table({"id": [1, 2, 3]})).table
        >>> table.overwrite(pa.table({"id": [20]}), where="id >= 2").table.count()
        2
        """
        replaced = {"mode": "overwrite", "where": where, "partitions": partitions, "schema_mode": schema_mode}
        return self._write(data, {**options, **replaced})

    def _write(self, data: Any, options: dict[str, Any]) -> CommitResult:
        written, committed, metrics = self._table.write_rows(checked(options), stream(data))
        newer = self._with(written)
        return CommitResult(version=newer.version, metrics=WriteMetrics(**metrics), committed=committed, table=newer)

    @takes(Changing)
    def delete(self, where: str | None = None, **options: Unpack[Changing]) -> ChangeResult:
        """Deletes the rows for which ``where`` is true, or all rows, on top of the latest version whatever the version of this handle.

        A table with ``delta.enableDeletionVectors`` notes the rows beside their files; in others, files are written anew without them. Where
        no row is concerned, nothing is written or committed. If another writer changes meanwhile what this depends on, it is done again on
        top of that, unless ``retries=False``; ``timeout`` is how many seconds to go on trying. ``txn=("my-job", 7)``: a change that the table
        knows already is not done again. ``user_metadata`` are words of your own, which the history keeps.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/delete-rows", pa.table({"id": [1, 2, 3]})).table
        >>> result = table.delete("id > 1")
        >>> result.metrics.deleted_rows, result.table.count()
        (2, 1)
        """
        return delete_rows(self, checked({"where": where, **options}))

    @takes(Rewriting)
    def update(self, set: Mapping[str, str], *, where: str | None = None, **options: Unpack[Rewriting]) -> ChangeResult:
        """Puts values into columns of the rows for which ``where`` is true, or of all rows, on top of the latest version. ``set`` says which: it
        maps columns (``"a.b"`` for a field of a struct) to SQL expressions. ``target_file_size`` is about how large new files become, in bytes.
        The other options are those of :meth:`delete`.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/update-rows", pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})).table
        >>> table.update({"name": "upper(name)"}, where="id > 1").table.to_arrow().sort_by("id")["name"].to_pylist()
        ['a', 'B', 'C']
        """
        return update_rows(self, set, checked({"where": where, **options}))

    @takes(Merging)
    def merge(
        self,
        source: Any,
        on: str,
        *,
        source_alias: str = "source",
        target_alias: str = "target",
        **options: Unpack[Merging],
    ) -> Merge:
        """A merge of rows into the latest version of this table: say with the ``when_`` methods what becomes of which rows, then ``execute()``.

        ``source`` is anything that speaks Arrow, as for :func:`lakebed.write`; it is read once, and may be larger than memory. ``on`` is an SQL
        condition over the columns of both, such as ``"target.id = source.id"``; ``source_alias`` and ``target_alias`` are what it calls the two.
        ``schema_mode="merge"`` adds columns to the table that the source has and it lacks. ``on_lossy="truncate"`` lets digits of the source go that
        no column can hold, such as nanoseconds; assignments cast as SQL does. ``target_file_size`` is about how large new files become, in bytes.
        The other options are those of :meth:`delete`.
        """
        names = {"on": on, "source_alias": source_alias, "target_alias": target_alias}
        named = {name: arguments.given(name, arguments.text(name, value)) for name, value in names.items()}
        return Merge(self, source, {**named, **_merging(options)})

    @takes(Merging)
    def upsert(self, source: Any, keys: str | Sequence[str], **options: Unpack[Merging]) -> ChangeResult:
        """Updates the rows that have the ``keys`` (one or more columns) of a row of ``source`` with all its columns, and inserts its other rows.
        A null among the keys equals a null. Fractions for whole numbers, and other values that a column cannot hold, are refused unless
        ``on_lossy="truncate"``. The other options are those of :meth:`merge`.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/upsert", pa.table({"id": [1, 2], "name": ["a", "b"]})).table
        >>> result = table.upsert(pa.table({"id": [2, 3], "name": ["B", "C"]}), keys=["id"])
        >>> result.metrics.updated_rows, result.metrics.inserted_rows
        (1, 1)
        """
        return upsert_rows(self, source, keys, _merging(options))

    @overload
    def optimize(
        self,
        where: str | None = ...,
        *,
        dry_run: Literal[False] = ...,
        progress: bool | Callable[[Progress], Any] | None = ...,
        **options: Unpack[Optimizing],
    ) -> OptimizeResult: ...
    @overload
    def optimize(
        self,
        where: str | None = ...,
        *,
        dry_run: Literal[True],
        progress: bool | Callable[[Progress], Any] | None = ...,
        **options: Unpack[Optimizing],
    ) -> tuple[PlannedGroup, ...]: ...
    @overload
    def optimize(
        self,
        where: str | None = ...,
        *,
        dry_run: bool,
        progress: bool | Callable[[Progress], Any] | None = ...,
        **options: Unpack[Optimizing],
    ) -> OptimizeResult | tuple[PlannedGroup, ...]: ...
    @takes(Optimizing)
    def optimize(
        self,
        where: str | None = None,
        *,
        dry_run: bool = False,
        progress: bool | Callable[[Progress], Any] | None = None,
        **options: Unpack[Optimizing],
    ) -> OptimizeResult | tuple[PlannedGroup, ...]:
        """Writes files of the latest version anew, without changing a row: small files are put together, and files of which more than
        ``max_deleted_share`` of the rows are deleted are freed of these. With ``where``, only files that may hold such rows are looked at.

        ``cluster_by=["a", "b"]`` also brings rows into an order in which queries that name values of these columns skip the most files, found by
        trying several on a sample; ``zorder_by`` is exactly a Z-order. A table with clustering columns of its own is clustered by these, as far
        as it is not yet; ``full=True`` also takes files that are clustered already. What needs no work is left alone: to call this again costs
        a look at the log.

        ``target_file_size`` is about how large files become, in bytes; ``min_files`` how many small files are worth the work; ``fill_statistics``
        also gives statistics to files that lack them. A file that another writer changes meanwhile is left to it, and so are those that were
        to be written together with it; with ``commit="group"`` each such group becomes a version of its own. ``dry_run=True`` only tells the
        groups. ``progress=True`` shows how far it has come, or give a function that is told. ``user_metadata`` are words of your own, which the
        history keeps; ``timeout`` is how many seconds to go on trying to commit while other writers are faster.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/optimize-files", pa.table({"id": [1, 2]})).table
        >>> for id in range(3, 6):
        ...     _ = table.append(pa.table({"id": [id]}))
        >>> result = table.optimize()
        >>> result.metrics.removed_files, result.metrics.added_files, result.metrics.rows
        (4, 1, 5)
        """
        given = checked({"where": where, **options})
        given["layout"] = layout(given.pop("zorder_by", None), given.pop("cluster_by", None))
        watcher = None if isinstance(progress, (bool, type(None))) else arguments.function("progress", progress)
        is_only_planned = arguments.flag("dry_run", dry_run)
        return plan_optimize(self, given) if is_only_planned else optimize(self, given, watcher or progress is True)

    def vacuum(
        self,
        retention_hours: float | None = None,
        *,
        mode: VacuumMode = "full",
        dry_run: bool = False,
        inventory: Any = None,
        enforce_retention: bool = True,
        log_commits: bool = True,
        user_metadata: str | None = None,
    ) -> VacuumResult:
        """Deletes the files below the table that no version within the retention needs: neither the newest one, nor those of the last
        ``retention_hours``, by default ``delta.deletedFileRetentionDuration`` (a week if the table does not set it). What is younger stays, too.

        ``dry_run=True`` deletes and writes nothing, and tells what would go. ``mode="lite"`` does not list folders: it looks only at what the
        commits since the last vacuum removed, and leaves what no commit ever named, such as files of writers that died. ``inventory`` is a list
        of objects that takes the place of listing folders: anything that speaks Arrow, with the columns ``path``, ``length``, ``isDir`` and
        ``modificationTime``.

        A retention shorter than the table's is refused, since readers of older versions and writers that have not committed yet may lose their
        files; ``enforce_retention=False`` is for when nobody else uses the table. Two commits tell of it in the history, unless nothing is to go
        or with ``log_commits=False``; ``user_metadata`` are words of your own in them. A vacuum that was interrupted is just begun anew.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/vacuum", pa.table({"id": [1, 2, 3]})).table
        >>> _ = table.overwrite(pa.table({"id": [4]}))
        >>> table.vacuum(dry_run=True).metrics.found_files
        0
        >>> table.vacuum(0, enforce_retention=False).metrics.deleted_files
        1
        """
        options = {
            "retention_hours": arguments.number("retention_hours", retention_hours, finite=True),
            "mode": arguments.word("mode", mode, VacuumMode),
            "dry_run": arguments.flag("dry_run", dry_run),
            "enforce_retention": arguments.flag("enforce_retention", enforce_retention),
            "log_commits": arguments.flag("log_commits", log_commits),
            "user_metadata": arguments.words("user_metadata", user_metadata),
        }
        return vacuum(self, options, inventory)

    def __arrow_c_schema__(self) -> object:
        return self._table.schema()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    def __copy__(self) -> Table:
        """A handle never changes, so it is its own copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        """A handle never changes, so it is its own copy, with its secrets."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """The place, the table's id and the version, and of the options those that are known to be no secrets; the environment or
        ``credentials`` give the others again."""
        given = {
            **self._given,
            "uri": self._table.address(),
            "storage_options": _lakebed.options_without_secrets(self._given["storage_options"]),
        }
        return (_reopen, (given, self.version, self._table.metadata()["id"]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and (self.uri, self.version) == (other.uri, other.version)

    def __hash__(self) -> int:
        return hash((self.uri, self.version))

    def __repr__(self) -> str:
        return f"Table({self.uri!r}, version={self.version})"

    def _repr_html_(self) -> str:
        facts = [("table", self.uri), ("version", self.version), ("partitioned by", ", ".join(self.partition_columns) or "-")]
        features = sorted({*self.protocol.reader_features, *self.protocol.writer_features})
        facts += [
            ("features", ", ".join(features) or "-"),
            *(("property", f"{key} = {value}") for key, value in self.properties.items()),
        ]
        columns = [(column.name, column.type, "" if column.nullable else "not null") for column in self.schema]
        return html_table(("", ""), facts) + html_table(("column", "type", ""), columns)


def _reopen(given: dict[str, Any], version: int, table_id: str) -> Table:
    """The same version of the same table: another one in its place is refused."""
    return Table._wrap(_lakebed.Table.open({**given, "version": version, "id": table_id}), given)


def _merging(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a merge. It replaces no schema, and its source is read before `_lakebed` could fill in `on_lossy`."""
    evolution = arguments.word("schema_mode", options.get("schema_mode"), Evolution)
    given = checked({**options, "schema_mode": evolution})
    return {**given, "on_lossy": given.get("on_lossy") or "error"}
