"""The operations that change rows, each with its effect on a table that is a list of rows.

The fuzzer of the Python API (`door`) and the random statements (`dml`) share this file. A new
operation is one more function here. Predicates and new values are functions in Python, and the
caller provides their SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Row = dict[str, Any]
Rows = list[Row]
Holds = Callable[[Row], bool]


@dataclass
class Effect:
    """The effect of an operation on the rows of a table."""

    #: The rows of the table afterwards.
    rows: Rows = field(default_factory=list)
    deleted: Rows = field(default_factory=list)
    #: The updated rows, before and after.
    updated: list[tuple[Row, Row]] = field(default_factory=list)
    inserted: Rows = field(default_factory=list)

    @property
    def written(self) -> Rows:
        """Returns the rows with new values: updated rows and inserted rows."""
        return [*(after for _, after in self.updated), *self.inserted]

    @property
    def touched(self) -> Rows:
        """Returns the rows that are deleted or updated, as they were before."""
        return [*(before for before, _ in self.updated), *self.deleted]

    @property
    def is_empty(self) -> bool:
        return not (self.touched or self.inserted)

    @property
    def feed(self) -> list[tuple[str, Row]]:
        """Returns the rows of the change data feed, without a version."""
        found = [("delete", row) for row in self.deleted] + [("insert", row) for row in self.inserted]
        found += [("update_preimage", before) for before, _ in self.updated]
        return found + [("update_postimage", after) for _, after in self.updated]


@dataclass(frozen=True)
class Clause:
    """A clause of a merge, over a target row and a source row. One of them is None if there was no
    match.
    """

    when: Literal["matched", "not_matched", "not_matched_by_source"]
    action: Literal["update", "delete", "insert"]
    #: Returns the row that an update or an insert writes.
    makes: Callable[[Row | None, Row | None], Row] = lambda target, source: {**(target or {}), **(source or {})}
    holds: Callable[[Row | None, Row | None], bool] | None = None

    def applies(self, target: Row | None, source: Row | None) -> bool:
        return self.holds is None or self.holds(target, source)


def append(rows: Rows, new: Rows) -> Effect:
    return Effect([*rows, *new], inserted=new)


def overwrite(rows: Rows, new: Rows, replaces: Holds) -> Effect:
    """Replaces the rows for which the function is true."""
    left = delete(rows, replaces)
    return Effect([*left.rows, *new], deleted=left.deleted, inserted=new)


def delete(rows: Rows, holds: Holds) -> Effect:
    hit = [holds(row) for row in rows]
    return Effect(
        [row for row, is_hit in zip(rows, hit, strict=True) if not is_hit],
        deleted=[row for row, is_hit in zip(rows, hit, strict=True) if is_hit],
    )


def update(rows: Rows, holds: Holds, change: Callable[[Row], Row]) -> Effect:
    pairs = [(row, change(row) if holds(row) else row) for row in rows]
    return Effect([after for _, after in pairs], updated=[(before, after) for before, after in pairs if after is not before])


def merge(rows: Rows, source: Rows, meet: Callable[[Row, Row], bool], clauses: Iterable[Clause]) -> Effect | None:
    """Returns the effect of a merge, or None if the outcome of a row is ambiguous because several
    source rows match it.

    If a merge has only clauses for matches, source rows to which no clause applies do not count. A
    row may be deleted several times.
    """
    clauses, effect = list(clauses), Effect()
    of_matches = [clause for clause in clauses if clause.when == "matched"]
    deletes = len(of_matches) == 1 and of_matches[0].action == "delete" and of_matches[0].holds is None
    has_matched = [False] * len(source)
    for row in rows:
        met = [at for at, other in enumerate(source) if meet(row, other)]
        for at in met:
            has_matched[at] = True
        chosen = [(source[at], clause) for at in met if (clause := _first(clauses, "matched", row, source[at]))]
        if of_matches and not deletes and len(chosen if of_matches == clauses else met) > 1:
            return None
        one, clause = chosen[0] if chosen else (None, None if met else _first(clauses, "not_matched_by_source", row, None))
        if clause is None:
            effect.rows.append(row)
        elif clause.action == "delete":
            effect.deleted.append(row)
        else:
            effect.updated.append((row, clause.makes(row, one)))
            effect.rows.append(effect.updated[-1][1])
    for other, is_matched in zip(source, has_matched, strict=True):
        clause = None if is_matched else _first(clauses, "not_matched", None, other)
        if clause:
            effect.inserted.append(clause.makes(None, other))
    effect.rows += effect.inserted
    return effect


def _first(clauses: list[Clause], when: str, target: Row | None, source: Row | None) -> Clause | None:
    return next((clause for clause in clauses if clause.when == when and clause.applies(target, source)), None)
