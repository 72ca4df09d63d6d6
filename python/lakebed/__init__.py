"""Delta Lake tables, with ``pip install`` and nothing else.

>>> import lakebed as lb
>>> table = lb.Table("examples/trips")
>>> table.version
3
>>> table.scan(columns=["city", "fare"], where="day = DATE '2026-03-02'").to_arrow().num_rows
3
"""

from __future__ import annotations

import atexit

from lakebed import _lakebed, arguments
from lakebed._lakebed import __version__
from lakebed.alter import Alter, AlterTogether
from lakebed.changes import Changes
from lakebed.checker import CheckProgress, CheckResult, Finding, check
from lakebed.columns import Identity, column
from lakebed.copies import FileProgress, convert
from lakebed.detail import Checkpoint, Detail, LogCleanup, Protocol
from lakebed.dml import Merge, MergeExplanation, MergeKey
from lakebed.eraser import EraseMetrics, EraseResult, HoldingVersions
from lakebed.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConstraintViolationError,
    CorruptTableError,
    InvalidInputError,
    LakebedError,
    PredicateError,
    ResourceExhaustedError,
    SchemaMismatchError,
    StoreError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from lakebed.health import Health, HealthMeasure
from lakebed.history import History, HistoryEntry
from lakebed.maintain import PlannedGroup, Progress
from lakebed.reader import exists, read
from lakebed.repairer import RepairAction, RepairResult, repair
from lakebed.results import (
    ChangeMetrics,
    ChangeResult,
    CloneMetrics,
    CloneResult,
    CommitResult,
    ConvertMetrics,
    ConvertResult,
    DropFeatureMetrics,
    DropFeatureResult,
    ManifestResult,
    OperationResult,
    OptimizeMetrics,
    OptimizeResult,
    RestoreMetrics,
    RestoreResult,
    TransactionResult,
    VacuumMetrics,
    VacuumResult,
    WriteMetrics,
)
from lakebed.scan import ExplainedConjunct, Explanation, Scan, read_task
from lakebed.table import Table
from lakebed.transaction import Transaction
from lakebed.versions import FilesDifference, SchemaDifference, Tag, VersionDifference
from lakebed.writer import create, write

__all__ = [
    "Alter",
    "AlterTogether",
    "ChangeMetrics",
    "ChangeResult",
    "Changes",
    "CheckProgress",
    "CheckResult",
    "Checkpoint",
    "CloneMetrics",
    "CloneResult",
    "CommitConflictError",
    "CommitResult",
    "CommitUnknownError",
    "ConstraintViolationError",
    "ConvertMetrics",
    "ConvertResult",
    "CorruptTableError",
    "Detail",
    "DropFeatureMetrics",
    "DropFeatureResult",
    "EraseMetrics",
    "EraseResult",
    "ExplainedConjunct",
    "Explanation",
    "FileProgress",
    "FilesDifference",
    "Finding",
    "Health",
    "HealthMeasure",
    "History",
    "HistoryEntry",
    "HoldingVersions",
    "Identity",
    "InvalidInputError",
    "LakebedError",
    "LogCleanup",
    "ManifestResult",
    "Merge",
    "MergeExplanation",
    "MergeKey",
    "OperationResult",
    "OptimizeMetrics",
    "OptimizeResult",
    "PlannedGroup",
    "PredicateError",
    "Progress",
    "Protocol",
    "RepairAction",
    "RepairResult",
    "ResourceExhaustedError",
    "RestoreMetrics",
    "RestoreResult",
    "Scan",
    "SchemaDifference",
    "SchemaMismatchError",
    "StoreError",
    "Table",
    "TableExistsError",
    "TableNotFoundError",
    "Tag",
    "Transaction",
    "TransactionResult",
    "UnsupportedFeatureError",
    "VacuumMetrics",
    "VacuumResult",
    "VersionDifference",
    "VersionNotFoundError",
    "WriteMetrics",
    "__version__",
    "check",
    "column",
    "convert",
    "create",
    "exists",
    "finish_background",
    "read",
    "read_task",
    "repair",
    "set_memory_limit",
    "write",
]


#: The least limit with which all operations can work.
_LEAST_MEMORY_LIMIT = 1 << 20


def set_memory_limit(size_bytes: int) -> None:
    """Limits the memory that all scans of this process may hold. Further work waits.

    ``size_bytes`` is the limit, at least 1048576 (1 MiB). The default is a share of the memory of
    the machine or the container. The environment variable ``LAKEBED_MEMORY_LIMIT`` sets it, too; a
    smaller value is raised to the minimum there, with a warning. Processes that are forked later
    inherit the limit.
    """
    limit = arguments.given("size_bytes", arguments.integer("size_bytes", size_bytes, least=_LEAST_MEMORY_LIMIT))
    _lakebed.set_memory_limit(limit)


def finish_background() -> None:
    """Waits for work that continues after commits.

    The property ``delta.autoOptimize.autoCompact`` requests this work, which is a compaction. A
    process waits for it before it ends.
    """
    _lakebed.finish_background()


# The interpreter runs these functions in reverse order.
atexit.register(_lakebed.close_input)
atexit.register(finish_background)

if _lakebed.DEBUG_BUILD:
    import warnings

    warnings.warn(
        "this is a debug build of lakebed: its results are correct, but it is slow; do not measure its speed",
        RuntimeWarning,
        stacklevel=2,
    )
