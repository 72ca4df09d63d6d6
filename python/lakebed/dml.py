"""Changing rows of a table: deleting, updating, merging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["ChangeMetrics", "ChangeResult"]


@dataclass(frozen=True)
class ChangeMetrics:
    """What a change of rows did."""

    #: Rows that are gone; None where the log does not tell how many there were.
    deleted_rows: int | None = None
    #: Rows that are others now, and rows that are new.
    updated_rows: int = 0
    inserted_rows: int = 0
    #: Rows that stayed but had to move to new files.
    copied_rows: int = 0
    #: Rows of a merge's source.
    source_rows: int = 0
    #: New files and their sizes, and files that are gone.
    added_files: int = 0
    added_bytes: int = 0
    removed_files: int = 0
    removed_bytes: int = 0
    #: Files of changed rows, for the change data feed.
    change_files: int = 0
    #: Files that got a deletion vector, got another one, or are gone with theirs.
    vectors_added: int = 0
    vectors_updated: int = 0
    vectors_removed: int = 0
    #: Files that had to be looked at and their sizes, and files that were ruled out.
    scanned_files: int = 0
    scanned_bytes: int = 0
    skipped_by_partition: int = 0
    skipped_by_statistics: int = 0
    #: What went to disk because it did not fit into memory.
    spilled_bytes: int = 0
    #: The most that the process had reserved of its memory budget meanwhile.
    peak_memory_bytes: int = 0
    #: How often another writer was faster.
    conflicts: int = 0


@dataclass(frozen=True)
class ChangeResult:
    """What came of a change of rows."""

    #: The version that it became, or the latest one if there was nothing to do.
    version: int
    metrics: ChangeMetrics
    #: False if there was nothing to do: no row was concerned, or the table knew the change already.
    committed: bool
    #: The table as of that version.
    table: Table


def delete_rows(table: Table, options: dict[str, Any]) -> ChangeResult:
    """Deletes rows of a table that is open."""
    return _result(table, table._table.delete_rows(options))


def update_rows(table: Table, values: Mapping[str, Any], options: dict[str, Any]) -> ChangeResult:
    """Updates rows of a table that is open."""
    return _result(table, table._table.update_rows({**options, "set": texts(values)}))


def texts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Columns with the texts of their expressions."""
    for column, expression in values.items():
        if not isinstance(expression, str):
            raise TypeError(
                f"column {column}: {expression!r} is no SQL expression: write it as text, such as {str(expression)!r}"
            )
    return list(values.items())


def _result(table: Table, changed: tuple[Any, bool, dict[str, int]]) -> ChangeResult:
    made, committed, metrics = changed
    newer = table._wrap(made, table._given)
    return ChangeResult(newer.version, ChangeMetrics(**metrics), committed, newer)
