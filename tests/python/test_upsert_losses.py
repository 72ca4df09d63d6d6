"""An upsert converts its source like a write: it refuses a value that a column cannot hold, unless
digits may be lost.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import lakebed as lb

ROW = {"id": [1], "n": pa.array([7], pa.int32()), "d": pa.array([Decimal("7.0")], pa.decimal128(5, 1)), "s": ["x"]}
DIGITS = pa.array([Decimal("1.25")], pa.decimal128(10, 4))


@pytest.fixture
def table(tmp_path: Path) -> lb.Table:
    return lb.write(str(tmp_path / "t"), pa.table(ROW)).table


@pytest.mark.parametrize("id", [1, 2], ids=["updated", "inserted"])
@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("n", [2.75], r"~ n: integer in the table, double in the data"),
        ("n", [2.0], r"~ n: integer in the table, double in the data"),
        ("n", [2**40], "column n: .*1099511627776"),
        ("d", [0.5], r"~ d: decimal\(5,1\) in the table, double in the data"),
        ("d", DIGITS, r"column d: .*1\.25"),
    ],
)
def test_what_a_column_cannot_hold_is_refused(table: lb.Table, id: int, column: str, values: Any, told: str) -> None:
    with pytest.raises(lb.SchemaMismatchError, match=told):
        table.upsert(pa.table({**ROW, "id": [id], column: values}), keys="id")
    assert table.refresh().version == 0


def test_upsert_refuses_fractions_for_integers(table: lb.Table) -> None:
    with pytest.raises(lb.SchemaMismatchError, match="n: integer in the table, double in the data"):
        table.upsert(pd.DataFrame({"id": [1, 2], "n": [3, None]}), keys="id", schema_mode="merge")


def test_what_fits_is_taken_whatever_its_type(table: lb.Table) -> None:
    source = {
        **ROW,
        "id": pa.array([1], pa.int8()),
        "n": pa.array([3], pa.int64()),
        "d": pa.array([Decimal("1.5000")], pa.decimal128(10, 4)),
    }
    table.upsert(pa.table(source), keys="id")
    assert table.refresh().to_arrow().to_pylist() == [{"id": 1, "n": 3, "d": Decimal("1.5"), "s": "x"}]


def test_digits_go_where_they_may(table: lb.Table) -> None:
    table.upsert(pa.table({**ROW, "id": [1], "n": [2.75], "d": DIGITS}), keys="id", on_lossy="truncate")
    assert table.refresh().to_arrow(columns=["n", "d"]).to_pylist() == [{"n": 2, "d": Decimal("1.3")}]


def test_texts_are_parsed(table: lb.Table) -> None:
    table.upsert(pa.table({**ROW, "n": ["3"]}), keys="id")
    assert table.refresh().to_arrow(columns="n").to_pylist() == [{"n": 3}]
    with pytest.raises(lb.LakebedError, match="three"):
        table.upsert(pa.table({**ROW, "n": ["three"]}), keys="id")


def test_merge_by_condition_casts_as_sql(table: lb.Table) -> None:
    table.merge(pa.table({"id": [1], "n": [2.75]}), on="target.id = source.id").when_matched_update({"n": "source.n"}).execute()
    assert table.refresh().to_arrow(columns="n").to_pylist() == [{"n": 2}]
