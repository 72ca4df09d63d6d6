"""Repairs of a table: those that need no guess, and those that the caller names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _lakebed, arguments
from lakebed.arguments import CheckLevel
from lakebed.checker import CheckResult, result
from lakebed.display import html_table
from lakebed.options import Repairing, RepairingAt, checked, located, takes

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["RepairAction", "RepairKind", "RepairResult", "repair", "repair_located"]

#: What a repair does. ``cut_commit``: a commit of the broken tail of the log is moved aside.
#: ``move_aside``: a broken file of the log that the commits replace is moved aside.
#: ``write_checkpoint``: a checkpoint of the newest version is written, with hint and checksum.
#: ``compute_statistics``: statistics of a data file are computed from its rows.
#: ``raise_row_id_mark``: the greatest row id of the log is raised to that of the files.
#: ``drop_file``: a data file is removed from the table, because it or its deletion vector cannot be
#: read. ``drop_deletion_vector``: a deletion vector that cannot be read is removed, and the rows that
#: it deleted come back. ``delete_orphan``: a file of deletion vectors that no version names is
#: deleted.
RepairKind = Literal[
    "cut_commit",
    "move_aside",
    "write_checkpoint",
    "compute_statistics",
    "raise_row_id_mark",
    "drop_file",
    "drop_deletion_vector",
    "delete_orphan",
]


@dataclass(frozen=True)
class RepairAction:
    """One thing that was done, or would be done."""

    kind: RepairKind
    #: A name in the log, the path of a data file as the log spells it, or that of an orphan.
    file: str | None
    version: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.file + ': ' if self.file else ''}{self.reason}"


@dataclass(frozen=True, repr=False)
class RepairResult:
    """The result of a repair."""

    #: Whether nothing was written.
    dry_run: bool
    #: What was done, or would be done, in this order.
    actions: tuple[RepairAction, ...]
    #: The check of the table: before a dry run, and after a repair. Its findings are those that remain.
    check: CheckResult
    #: The versions that the repair committed.
    commits: tuple[int, ...]

    def __repr__(self) -> str:
        lines = [f"RepairResult(dry_run={self.dry_run}, actions={len(self.actions)}, ok={self.check.ok})"]
        shown = self.actions[:20]
        lines.extend(f"  {action}" for action in shown)
        lines.extend([f"  and {len(self.actions) - len(shown)} more"] if len(self.actions) > len(shown) else [])
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(one.kind, one.file or "", one.reason) for one in self.actions[:100]]
        return f"<p>dry_run={self.dry_run}, ok={self.check.ok}</p>" + html_table(("kind", "file", "reason"), rows)


@takes(RepairingAt)
def repair(
    uri: str | os.PathLike[str],
    *,
    dry_run: bool = True,
    level: CheckLevel = "files",
    **options: Unpack[RepairingAt],
) -> RepairResult:
    """Mends what :func:`check` finds, as far as that needs no guess. The table need not be readable.

    - ``uri``, ``storage_options``, ``credentials`` and ``absolute_paths`` are those of
      :class:`lakebed.Table`.
    - ``dry_run``, ``level``, ``drop_missing_files``, ``lost_deletion_vectors``, ``truncate_log``,
      ``user_metadata``, ``commit_info``, ``upkeep`` and ``timeout`` are those of :meth:`Table.repair`.

    >>> import lakebed as lb
    >>> lb.repair("examples/trips").actions
    ()
    """
    paths = arguments.flag("absolute_paths", options.get("absolute_paths", False))
    repairing: Any = {name: value for name, value in options.items() if name in Repairing.__annotations__}
    return repair_located({**located(uri, options), "absolute_paths": paths}, dry_run, level, repairing)


def repair_located(location: Mapping[str, Any], dry_run: bool, level: CheckLevel, options: Mapping[str, Any]) -> RepairResult:
    """Repairs the table at a location."""
    given = {
        **checked(options),
        "dry_run": arguments.flag("dry_run", dry_run),
        "level": arguments.given("level", arguments.word("level", level, CheckLevel)),
    }
    found = _lakebed.Table.repair({**location, **given})
    actions = tuple(RepairAction(**action) for action in found["actions"])
    return RepairResult(found["dry_run"], actions, result(level, found["check"]), tuple(found["commits"]))
