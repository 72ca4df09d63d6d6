"""Changes rows of a table: delete, update, merge and upsert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _lakebed, arguments
from lakebed.errors import InvalidInputError
from lakebed.input import begins_anew, stream
from lakebed.results import ChangeMetrics, ChangeResult
from lakebed.scan import ExplainedConjunct, Explanation

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["Merge", "MergeExplanation", "MergeKey", "delete_rows", "update_rows", "upsert_rows"]


def delete_rows(table: Table, options: dict[str, Any]) -> ChangeResult:
    """Deletes rows of an open table."""
    return _result(table, table._table.delete_rows(options))


def update_rows(table: Table, values: Mapping[str, Any], options: dict[str, Any]) -> ChangeResult:
    """Updates rows of an open table."""
    pairs = arguments.expressions("set", values)
    if not pairs:
        raise InvalidInputError("set={}: name at least one column and its new value")
    return _result(table, table._table.update_rows({**options, "set": pairs}))


class Merge:
    """A merge of source rows into a table. Each clause updates, deletes or inserts some rows.

    :meth:`execute` runs the merge in one commit. If several clauses concern the same rows, the
    first one with a true ``where`` applies. Only the last clause of a kind may have no ``where``.
    Predicates and values are SQL over the columns of both, ``target.a`` and ``source.b``. The name
    of a column is enough if only one of them has it.

    >>> import lakebed as lb, pyarrow as pa
    >>> table = lb.write("memory://docs/merge-rows", pa.table({"id": [1, 2, 3], "fare": [10, 20, 30]})).table
    >>> result = (
    ...     table.merge(pa.table({"id": [2, 3, 4], "fare": [21, None, 40]}), on="target.id = source.id")
    ...     .when_matched_delete(where="source.fare IS NULL")
    ...     .when_matched_update()
    ...     .when_not_matched_insert()
    ...     .execute()
    ... )
    >>> result.table.to_arrow().sort_by("id").to_pydict()
    {'id': [1, 2, 4], 'fare': [10, 21, 40]}
    """

    def __init__(self, table: Table, source: Any, options: dict[str, Any]) -> None:
        self._table = table
        self._data = source
        self._options = {name: value for name, value in options.items() if name != "on_lossy"}
        self._on_lossy: str = options["on_lossy"]
        self._source: _lakebed.MergeSource | None = None
        self._is_begun = False
        self._clauses: list[dict[str, Any]] = []

    def when_matched_update(self, set: Mapping[str, str] | Literal["all"] = "all", *, where: str | None = None) -> Merge:
        """Updates target rows that match a source row and for which ``where`` is true.

        ``set`` maps columns to SQL expressions. ``"all"`` sets every column from the source column
        of the same name.
        """
        return self._when("matched", where, "update", set)

    def when_matched_delete(self, *, where: str | None = None) -> Merge:
        """Deletes target rows that match a source row and for which ``where`` is true."""
        return self._when("matched", where, "delete", "all")

    def when_not_matched_insert(self, values: Mapping[str, str] | Literal["all"] = "all", *, where: str | None = None) -> Merge:
        """Inserts source rows that match no target row and for which ``where`` is true.

        ``values`` maps columns to SQL expressions. ``"all"`` takes all columns of the source.
        """
        return self._when("not_matched", where, "insert", values)

    def when_not_matched_by_source_update(self, set: Mapping[str, str], *, where: str | None = None) -> Merge:
        """Updates target rows that match no source row and for which ``where`` is true.

        ``set`` maps columns to SQL expressions.
        """
        return self._when("not_matched_by_source", where, "update", set)

    def when_not_matched_by_source_delete(self, *, where: str | None = None) -> Merge:
        """Deletes target rows that match no source row and for which ``where`` is true."""
        return self._when("not_matched_by_source", where, "delete", "all")

    def explain(self) -> MergeExplanation:
        """Returns the plan of the merge: its keys, and the files that it may change.

        It reads the source and the log, but no data.
        """
        found = self._table._table.explain_merge(self._given(), self._read())
        scan = found.pop("scan")
        scan = Explanation(**{**scan, "conjuncts": tuple(ExplainedConjunct(**conjunct) for conjunct in scan["conjuncts"])})
        return MergeExplanation(**{**found, "scan": scan, "keys": tuple(MergeKey(*key) for key in found["keys"])})

    def execute(self) -> ChangeResult:
        """Merges the rows and commits."""
        return _result(self._table, self._table._table.merge_rows(self._given(), self._read()))

    def _when(self, kind: str, where: str | None, action: str, values: Mapping[str, str] | str) -> Merge:
        name = "values" if action == "insert" else "set"
        if isinstance(values, str) and values.lower() != "all":
            raise TypeError(f'{name}={values!r}: it must be "all", or a mapping of columns to SQL expressions')
        what: Any = "delete"
        if action != "delete":
            what = f"{action}_all" if isinstance(values, str) else {action: arguments.expressions(name, values)}
        self._clauses.append({"when": kind, "where": arguments.text("where", where), "action": what})
        return self

    def _given(self) -> dict[str, Any]:
        return {**self._options, "clauses": self._clauses}

    def _read(self) -> _lakebed.MergeSource:
        """Reads the source, once for all calls.

        After a failure it is read again only if it can be read from its beginning.
        """
        if self._source is None:
            if self._is_begun and not begins_anew(self._data):
                raise InvalidInputError(
                    "a call that failed has read a part of the source: create a new merge, with a source that starts at its beginning"
                )
            self._is_begun = True
            self._source = _lakebed.MergeSource.read(stream(self._data), self._on_lossy)
            self._data = None
        return self._source

    def __repr__(self) -> str:
        return f"Merge({self._table!r}, on={self._options.get('on')!r}, clauses={len(self._clauses)})"


@dataclass(frozen=True)
class MergeKey:
    """Two values that must be equal for rows to match."""

    target: str
    source: str
    #: Whether null equals null.
    null_safe: bool
    #: Whether the values of the source skip files of the target.
    prunes: bool


@dataclass(frozen=True)
class MergeExplanation:
    """The plan of a merge."""

    #: The files of the target that the merge would read, and the reasons why it does not skip more.
    scan: Explanation
    #: The values that must be equal. Without keys, each target row is compared with each source
    #: row.
    keys: tuple[MergeKey, ...]
    #: The number of source rows, the number of parts in which they are merged, and the bytes that
    #: spilled.
    source_rows: int
    source_parts: int
    spilled_bytes: int
    #: Whether rows are deleted by deletion vectors. Otherwise, their files are rewritten.
    by_deletion_vectors: bool
    #: Whether the merge writes change data files.
    records_changes: bool

    def __str__(self) -> str:
        keys = [f"{key.target} {'<=>' if key.null_safe else '='} {key.source}" for key in self.keys]
        lines = [
            f"source: {self.source_rows} rows in {self.source_parts} parts, {self.spilled_bytes} bytes spilled to disk",
            f"keys: {', '.join(keys) or 'none: every target row is compared with every source row'}",
            f"changed rows: {'by deletion vectors' if self.by_deletion_vectors else 'by rewriting files'}",
        ]
        return "\n".join([*lines, str(self.scan)])


def upsert_rows(table: Table, source: Any, keys: str | Sequence[str], options: dict[str, Any]) -> ChangeResult:
    """Updates target rows that match a source row by the keys, and inserts the other source
    rows.
    """
    names = arguments.columns("keys", keys)
    if not names:
        raise InvalidInputError(f"keys={keys!r}: an upsert needs at least one key")
    return Merge(table, source, {**options, "keys": names}).when_matched_update().when_not_matched_insert().execute()


def _result(table: Table, changed: tuple[Any, bool, dict[str, Any]]) -> ChangeResult:
    made, committed, metrics = changed
    newer = table._with(made)
    return ChangeResult(version=newer.version, metrics=ChangeMetrics(**metrics), committed=committed, table=newer)
