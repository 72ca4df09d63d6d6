""":class:`Transaction`: several operations that become one version of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from lakebed import _lakebed, arguments
from lakebed.alter import Alter
from lakebed.arguments import Evolution, Mode, Partitions, SchemaMode
from lakebed.dml import Merge, delete_rows, update_rows, upsert_rows
from lakebed.errors import InvalidInputError
from lakebed.options import Encoding, Files, StagedMerging, StagedOverwriting, checked, takes
from lakebed.results import ChangeMetrics, ChangeResult, CommitResult, OperationResult, TransactionResult, WriteMetrics
from lakebed.scannable import Scannable
from lakebed.table import Table, _merging

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Self, Unpack

    from lakebed.scan import Scan

__all__ = ["Transaction"]


class Transaction(Scannable):
    """Several operations on a table that become one version, or none.

    :meth:`Table.transaction` returns it. In a ``with`` block its methods do the operations, one after
    the other. Each sees the results of those before it, and no other reader does. The end of the block commits
    all of them. An exception that leaves the block commits nothing, and the files that were written
    are deleted. An operation that fails inside the block changes nothing, and others may follow.

    >>> import lakebed as lb, pyarrow as pa
    >>> table = lb.write("memory://docs/transaction-class", pa.table({"id": [1, 2], "name": ["a", "b"]})).table
    >>> with table.transaction() as tx:
    ...     _ = tx.update({"name": "upper(name)"}, where="id = 2")
    ...     _ = tx.append(pa.table({"id": [3], "name": ["c"]}))
    ...     tx.count()
    3
    >>> [operation.name for operation in tx.result.operations]
    ['UPDATE', 'WRITE']
    >>> table.refresh().version
    1

    If another writer commits something on which the transaction depends, the end of the block raises
    a :class:`lakebed.CommitConflictError`. What the transaction reads counts, too. Run the block
    again then.

    The results of operations have the pending ``version`` and a ``table`` that reads the pending
    state. That handle cannot be used after the transaction.
    """

    def __init__(self, table: Table, options: dict[str, Any]) -> None:
        self._table = table
        self._options = options
        self._begun: _lakebed.Transaction | None = None
        self._pending: Table | None = None
        self._known = False
        self._result: TransactionResult | None = None
        self._why_not = 'begin the transaction first: "with table.transaction() as tx:"'

    def __enter__(self) -> Self:
        if self._pending is not None or self._result is not None or self._begun is not None:
            raise InvalidInputError("the transaction has begun already: begin another one with table.transaction()")
        begun = self._table._table.begin_transaction(self._options)
        if begun is None:
            self._known = True
            self._pending = self._table.refresh()
        else:
            self._begun, pending = begun
            self._pending = self._table._with(pending)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        begun, table = self._begun, self._handle()
        try:
            if begun is None:
                self._result = TransactionResult(version=table.version, committed=False, operations=(), conflicts=0, table=table)
            elif kind is None:
                self._commit(begun)
            else:
                begun.rollback()
        finally:
            self._pending = None
            self._why_not = "the transaction has ended: begin another one with table.transaction()"
        return False

    def _commit(self, begun: _lakebed.Transaction) -> None:
        made, committed, operations, conflicts = self._table._table.commit_transaction(begun)
        table = self._table._with(made)
        found = tuple(OperationResult(name=name, parameters=given, metrics=metrics) for name, given, metrics in operations)
        self._result = TransactionResult(
            version=table.version, committed=committed, operations=found, conflicts=conflicts, table=table
        )

    def _handle(self) -> Table:
        if self._pending is None:
            raise InvalidInputError(self._why_not)
        return self._pending

    @property
    def known(self) -> bool:
        """Whether the table knows the transaction already, by its ``txn``. Its operations do nothing
        then, and nothing is committed.
        """
        if self._result is None:
            self._handle()
        return self._known

    @property
    def result(self) -> TransactionResult:
        """The result, once the transaction is committed."""
        if self._result is None:
            raise InvalidInputError("the transaction has no result: it was not committed")
        return self._result

    @property
    def uri(self) -> str:
        """The location of the table, without secrets."""
        return self._table.uri

    @property
    def schema(self) -> pa.Schema:
        """The schema after the operations so far."""
        return self._handle().schema

    @property
    def properties(self) -> dict[str, str]:
        """The properties after the operations so far."""
        return self._handle().properties

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the partition columns, in order."""
        return self._handle().partition_columns

    def transaction_version(self, app_id: str) -> int | None:
        """Returns the highest number of a write by the application ``app_id``, as given with ``txn``."""
        return self._handle().transaction_version(app_id)

    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        *,
        where: str | None = None,
        limit: int | None = None,
        row_columns: Sequence[tuple[str, str]] = (),
    ) -> Scan:
        """Returns a lazy scan of the rows after the operations so far, as :meth:`Table.scan` does.

        ``columns`` are the columns to return, ``where`` is a predicate in SQL, ``limit`` is the most
        rows to return, and ``row_columns`` adds metadata columns.

        It reads when one of its methods is called, also what later operations did. Rows that the
        transaction inserted have no row id yet. The commit fails if another writer changes rows that
        were read.
        """
        return self._handle().scan(columns, where=where, limit=limit, row_columns=row_columns)

    @takes(Encoding)
    def append(self, data: Any, *, schema_mode: Evolution = "enforce", **options: Unpack[Encoding]) -> CommitResult:
        """Adds the rows of ``data``.

        The options are those of :func:`lakebed.write`.
        """
        evolution = arguments.word("schema_mode", schema_mode, Evolution)
        return self._write(data, {**options, "mode": "append", "schema_mode": evolution})

    @takes(StagedOverwriting)
    def overwrite(
        self,
        data: Any,
        *,
        where: str | None = None,
        partitions: Partitions = "static",
        schema_mode: SchemaMode = "enforce",
        **options: Unpack[StagedOverwriting],
    ) -> CommitResult:
        """Replaces all rows, or those for which ``where`` is true, with the rows of ``data``.

        The options are those of :func:`lakebed.write`. ``partition_by``, ``cluster_by`` and
        ``properties`` need ``schema_mode="overwrite"``.
        """
        replaced = {"mode": "overwrite", "where": where, "partitions": partitions, "schema_mode": schema_mode}
        return self._write(data, {**options, **replaced})

    @takes(StagedOverwriting)
    def write(
        self,
        data: Any,
        *,
        mode: Mode = "append",
        where: str | None = None,
        partitions: Partitions = "static",
        schema_mode: SchemaMode = "enforce",
        **options: Unpack[StagedOverwriting],
    ) -> CommitResult:
        """Writes rows with a ``mode``. The table exists, so ``error`` raises an error and ``ignore``
        does nothing.

        The options are those of :func:`lakebed.write`.
        """
        chosen = {"mode": mode, "where": where, "partitions": partitions, "schema_mode": schema_mode}
        return self._write(data, {**options, **chosen})

    def _write(self, data: Any, options: dict[str, Any]) -> CommitResult:
        table = self._handle()
        if self._known:
            checked(options)
            return CommitResult(version=table.version, metrics=WriteMetrics(), committed=False, table=table)
        return table._write(data, options)

    @takes(Files)
    def delete(self, where: str | None = None, **options: Unpack[Files]) -> ChangeResult:
        """Deletes the rows for which ``where`` is true, or all rows, as :meth:`Table.delete` does.

        The options are those of :func:`lakebed.write`.
        """
        given = checked({"where": where, **options})
        return self._nothing() if self._known else delete_rows(self._handle(), given)

    @takes(Files)
    def update(self, set: Mapping[str, str], *, where: str | None = None, **options: Unpack[Files]) -> ChangeResult:
        """Sets columns of the rows for which ``where`` is true, or of all rows.

        ``set`` maps columns to SQL expressions, as for :meth:`Table.update`. The options are those of
        :func:`lakebed.write`.
        """
        given = checked({"where": where, **options})
        return self._nothing() if self._known else update_rows(self._handle(), set, given)

    @takes(StagedMerging)
    def merge(
        self,
        source: Any,
        on: str,
        *,
        source_alias: str = "source",
        target_alias: str = "target",
        **options: Unpack[StagedMerging],
    ) -> Merge:
        """Returns a merge of rows into the table. Its ``execute()`` is the operation.

        The options are those of :meth:`merge` of a table.
        """
        names = {"on": on, "source_alias": source_alias, "target_alias": target_alias}
        named = {name: arguments.given(name, arguments.text(name, value)) for name, value in names.items()}
        kind = _KnownMerge if self._known else Merge
        return kind(self._handle(), source, {**named, **_merging(options)})

    @takes(StagedMerging)
    def upsert(self, source: Any, keys: str | Sequence[str], **options: Unpack[StagedMerging]) -> ChangeResult:
        """Updates the rows that match a row of ``source`` by the ``keys``, and inserts its other rows.

        The options are those of :meth:`merge` of a table.
        """
        given = _merging(options)
        return self._nothing() if self._known else upsert_rows(self._handle(), source, keys, given)

    @property
    def alter(self) -> Alter:
        """Methods that change the table's definition, as :attr:`Table.alter`."""
        table = self._handle()
        return _KnownAlter(table) if self._known else Alter(table)

    def _nothing(self) -> ChangeResult:
        table = self._handle()
        return ChangeResult(version=table.version, metrics=ChangeMetrics(), committed=False, table=table)

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("_") and hasattr(Table, name):
            raise InvalidInputError(f"{name}: it cannot be part of a transaction: use the table, before or after it")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> NoReturn:
        raise InvalidInputError("a transaction cannot be pickled or copied: pickle the table, and begin the transaction there")

    def __repr__(self) -> str:
        return f"Transaction({self._table.uri!r})"


class _KnownMerge(Merge):
    """A merge in a transaction that the table knows already."""

    def execute(self) -> ChangeResult:
        return ChangeResult(version=self._table.version, metrics=ChangeMetrics(), committed=False, table=self._table)


class _KnownAlter(Alter):
    """Changes of the definition in a transaction that the table knows already. They do nothing."""

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name.startswith("_") or not callable(found):
            return found
        table = object.__getattribute__(self, "_table")
        return lambda *args, **options: table
