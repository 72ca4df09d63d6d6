"""Memory limits that are far too small, and no memory limits. Each operation either raises an error
or finishes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lakebed as lb

#: Every operation that reserves memory, on one table.
_WORK = """
import sys
import pyarrow as pa
import lakebed as lb
from lakebed import _lakebed
if sys.argv[2] != "0":
    _lakebed.set_memory_limit(int(sys.argv[2]))
path, count = sys.argv[1], 20_000
rows = pa.table({"id": range(count), "p": [number % 3 for number in range(count)], "s": [f"row {number}" for number in range(count)]})
vectors = {"delta.enableDeletionVectors": True}
for start in range(0, count, count // 4):
    lb.write(path, rows.slice(start, count // 4), partition_by=["p"], properties=vectors)
table = lb.Table(path)
assert table.to_arrow().sort_by("id") == table.scan().to_arrow().sort_by("id")
assert sum(batch.num_rows for batch in table.to_reader()) == count
merged = table.upsert(pa.table({"id": [1, count], "p": [1, 0], "s": ["changed", "new"]}), keys=["id", "p"])
table = merged.table.delete("id = 7").table
table.checkpoint()
for order in ({"cluster_by": ["id", "s"]}, {"zorder_by": ["s"]}):
    table = table.optimize(**order, full=True).table
table = table.optimize().table
table = lb.write(path, table.to_arrow(), mode="overwrite").table
found = table.to_arrow().sort_by("id")
expected = {number: f"row {number}" for number in range(count + 1)} | {1: "changed", count: "new"}
del expected[7]
assert dict(zip(found["id"].to_pylist(), found["s"].to_pylist())) == expected
print("done")
"""


@pytest.mark.parametrize(("limit", "told"), [("1", None), (None, "1"), (None, "2000000")])
def test_operations_finish_with_little_memory(tmp_path: Path, limit: str | None, told: str | None) -> None:
    environment = {**os.environ, **({"LAKEBED_MEMORY_LIMIT": told} if told else {})}
    arguments = [sys.executable, "-c", _WORK, str(tmp_path / "t"), limit or "0"]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.strip() == "done", done.stderr
    if told == "1":
        assert "LAKEBED_MEMORY_LIMIT is raised to 1048576: 1 bytes are not enough" in done.stderr


@pytest.mark.parametrize("limit", [1, 0, -1, (1 << 20) - 1, 1 << 64])
def test_limit_below_minimum_is_refused(limit: int) -> None:
    with pytest.raises(lb.InvalidInputError, match=rf"^size_bytes={limit}: it must be "):
        lb.set_memory_limit(limit)


@pytest.mark.parametrize("limit", [True, "1", 1.5e9, None])
def test_limit_of_wrong_type_is_refused(limit: Any) -> None:
    with pytest.raises(TypeError, match=r"^size_bytes="):
        lb.set_memory_limit(limit)
