"""Python values keep their value in Arrow or are refused. No value is changed silently."""

from __future__ import annotations

from collections import deque
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import lakebed as lb

DAY = date(2026, 1, 1)
NOON = datetime(2026, 1, 1, 12)
ABROAD = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
FINE = pd.Timestamp("2026-01-01 00:00:00.123456789")

#: Types that do not mix, in the order in which pyarrow would make one type of them.
MIXED = {
    "dates beside times": [DAY, NOON],
    "a zone beside none": [NOON, ABROAD],
    "texts beside bytes": ["a", b"b"],
    "dates beside times in lists": [[DAY], [NOON]],
    "dates beside times in structs": [{"at": DAY}, {"at": NOON}],
    "dates beside times in structs of lists": [{"at": [DAY]}, {"at": [None, NOON]}],
}
#: The forms in which a column of Python values can be given.
WAYS = {
    "rows": lambda values: [{"v": value} for value in values],
    "a list": lambda values: {"v": values},
    "a deque": lambda values: {"v": deque(values)},
    "numpy": lambda values: {"v": objects(values)},
    "pandas": lambda values: {"v": pd.Series(values, dtype=object)},
    "a frame": lambda values: pd.DataFrame({"v": pd.Series(values, dtype=object)}),
    "chunks": lambda values: iter([pd.DataFrame({"v": pd.Series(values, dtype=object)})]),
}


def objects(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found


def written(path: Path, data: Any, **options: Any) -> list[Any]:
    uri = str(path / "t")
    lb.write(uri, data, **options)
    return lb.Table(uri).to_arrow()["v"].to_pylist()


def refused(path: Path, data: Any, told: str) -> None:
    with pytest.raises(lb.InvalidInputError, match=told):
        lb.write(str(path / "t"), data)
    assert not (path / "t").exists()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kinds", MIXED)
def test_mixed_values_are_refused_in_containers(kinds: str, way: str, tmp_path: Path) -> None:
    refused(tmp_path, WAYS[way](MIXED[kinds]), "column v")


def test_categories_of_two_kinds_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, pd.DataFrame({"v": pd.Categorical([DAY, NOON])}), "column v mixes dates")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([DAY, pd.NaT, None], [DAY, None, None]),
        ([pd.NaT, DAY], [None, DAY]),
        ([NOON, pd.NaT], [NOON, None]),
        ([pd.NaT, ABROAD], [None, datetime(2026, 1, 1, 10, tzinfo=timezone.utc)]),
        ([1, pd.NA], [1, None]),
        (["a", pd.NA], ["a", None]),
        ([[DAY], [None]], [[DAY], [None]]),
        ([{"at": DAY}, {"at": None}], [{"at": DAY}, {"at": None}]),
        ([pd.Timestamp(NOON), NOON], [NOON, NOON]),
    ],
)
def test_what_stands_for_null_is_null(given: list[Any], wanted: list[Any], way: str, tmp_path: Path) -> None:
    assert written(tmp_path, WAYS[way](given)) == wanted


@pytest.mark.parametrize("nested", [lambda value: [value], lambda value: {"at": value}, lambda value: {"at": [value]}])
def test_missing_values_in_rows_are_null(nested: Any, tmp_path: Path) -> None:
    wanted = [nested(DAY), nested(None)]
    assert written(tmp_path, [{"v": nested(DAY)}, {"v": nested(pd.NaT)}]) == wanted


def test_days_of_numpy_are_dates(tmp_path: Path) -> None:
    assert written(tmp_path, [{"v": np.datetime64("2026-01-01")}, {"v": np.datetime64("NaT")}]) == [DAY, None]


@pytest.mark.parametrize("way", ["rows", "a list", "numpy", "pandas"])
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_nanoseconds_are_refused_or_truncated_by_wish(way: str, zone: str | None, tmp_path: Path) -> None:
    data = WAYS[way]([FINE.tz_localize(zone), pd.NaT])
    with pytest.raises(lb.SchemaMismatchError, match=r"column v: .*\.123456789.* has more digits"):
        lb.write(str(tmp_path / "t"), data)
    cut = written(tmp_path, data, on_lossy="truncate")
    assert cut[1] is None
    assert cut[0].microsecond == 123456


@pytest.mark.parametrize("data", [[{"v": {"at": FINE}}], [{"v": [FINE]}], pd.DataFrame({"v": pd.Series([FINE], dtype=object)})])
def test_nanoseconds_inside_of_values_are_refused(data: Any, tmp_path: Path) -> None:
    with pytest.raises(lb.SchemaMismatchError, match=r"column v.*\.123456789 has more digits"):
        lb.write(str(tmp_path / "t"), data)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.period_range("2020", periods=2, freq="M")),
        pd.Series(pd.arrays.IntervalArray.from_breaks([0, 1, 2])),
        pl.Series([object()], dtype=pl.Object),
        np.zeros((2, 2)),
        np.array([1j]),
    ],
)
def test_columns_that_no_table_has_are_refused(column: Any, tmp_path: Path) -> None:
    refused(tmp_path, {"v": column}, "column v[ ,]")


def test_sparse_columns_are_made_dense(tmp_path: Path) -> None:
    assert written(tmp_path, {"v": pd.Series(pd.arrays.SparseArray([0, 1]))}) == [0, 1]


def test_index_named_like_column_is_refused(tmp_path: Path) -> None:
    refused(
        tmp_path,
        pd.DataFrame({"v": [1]}, index=pd.Index([9], name="v")),
        "the index of the frame has the name v, and so has a column",
    )


def test_messages_are_printable_for_any_value(tmp_path: Path) -> None:
    with pytest.raises(lb.InvalidInputError) as caught:
        lb.write(str(tmp_path / "t"), [{"v": "\ud800"}])
    assert "ud800" in str(caught.value).encode("utf-8").decode()


def test_a_dataset_is_data(tmp_path: Path) -> None:
    assert written(tmp_path, ds.dataset(pa.table({"v": [1, 2]}))) == [1, 2]
