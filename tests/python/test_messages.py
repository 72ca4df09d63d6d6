"""Messages use the words of the caller. They have no names of Rust types, of libraries or of
internal plans.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb

FOREIGN = [
    *(
        "@0",
        "@1",
        "cast(",
        "Utf8",
        "Int8",
        "Int16",
        "Int32",
        "Int64",
        "Float32",
        "Float64",
        "Date32",
        "Decimal128",
        "µs",
        "LargeList",
    ),
    *(
        "Some(",
        "None)",
        "ArrowError",
        "Arrow error",
        "Cast error",
        "DataFusion",
        "Execution error",
        "DataType",
        "Struct([",
        "Field {",
    ),
]

CALLS: dict[str, Callable[[str, Any], object]] = {}


def call(do: Callable[[str, Any], object]) -> Callable[[str, Any], object]:
    CALLS[do.__name__] = do
    return do


def column(name: str, values: list[Any], kind: pa.DataType) -> pa.Table:
    return pa.table({name: pa.array(values, kind)})


for _name, _data in {
    "byte_too_large": column("b", [300], pa.int64()),
    "float_for_a_decimal": column("d", [0.5], pa.float64()),
    "text_for_a_number": column("id", ["x"], pa.string()),
    "number_for_text": column("city", [1], pa.int64()),
    "digits": column("d", [Decimal("1.2345")], pa.decimal128(10, 4)),
    "too_large_decimal": column("d", [Decimal("12345678.9")], pa.decimal128(10, 1)),
    "wide_decimal": column("d", [Decimal(10) ** 60], pa.decimal256(76, 0)),
    "nanoseconds": column("at", [1], pa.timestamp("ns", "UTC")),
    "far_seconds": column("at", [2**60], pa.timestamp("s", "UTC")),
    "wall_clock": column("at", [datetime(2020, 1, 1)], pa.timestamp("us")),
    "time": column("t", [1], pa.time64("us")),
    "list_for_a_number": column("id", [[1]], pa.list_(pa.int64())),
    "number_for_a_struct": column("s", [1], pa.int64()),
    "wrong_field": column("s", [{"x": "a"}], pa.struct([("x", pa.string())])),
    "wrong_elements": column("l", [["a"]], pa.list_(pa.string())),
    "narrow_elements": column("l", [[2**40]], pa.large_list(pa.int64())),
    "interval": column("i", [(1, 2, 3)], pa.month_day_nano_interval()),
    "large_bytes": column("id", [b"x"], pa.large_binary()),
}.items():
    CALLS[f"write_{_name}"] = lambda path, table, data=_data: lb.write(path, data)
    CALLS[f"merge_{_name}"] = lambda path, table, data=_data: (
        table.merge(data, on="target.id = 1", schema_mode="merge").when_matched_update().when_not_matched_insert().execute()
    )

for _number, _where in enumerate(
    [
        "city + 1 > 0",
        "CAST(city AS INT) + 1 = 2",
        "1 / (id - 1) > 0",
        "id + 9223372036854775807 > 0",
        "at = 5",
        "s > 1",
        "l",
        "id",
        "CAST(city AS DATE) > DATE '2020-01-01'",
        "b * 127 * 127 > 1",
        "array(1)[5] = 1",
        "CAST(id AS BINARY) = city",
        "d / 0 = 1",
        "at > current_timestamp() AND CAST(city AS TIMESTAMP) > at",
    ]
):
    CALLS[f"read_{_number}"] = lambda path, table, where=_where: table.to_arrow(where=where)
    CALLS[f"delete_{_number}"] = lambda path, table, where=_where: table.delete(where)
    CALLS[f"overwrite_{_number}"] = lambda path, table, where=_where: lb.write(
        path, pa.table({"id": [1], "city": ["x"]}), mode="overwrite", where=where
    )
    CALLS[f"constraint_{_number}"] = lambda path, table, where=_where: lb.create(
        path, table.schema, mode="replace", constraints={"c": where}
    ).append(pa.table({"id": [1], "city": ["x"], "b": pa.array([100], pa.int8()), "d": [Decimal("1.00")]}))
    CALLS[f"merge_on_{_number}"] = lambda path, table, where=_where: (
        table.merge(pa.table({"key": [1], "word": ["x"]}), on=f"target.id = source.key AND ({where})")
        .when_matched_delete()
        .execute()
    )


@call
def update_to_another_type(path: str, table: Any) -> object:
    return table.update({"id": "city"})


@call
def update_of_a_struct(path: str, table: Any) -> object:
    return table.update({"s": "named_struct('y', 1)"})


@call
def update_of_a_date(path: str, table: Any) -> object:
    return table.update({"at": "CAST(city AS TIMESTAMP)"})


@call
def upsert_by_another_type(path: str, table: Any) -> object:
    return table.upsert(pa.table({"id": ["x"], "city": ["y"]}), keys=["id"])


@call
def cluster_by_a_struct(path: str, table: Any) -> object:
    return table.optimize(zorder_by=["s"])


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


@pytest.mark.parametrize("name", CALLS)
def test_errors_name_the_callers_arguments(path: str, name: str) -> None:
    at = datetime(2020, 1, 1, tzinfo=timezone.utc)
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("city", pa.string()),
            ("b", pa.int8()),
            ("d", pa.decimal128(5, 2)),
            ("at", pa.timestamp("us", "UTC")),
            ("s", pa.struct([("x", pa.int64())])),
            ("l", pa.list_(pa.int32())),
        ]
    )
    row = {"id": 1, "city": "Lima", "b": 100, "d": Decimal("1.00"), "at": at, "s": {"x": 1}, "l": [1]}
    table = lb.write(path, pa.Table.from_pylist([row], schema=schema)).table
    error = refusal(lambda: CALLS[name](path, table))
    if name in FINE:
        assert error is None
        return
    assert error is not None
    message = str(error)
    assert [word for word in FOREIGN if word in message] == [], message
    assert type(error) not in (lb.LakebedError, lb.CorruptTableError), message


#: The calls that succeed, because a cast of an assignment fits the value or because the predicate
#: is only odd. All other calls must be refused.
FINE = {
    *("merge_float_for_a_decimal", "merge_number_for_text", "merge_digits", "merge_wall_clock"),
    *("read_9", "delete_9", "constraint_9", "merge_on_9"),
    *("read_13", "delete_13", "merge_on_13"),
}


def refusal(do: Callable[[], object]) -> lb.LakebedError | None:
    try:
        do()
    except lb.LakebedError as error:
        return error
    return None


def test_message_names_failing_expression(path: str) -> None:
    table = lb.write(path, pa.table({"id": [1], "city": ["Lima"]})).table
    with pytest.raises(lb.PredicateError) as caught:
        table.to_arrow(where="CAST(city AS INT) + 1 = 2")
    assert "`CAST(city AS INT) + 1 = 2`" in str(caught.value)
