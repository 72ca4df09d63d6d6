"""Clustering by OPTIMIZE: by columns that a call names, and by the clustering columns of a table.
Queries then skip more files.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import subprocess
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import duck
import lakebed as lb
from corpus import canon
from dml import log
from dml.model import TRACKING, VECTORS
from layouts.proof import columns, optimize
from layouts.tables import by_order, live, skipped, stats


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


# Order


_MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
#: Values of each type that has an order, with its least and greatest value.
VALUES: dict[str, pa.Array] = {
    "boolean": pa.array([True, False, None]),
    "byte": pa.array([-128, 127, 0, None], pa.int8()),
    "short": pa.array([-(2**15), 2**15 - 1, None], pa.int16()),
    "int": pa.array([-(2**31), 2**31 - 1, 0, None], pa.int32()),
    "long": pa.array([-(2**63), 2**63 - 1, 0, None], pa.int64()),
    "float": pa.array([math.nan, -math.inf, math.inf, -0.0, 0.0, 1.5, None], pa.float32()),
    "double": pa.array([math.nan, -math.inf, math.inf, -0.0, 0.0, 1e300, None], pa.float64()),
    "decimal": pa.array([Decimal("-9.99"), Decimal("9.99"), None], pa.decimal128(3, 2)),
    "wide": pa.array([Decimal("9" * 38), Decimal("-" + "9" * 38), None], pa.decimal128(38, 0)),
    "date": pa.array([date(1, 1, 1), date(9999, 12, 31), None]),
    "timestamp": pa.array([_MOMENT, _MOMENT.replace(year=1), _MOMENT.replace(year=9999), None], pa.timestamp("us", "UTC")),
    "ntz": pa.array([_MOMENT.replace(tzinfo=None), datetime(1, 1, 1), None], pa.timestamp("us")),
    "string": pa.array(["", "a" * 60, "a" * 60 + "b", "\U0010ffff", "ü\0", None]),
    "binary": pa.array([b"", b"\x00", b"\xff" * 50, None], pa.binary()),
    "null": pa.nulls(3, pa.int32()),
    "equal": pa.array([7], pa.int64()),
}
#: 300 random rows of these values.
ALL_TYPES = pa.table(
    {
        **{name: values.take(random.Random(name).choices(range(len(values)), k=300)) for name, values in VALUES.items()},
        "s": pa.array(
            [
                None if i % 11 == 0 else {"x": None if i % 7 == 0 else i * 37 % 100, "t": {"y": f"{i * 7 % 50:03}"}}
                for i in range(300)
            ]
        ),
        "id": pa.array(range(300), pa.int64()),
        "l": pa.array([[1, None], [], None] * 100),
        "m": pa.array([[("k", 1)], [], None] * 100, pa.map_(pa.string(), pa.int32())),
    }
)


@pytest.mark.parametrize("name", [*VALUES, "s.x", "s.t.y"])
def test_rows_by_one_column(path: str, name: str) -> None:
    """After a Z-order of one column, the values of one file are not above those of the next. After
    clustering by the column, queries read no more files than with sorted values.
    """
    for first in range(0, 300, 100):
        lb.write(path, ALL_TYPES.slice(first, 100), properties={TRACKING: True} if first == 0 else None)
    size = sum(add["size"] for add in live(path))
    result = optimize(path, target_file_size=size // 6, zorder_by=name)
    assert 4 <= result.metrics.added_files <= 7
    spans = _spans(path, name)
    for one, other in itertools.pairwise(spans):
        assert one[-1] <= other[0]
    optimize(path, target_file_size=size // 6, cluster_by=name)
    spans = _spans(path, name)
    values = {rank for ranks in spans for rank in ranks if rank[0]}
    assert _files_read(spans) < len(values) + len(spans)


def _spans(path: str, name: str) -> list[list[tuple[Any, ...]]]:
    """Returns the values of each file."""
    found = []
    for add in live(path):
        values = dict(columns(pq.ParquetFile(Path(path) / add["path"]).read()))[tuple(name.split("."))].to_pylist()
        found.append(sorted(_rank(value) for value in values))
    return sorted(found, key=lambda ranks: (ranks[0], ranks[-1]))


def _files_read(spans: list[list[tuple[Any, ...]]]) -> int:
    """Returns how many files are read by one query for each value."""
    bounds = [[rank for rank in ranks if rank[0]] for ranks in spans]
    values = {rank for ranks in bounds for rank in ranks}
    return sum(ranks[0] <= value <= ranks[-1] for value in values for ranks in bounds if ranks)


def _rank(value: Any) -> tuple[Any, ...]:
    """Orders nulls before all values, NaN after all numbers, and strings by their bytes."""
    if value is None:
        return (0, 0)
    if isinstance(value, float):
        return (2, 0) if math.isnan(value) else (1, value)
    return (1, value.encode() if isinstance(value, str) else value)


@by_order
def test_rows_by_all_columns_of_each_partition(path: str, order: str) -> None:
    names = [*VALUES, "s.x", "s.t.y", "id"]
    data = ALL_TYPES.append_column("p", pa.array(["a", "b", None] * 100))
    for first in (0, 150):
        lb.write(
            path, data.slice(first, 150), partition_by="p", properties={"delta.columnMapping.mode": "id"} if not first else None
        )
    result = optimize(path, **{order: names})
    assert (result.metrics.groups, result.metrics.removed_files, result.metrics.added_files) == (3, 6, 3)
    assert sum(result.metrics.methods.values()) == 3


@by_order
@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_few_rows_and_equal_ones(path: str, order: str, count: int) -> None:
    """Equal rows are spread over as many files as requested."""
    lb.write(path, pa.table({"a": pa.array([5] * count, pa.int64()), "b": pa.array([None] * count, pa.string())}))
    result = optimize(path, **{order: ["a", "b"]}, target_file_size=1024 if count == 2 else None)
    assert (result.commits, result.metrics.rows) == (min(count, 1), count)


@by_order
def test_clustered_files_have_size_and_skip(path: str, order: str) -> None:
    """A million pairs in 64 files. A value of either column is in about an eighth of the files. It
    was in all files before.
    """
    random_numbers = np.random.default_rng(3)
    for _ in range(8):
        data = {name: random_numbers.integers(0, 1_000_000, 40_000) for name in ("a", "b")}
        lb.write(path, pa.table(data))
    probes = [f"{name} = {value}" for name in ("a", "b") for value in (1_000, 123_456, 500_000, 987_654)]
    assert sum(skipped(path, where) for where in probes) == 0
    size = sum(add["size"] for add in live(path))
    target = size // 64
    result = optimize(path, target_file_size=target, **{order: ["a", "b"]})
    files = result.metrics.added_files
    assert 58 <= files <= 70
    assert result.metrics.methods == {"zorder" if order == "zorder_by" else "kdtree": 1}
    assert result.metrics.file_sizes is not None
    assert target * 0.7 <= result.metrics.file_sizes[1] <= result.metrics.file_sizes[3] <= target * 1.3
    shares = [skipped(path, where) / files for where in probes]
    assert min(shares) >= 0.7
    assert sum(shares) / len(shares) >= 0.8


def test_zorder_treats_columns_alike(path: str) -> None:
    """There are sixteen files of sixteen squares, because the curve takes the bits of both columns
    in turn.
    """
    pairs = [(a, b) for a in range(64) for b in range(64)]
    random.Random(5).shuffle(pairs)
    noise = np.random.default_rng(5).integers(0, 2**62, len(pairs))
    lb.write(path, pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "noise": noise}))
    size = live(path)[0]["size"]
    optimize(path, zorder_by=["a", "b"], target_file_size=size // 16)
    squares = {tuple(stats(add)[key][name] for name in "ab" for key in ("minValues", "maxValues")) for add in live(path)}
    assert squares == {(a, a + 15, b, b + 15) for a in range(0, 64, 16) for b in range(0, 64, 16)}


@by_order
def test_second_clustering_needs_new_files(path: str, order: str) -> None:
    for first in (0, 50):
        lb.write(path, pa.table({"a": range(first, first + 50), "b": range(50)}))
    options: dict[str, Any] = {order: ["a", "b"]}
    optimize(path, **options)
    # Another order, other columns and another sequence of columns need another rewrite.
    others = {"zorder_by": "cluster_by", "cluster_by": "zorder_by"}
    for other in ({others[order]: ["a", "b"]}, {order: ["b", "a"]}, {order: "a"}, options):
        assert optimize(path, **other).metrics.removed_files == 1
    lb.write(path, pa.table({"a": [1], "b": [1]}))
    assert optimize(path, **options).metrics.removed_files == 2
    lb.Table(path).update({"a": "7"}, where="a = 3")
    assert optimize(path, **options).commits == 1


@by_order
def test_all_is_written_anew_if_asked_for(path: str, order: str) -> None:
    lb.write(path, pa.table({"a": range(50), "b": range(50)}))
    assert optimize(path, **{order: "a"}).commits == 1
    assert optimize(path, **{order: "a"}, full=True).metrics.removed_files == 1


@by_order
def test_columns_behind_the_first_32_get_statistics(path: str, order: str) -> None:
    data = pa.table(
        {**{f"c{number}": [number] * 400 for number in range(40)}, "late": [value * 37 % 400 for value in range(400)]}
    )
    lb.write(path, data)
    assert "late" not in stats(live(path)[0])["minValues"]
    result = optimize(path, target_file_size=live(path)[0]["size"] // 4, **{order: "late"})
    assert result.metrics.added_files > 2
    assert {tuple(stats(add)[key].keys()) for add in live(path) for key in ("minValues",)} == {
        (*(f"c{number}" for number in range(32)), "late")
    }
    assert skipped(path, "late = 7") == result.metrics.added_files - 1


# Tables with clustering columns


def clustered(path: str, **options: Any) -> lb.Table:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string()), ("s", pa.struct([("x", pa.int64())]))])
    return lb.create(path, schema, cluster_by=["a", "s.x"], **options)


def shuffled(first: int, count: int) -> pa.Table:
    values = list(range(first, first + count))
    random.Random(first).shuffle(values)
    return pa.table({"a": values, "b": [str(value) for value in values], "s": [{"x": value * 7 % count} for value in values]})


def test_clustered_table_is_clustered_incrementally(path: str) -> None:
    table = clustered(path, properties={VECTORS: True, TRACKING: True})
    assert optimize(path).commits == 0
    for first in (0, 1000):
        table.append(shuffled(first, 1000))
    size = sum(add["size"] for add in live(path))
    result = optimize(path, target_file_size=size // 8)
    assert 6 <= result.metrics.added_files <= 10
    assert json.loads(result.table.history(1)[0].parameters["clusterBy"] or "") == ["a", "s.x"]
    adds = live(path)
    assert {add["clusteringProvider"] for add in adds} == {"liquid"}
    assert {add["tags"]["ZCUBE_ZORDER_BY"] for add in adds} == {'["a","s.x"]'}
    assert len({add["tags"]["ZCUBE_ID"] for add in adds}) == 1
    for where in ("a = 17", "a = 1500", "s.x = 3"):
        assert skipped(path, where) >= len(adds) // 4
    table.append(shuffled(2000, 100))
    assert optimize(path, target_file_size=size // 8).metrics.removed_files == 1
    assert len({add["tags"]["ZCUBE_ID"] for add in live(path)}) == 2
    table.append(shuffled(3000, 3000))
    result = optimize(path, target_file_size=size // 8)
    # More rows were added than the cube had.
    assert result.metrics.rows == 5100
    assert len({add["tags"]["ZCUBE_ID"] for add in live(path)}) == 1
    table.append(shuffled(6000, 10))
    assert optimize(path, full=True).metrics.rows == 5110
    assert lb.Table(path).history(1)[0].parameters["isFull"] == "true"


def test_files_of_other_providers_stay(path: str) -> None:
    table = clustered(path)
    for first in range(4):
        table.append(shuffled(first * 100, 100))
    others = [
        {"tags": {"ZCUBE_ID": "x", "ZCUBE_ZORDER_BY": '["b"]'}, "clusteringProvider": "liquid"},
        {"clusteringProvider": "foreign"},
        {
            "tags": {"ZCUBE_ID": "y", "ZCUBE_ZORDER_BY": '["a","s.x"]', "ZCUBE_ZORDER_CURVE": "hilbert"},
            "clusteringProvider": "liquid",
        },
    ]
    for version, other in enumerate(others, 1):
        file = Path(path) / "_delta_log" / f"{version:020}.json"
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"] |= other
        file.write_text("".join(json.dumps(action) + "\n" for action in actions))
        (file.parent / f"{version:020}.crc").unlink(missing_ok=True)
    (foreign,) = (add["path"] for add in live(path) if add.get("clusteringProvider") == "foreign")
    # The fourth file is new. The third file stays, because it is clustered by the clustering
    # columns.
    assert optimize(path).metrics.removed_files == 1
    assert sorted(add["clusteringProvider"] for add in live(path))[0] == "foreign"
    optimize(path, full=True)
    assert {add["path"] for add in live(path) if add["clusteringProvider"] != "liquid"} == {foreign}
    assert len({add["tags"]["ZCUBE_ID"] for add in live(path) if add["clusteringProvider"] == "liquid"}) == 1


@by_order
def test_a_clustered_table_keeps_its_columns(path: str, order: str) -> None:
    clustered(path).append(shuffled(0, 10))
    with pytest.raises(lb.InvalidInputError, match=r"the table is clustered by a, s\.x"):
        lb.Table(path).optimize(**{order: "a"})


# Memory


_SMALL = """
import sys
import lakebed as lb
lb.set_memory_limit(16 << 20)
found = lb.Table(sys.argv[1]).optimize(cluster_by=["a", "s"], target_file_size=int(sys.argv[2])).metrics
print(found.spilled_bytes, found.peak_memory_bytes, found.added_files)
"""


def test_clustering_spills_to_disk(path: str) -> None:
    random_numbers = np.random.default_rng(7)
    for _ in range(4):
        texts = random_numbers.integers(0, 10**9, 200_000).astype(str)
        lb.write(path, pa.table({"a": random_numbers.integers(0, 10**9, 200_000), "s": texts}), properties={TRACKING: True})
    before = _digest(path)
    size = sum(add["size"] for add in live(path))
    done = subprocess.run([sys.executable, "-c", _SMALL, path, str(size // 10)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    spilled, peak, files = map(int, done.stdout.split())
    assert spilled > 10_000_000
    assert peak < 2 * (16 << 20)
    assert 8 <= files <= 12
    assert _digest(path) == before
    assert skipped(path, "a = 17") >= files // 2


def _digest(path: str) -> Any:
    """Returns the rows by their row ids."""
    return lb.Table(path).to_arrow(["a", "s", "_metadata.row_id", "_metadata.row_commit_version"]).sort_by("_metadata.row_id")


# Other readers


def test_other_programs_read_what_was_written(path: str) -> None:
    data = ALL_TYPES.drop_columns(["ntz", "null"]).append_column("p", pa.array(["a", "b c", None] * 100))
    for first in range(0, 300, 50):
        lb.write(path, data.slice(first, 50), partition_by="p")
    for options in (
        {},
        {"zorder_by": ["s.x", "long"], "target_file_size": 5000},
        {"cluster_by": ["string", "double"], "target_file_size": 5000},
    ):
        optimize(path, **options)
        ids = sorted(data["id"].to_pylist())
        assert sorted(DeltaTable(path).to_pyarrow_table()["id"].to_pylist()) == ids
        found = duck.connect().sql(f"SELECT * FROM delta_scan('{path}')").arrow()
        found = found.read_all() if hasattr(found, "read_all") else found
        assert canon.rows(found.select(["id", "long", "string", "double", "p"])) == canon.rows(
            data.select(["id", "long", "string", "double", "p"])
        )
        low = DeltaTable(path).to_pyarrow_table(filters=[("long", "<", 0)])["id"].to_pylist()
        assert sorted(low) == sorted(data.filter(pc.less(data["long"], 0))["id"].to_pylist())
    assert {unquote(file["path"]) for file in lb.Table(path).files().to_pylist()} <= log.files(path)
