"""Checks of a table: contradictions to the log, their meaning, and the calls that mend them."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _lakebed, arguments
from lakebed.arguments import CheckLevel
from lakebed.display import html_table
from lakebed.options import Located, located, takes
from lakebed.progress import watcher

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["CheckProgress", "CheckResult", "Finding", "Severity", "check", "check_located", "result"]

#: How bad a finding is. ``error``: the newest version cannot be read as a whole, or some readers
#: return wrong rows. ``warning``: a spare part is broken, or an older version is lost. ``notice``:
#: something only costs time.
Severity = Literal["error", "warning", "notice"]


@dataclass(frozen=True)
class CheckProgress:
    """The progress of a check."""

    #: The level that is running.
    level: CheckLevel
    #: The commits or files that this level has checked, and all of them if their number is known.
    done: int
    total: int | None


@dataclass(frozen=True)
class Finding:
    """A contradiction in a table."""

    #: What was found, such as ``data_file_missing``.
    kind: str
    severity: Severity
    #: The first level that finds it.
    level: CheckLevel
    #: The contradiction in words.
    message: str
    #: A name in the log, or the path of a file as the log spells it.
    file: str | None
    version: int | None
    column: str | None
    #: What it means for users of the table.
    meaning: str
    #: The call that mends it, as Python text. None if no call can.
    remedy: str | None

    def __str__(self) -> str:
        where = ", ".join(str(part) for part in (self.file, self.column and f"column {self.column}") if part)
        return f"{self.severity}: {self.kind}: {where + ': ' if where else ''}{self.message}"


@dataclass(frozen=True, repr=False)
class CheckResult:
    """The result of a check."""

    #: The newest version that the log shows.
    version: int
    #: The version of which the content was checked: the newest one that can be read. None if none
    #: can be read.
    checked_version: int | None
    level: CheckLevel
    #: The findings, the shallowest level first; of each kind at most ``limit``.
    findings: tuple[Finding, ...]
    #: The number of all findings by kind.
    counts: Mapping[str, int]
    #: Whether there is neither an error nor a warning.
    ok: bool
    #: The data files of the checked version, from level ``state`` on.
    files: int | None
    #: The rows that were read, from level ``rows`` on.
    rows: int | None

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = [f"CheckResult(version={self.version}, level={self.level!r}, ok={self.ok})"]
        if self.checked_version != self.version:
            lines.append(f"  checked version: {self.checked_version}")
        for finding, count in self._kinds():
            lines.append(f"  {finding}" + (f" (and {count - 1} more)" if count > 1 else ""))
            lines.append(f"    {finding.meaning}")
            lines.extend([f"    {finding.remedy}"] if finding.remedy else [])
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = html.escape(f"CheckResult(version={self.version}, level={self.level!r}, ok={self.ok})")
        rows = [(one.severity, one.kind, count, one.file or "", one.message, one.remedy or "") for one, count in self._kinds()]
        return f"<p>{head}</p>" + html_table(("severity", "kind", "count", "file", "message", "remedy"), rows)

    def _kinds(self) -> list[tuple[Finding, int]]:
        """Returns the first finding of each kind, and the number of all."""
        first: dict[str, Finding] = {}
        for finding in self.findings:
            first.setdefault(finding.kind, finding)
        return [(finding, self.counts[kind]) for kind, finding in first.items()]


@takes(Located)
def check(
    uri: str | os.PathLike[str],
    level: CheckLevel = "files",
    *,
    limit: int = 100,
    progress: bool | Callable[[CheckProgress], Any] | None = None,
    **options: Unpack[Located],
) -> CheckResult:
    """Compares the log of a table with its files. The table need not be readable.

    - ``uri``, ``storage_options``, ``credentials`` and ``absolute_paths`` are those of
      :class:`lakebed.Table`.
    - ``level``, ``limit`` and ``progress`` are those of :meth:`Table.check`.

    >>> import lakebed as lb
    >>> lb.check("examples/trips", "rows")
    CheckResult(version=3, level='rows', ok=True)
    """
    paths = arguments.flag("absolute_paths", options.get("absolute_paths", False))
    return check_located({**located(uri, options), "absolute_paths": paths}, level, limit, progress)


def check_located(
    location: Mapping[str, Any],
    level: CheckLevel,
    limit: int,
    progress: bool | Callable[[CheckProgress], Any] | None,
) -> CheckResult:
    """Checks the table at a location."""
    word = arguments.given("level", arguments.word("level", level, CheckLevel))
    own = None if isinstance(progress, (bool, type(None))) else arguments.function("progress", progress)
    given = {
        "level": word,
        "limit": arguments.integer("limit", limit),
        "progress": watcher(own or progress is True, CheckProgress, _line),
    }
    return result(level, _lakebed.Table.check({**location, **given}))


def result(level: CheckLevel, found: dict[str, Any]) -> CheckResult:
    """Returns the result of a check at this level."""
    findings = tuple(Finding(**{**finding, "remedy": _remedy(finding, level)}) for finding in found.pop("findings"))
    return CheckResult(level=level, findings=findings, counts=dict(found.pop("counts")), **found)


def _remedy(finding: Mapping[str, Any], level: CheckLevel) -> str | None:
    """Returns the call that mends a finding. A repair finds what its own level finds, so the call
    names the level of this check if the default may not find it.
    """
    call: str | None = finding["remedy"]
    if call is None or "level=" in call:
        return call
    # Only the whole history has older checkpoints and checksums.
    is_deep = finding["level"] in ("footers", "rows", "history") or (finding["level"] == "state" and level == "history")
    return f'{call.removesuffix(")")}, level="{level}")' if is_deep else call


def _line(progress: CheckProgress) -> str:
    of_all = "" if progress.total is None else f" of {progress.total:,}"
    return f"{progress.level}: {progress.done:,}{of_all}"
