"""Input data. Either the table gets every row, or lakebed raises an error that names the bad row
and leaves the table unchanged.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import sqlite3
import time
from collections import UserDict, namedtuple
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset

import lakebed as lb
from lakebed.input import begins_anew


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def rows(path: str) -> list[dict[str, Any]]:
    found = lb.Table(path).to_arrow().to_pylist()
    return sorted(found, key=lambda row: tuple(repr(value) for value in row.values()))


def files(path: str) -> list[Path]:
    return sorted(Path(path).rglob("*.parquet"))


def refused(path: str, data: Any, match: str, kind: type[Exception] = lb.InvalidInputError, **options: Any) -> BaseException:
    """Checks that a new table and an existing table refuse the data and stay unchanged. Returns the
    cause of the error.
    """
    there = f"{path}-there"
    make = data if callable(data) else lambda: data
    with pytest.raises(kind, match=match):
        lb.write(path, make(), **options)
    assert not files(path)
    assert not Path(path, "_delta_log").exists()
    if not Path(there).exists():
        lb.write(there, pa.table({"a": [0]}))
    before = (lb.Table(there).version, rows(there), files(there))
    with pytest.raises(kind) as caught:
        lb.write(there, make(), **{"schema_mode": "merge", **options})
    assert (lb.Table(there).version, rows(there), files(there)) == before
    assert isinstance(caught.value.__cause__, Exception | None)
    return caught.value


# --- batches of other schemas -------------------------------------------------------------


def batches(*tables: Any) -> Callable[[], Iterator[Any]]:
    return lambda: iter(tables)


class Foreign:
    """A stream of an unknown class. Its batches may contradict its schema."""

    def __init__(self, schema: pa.Schema, *given: pa.RecordBatch) -> None:
        self._reader = pa.RecordBatchReader.from_batches(schema, iter(given))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__()


def batch(**columns: Any) -> pa.RecordBatch:
    return pa.record_batch(columns)


def test_later_batches_match_columns_by_name(path: str) -> None:
    lb.write(path, batches(batch(a=[1], b=[10]), batch(b=[20], a=[2]), pa.table({"B": [30], "a": [3]}))())
    assert rows(path) == [{"a": 1, "b": 10}, {"a": 2, "b": 20}, {"a": 3, "b": 30}]


INT8, LONG = pa.array([2], pa.int8()), pa.array([1], pa.int64())


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (LONG, INT8, [1, 2]),
        (pa.array([1], pa.int8()), pa.array([2], pa.int64()), [1, 2]),
        (pa.array([1.5]), pa.array([2], pa.int64()), [1.5, 2.0]),
        (LONG, pa.nulls(1), [1, None]),
        (pa.array(["a"]), pa.array(["b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a"], pa.large_string()), pa.array(["b"], pa.string_view()), ["a", "b"]),
        (pa.array(["a"]), pa.array(["b"]).dictionary_encode(), ["a", "b"]),
        (pa.array(["a"]).dictionary_encode(), pa.array(["b"]), ["a", "b"]),
        (
            pa.array([dt.datetime(2020, 1, 1)], pa.timestamp("us", "UTC")),
            pa.array([dt.datetime(2020, 1, 2)], pa.timestamp("ns", "Europe/Berlin")),
            [dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc)],
        ),
        (pa.array([[1]], pa.list_(pa.int64())), pa.array([[2]], pa.large_list(pa.int8())), [[1], [2]]),
        (pa.array([{"x": 1, "y": 2}]), pa.array([{"y": 4, "x": 3}], pa.struct({"y": pa.int8(), "x": pa.int64()})), [{"x": 1, "y": 2}, {"x": 3, "y": 4}]),
    ],
)  # fmt: skip
def test_later_batches_are_cast_to_first(path: str, first: Any, second: Any, expected: Any) -> None:
    lb.write(path, batches(batch(v=first), batch(v=second))())
    found = [row["v"] for row in lb.Table(path).to_arrow().to_pylist()]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pa.array([1], pa.timestamp("us")), pa.array([1001], pa.timestamp("ns")), dt.datetime(1970, 1, 1, 0, 0, 0, 1)),
        (pa.array([1.5], pa.float32()), pa.array([0.1]), float(np.float32(0.1))),
    ],
)
def test_later_batches_truncate_if_allowed(path: str, first: Any, second: Any, expected: Any) -> None:
    given = batches(batch(k=LONG, v=first), batch(k=INT8, v=second))
    refused(path, given, r'batch 2 of the data: column v: .* on_lossy="truncate" drops them', lb.SchemaMismatchError)
    lb.write(path, given(), on_lossy="truncate")
    lb.Table(path).upsert(given(), keys="k", on_lossy="truncate")
    found = lb.Table(path).to_arrow()["v"]
    assert found.to_pylist() == [first[0].as_py(), expected]


def test_digits_first_batch_cannot_hold_are_refused(path: str) -> None:
    seconds, more = pa.array([1], pa.timestamp("s", "UTC")), pa.array([1_500_000], pa.timestamp("us", "UTC"))
    refused(
        path,
        batches(batch(v=seconds), batch(v=more)),
        "batch 2 of the data: column v",
        lb.SchemaMismatchError,
        on_lossy="truncate",
    )


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        (LONG, pa.array([2.5]), r"batch 2 .*\n.*~ v: long in the first batch, double in this one .*pandas"),
        (LONG, pa.array(["x"]), r"batch 2 .*\n.*~ v: long in the first batch, string in this one"),
        (pa.array([1], pa.int8()), pa.array([300]), r"batch 2 of the data: column v"),
        (pa.array([1.5]), pa.array([2**53 + 1]), r"batch 2 of the data: column v"),
        (pa.array([1], pa.timestamp("s", "UTC")), pa.array([1_500_000], pa.timestamp("us", "UTC")), "batch 2 of the data: column v"),
        (pa.array([1], pa.timestamp("us")), pa.array([1], pa.timestamp("us", "UTC")), r"~ v: timestamp_ntz in the first batch, timestamp in this"),
        (pa.array([{"x": 1}]), pa.array([{"x": 1, "z": 2}]), r"batch 2 .*\n.*\+ v.z: long is in this batch, but not in the first"),
    ],
)  # fmt: skip
def test_batch_unfit_for_first_is_refused(path: str, first: Any, second: Any, match: str) -> None:
    refused(path, batches(batch(v=first), batch(v=second)), match, lb.SchemaMismatchError)


@pytest.mark.parametrize(
    ("second", "match"),
    [
        (batch(a=[1]), r"batch 2 of the data: .*\n  - b: long is in the first batch, but not in this one"),
        (batch(a=[1], b=[2], c=[3]), r"batch 2 of the data: .*\n  \+ c: long is in this batch, but not in the first"),
        (pa.table([[1], [2], [3]], names=["a", "b", "B"]), "column B appears more than once"),
        (pa.table([[1], [2], [3]], names=["a", "b", "b"]), "column b appears more than once"),
    ],
)
def test_a_batch_with_other_columns_is_refused(path: str, second: Any, match: str) -> None:
    refused(path, batches(batch(a=[1], b=[2]), second), match, lb.SchemaMismatchError)


def test_csv_chunks_of_changing_type_fail(path: str, tmp_path: Path) -> None:
    csv = tmp_path / "v.csv"
    csv.write_text("v\n10\n20\n\n1.5\n", encoding="utf-8")
    refused(
        path,
        lambda: pd.read_csv(csv, chunksize=2, skip_blank_lines=False),
        r"~ v: long in the first batch, double",
        lb.SchemaMismatchError,
    )
    lb.write(path, pd.read_csv(csv, chunksize=2, skip_blank_lines=False, dtype={"v": "float64"}))
    assert sorted(str(row["v"]) for row in rows(path)) == ["1.5", "10.0", "20.0", "None"]


def test_all_null_first_batch_gives_no_type(path: str) -> None:
    lb.write(path, {"v": [1]})
    with pytest.raises(
        lb.SchemaMismatchError, match=r"~ v: void in the first batch, long in this one .*only nulls in the first batch"
    ):
        lb.write(path, [batch(v=pa.nulls(1)), batch(v=[2])])
    lb.write(path, [batch(v=pa.nulls(1)), batch(v=pa.nulls(1))])
    assert rows(path) == [{"v": 1}, {"v": None}, {"v": None}]


def test_reader_with_unpromised_batches_is_refused(path: str) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    given = [batch(b=[20], a=[2]), batch(b=pa.array([30], pa.int8()), a=[3])]
    lb.write(path, pa.RecordBatchReader.from_batches(schema, iter(given)))
    assert rows(path) == [{"a": 2, "b": 20}, {"a": 3, "b": 30}]


@pytest.mark.parametrize(
    "given",
    [batch(a=[1]), batch(a=[1], b=[2], c=[3]), batch(a=["x"], b=["y"]), batch(a=pa.array(["x"], pa.string_view()), b=[1]), batch(a=[{"x": 1}], b=[1])],
)  # fmt: skip
def test_foreign_stream_with_unpromised_batches_fails(path: str, given: pa.RecordBatch) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    refused(path, lambda: Foreign(schema, batch(a=[1], b=[2]), given), "batch 2: the data does not match its schema")


TEXT = pa.py_buffer(b"abcdef")


Column = Callable[[], tuple[pa.Array, Callable[[], None]]]


def spoiled(data_type: pa.DataType, bad: list[int], of: str, good: list[int], **children: Any) -> Column:
    """Returns a column of three values, and a function that changes its offsets after pyarrow has
    validated them.
    """

    def make() -> tuple[pa.Array, Callable[[], None]]:
        offsets = np.array(good, of)
        rest = [] if children else [TEXT]
        array = pa.Array.from_buffers(data_type, 3, [None, pa.py_buffer(offsets), *rest], **children)
        return array, lambda: offsets.__setitem__(slice(None), bad)

    return make


def unsound(array: pa.Array) -> Column:
    return lambda: (array, lambda: None)


RISING = [0, 1, 2, 3]
BROKEN = {
    "offsets that fall": spoiled(pa.utf8(), [0, 4, 2, 6], "i4", RISING),
    "a negative offset": spoiled(pa.utf8(), [-1, 1, 2, 3], "i4", RISING),
    "a negative last offset": spoiled(pa.binary(), [0, 1, 2, -3], "i4", RISING),
    "offsets that end before they begin": spoiled(pa.large_utf8(), [5, 5, 5, 3], "i8", RISING),
    "text that is not UTF-8": unsound(pa.array([b"a", b"\xff", b"c"]).view(pa.utf8())),
    "lists beyond their values": spoiled(pa.list_(pa.int64()), [0, 1, 2, 9], "i4", RISING, children=[pa.array([1, 2, 3])]),
    "keys that no dictionary has": unsound(pa.DictionaryArray.from_arrays(pa.array([0, 1, 7]), pa.array(["a", "b"]), safe=False)),
    "views beyond their text": spoiled(pa.string_view(), [100, 0, 0, 99] * 3, "i4", [0] * 12),
}


@pytest.mark.parametrize("column", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("way", ["stream", "batches"])
def test_invalid_arrow_is_refused_before_reading(path: str, column: Column, way: str) -> None:
    array, spoil = column()
    broken = pa.RecordBatch.from_arrays([pa.array([1, 2, 3]), array], names=["id", "v"])
    spoil()
    given = (lambda: Foreign(broken.schema, broken)) if way == "stream" else batches(broken)
    found = refused(path, given, r"the data does not match its schema: (column )?v: ")
    assert "CDataInterface" not in str(found)


@pytest.mark.parametrize("column", BROKEN.values(), ids=BROKEN)
def test_messages_about_unsound_data_speak_of_tables(path: str, column: Column) -> None:
    """The message names the type as tables do, the position of the column, and a remedy."""
    array, spoil = column()
    broken = pa.record_batch({"v": pa.StructArray.from_arrays([array], names=["x"])})
    spoil()
    with pytest.raises(lb.InvalidInputError) as caught:
        lb.write(path, Foreign(broken.schema, broken))
    message = str(caught.value)
    assert "v: x: " in message or "v.x" in message
    assert not re.search(r"Utf8|Int\d|Invalid argument|buffers|Offset invariant|\bList\(", message), message
    assert message.endswith("pa.table(data).validate(full=True) checks the data, too")


@pytest.mark.parametrize(
    "column",
    [
        ["aa", "bb"],
        [b"aa", b"bb"],
        pa.array(["aa", "bb"]).dictionary_encode(),
        pa.array(["aa", "bb"], pa.string_view()),
        pa.array([["aa"], ["bb"]]),
        pa.array([{"x": "aa", "l": [{"y": "q"}]}, {"x": "bb", "l": [{"y": "r"}]}]),
        pa.array([[("k", "aa")], [("k", "bb")]], pa.map_(pa.string(), pa.string())),
        pa.array([["aa"], ["bb"]], pa.list_(pa.string(), 1)),
    ],
    ids=lambda column: str(getattr(column, "type", type(column[0]))),
)
def test_empty_slices_are_taken(path: str, column: Any) -> None:
    whole = batch(s=column)
    for number, given in enumerate([[whole, whole.slice(2)], [whole.slice(1, 0), whole.slice(1), whole.slice(0, 1)]], 1):
        lb.write(path, given)
        assert lb.Table(path).count() == 2 * number
    lb.write(path, Foreign(whole.schema, whole.slice(2), whole))
    expected = whole.column(0).to_pylist()
    assert sorted((row["s"] for row in rows(path)), key=repr) == sorted(expected * 3, key=repr)


def lists_without_nulls() -> pa.Array:
    """Rows [1, 2], null and [5, 6] with elements of a non-null type. The null row has no elements."""
    element = pa.field("i", pa.int64(), False)
    mask = pa.array([False, True, False])
    return pa.FixedSizeListArray.from_arrays(pa.array([1, 2, None, None, 5, 6]), type=pa.list_(element, 2), mask=mask)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_elements_below_null_rows_are_ignored(path: str, first: int, deep: bool) -> None:
    values: list[Any] = [[1, 2], None, [5, 6]]
    array = lists_without_nulls()
    given = pa.StructArray.from_arrays([array], names=["x"]) if deep else array
    lb.write(path, batch(v=given).slice(first))
    assert lb.Table(path).to_arrow()["v"].to_pylist() == [{"x": value} if deep else value for value in values[first:]]


def test_nulls_below_present_rows_are_refused(path: str) -> None:
    element = pa.field("i", pa.int64(), False)
    fields = pa.struct([pa.field("x", pa.struct([pa.field("y", pa.int64(), False)]))])
    lb.create(path, pa.schema([("v", pa.list_(element)), ("s", fields)]))
    lists, structs = (
        pa.array([[None], [1], None]),
        pa.array([{"x": {"y": None}}, {"x": None}, None], pa.struct([("x", pa.struct([("y", pa.int64())]))])),
    )
    with pytest.raises(lb.ConstraintViolationError, match=r"column v\.element must not be null, but 1 of its rows"):
        lb.write(path, batch(v=lists, s=pa.nulls(3, structs.type)))
    with pytest.raises(lb.ConstraintViolationError, match=r"column s\.x\.y must not be null, but 1 of its rows"):
        lb.write(path, batch(v=pa.nulls(3, lists.type), s=structs))
    lb.write(path, batch(v=lists, s=structs).slice(1))
    assert [row["v"] for row in rows(path)] == [None, [1]]


def test_null_rows_are_refused(path: str) -> None:
    struct = pa.StructArray.from_arrays([pa.array([1, 2])], names=["a"], mask=pa.array([False, True]))
    refused(path, struct, "null as a whole")
    refused(path, pa.chunked_array([struct]), "null as a whole")
    lb.write(path, pa.chunked_array([pa.array([{"a": 1}]), pa.array([{"a": 2}])]))
    lb.write(path, pa.array([{"a": 3}]))
    assert rows(path) == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_unpromised_nulls_of_later_batches_fail(path: str) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    given = pa.record_batch([pa.array([1])], schema=schema), batch(a=pa.array([None], pa.int64()))
    refused(path, batches(*given), "batch 2 of the data: column a has nulls", lb.SchemaMismatchError)


def test_batches_of_all_kinds_go_together(path: str) -> None:
    lb.write(
        path,
        [
            pa.table({"a": [1]}),
            pd.DataFrame({"a": [2]}),
            pl.DataFrame({"a": [3]}),
            batch(a=[4]),
            duckdb.sql("SELECT 5::BIGINT AS a"),
        ],
    )
    lb.write(path, iter([pa.table({"a": pa.array([], pa.int64())}), pa.table({"a": pa.chunked_array([[6], [7]])})]))
    lb.write(path, lb.Table(path).scan(where="a = 7"))
    assert [row["a"] for row in rows(path)] == [1, 2, 3, 4, 5, 6, 7, 7]


@pytest.mark.parametrize(
    ("items", "match"),
    [
        ([], "there is no data"),
        ([None], "the first item of the data is None"),
        ([batch(a=[1]), None], "batch 2 of the data is None"),
        ([batch(a=[1]), {"a": 1}], "batch 2 of the data is a dict"),
        ([{"a": 1}, batch(a=[1])], "row 2 of the data is a RecordBatch"),
        ([1, 2], "the first item of the data is an int"),
        ([pa.array([1])], "does not have named columns"),
        ([pl.Series([1])], "does not have named columns"),
        ([pd.Series([1])], r"a pandas Series is a single column: call .to_frame\(\)"),
        (pa.array([1]), "does not have named columns"),
        (pl.LazyFrame({"a": [1]}), r"call .collect\(\) on it first"),
        ("text", "a str is not Arrow data"),
        (7, "an int is not Arrow data"),
        (np.array([[1, 2]]), "the first item of the data is a ndarray"),
    ],
)
def test_items_that_are_no_data_are_refused(path: str, items: Any, match: str) -> None:
    refused(path, items, match)


# --- rows and columns of Python values ----------------------------------------------------


@pytest.mark.parametrize("form", [list, iter, tuple])
def test_rows_have_the_union_of_columns(path: str, form: Callable[[Any], Any]) -> None:
    lb.write(path, form([{"a": 1}, {"a": 2, "b": "y"}, UserDict({"c": 2.5, "a": 3}), {}]))
    assert lb.Table(path).to_arrow().sort_by("a").to_pylist() == [
        {"a": 1, "b": None, "c": None},
        {"a": 2, "b": "y", "c": None},
        {"a": 3, "b": None, "c": 2.5},
        {"a": None, "b": None, "c": None},
    ]


def test_struct_fields_of_rows_are_joined(path: str) -> None:
    lb.write(path, [{"s": {"x": 1}}, {"s": {"y": [{"p": 1}]}}, {"s": {"y": [{"q": 2}]}}, {"s": None}])
    assert {repr(row["s"]) for row in rows(path)} == {
        "{'x': 1, 'y': None}",
        "{'x': None, 'y': [{'p': 1, 'q': None}]}",
        "{'x': None, 'y': [{'p': None, 'q': 2}]}",
        "None",
    }


def test_whole_numbers_beside_fractions_keep_their_values(path: str) -> None:
    lb.write(path, [{"v": 1}, {"v": 2.5}, {"v": None}])
    assert {row["v"] for row in rows(path)} == {1.0, 2.5, None}


UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([1, None, "x"], r"column v, row 3: 'x' does not fit the values before it"),
        ([1, True], r"column v, row 2: True"),
        ([2**53 + 1, 0.5], r"column v, row 2: 0.5"),
        ([2**70], r"column v, row 1: 1180591620717411303424"),
        ([{"x": 1}, {"x": "s"}], r"column v, row 2: {'x': 's'}"),
        ([object()], r"column v, row 1: <object"),
        ([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)], r"column v mixes dates \(.*\) and datetimes without a zone"),
        (
            [dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 1, 5, tzinfo=UTC)],
            r"column v mixes datetimes with a zone .* and datetimes without",
        ),
        (["a", b"b"], r"column v mixes bytes \(b'b'\) and strings"),
        ([{"d": dt.date(2020, 1, 1)}, {"d": dt.datetime(2020, 1, 1, 5)}], r"column v.d mixes dates"),
        ([[dt.date(2020, 1, 1)], [dt.datetime(2020, 1, 1, 5)]], r"column v mixes dates"),
    ],
)
def test_mixed_values_of_rows_are_refused(path: str, values: list[Any], match: str) -> None:
    refused(path, [{"v": value} for value in values], match)
    refused(path, {"v": values}, match.replace("row", "value"))


MIXES = [
    ([dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, 5)], "dates"),
    ([dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=UTC)], "datetimes with a zone"),
    (["a", b"b"], "bytes"),
    ([np.datetime64("2026-01-01"), dt.datetime(2026, 1, 1, 5)], "dates"),
]
HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "a frame": lambda values: pd.DataFrame({"v": pd.Series(values, dtype=object)}),
    "a frame with nothing between": lambda values: pd.DataFrame({"v": pd.Series([values[0], float("nan"), pd.NaT, None, values[1]], dtype=object)}),
    "categories": lambda values: pd.DataFrame({"v": pd.Categorical(values, categories=pd.Index(values, dtype=object))}),
    "a series": lambda values: {"v": pd.Series(values, dtype=object)},
    "an index": lambda values: {"v": pd.Index(values, dtype=object)},
    "an array of numpy": lambda values: {"v": objects(values)},
    "lists in a frame": lambda values: pd.DataFrame({"v": [[value] for value in values]}),
    "arrays in a frame": lambda values: pd.DataFrame({"v": [objects([value]) for value in values]}),
    "dictionaries in a frame": lambda values: pd.DataFrame({"v": [{"x": [value]} for value in values]}),
    "a list of frames": lambda values: [pd.DataFrame({"v": pd.Series(values, dtype=object)})],
}  # fmt: skip


def objects(values: list[Any]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(("values", "match"), MIXES)
def test_mixed_values_are_refused_anywhere(path: str, holder: str, values: list[Any], match: str) -> None:
    refused(path, lambda: HOLDERS[holder](values), rf"column v(\.x)? mixes {match}")


FINE = pd.Timestamp("2026-01-01 00:00:00.123456789")


@pytest.mark.parametrize(
    "value",
    [
        FINE,
        FINE.tz_localize("UTC"),
        np.datetime64("2026-01-01T00:00:00.123456789"),
        pd.Timedelta(5, "ns"),
        np.timedelta64(5, "ns"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("inside", [lambda value: value, lambda value: [value], lambda value: {"x": value}])
def test_nanoseconds_in_rows_are_refused(path: str, value: Any, inside: Callable[[Any], Any]) -> None:
    for data in ([{"a": inside(value)}], {"a": [inside(value)]}, pd.DataFrame({"a": objects([inside(value)])})):
        refused(path, data, 'more digits than its type .*on_lossy="truncate"', lb.SchemaMismatchError)
    lb.write(path, [{"a": inside(value)}], on_lossy="truncate")
    assert lb.Table(path).count() == 1


def test_nanoseconds_of_categories_are_refused_too(path: str) -> None:
    frame = pd.DataFrame({"a": pd.Categorical(objects([FINE]), categories=pd.Index([FINE], dtype=object))})
    refused(path, frame, "more digits than its type", lb.SchemaMismatchError)
    lb.write(path, frame, on_lossy="truncate")
    assert rows(path) == [{"a": FINE.floor("us").to_pydatetime()}]


def test_nanoseconds_beside_distant_times_are_refused(path: str) -> None:
    refused(path, [{"a": FINE}, {"a": dt.datetime(1, 1, 1)}], "column a has nanoseconds, and also values that are too far")
    lb.write(path, [{"a": FINE.floor("us")}, {"a": dt.datetime(1, 1, 1)}])
    assert [row["a"] for row in rows(path)] == [dt.datetime(1, 1, 1), dt.datetime(2026, 1, 1, 0, 0, 0, 123456)]


def test_rows_take_pandas_and_numpy_values(path: str) -> None:
    frame = pd.DataFrame(
        {"i": pd.array([1, None], "Int64"), "t": pd.to_datetime(["2026-01-01", None]), "s": pd.array(["a", None], "string")}
    )
    lb.write(path, frame.to_dict("records"))
    lb.write(path, frame.to_dict("list"))
    lb.write(path, frame)
    first = {"i": 1, "t": dt.datetime(2026, 1, 1), "s": "a"}
    assert rows(path) == [first] * 3 + [dict.fromkeys(first)] * 3
    other = f"{path}-other"
    lb.write(other, [{"d": np.datetime64("2026-01-01"), "l": [pd.NA, 1]}, {"d": np.datetime64("NaT"), "l": pd.NaT}])
    lb.write(other, {"d": np.array(["2026-01-02"], "M8[D]"), "l": [[2]]})
    assert rows(other) == [
        {"d": None, "l": None},
        {"d": dt.date(2026, 1, 1), "l": [None, 1]},
        {"d": dt.date(2026, 1, 2), "l": [2]},
    ]


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"v": pd.Series(pd.period_range("2020", periods=2, freq="M"))}, r"column v is of type period\[M\]"),
        ({"v": pd.period_range("2020", periods=2, freq="M")}, r"column v is of type period\[M\]"),
        ({"v": pd.interval_range(0, 2)}, "column v is of type interval"),
        ({"v": [pd.Series(pd.period_range("2020", periods=2, freq="M"))]}, r"column v is of type period\[M\]"),
        ({"v": pl.Series([object()], dtype=pl.Object)}, "column v holds Python objects"),
        ({"v": [pl.Series([object()], dtype=pl.Object)]}, "column v holds Python objects"),
        ({"v": np.array([[1, 2]])}, "column v has 2 dimensions"),
        ({"v": pl.Series([1], dtype=pl.Int128)}, "column v holds numbers of 128 bits"),
        (pl.DataFrame({"v": [[1]]}, schema={"v": pl.List(pl.Int128)}), "column v holds numbers of 128 bits"),
        ({"v": bytearray(b"x")}, "column v is a bytearray, not a list"),
        ({"v": pd.DataFrame({"x": [dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, 5)]})}, "column v is a DataFrame, not a list"),
        ([{"v": {b"x": 3}}, {"v": {"x": 1}}], "b'x' cannot be the name of a field of column v: it is a bytes, not a string"),
    ],
)
def test_unsupported_columns_are_refused(path: str, columns: Any, match: str) -> None:
    refused(path, columns, match)


@pytest.mark.parametrize(
    "data",
    [[{"a": "\ud800"}], {"a": ["x", "\ud800"]}, [{"\ud800": 1}], [{"a": {"\ud800": 1}}], pd.DataFrame({"a": ["\ud800"]}), pd.DataFrame({"\ud800": [1]})],
    ids=ascii,
)  # fmt: skip
def test_message_about_invalid_string_is_printable(path: str, data: Any) -> None:
    found = refused(path, data, r"surrogate|\\ud800")
    assert r"\ud800" in str(found).encode("utf-8").decode()


@pytest.mark.parametrize(
    "data",
    [
        [{"a\0b": 1}],
        {"a\0b": [1]},
        [{"s": {"a\0b": 1}}],
        pd.DataFrame({"a\0b": [1]}),
        pl.DataFrame({"a\0b": [1]}),
        pa.table({"a\0b": [1]}),
        [pa.table({"a\0b": [1]})],
        pa.table({"a\0b": [1]}).to_reader,
    ],
)
def test_names_that_arrow_would_cut_are_refused(path: str, data: Any) -> None:
    refused(path, data, r"'a\\x00b' cannot be the name of a .*NUL")


def test_values_that_are_too_deep_are_refused(path: str) -> None:
    value = {"x": 1}
    for _ in range(1100):
        value = {"x": value}  # type: ignore[dict-item]
    refused(path, [value], "nested too deep")


def test_sparse_columns_hold_what_they_stand_for(path: str) -> None:
    lb.write(path, pd.DataFrame({"v": pd.arrays.SparseArray([0, 0, 1]), "w": ["a", "b", "c"]}))
    lb.write(path, {"v": pd.arrays.SparseArray([2]), "w": ["d"]})
    assert [row["v"] for row in rows(path)] == [0, 0, 1, 2]


def test_datasets_are_taken_connections_refused(path: str) -> None:
    lb.write(path, dataset.dataset(pa.table({"a": [1]})))
    lb.write(path, dataset.dataset(pa.table({"a": [2]})).scanner())
    connection = duckdb.connect()
    connection.execute("SELECT 3::BIGINT AS a")
    lb.write(path, connection.arrow())
    assert [row["a"] for row in rows(path)] == [1, 2, 3]
    refused(path + "-no", connection, "a DuckDB connection is not data: pass a relation, .*connection.arrow")


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Place:
    x: int


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ([Point(1, 2)], r"is a Point, .*call \._asdict\(\)"),
        ([Place(1)], r"is a Place, .*dataclasses.asdict\(\)"),
        ([{"a": 1}, Place(1)], r"row 2 of the data is a Place, not a dictionary: .*dataclasses"),
        ([{"a": 1}, None], "row 2 of the data is None"),
        ([{1: "x"}], "1 cannot be the name of a column"),
        ([{}], "a row without columns"),
        ({}, "a dictionary without columns"),
        ({"a": [1, 2], "b": [1]}, "different numbers of values: a has 2, b has 1"),
        ({"a": 1}, "column a is an int, not a list of values: for a single row pass a list of one dictionary"),
        ({"a": "text"}, "column a is a str"),
        ({"a": {"x": 1}}, "column a is a dict"),
    ],
)
def test_invalid_rows_and_columns_are_refused(path: str, given: Any, match: str) -> None:
    refused(path, given, match)


def test_columns_of_all_kinds(path: str) -> None:
    lb.write(
        path,
        {
            "a": range(2),
            "b": np.array([1.5, 2.5]),
            "c": pd.Series(["x", None]),
            "d": pa.chunked_array([[1], [2]]),
            "e": pl.Series(["p", "q"]),
        },
    )
    assert rows(path) == [{"a": 0, "b": 1.5, "c": "x", "d": 1, "e": "p"}, {"a": 1, "b": 2.5, "c": None, "d": 2, "e": "q"}]


# --- frames -------------------------------------------------------------------------------


def test_frames_of_pandas_keep_what_they_say(path: str) -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None], "Int64"),
            "flag": pd.array([True, None], "boolean"),
            "kind": pd.Categorical(["x", None]),
            "text": pd.array(["a", None], "string"),
            7: [1, 2],
        },
        index=pd.Index([10, 20], name="id"),
    )
    lb.write(path, frame)
    assert rows(path) == [
        {"id": 10, "whole": 1, "flag": True, "kind": "x", "text": "a", "7": 1},
        {"id": 20, "whole": None, "flag": None, "kind": None, "text": None, "7": 2},
    ]


def test_categories_of_chunks_may_differ(path: str) -> None:
    chunks = (pd.DataFrame({"k": pd.Categorical([f"{part}-{n}" for n in range(count)])}) for part, count in enumerate((2, 300)))
    lb.write(path, chunks)
    assert {row["k"] for row in rows(path)} == {"0-0", "0-1", *(f"1-{n}" for n in range(300))}


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the frame has 2 columns a: "),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])), "2 levels"),
        (pd.DataFrame({"a": [1, "x"]}), r"column a, row 2: 'x' does not fit the values before it"),
        (
            pd.DataFrame({"a": [1]}, index=pd.Index([1], name="a")),
            r"the index of the frame has the name a, and so has a column: .*reset_index\(drop=True\)",
        ),
        (pd.Series([1], name="a"), "to_frame"),
    ],
)
def test_unsuitable_pandas_frames_are_refused(path: str, frame: Any, match: str) -> None:
    refused(path, frame, match)


def test_polars_objects_are_refused(path: str) -> None:
    frame = pl.DataFrame({"a": [1], "o": [object()]})
    refused(path, frame, "column o holds Python objects")
    refused(path, [frame], "column o holds Python objects")


def test_periods_and_intervals_of_pandas_are_refused(path: str) -> None:
    refused(path, pd.DataFrame({"p": pd.period_range("2020", periods=2, freq="M")}), r"column p is of type period\[M\]")
    refused(path, pd.DataFrame({"i": pd.interval_range(0, 2)}), "column i is of type interval")


# --- exceptions of the caller's code ------------------------------------------------------


class Boom(Exception):
    """An exception of the caller."""


class Stop(BaseException):
    """An exception like KeyboardInterrupt that only this test raises."""


def failing(raised: BaseException, after: int) -> Iterator[Any]:
    for _ in range(after):
        yield batch(a=list(range(20_000)))
    raise raised


class FailsAtOnce:
    def __init__(self, raised: BaseException) -> None:
        self._raised = raised

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise self._raised


def ways(raised: BaseException) -> dict[str, Callable[[], Any]]:
    schema = batch(a=[1]).schema
    return {
        "at once": lambda: failing(raised, 0),
        "later": lambda: failing(raised, 30),
        "rows": lambda: (
            row if row["a"] < 3 else (_ for _ in ()).throw(raised) for row in ({"a": number} for number in range(5))
        ),
        "in a reader": lambda: pa.RecordBatchReader.from_batches(schema, failing(raised, 30)),
        "in the interface": lambda: FailsAtOnce(raised),
        "in a batch": lambda: iter([batch(a=[1]), FailsAtOnce(raised)]),
    }


@pytest.mark.parametrize("way", ways(Boom()))
def test_what_a_generator_raises_is_the_cause(path: str, way: str) -> None:
    raised = Boom("broken off")
    error = refused(path, ways(raised)[way], "the data could not be read: .*Boom: broken off")
    assert error.__cause__ is raised
    with pytest.raises(lb.InvalidInputError) as caught:
        lb.Table(f"{path}-there").upsert(ways(raised)[way](), keys=["a"])
    assert caught.value.__cause__ is raised


def merge_of(path: str, source: Any) -> lb.Merge:
    table = lb.write(path, pa.table({"id": [0], "v": [0]})).table
    return table.merge(source, on="target.id = source.id").when_not_matched_insert()


@pytest.mark.parametrize(
    "source",
    [
        lambda good, bad: iter([good, bad, good]),
        lambda good, bad: (item for item in [good, bad, good]),
        lambda good, bad: pa.RecordBatchReader.from_batches(good.schema, failing(Boom(), 30)),
        lambda good, bad: Foreign(good.schema, good, good.select(["id"])),
        lambda good, bad: [Foreign(good.schema, good), bad],
    ],
)
def test_merge_refuses_rest_of_source(path: str, source: Callable[[Any, Any], Any]) -> None:
    merge = merge_of(path, source(batch(id=[1], v=[1]), batch(id=["x"], v=[2])))
    with pytest.raises((lb.InvalidInputError, lb.SchemaMismatchError), match=r"batch|Boom"):
        merge.execute()
    for again in (merge.execute, merge.explain, merge.execute):
        with pytest.raises(lb.InvalidInputError, match=r"has read a part of the source: create a new merge"):
            again()
    assert rows(path) == [{"id": 0, "v": 0}]


def test_merge_of_rereadable_source_is_repeatable(path: str) -> None:
    source = [batch(id=[1], v=[1]), batch(id=["x"], v=[2])]
    merge = merge_of(path, source)
    with pytest.raises(lb.SchemaMismatchError, match="batch 2"):
        merge.execute()
    source[1] = batch(id=[2], v=[2])
    assert merge.execute().metrics.inserted_rows == 2
    assert len(rows(path)) == 3
    for data in (pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pa.table({"a": [1]}), lb.Table(path), lb.Table(path).scan(),
                 duckdb.sql("SELECT 1"), {"a": [1]}, [{"a": 1}], dataset.dataset(pa.table({"a": [1]}))):  # fmt: skip
        assert begins_anew(data)
    for data in (iter([]), pa.table({"a": [1]}).to_reader(), [iter([])], {"a": iter([])}, Foreign(pa.schema([]))):
        assert not begins_anew(data)


@pytest.mark.parametrize("way", ways(Boom()))
@pytest.mark.parametrize(
    "raised", [KeyboardInterrupt("now"), SystemExit(3), Stop("here")], ids=lambda raised: type(raised).__name__
)
def test_non_exceptions_pass_unchanged(path: str, way: str, raised: BaseException) -> None:
    with pytest.raises(type(raised)) as caught:
        lb.write(path, ways(raised)[way]())
    assert caught.value is raised
    assert not Path(path).exists() or not files(path)


def test_sqlite_chunks_need_shareable_connection(path: str, tmp_path: Path) -> None:
    """The guide says this."""
    with closing(sqlite3.connect(tmp_path / "db")) as filled:
        filled.execute("CREATE TABLE t (a)")
        filled.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(7)])
        filled.commit()

    def chunks(*, check_same_thread: bool) -> Iterator[Any]:
        connection = sqlite3.connect(tmp_path / "db", check_same_thread=check_same_thread)
        return iter(pd.read_sql("SELECT a FROM t", connection, chunksize=2))

    lb.write(path, chunks(check_same_thread=False))
    assert [row["a"] for row in rows(path)] == list(range(7))
    with pytest.raises(lb.InvalidInputError, match="SQLite objects created in a thread") as caught:
        lb.write(path, chunks(check_same_thread=True))
    assert isinstance(caught.value.__cause__, sqlite3.ProgrammingError)
    assert lb.Table(path).version == 0


def test_errors_of_lakebed_keep_their_class(path: str) -> None:
    def gone() -> Iterator[Any]:
        yield batch(a=[1])
        yield lb.Table(f"{path}-nowhere").to_arrow()

    with pytest.raises(lb.TableNotFoundError, match=f"file://{re.escape(path)}-nowhere: "):
        lb.write(path, gone())
    with pytest.raises(lb.TableNotFoundError, match=f"file://{re.escape(path)}-nowhere: "):
        lb.write(path, lb.Table(f"{path}-nowhere"))


def test_abandoned_generator_is_closed(path: str) -> None:
    closed: list[bool] = []

    def endless() -> Iterator[Any]:
        try:
            while True:
                yield batch(a=[1])
        finally:
            closed.append(True)

    lb.write(path, batch(a=["x"]))
    with pytest.raises(lb.SchemaMismatchError):
        lb.write(path, endless())
    # The thread that reads the data releases the generator, possibly a moment later.
    limit = time.monotonic() + 10
    while not closed and time.monotonic() < limit:
        time.sleep(0.01)
    assert (rows(path), closed) == ([{"a": "x"}], [True])


def keyed(name: str) -> pa.Array:
    """Returns a dictionary with almost as many values as its keys can number."""
    return pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), [f"{name}{number}" for number in range(100)])


@pytest.mark.parametrize(
    "inside",
    [
        lambda keys: keys,
        lambda keys: pa.StructArray.from_arrays([keys], names=["x"]),
        lambda keys: pa.ListArray.from_arrays(pa.array(range(101), pa.int32()), keys),
        lambda keys: pa.StructArray.from_arrays([pa.ListArray.from_arrays(pa.array(range(101), pa.int32()), keys)], names=["x"]),
    ],
    ids=["column", "field", "element", "element of a field"],
)
def test_chunk_dictionaries_that_overflow_are_written(path: str, inside: Callable[[Any], Any]) -> None:
    chunks = [pa.table({"d": inside(keyed(name))}) for name in "abc"]
    lb.write(path, pa.concat_tables(chunks))
    expected = [row["d"] for chunk in chunks for row in chunk.to_pylist()]
    assert sorted((row["d"] for row in rows(path)), key=repr) == sorted(expected, key=repr)


# --- the number of rows -------------------------------------------------------------------


@pytest.mark.parametrize("size", [1024, 1025, 4096])
@pytest.mark.parametrize("partition_by", [None, "p"])
@pytest.mark.parametrize("by_property", [False, True])
def test_files_however_small_have_all_rows(path: str, size: int, partition_by: str | None, by_property: bool) -> None:
    texts = [f"{number * 7919 % 30_011:>40}" for number in range(60_000)]
    data = pa.table({"id": range(60_000), "p": [number % 2 for number in range(60_000)], "text": texts})
    sizes: dict[str, Any] = {"properties": {"delta.targetFileSize": size}} if by_property else {"target_file_size": size}
    lb.write(path, data.to_batches(5_000), partition_by=partition_by, row_group_rows=1_000, **sizes)
    assert lb.Table(path).files().num_rows > 1
    assert lb.Table(path).to_arrow().sort_by("id").select(data.column_names) == data
    lb.write(path, data.slice(1_000).to_batches(5_000), mode="overwrite", row_group_rows=1_000, **({} if by_property else sizes))
    assert lb.Table(path).to_arrow().sort_by("id").select(data.column_names) == data.slice(1_000)


@pytest.mark.parametrize("size", [0, 1, 2, 100, 1023])
def test_files_of_almost_nothing_are_refused(path: str, size: int) -> None:
    for options in ({"target_file_size": size}, {"properties": {"delta.targetFileSize": size}}):
        with pytest.raises(lb.InvalidInputError, match=r"target_file_size|delta\.targetFileSize"):
            lb.write(path, pa.table({"id": range(5)}), **options)  # type: ignore[arg-type]
        assert not Path(path).exists()


def test_tiny_foreign_file_size_writes_all_rows(path: str) -> None:
    lb.write(path, pa.table({"id": range(5)}), properties={"delta.targetFileSize": "1024"})
    commit = Path(path, "_delta_log", f"{0:020}.json")
    commit.write_text(commit.read_text().replace('"delta.targetFileSize":"1024"', '"delta.targetFileSize":"1"'))
    commit.with_suffix(".crc").unlink()
    lb.write(path, pa.table({"id": range(5, 5000)}), mode="overwrite", row_group_rows=100)
    assert lb.Table(path).properties["delta.targetFileSize"] == "1"
    assert sorted(row["id"] for row in rows(path)) == list(range(5, 5000))
