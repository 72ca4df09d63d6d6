"""Vacuum: the end of files that no version within the retention needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed.rows import read

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.table import Table

__all__ = ["VacuumMetrics", "VacuumResult"]


@dataclass(frozen=True)
class VacuumMetrics:
    """What a vacuum did."""

    #: Files that were looked at, in folders, in an inventory, or among what commits removed; and folders that were looked into.
    listed_files: int = 0
    listed_folders: int = 0
    #: Files that no version needs, but that are younger than the retention.
    young_files: int = 0
    #: Files that were to go and their sizes; a commit does not tell the sizes of deletion vectors' files.
    found_files: int = 0
    found_bytes: int = 0
    #: Files that went and their sizes, and those that were not there any more.
    deleted_files: int = 0
    deleted_bytes: int = 0
    missing_files: int = 0
    #: Folders of this machine that went: old ones with nothing in them.
    deleted_folders: int = 0


@dataclass(frozen=True)
class VacuumResult:
    """What came of a vacuum."""

    #: The newest version afterwards.
    version: int
    metrics: VacuumMetrics
    #: Whether nothing was done: ``files`` is what would go.
    dry_run: bool
    #: What went: ``path`` below the table, ``size_bytes``, ``modification_time`` (null where nobody asked for it). At most a million.
    files: pa.Table
    #: The table as of that version.
    table: Table


def vacuum(table: Table, options: dict[str, Any], inventory: Any) -> VacuumResult:
    """Vacuums a table that is open."""
    if inventory is not None:
        from lakebed.input import stream

        inventory = stream(inventory)
    made, metrics, files = table._table.vacuum(options, inventory)
    newer = table._wrap(made, table._given)
    return VacuumResult(newer.version, VacuumMetrics(**metrics), bool(options["dry_run"]), read(files), newer)
