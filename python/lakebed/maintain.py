"""Maintenance of a table: optimize rewrites data files, and vacuum deletes unneeded files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed.adapters.pyarrow import read
from lakebed.errors import InvalidInputError
from lakebed.input import stream
from lakebed.progress import watcher
from lakebed.results import OptimizeMetrics, OptimizeResult, VacuumMetrics, VacuumResult

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["PlannedGroup", "Progress", "layout", "optimize", "plan_optimize", "vacuum"]


@dataclass(frozen=True)
class Progress:
    """The progress of an optimize. Its bytes are those of the files that are rewritten."""

    done_bytes: int
    total_bytes: int
    #: The groups of files that are rewritten, and all groups.
    done_groups: int
    total_groups: int


@dataclass(frozen=True)
class PlannedGroup:
    """Files that would be rewritten together."""

    #: Their partition, as ``a=1/b=2``. Empty if the table has no partitions.
    partition: str
    #: Their paths as the log spells them.
    paths: tuple[str, ...]
    size_bytes: int


def layout(zorder_by: list[str] | None, cluster_by: list[str] | None) -> dict[str, list[str]] | None:
    """Returns the order of rows in new files, in the form that `_lakebed` takes. None keeps the
    table's order.
    """
    if zorder_by is not None and cluster_by is not None:
        raise InvalidInputError("zorder_by and cluster_by are two ways to order rows: choose one")
    if zorder_by is not None:
        return {"z_order": zorder_by}
    return None if cluster_by is None else {"cluster": cluster_by}


def optimize(table: Table, options: dict[str, Any], progress: bool | Callable[[Progress], Any] | None) -> OptimizeResult:
    """Rewrites files of an open table."""
    options = {**options, "progress": watcher(progress, Progress, _line)}
    handle, commits, metrics = table._table.optimize(options)
    sizes = metrics["file_sizes"]
    found = OptimizeMetrics(**{**metrics, "file_sizes": None if sizes is None else tuple(sizes)})
    newer = table._with(handle)
    return OptimizeResult(version=newer.version, commits=commits, metrics=found, table=newer)


def plan_optimize(table: Table, options: dict[str, Any]) -> tuple[PlannedGroup, ...]:
    """Returns the groups of files that would be rewritten together."""
    return tuple(PlannedGroup(partition, tuple(paths), size) for partition, paths, size in table._table.plan_optimize(options))


def vacuum(table: Table, options: dict[str, Any], inventory: Any) -> VacuumResult:
    """Vacuums an open table."""
    if inventory is not None:
        inventory = stream(inventory)
    made, metrics, files = table._table.vacuum(options, inventory)
    newer = table._with(made)
    dry_run = bool(options["dry_run"])
    return VacuumResult(version=newer.version, metrics=VacuumMetrics(**metrics), dry_run=dry_run, files=read(files), table=newer)


def _line(progress: Progress) -> str:
    share = progress.done_bytes / progress.total_bytes if progress.total_bytes else 1.0
    end = "\n" if progress.done_groups == progress.total_groups else ""
    return f"{share:4.0%} of {progress.total_bytes / 1e6:,.1f} MB, {progress.done_groups} of {progress.total_groups} groups{end}"
