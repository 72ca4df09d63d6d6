"""The results of lakebed as the dictionaries of deltalake.

What lakebed does not measure is None, such as the time of the phases of an operation.
``execution_time_ms`` is the time of the whole call.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from lakebed.results import ChangeMetrics, OptimizeMetrics

__all__ = ["deleted", "merged", "optimized", "timed", "updated"]


def timed(call: Callable[[], Any]) -> tuple[Any, int]:
    """Returns the result of a call and its milliseconds."""
    start = time.perf_counter_ns()
    found = call()
    return found, (time.perf_counter_ns() - start) // 1_000_000


def _files(metrics: ChangeMetrics) -> dict[str, Any]:
    """Returns the counts of files. In deltalake, a file with a new deletion vector is another file."""
    marked = metrics.deletion_vectors_added + metrics.deletion_vectors_updated
    return {"num_added_files": metrics.added_files + marked, "num_removed_files": metrics.removed_files + marked}


def deleted(metrics: ChangeMetrics, milliseconds: int) -> dict[str, Any]:
    rows = {} if metrics.deleted_rows is None else {"num_deleted_rows": metrics.deleted_rows}
    times = {"execution_time_ms": milliseconds, "scan_time_ms": None, "rewrite_time_ms": None}
    return {**_files(metrics), **rows, "num_copied_rows": metrics.copied_rows, **times}


def updated(metrics: ChangeMetrics, milliseconds: int) -> dict[str, Any]:
    rows = {"num_updated_rows": metrics.updated_rows, "num_copied_rows": metrics.copied_rows}
    return {**_files(metrics), **rows, "execution_time_ms": milliseconds, "scan_time_ms": None}


def merged(metrics: ChangeMetrics, milliseconds: int) -> dict[str, Any]:
    files = _files(metrics)
    return {
        "num_source_rows": metrics.source_rows,
        "num_target_rows_inserted": metrics.inserted_rows,
        "num_target_rows_updated": metrics.updated_rows,
        "num_target_rows_deleted": metrics.deleted_rows,
        "num_target_rows_copied": metrics.copied_rows,
        "num_output_rows": metrics.inserted_rows + metrics.updated_rows + metrics.copied_rows,
        "num_target_files_scanned": metrics.scanned_files,
        "num_target_files_skipped_during_scan": metrics.skipped_by_partition + metrics.skipped_by_statistics,
        "num_target_files_added": files["num_added_files"],
        "num_target_files_removed": files["num_removed_files"],
        "execution_time_ms": milliseconds,
        "scan_time_ms": None,
        "rewrite_time_ms": None,
    }


def optimized(metrics: OptimizeMetrics, *, is_clustered: bool) -> dict[str, Any]:
    sizes = metrics.file_sizes or (None,) * 5
    return {
        "numFilesAdded": metrics.added_files,
        "numFilesRemoved": metrics.removed_files,
        "filesAdded": _sizes(metrics.added_files, metrics.added_bytes, sizes[0], sizes[-1]),
        "filesRemoved": _sizes(metrics.removed_files, metrics.removed_bytes, None, None),
        "partitionsOptimized": metrics.groups,
        "numBatches": None,
        "totalConsideredFiles": metrics.scanned_files,
        "totalFilesSkipped": metrics.scanned_files - metrics.removed_files,
        "preserveInsertionOrder": not is_clustered,
        "plannerStrategy": "zOrder" if is_clustered else "preserveLocality",
        "preservedStableOrder": None,
        "maxBinSpanFiles": None,
    }


def _sizes(files: int, size_bytes: int, least: int | None, most: int | None) -> str:
    """Returns the sizes of files as JSON. lakebed does not know the extremes of removed files."""
    average = size_bytes / files if files else 0.0
    if not files:
        least = most = 0
    return json.dumps({"avg": average, "max": most, "min": least, "totalFiles": files, "totalSize": size_bytes})
