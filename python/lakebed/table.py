""":class:`Table`: a table at one version, with a method for each operation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from lakebed import _lakebed, arguments
from lakebed.adapters.pyarrow import schema_of
from lakebed.alter import Alter
from lakebed.arguments import CheckLevel, CloneMode, Evolution, Partitions, SchemaMode, VacuumMode
from lakebed.changes import Changes
from lakebed.checker import check_located
from lakebed.copies import FileProgress, clone, target_storage
from lakebed.detail import Checkpoint, Detail, LogCleanup, Protocol, protocol
from lakebed.display import html_table
from lakebed.dml import Merge, delete_rows, update_rows, upsert_rows
from lakebed.eraser import erase
from lakebed.health import Health, health_of
from lakebed.history import History, entry
from lakebed.input import stream
from lakebed.maintain import layout, optimize, plan_optimize, vacuum
from lakebed.options import (
    Appending,
    Changing,
    Cloning,
    Committing,
    Identified,
    Merging,
    Opening,
    Optimizing,
    Overwriting,
    Repairing,
    checked,
    located,
    takes,
)
from lakebed.repairer import repair_located
from lakebed.results import CommitResult, ManifestResult, WriteMetrics
from lakebed.scan import Scan
from lakebed.scannable import Scannable
from lakebed.times import milliseconds, moment
from lakebed.versions import Tag, VersionDifference, diff, restore, tags

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from lakebed.checker import CheckProgress, CheckResult
    from lakebed.eraser import EraseResult
    from lakebed.maintain import PlannedGroup, Progress
    from lakebed.repairer import RepairResult
    from lakebed.results import ChangeResult, CloneResult, OptimizeResult, RestoreResult, VacuumResult
    from lakebed.transaction import Transaction

__all__ = ["Table"]


class Table(Scannable):
    """A Delta table at one version.

    A handle never changes. It is cheap to keep and safe to share between threads, to fork and to
    pickle.

    - ``uri``: a URL (``s3://bucket/path``, ``abfss://container@account.dfs.core.windows.net/path``,
      ``file:///path``, ...) or a path on this machine. A leading ``~`` means your home folder.
    - ``version`` or ``timestamp`` (a ``datetime`` with a zone, or ISO text with one): opens an
      older version. The default is the newest version.
    - ``tag``: opens the version that has this tag; see :meth:`tag`.
    - ``storage_options``: options of the store, with the keys of object_store and deltalake.
    - ``credentials``: a function that returns such options as a mapping, with ``expires_at`` (a
      ``datetime``) if they expire. It is called again before that.
    - ``absolute_paths=True`` follows paths out of the table's root. Shallow clones have such paths.

    >>> import lakebed as lb
    >>> table = lb.Table("examples/trips", version=0)
    >>> table.scan().count()
    4
    """

    @takes(Opening)
    def __init__(self, uri: str | os.PathLike[str], **options: Unpack[Opening]) -> None:
        version, timestamp, tag = options.get("version"), options.get("timestamp"), options.get("tag")
        if sum(one is not None for one in (version, timestamp, tag)) > 1:
            raise TypeError("give version, timestamp or tag, not several of them")
        self._given: dict[str, Any] = {
            **located(uri, options),
            "absolute_paths": arguments.flag("absolute_paths", options.get("absolute_paths", False)),
        }
        at = {
            "version": arguments.integer("version", version),
            "timestamp_ms": None if timestamp is None else milliseconds("timestamp", timestamp),
            "tag": arguments.text("tag", tag),
        }
        self._table = _lakebed.Table.open({**self._given, **at})

    @classmethod
    def _wrap(cls, table: _lakebed.Table, given: dict[str, Any]) -> Table:
        self = cls.__new__(cls)
        self._given = given
        self._table = table
        return self

    def _with(self, table: _lakebed.Table) -> Table:
        """Returns the handle of another version of this table."""
        return self._wrap(table, self._given)

    @property
    def uri(self) -> str:
        """The location of the table, without secrets."""
        return self._table.uri

    @property
    def version(self) -> int:
        """The version of this handle."""
        return self._table.version

    @property
    def schema(self) -> pa.Schema:
        """The schema, with the types that scans return."""
        return schema_of(self._table.schema())

    @property
    def schema_json(self) -> str:
        """The schema as the log has it: Delta's JSON, with the metadata of all fields.

        >>> import lakebed as lb
        >>> lb.Table("examples/trips").schema_json[:40]
        '{"type":"struct","fields":[{"name":"id",'
        """
        found: str = self._table.metadata()["schemaString"]
        return found

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the partition columns, in order."""
        return tuple(self._table.metadata()["partitionColumns"])

    @property
    def properties(self) -> dict[str, str]:
        """The properties that the table sets."""
        configuration = self._table.metadata()["configuration"]
        return {name: value for name, value in sorted(configuration.items()) if value is not None}

    @property
    def protocol(self) -> Protocol:
        """The protocol versions and features that readers and writers of this version need."""
        return protocol(self._table.protocol())

    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        *,
        where: str | None = None,
        limit: int | None = None,
        row_columns: Sequence[tuple[str, str]] = (),
    ) -> Scan:
        """Returns a lazy scan of the table.

        - ``columns``: the columns to return; ``"a.b"`` names a field of a struct.
        - ``where``: a predicate in SQL. The scan returns the rows for which it is true.
        - ``limit``: the most rows to return.

        Unless the table has a column ``_metadata`` of its own, the columns may be metadata columns:
        ``"_metadata.file_path"``, ``"_metadata.file_size"`` and ``"_metadata.row_index"`` say where
        a row is stored. In a table with row tracking, ``"_metadata.row_id"`` identifies a row (it
        stays the same when the row moves), and ``"_metadata.row_commit_version"`` is the version
        that last wrote the row. The predicate may name these columns, too.

        >>> import lakebed as lb, pyarrow as pa
        >>> tracked = {"delta.enableRowTracking": True}
        >>> table = lb.write("memory://docs/scan", pa.table({"name": ["a", "b"]}), properties=tracked).table
        >>> table.scan(columns=["_metadata.row_id", "name"]).to_arrow().to_pylist()
        [{'_metadata.row_id': 0, 'name': 'a'}, {'_metadata.row_id': 1, 'name': 'b'}]

        ``row_columns`` adds metadata columns behind the others. Each is a pair of a metadata column
        and the name that it gets: ``("row_id", "_id")``.
        """
        return Scan(self._table, columns, where, limit, row_columns)

    def changes(
        self,
        start: int | datetime | str,
        end: int | datetime | str | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
    ) -> Changes:
        """Returns the change data feed: the changes of rows in the versions ``start`` to ``end``.

        Both ends are included; see :class:`lakebed.Changes`. Without ``end``, the feed ends at the
        newest version of the table, also if this handle is older. Both are versions or timestamps
        (a ``datetime`` with a zone, or ISO text with one). A feed by timestamps begins with the
        first version at or after ``start`` and ends with the last version at or before ``end``. The
        versions are chosen now: later commits do not change the feed.

        All of these versions must have recorded their changes (``delta.enableChangeDataFeed``). The
        feed has the columns of its last version. Rows from before a column was added have nulls
        there. If a column was renamed or dropped, read the versions before that separately.
        ``columns`` selects columns of the table, and ``where`` is a predicate over them in SQL.

        A version that does not exist is a :class:`lakebed.VersionNotFoundError`. So is a timestamp
        without a version: a ``start`` after the newest version, or a timestamp before the oldest
        version in the log. If no version lies between two timestamps, the feed is empty.
        """
        return Changes(self._table, start, end, columns, where)

    def files(self, *, where: str | None = None, statistics: bool = False) -> pa.Table:
        """Returns the data files of this version, or those that may contain rows for which
        ``where`` is true.

        ``statistics=True`` adds the structs ``null_count``, ``min`` and ``max`` with what the log
        says about the columns of each file; see :meth:`lakebed.Scan.files`.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/files", pa.table({"id": [3, 1, None], "name": ["a", "b", "c"]})).table
        >>> files = table.files(statistics=True)
        >>> files["min"].to_pylist(), files["max"].to_pylist(), files["null_count"].to_pylist()
        ([{'id': 1, 'name': 'a'}], [{'id': 3, 'name': 'c'}], [{'id': 1, 'name': 0}])
        """
        return self.scan(where=where).files(statistics=statistics)

    def history(self, limit: int | None = None) -> History:
        """Returns the commits up to this version that the log still has, newest first, at most
        ``limit`` of them.
        """
        return History([entry(*found) for found in self._table.history(arguments.integer("limit", limit))])

    def detail(self, version: int | None = None) -> Detail:
        """Facts about this version of the table or about another ``version``, among them its number
        of files. Without a checksum, that reads the log.
        """
        found = self._table.detail(arguments.integer("version", version))
        found["tags"] = tags(found["tags"])
        for name in ("created_at", "last_modified"):
            found[name] = None if found[name] is None else moment(found[name])
        found["protocol"] = protocol(found["protocol"])
        fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
        return Detail(**fields)

    def transaction_version(self, app_id: str) -> int | None:
        """Returns the highest number of a write by the application ``app_id``, as given with
        ``txn``.

        It is None if the table does not know the application. A write with that number or a lower
        one is not committed again. A stream uses the id of its query as ``app_id``.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/transactions", pa.table({"id": [1]}), txn=("nightly load", 7)).table
        >>> table.transaction_version("nightly load")
        7
        """
        return self._table.transaction_version(arguments.given("app_id", arguments.words("app_id", app_id)))

    @property
    def alter(self) -> Alter:
        """Methods that change the table's definition."""
        return Alter(self)

    def checkpoint(self) -> Checkpoint:
        """Writes a checkpoint of this version. Later readers do not read the commits before it.

        Writers do that by themselves, every ``delta.checkpointInterval`` versions.

        >>> import lakebed as lb, pyarrow as pa
        >>> lb.write("memory://docs/checkpoint", pa.table({"id": [1]})).table.checkpoint().num_files
        1
        """
        return Checkpoint(**self._table.checkpoint())

    def clean_up_log(self) -> LogCleanup:
        """Deletes files of the log that no version within ``delta.logRetentionDuration`` needs.

        Older versions cannot be read afterwards, except those that have a tag. Nothing is deleted
        that a checkpoint does not replace, so call :meth:`checkpoint` first if there is none.
        Writers do both by themselves, unless ``delta.enableExpiredLogCleanup`` is false.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/clean_up_log", pa.table({"id": [1]})).table
        >>> table.clean_up_log()
        LogCleanup(first_version=None, log_files=0, sidecars=0, leftovers=0)
        """
        return LogCleanup(**self._table.clean_up_log())

    def compact_log(self, first: int, last: int) -> str | None:
        """Writes a log compaction of the commits from version ``first`` to ``last`` and returns its
        name.

        The result is None if the file exists already. Log compactions are for engines that read
        them, if many commits lie between two checkpoints; lakebed reads the commits. The file keeps
        all tombstones of these versions.

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

    def symlink_manifest(self) -> ManifestResult:
        """Writes lists of the newest version's data files, for engines that read them as a Hive
        table, such as Athena, Presto and Redshift.

        They are in ``_symlink_format_manifest``, one for each partition, as Delta Spark writes
        them. With the property ``delta.compatibility.symlinkFormatManifest.enabled`` every commit
        updates them. Tables with deletion vectors or column mapping are refused.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/manifest", pa.table({"p": ["a", "b"], "id": [1, 2]}), partition_by="p").table
        >>> table.symlink_manifest()
        ManifestResult(written=2, deleted=0)
        """
        return ManifestResult(*self._table.symlink_manifest())

    def refresh(self) -> Table:
        """Returns a handle on the newest version. It costs one listing and reads the new commits.

        This handle does not change.
        """
        return self._with(self._table.refresh())

    @takes(Appending)
    def append(self, data: Any, *, schema_mode: Evolution = "enforce", **options: Unpack[Appending]) -> CommitResult:
        """Adds the rows of ``data`` on top of the newest version, also if this handle is older.

        The options are those of :func:`lakebed.write`. If the table was deleted, or another table
        was created at its location, nothing is written.

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
        """Replaces all rows, or those for which ``where`` is true, with the rows of ``data``.

        It is done on top of the newest version. The options are those of :func:`lakebed.write`.
        ``partition_by``, ``cluster_by`` and ``properties`` need ``schema_mode="overwrite"``.

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
        """Deletes the rows for which ``where`` is true, or all rows.

        It is done on top of the newest version, also if this handle is older. A table with
        ``delta.enableDeletionVectors`` marks the rows in deletion vectors. In other tables, files
        are rewritten without the rows. If no row matches, nothing is written or committed.

        - ``retries=False``: raises an error if another writer commits a change on which this one
          depends. Otherwise, the delete is retried on top of that change.
        - ``upkeep`` is that of :func:`lakebed.write`.
        - ``timeout``: the seconds for which it is retried.
        - ``txn=("my-job", 7)``: an application and its number of this change. A change that the
          table knows already is not committed again. A list of such pairs names several.
        - ``user_metadata``: a text of your own, which the history keeps.
        - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which
          the history keeps as values of JSON. Entries that lakebed records are refused.

        - ``target_file_size``: the approximate size of new files in bytes. ``compression``,
          ``row_group_rows`` and ``bloom_columns`` are those of :func:`lakebed.write`.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/delete-rows", pa.table({"id": [1, 2, 3]})).table
        >>> result = table.delete("id > 1")
        >>> result.metrics.deleted_rows, result.table.count()
        (2, 1)
        """
        return delete_rows(self, checked({"where": where, **options}))

    @takes(Changing)
    def update(self, set: Mapping[str, str], *, where: str | None = None, **options: Unpack[Changing]) -> ChangeResult:
        """Sets columns of the rows for which ``where`` is true, or of all rows.

        It is done on top of the newest version. ``set`` maps columns (``"a.b"`` for a field of a
        struct) to SQL expressions. The other options are those of :meth:`delete`.

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
        """Returns a merge of rows into the newest version of this table.

        The ``when_`` methods add its clauses, and ``execute()`` runs it.

        - ``source``: any Arrow data, as for :func:`lakebed.write`. It is read once, and may be
          larger than memory.
        - ``on``: an SQL predicate over the columns of both, such as ``"target.id = source.id"``.
          ``source_alias`` and ``target_alias`` are the names that it uses for the two.
        - ``schema_mode="merge"`` adds columns to the table that only the source has.
        - ``on_lossy="truncate"`` cuts off digits of the source that no column can hold, such as
          nanoseconds. Assignments cast as SQL does.

        The other options are those of :meth:`delete`.
        """
        names = {"on": on, "source_alias": source_alias, "target_alias": target_alias}
        named = {name: arguments.given(name, arguments.text(name, value)) for name, value in names.items()}
        return Merge(self, source, {**named, **_merging(options)})

    @takes(Merging)
    def upsert(self, source: Any, keys: str | Sequence[str], **options: Unpack[Merging]) -> ChangeResult:
        """Updates the rows that match a row of ``source`` by the ``keys``, and inserts its other
        rows.

        ``keys`` is one or more columns. Matching rows get all columns of the source row. A null key
        equals a null key. Values that a column cannot hold, such as fractions for whole numbers,
        are refused unless ``on_lossy="truncate"``. The other options are those of :meth:`merge`.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/upsert", pa.table({"id": [1, 2], "name": ["a", "b"]})).table
        >>> result = table.upsert(pa.table({"id": [2, 3], "name": ["B", "C"]}), keys=["id"])
        >>> result.metrics.updated_rows, result.metrics.inserted_rows
        (1, 1)
        """
        return upsert_rows(self, source, keys, _merging(options))

    @takes(Identified)
    def transaction(self, **options: Unpack[Identified]) -> Transaction:
        """Returns a transaction with several operations, for a ``with`` block.

        All of its operations become one version of the table at the end of the block, or none. It
        begins on the newest version; see :class:`lakebed.Transaction`.

        - ``txn=("my-job", 7)``: an application and its number of this transaction. A transaction
          that the table knows already is not committed again, and its operations do nothing. A
          list of such pairs names several.
        - ``user_metadata``: a text of your own, which the history keeps.
        - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which
          the history keeps as values of JSON. Entries that lakebed records are refused.
        - ``upkeep`` is that of :func:`lakebed.write`.
        - ``timeout``: the seconds to keep trying while other writers commit first.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/table-transaction", pa.table({"id": [1, 2, 3]})).table
        >>> with table.transaction() as tx:
        ...     _ = tx.delete("id = 1")
        ...     _ = tx.append(pa.table({"id": [10, 11]}))
        >>> tx.result.version, tx.result.table.count()
        (1, 4)
        """
        from lakebed.transaction import Transaction

        return Transaction(self, checked(options))

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
        """Rewrites data files of the newest version without changing rows.

        Small files are combined. Files of which more than ``max_deleted_share`` of the rows are
        deleted are rewritten without these rows. With ``where``, only files that may contain
        matching rows are considered.

        - ``cluster_by=["a", "b"]`` also arranges the rows, so that queries on these columns skip
          the most files. Several orders are tried on a sample. ``zorder_by`` always uses a Z-order.
          A table with clustering columns is clustered by these as far as it is not clustered yet.
        - ``full=True`` rewrites files that are clustered already, too.
        - ``target_file_size``: the approximate size of new files in bytes. ``compression``,
          ``row_group_rows`` and ``bloom_columns`` are those of :func:`lakebed.write`. Files that are
          not rewritten keep theirs.
        - ``min_files``: the least number of small files that are combined.
        - ``fill_statistics``: adds statistics to files that lack them.
        - ``commit="group"`` commits each group of files as a version of its own.
        - ``dry_run=True`` returns the groups and writes nothing.
        - ``progress=True`` prints the progress; a function is called with it.
        - ``user_metadata``: a text of your own, which the history keeps.
        - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which
          the history keeps as values of JSON. Entries that lakebed records are refused.
        - ``upkeep`` is that of :func:`lakebed.write`.
        - ``timeout``: the seconds to keep trying to commit while other writers commit first.

        If another writer changes a file meanwhile, its group is given up. Calling this again
        without new files only reads the log.

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

    @takes(Cloning)
    def clone(
        self,
        target: str | os.PathLike[str],
        *,
        shallow: bool = False,
        version: int | None = None,
        timestamp: datetime | str | None = None,
        mode: CloneMode = "error",
        progress: bool | Callable[[FileProgress], Any] | None = None,
        **options: Unpack[Cloning],
    ) -> CloneResult:
        """Makes a new table with the rows of this version, in one commit.

        A deep clone copies the data files and needs its source no more. A shallow clone
        (``shallow=True``) names the files of its source instead, so it costs nothing, and it breaks
        if the source is deleted or vacuumed. The clone has its own id and history. It keeps the
        schema, the properties, the features and the clustering columns; rows get new row ids.

        - ``target``: the location of the clone, a URL or a path on this machine.
        - ``version`` or ``timestamp``: the version to clone, instead of this handle's.
        - ``mode``: what to do if the target exists: ``error`` raises an error, and ``replace``
          replaces it. If the target is an earlier clone of the same table, only new files are
          copied.
        - ``properties``: properties that replace those of this table.
        - ``progress=True`` prints the progress; a function is called with it.
        - ``user_metadata``: a text of your own, which the history keeps.
        - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which
          the history keeps as values of JSON. Entries that lakebed records are refused.
        - ``upkeep`` is that of :func:`lakebed.write`.
        - ``timeout``: the seconds to keep trying while other writers commit first.
        - ``storage_options`` and ``credentials`` say how to reach the target. The default is those
          of this table, if the target is at the same service.

        If a deep clone is interrupted, call it again: files that were copied are not copied again.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/clone-of/source", pa.table({"id": [1, 2]})).table
        >>> copy = table.clone("memory://docs/clone-of/copy").table
        >>> _ = table.append(pa.table({"id": [3]}))
        >>> copy.count()
        2
        >>> again = table.refresh().clone("memory://docs/clone-of/copy", mode="replace")
        >>> again.metrics.copied_files, again.metrics.kept_files, again.table.count()
        (1, 1, 3)
        """
        if version is not None and timestamp is not None:
            raise TypeError("give version or timestamp, not both")
        given = checked({name: value for name, value in options.items() if name not in ("storage_options", "credentials")})
        given["shallow"] = arguments.flag("shallow", shallow)
        given["mode"] = arguments.word("mode", mode, CloneMode)
        given["version"] = arguments.integer("version", version)
        given["timestamp_ms"] = None if timestamp is None else milliseconds("timestamp", timestamp)
        watcher = None if isinstance(progress, (bool, type(None))) else arguments.function("progress", progress)
        to = target_storage(self._given, located(arguments.location("target", target), options))
        return clone(self, to, given, watcher or progress is True)

    def vacuum(
        self,
        retention_hours: float | None = None,
        *,
        mode: VacuumMode = "full",
        dry_run: bool = False,
        inventory: Any = None,
        enforce_retention: bool = True,
        log_commits: bool = True,
        keep_versions: Sequence[int] = (),
        user_metadata: str | None = None,
        commit_info: Mapping[str, Any] | None = None,
        upkeep: Mapping[str, bool] | None = None,
    ) -> VacuumResult:
        """Deletes files in the table's folder that no version within the retention period needs.

        The newest version, tagged versions and the versions of the last ``retention_hours`` keep
        their files. The default is ``delta.deletedFileRetentionDuration``, or a week. Younger files stay, too.

        - ``dry_run=True`` deletes and writes nothing, and returns the files that would be deleted.
        - ``mode="lite"`` lists no folders. It considers only the files that commits since the last
          vacuum removed. Files that no commit names stay, such as those of writers that died.
        - ``inventory``: a list of objects that replaces the listing: any Arrow data with the
          columns ``path``, ``length``, ``isDir`` and ``modificationTime``.
        - ``enforce_retention=False`` allows a retention period shorter than the table's. Readers of
          older versions, and writers that have not committed yet, may then lose files.
        - ``keep_versions``: older versions that stay readable. Their files stay this time, and their
          log stays until a vacuum keeps other versions. Use :meth:`tag` to keep a version for good.
        - ``log_commits=False`` leaves out the two commits that record the vacuum in the history.
          Without files to delete there are none.
        - ``user_metadata``: a text of your own in these commits. ``commit_info``: entries of your
          own in their ``commitInfo``, as values of JSON. ``upkeep`` is that of :func:`lakebed.write`.

        If a vacuum was interrupted, call it again.

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
            "keep_versions": arguments.integers("keep_versions", keep_versions),
            "user_metadata": arguments.words("user_metadata", user_metadata),
            "commit_info": arguments.entries("commit_info", commit_info),
            "upkeep": arguments.upkeep("upkeep", upkeep),
        }
        return vacuum(self, options, inventory)

    @takes(Committing)
    def erase(
        self,
        where: str,
        *,
        history: bool = False,
        dry_run: bool = False,
        target_file_size: int | None = None,
        **options: Unpack[Committing],
    ) -> EraseResult:
        """Erases the rows for which ``where`` is true: from the table and from the bytes of its files.

        Every file of the newest version that holds such a row is rewritten without it, also if the row
        was deleted before and only a deletion vector hides it. The result lists the older versions
        that still hold such rows, and until when. ``where`` may be ``"true"``.

        - ``history=True``: if an older version holds such rows, all older versions go. Their log is
          dropped, and files with such rows are deleted at once, change data files included. A tag of an
          older version is an error, which names it. If no older version holds such rows, nothing goes.
        - ``dry_run=True`` changes nothing, and returns what holds such rows.
        - ``target_file_size``: the approximate size of new files in bytes.
        - ``user_metadata``: a text of your own, which the history keeps. The history does not get
          ``where``, because it names what is erased.
        - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which
          the history keeps as values of JSON. Entries that lakebed records are refused.
        - ``upkeep`` is that of :func:`lakebed.write`.
        - ``timeout``: the seconds to keep trying while other writers commit first.

        If an erase was interrupted, call it again.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/erase-rows", pa.table({"id": [1, 2, 3]})).table
        >>> result = table.erase("id = 2")
        >>> result.metrics.erased_rows, [(held.first_version, held.last_version) for held in result.older_versions]
        (1, [(0, 0)])
        >>> table.erase("id = 2", history=True).older_versions
        ()
        """
        given = {
            **checked(options),
            "where": arguments.given("where", arguments.words("where", where)),
            "history": arguments.flag("history", history),
            "dry_run": arguments.flag("dry_run", dry_run),
            "target_file_size": arguments.file_size("target_file_size", target_file_size),
        }
        return erase(self, given)

    def check(
        self,
        level: CheckLevel = "files",
        *,
        limit: int = 100,
        progress: bool | Callable[[CheckProgress], Any] | None = None,
    ) -> CheckResult:
        """Compares the log of the newest version with the files of the table. Writes nothing.

        Each ``level`` includes the ones before:

        - ``log``: the commits that the newest version needs can be parsed, the schema is valid, the
          protocol is supported, and the hint names a checkpoint.
        - ``state``: the newest checkpoints and the checksum agree with the commits.
        - ``files``: every data file and every deletion vector exists with its size.
        - ``footers``: rows, columns and statistics of the footers agree with the log, and deletion
          vectors can be read.
        - ``rows``: every row can be decoded and meets the constraints, generated columns have their
          values, statistics contain the values, and no row id is repeated.
        - ``history``: older versions can be rebuilt, and those within the retention period have
          their files.

        ``limit`` is the most findings of each kind that are listed; all are counted.
        ``progress=True`` prints the progress; a function is called with it. Use
        :func:`lakebed.check` for a table that cannot be opened.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/check", pa.table({"id": [1, 2]})).table
        >>> result = table.check("rows")
        >>> result.ok, result.files, result.rows
        (True, 1, 2)
        """
        return check_located(self._given, level, limit, progress)

    def health(self) -> Health:
        """Returns how far this version is from its best form, from the log alone.

        Each measure has a number, a judgement (``ok``, ``watch`` or ``act``), the call that mends
        it, and what that call costs and saves: small files, skew of partitions, rows that deletion
        vectors hide, missing statistics, how well files can be skipped by each column, removed
        files that wait for a vacuum, table features without use, the length of the log.

        >>> import lakebed as lb, pyarrow as pa
        >>> for id in range(12):
        ...     table = lb.write("memory://docs/health", pa.table({"id": [id]})).table
        >>> measure = table.health()["small_files"]
        >>> measure.judgement, measure.remedy, measure.saved_files
        ('act', 'table.optimize()', 11)
        """
        return health_of(self._table.health())

    @takes(Repairing)
    def repair(self, *, dry_run: bool = True, level: CheckLevel = "files", **options: Unpack[Repairing]) -> RepairResult:
        """Mends what a check of this ``level`` finds, as far as that needs no guess.

        The default is a dry run, which returns what would be done. ``dry_run=False`` does it:

        - Checkpoints, log compactions, checksums and the hint that are broken or contradict the
          commits are moved aside, to ``_delta_log/_damaged``. A new checkpoint replaces them.
        - ``level="state"`` and above: a greatest row id that is too low is raised.
        - ``level="footers"`` and above: statistics that contradict the data are computed from the
          rows and committed.
        - ``level="history"``: files of deletion vectors that no version names and that are older than
          the retention period are deleted.
        - ``drop_missing_files=True`` removes data files that do not exist from the table. Their
          rows are lost.
        - ``lost_deletion_vectors`` decides on data files whose deletion vector cannot be read:
          ``"restore_deleted_rows"`` drops the deletion vector, and the rows that it deleted come
          back. ``"drop_files"`` removes the files from the table, and all of their rows are lost.
        - ``truncate_log=True`` moves the newest commits aside that cannot be read. Their changes
          are lost. It is refused if a later file of the log can be read.
        - ``user_metadata``: a text of your own, which the history keeps.
        - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which
          the history keeps as values of JSON. Entries that lakebed records are refused.
        - ``upkeep`` is that of :func:`lakebed.write`.
        - ``timeout``: the seconds to keep trying to commit while other writers commit first.

        Use :func:`lakebed.repair` for a table that cannot be opened.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/repair", pa.table({"id": [1, 2]})).table
        >>> table.repair()
        RepairResult(dry_run=True, actions=0, ok=True)
        """
        return repair_located(self._given, dry_run, level, options)

    @takes(Committing)
    def restore(
        self,
        version: int | None = None,
        timestamp: datetime | str | None = None,
        *,
        dry_run: bool = False,
        ignore_missing_files: bool = False,
        **options: Unpack[Committing],
    ) -> RestoreResult:
        """Brings the table back to an older version, in a new version.

        It is given by its number, ``version``, or by a ``timestamp`` (a ``datetime`` with a zone, or
        ISO text with one) at which it was the newest. Rows, schema, partitioning, clustering and
        properties go back. Features, row ids, identity columns and in-commit timestamps never go
        back. Only the log is read, and no data file is written. Older versions stay, so a restore
        can be undone by another one.

        If other writers change the table meanwhile, the restore starts again on top of their
        commits. A file of the older version that was deleted is an error before the commit.

        - ``dry_run=True`` commits nothing, and returns the metrics that the restore would have.
        - ``ignore_missing_files=True`` restores the files that still exist. The rows of the others
          are lost.
        - ``user_metadata``: a text of your own, which the history keeps.
        - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which
          the history keeps as values of JSON. Entries that lakebed records are refused.
        - ``upkeep`` is that of :func:`lakebed.write`.
        - ``timeout``: the seconds to keep trying while other writers commit first.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/restore-rows", pa.table({"id": [1, 2, 3]})).table
        >>> _ = table.delete("id > 1")
        >>> result = table.restore(version=0)
        >>> result.version, result.table.count()
        (2, 3)
        """
        if (version is None) == (timestamp is None):
            raise TypeError("version: give either version or timestamp")
        given = {
            **checked(options),
            "version": arguments.integer("version", version),
            "timestamp_ms": None if timestamp is None else milliseconds("timestamp", timestamp),
            "dry_run": arguments.flag("dry_run", dry_run),
            "ignore_missing_files": arguments.flag("ignore_missing_files", ignore_missing_files),
        }
        return restore(self, given)

    def tag(self, name: str, version: int | None = None, *, replace: bool = False) -> Table:
        """Gives the tag ``name`` to ``version``, by default the version of this handle, and returns the
        table as of that commit.

        A tagged version stays readable: :meth:`vacuum` keeps its files, and the cleanup of the log
        keeps its log files. Other engines keep the tag, which is a property of the table, but their
        vacuum and their cleanup do not know it. ``lakebed.Table(uri, tag=name)`` opens the version.

        A version whose files were deleted cannot be tagged. ``replace=True`` allows a tag to move
        from another version. Names have letters, digits, ``.``, ``_`` and ``-``.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/tag-version", pa.table({"id": [1, 2, 3]})).table
        >>> _ = table.tag("audit-2026-q3")
        >>> _ = table.delete("id > 1")
        >>> lb.Table("memory://docs/tag-version", tag="audit-2026-q3").count()
        3
        """
        given = arguments.given("name", arguments.text("name", name))
        wanted = arguments.integer("version", version)
        wanted = self.version if wanted is None else wanted
        return self._with(self._table.tag(given, wanted, arguments.flag("replace", replace)))

    def tags(self) -> tuple[Tag, ...]:
        """Returns the tags of the newest version of the table, by name.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/tags", pa.table({"id": [1]})).table
        >>> [(tag.name, tag.version) for tag in table.tag("first").tags()]
        [('first', 0)]
        """
        return tags(self._table.tags())

    def drop_tag(self, name: str) -> Table:
        """Drops the tag ``name``, and returns the table as of that commit.

        The next vacuum and the next cleanup may delete what only the tag kept.
        """
        return self._with(self._table.drop_tag(arguments.given("name", arguments.text("name", name))))

    def diff(self, start: int, end: int | None = None) -> VersionDifference:
        """Returns what changed from the version ``start`` to the version ``end``, by default the
        version of this handle: schema, properties, features, files and commits.

        Only the log is read. ``end`` may be older than ``start``.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/diff-versions", pa.table({"id": [1, 2, 3]})).table
        >>> _ = table.append(pa.table({"id": [4]}))
        >>> found = table.diff(0, 1)
        >>> found.files.added_rows, [commit.operation for commit in found.commits]
        (1, ['WRITE'])
        """
        first = arguments.given("start", arguments.integer("start", start))
        last = arguments.integer("end", end)
        return diff(self, first, self.version if last is None else last)

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
        """Pickles the location, the table's id, the version and the harmless options.

        Options that may be secrets are not pickled. The environment or ``credentials`` provide them
        again.
        """
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
    """Opens the same version of the same table. Another table at the location is refused."""
    return Table._wrap(_lakebed.Table.open({**given, "version": version, "id": table_id}), given)


def _merging(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a merge. It cannot replace the schema, and reading its source needs
    `on_lossy`.
    """
    evolution = arguments.word("schema_mode", options.get("schema_mode"), Evolution)
    given = checked({**options, "schema_mode": evolution})
    return {**given, "on_lossy": given.get("on_lossy") or "error"}
