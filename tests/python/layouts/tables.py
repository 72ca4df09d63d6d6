"""Tables that OPTIMIZE rewrites, and the known facts about their files."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb
from dml import log

by_order = pytest.mark.parametrize("order", ["zorder_by", "cluster_by"])


def live(path: str) -> list[dict[str, Any]]:
    return list(log.live(path, lb.Table(path).version).values())


def stats(add: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(add["stats"])
    return found


def numbers(first: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def skipped(path: str, where: str) -> int:
    """Returns how many files a query with this predicate skips."""
    found = lb.Table(path).scan(where=where).explain()
    return found.skipped_by_statistics + found.skipped_by_partition
