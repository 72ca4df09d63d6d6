"""Changing rows of a table: deleting, updating, merging."""

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
    """Deletes rows of a table that is open."""
    return _result(table, table._table.delete_rows(options))


def update_rows(table: Table, values: Mapping[str, Any], options: dict[str, Any]) -> ChangeResult:
    """Updates rows of a table that is open."""
    pairs = arguments.expressions("set", values)
    if not pairs:
        raise InvalidInputError("set={}: name at least one column and its new value")
    return _result(table, table._table.update_rows({**options, "set": pairs}))


class Merge:
    """A merge of rows into a table: what becomes of which rows is said clause by clause, then :meth:`execute` does it in one commit.

    Of several clauses about the same rows the first one does it whose ``where`` is true; only the last of a kind can do without one. Conditions
    and values are SQL over the columns of both, ``target.a`` and ``source.b``; a bare name is enough where only one of them has it.

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
        self._options = options
        self._source: _lakebed.MergeSource | None = None
        self._is_begun = False
        self._clauses: list[tuple[str, str | None, str, list[tuple[str, str]] | None]] = []

    def when_matched_update(self, set: Mapping[str, str] | Literal["all"] = "all", *, where: str | None = None) -> Merge:
        """Rows that match, and for which ``where`` is true, get the values that ``set`` says, or with ``"all"`` those of the source's columns of
        the same names."""
        return self._when("matched", where, "update", set)

    def when_matched_delete(self, *, where: str | None = None) -> Merge:
        """Rows that match, and for which ``where`` is true, are deleted."""
        return self._when("matched", where, "delete", "all")

    def when_not_matched_insert(self, values: Mapping[str, str] | Literal["all"] = "all", *, where: str | None = None) -> Merge:
        """Rows of the source that match none, and for which ``where`` is true, are inserted, with these ``values`` or all."""
        return self._when("not_matched", where, "insert", values)

    def when_not_matched_by_source_update(self, set: Mapping[str, str], *, where: str | None = None) -> Merge:
        """Rows of the table that match none of the source, and for which ``where`` is true, get the values that ``set`` says."""
        return self._when("not_matched_by_source", where, "update", set)

    def when_not_matched_by_source_delete(self, *, where: str | None = None) -> Merge:
        """Rows of the table that match none of the source, and for which ``where`` is true, are deleted."""
        return self._when("not_matched_by_source", where, "delete", "all")

    def explain(self) -> MergeExplanation:
        """What it would do: by which keys rows find each other, and which files may be concerned. Reads the source and the log, no data."""
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
        pairs = None if isinstance(values, str) else arguments.expressions(name, values)
        self._clauses.append((kind, arguments.text("where", where), action, pairs))
        return self

    def _given(self) -> dict[str, Any]:
        return {**self._options, "clauses": self._clauses}

    def _read(self) -> _lakebed.MergeSource:
        """The source is read once, however often it is asked for. Where that fails, only a source that begins anew is read again."""
        if self._source is None:
            if self._is_begun and not begins_anew(self._data):
                raise InvalidInputError(
                    "the source was read in part, by a call that failed: make the merge anew, with a source from its beginning"
                )
            self._is_begun = True
            self._source = _lakebed.MergeSource.read(stream(self._data), self._options["on_lossy"])
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
    #: Whether the values of the source rule out files of the table.
    prunes: bool


@dataclass(frozen=True)
class MergeExplanation:
    """What a merge would do."""

    #: Which files of the table it would look at, and why not fewer.
    scan: Explanation
    #: What rows must have in common; without keys every row is held against every row.
    keys: tuple[MergeKey, ...]
    #: The rows of the source, in how many parts they meet the table, and what of them did not fit into memory.
    source_rows: int
    source_parts: int
    spilled_bytes: int
    #: Whether rows leave their files by deletion vectors; else the files are written anew without them.
    by_deletion_vectors: bool
    #: Whether what happens to rows is recorded in files of its own.
    records_changes: bool

    def __str__(self) -> str:
        keys = [f"{key.target} {'<=>' if key.null_safe else '='} {key.source}" for key in self.keys]
        lines = [
            f"source: {self.source_rows} rows in {self.source_parts} parts, {self.spilled_bytes} bytes of them on disk",
            f"keys: {', '.join(keys) or 'none: every row is held against every row'}",
            f"changed rows: {'by deletion vectors' if self.by_deletion_vectors else 'by writing files anew'}",
        ]
        return "\n".join([*lines, str(self.scan)])


def upsert_rows(table: Table, source: Any, keys: str | Sequence[str], options: dict[str, Any]) -> ChangeResult:
    """Updates the rows of a table that have the keys of some of the source, and inserts the others."""
    names = arguments.columns("keys", keys)
    if not names:
        raise InvalidInputError(f"keys={keys!r}: an upsert needs at least one key")
    return Merge(table, source, {**options, "keys": names}).when_matched_update().when_not_matched_insert().execute()


def _result(table: Table, changed: tuple[Any, bool, dict[str, Any]]) -> ChangeResult:
    made, committed, metrics = changed
    newer = table._with(made)
    return ChangeResult(version=newer.version, metrics=ChangeMetrics(**metrics), committed=committed, table=newer)
