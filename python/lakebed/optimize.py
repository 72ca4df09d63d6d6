"""Writing files of a table anew: fewer of them, or in an order in which queries need fewer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakebed.errors import InvalidInputError

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["OptimizeMetrics", "OptimizeResult", "PlannedGroup", "Progress"]


@dataclass(frozen=True)
class Progress:
    """How far an operation has come; bytes are those of the files that are written anew."""

    done_bytes: int
    total_bytes: int
    #: Groups of files that are written, out of all.
    done_groups: int
    total_groups: int


@dataclass(frozen=True)
class PlannedGroup:
    """Files that would be written anew together."""

    #: Their partition, as ``a=1/b=2``; empty where the table has none.
    partition: str
    #: Their paths as the log spells them.
    paths: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True)
class OptimizeMetrics:
    """What was done."""

    #: Groups of files that were written anew, and groups that were given up because another writer changed one of their files.
    groups: int = 0
    lost_groups: int = 0
    #: New files and their sizes, and files that are gone.
    added_files: int = 0
    added_bytes: int = 0
    removed_files: int = 0
    removed_bytes: int = 0
    #: Files among those that are gone that had a deletion vector.
    vectors_removed: int = 0
    #: Rows of the new files.
    rows: int = 0
    #: Files that stayed and got statistics.
    described_files: int = 0
    #: Files that were looked at in the log.
    seen_files: int = 0
    #: What went to disk because it did not fit into memory.
    spilled_bytes: int = 0
    #: The most that the process had reserved of its memory budget meanwhile.
    peak_memory_bytes: int = 0
    #: How often another writer was faster.
    conflicts: int = 0
    #: The sizes of the new files: the smallest, at a quarter, at half, at three quarters of the way, and the largest.
    file_sizes: tuple[int, ...] | None = None
    #: How many of the groups were clustered in which way: ``zorder``, ``hilbert``, ``kdtree``.
    methods: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OptimizeResult:
    """What came of it."""

    #: The last version that it became, or the latest one if there was nothing to do.
    version: int
    #: How many versions it became.
    commits: int
    metrics: OptimizeMetrics
    #: The table as of that version.
    table: Table


def layout(zorder_by: list[str] | None, cluster_by: list[str] | None) -> dict[str, list[str]] | None:
    """The order of rows in new files, as `_lakebed` takes it; None is that of the table."""
    if zorder_by is not None and cluster_by is not None:
        raise InvalidInputError("zorder_by and cluster_by are two ways to order rows: choose one")
    if zorder_by is not None:
        return {"z_order": zorder_by}
    return None if cluster_by is None else {"cluster": cluster_by}


def optimize(table: Table, options: dict[str, Any], progress: bool | Callable[[Progress], Any] | None) -> OptimizeResult:
    """Writes files of a table that is open anew."""
    options = {**options, "progress": _watcher(progress)}
    handle, commits, metrics = table._table.optimize(options)
    sizes = metrics["file_sizes"]
    found = OptimizeMetrics(**{**metrics, "file_sizes": None if sizes is None else tuple(sizes)})
    newer = table._wrap(handle, table._given)
    return OptimizeResult(newer.version, commits, found, newer)


def plan_optimize(table: Table, options: dict[str, Any]) -> tuple[PlannedGroup, ...]:
    """Which files would be written anew together."""
    return tuple(PlannedGroup(partition, tuple(paths), size) for partition, paths, size in table._table.plan_optimize(options))


def _watcher(progress: bool | Callable[[Progress], Any] | None) -> Callable[..., None] | None:
    if progress is None or progress is False:
        return None
    tell = _show if progress is True else progress

    def watch(*counts: int) -> None:
        tell(Progress(*counts))

    return watch


def _show(progress: Progress) -> None:
    """One line that is written over and over."""
    share = progress.done_bytes / progress.total_bytes if progress.total_bytes else 1.0
    end = "\n" if progress.done_groups == progress.total_groups else ""
    line = f"\r{share:4.0%} of {progress.total_bytes / 1e6:,.1f} MB, {progress.done_groups} of {progress.total_groups} groups"
    print(line, end=end, file=sys.stderr, flush=True)
