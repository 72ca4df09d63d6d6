"""Data in every form that Python has for rows, and the rows in it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from door.case import Batch, Column, Row, Rows, Source

#: The types of columns by name. Every table takes the types in the first line.
TYPES: dict[str, pa.DataType] = {
    **{str(kind): kind for kind in (pa.int64(), pa.int32(), pa.float64(), pa.string(), pa.bool_())},
    **{str(kind): kind for kind in (pa.int8(), pa.int16(), pa.uint8(), pa.uint64(), pa.float32(), pa.float16())},
    **{str(kind): kind for kind in (pa.large_string(), pa.string_view(), pa.binary(), pa.null(), pa.date32(), pa.time32("s"))},
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "decimal": pa.decimal128(10, 2),
    "wide decimal": pa.decimal256(40, 2),
    "instant": pa.timestamp("us", "UTC"),
    "wall clock": pa.timestamp("ms"),
    "nanoseconds": pa.timestamp("ns", "UTC"),
    "duration": pa.duration("s"),
    "list": pa.list_(pa.int32()),
    "struct": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "empty struct": pa.struct([]),
    "map": pa.map_(pa.string(), pa.int32()),
}

_WHEN = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
_TEXTS = ("x", "y", "", "z", "__HIVE_DEFAULT_PARTITION__", "A b/c=d")
#: Values of each type.
POOL: dict[str, tuple[Any, ...]] = {
    "int64": (0, 1, 2, 3, 5, -1, 2**53 + 1),
    "int32": (0, 1, 2, 3, 7, -1),
    "int16": (0, 1, 2, 300),
    "int8": (0, 1, 2, 3, -1),
    "uint8": (0, 1, 2, 200),
    "uint64": (0, 1, 2, 2**63 + 1),
    "double": (0.5, 1.0, 2.0, -3.25, 1e300),
    "float": (0.5, 1.0, 2.0),
    "halffloat": (0.5, 1.0),
    "string": _TEXTS,
    "large_string": _TEXTS,
    "string_view": (*_TEXTS, "a text that is longer than twelve letters"),
    "dictionary": _TEXTS,
    "bool": (True, False),
    "binary": (b"x", b"", b"\x00\xff"),
    "null": (None,),
    "date32[day]": (date(2026, 3, 1), date(1, 1, 1)),
    "time32[s]": (_WHEN.time(),),
    "decimal": (Decimal("1.00"), Decimal("-2.25")),
    "wide decimal": (Decimal("1.00"),),
    "instant": (_WHEN,),
    "wall clock": (_WHEN.replace(tzinfo=None),),
    "nanoseconds": (_WHEN,),
    "duration": (90,),
    "list": ([1, None], [], [2]),
    "struct": ({"a": 1, "b": "x"}, {"a": None, "b": None}),
    "empty struct": ({},),
    "map": ([("k", 1)], []),
}


#: The types that DuckDB has.
OF_DUCKDB = {
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "double",
    "float",
    "string",
    "large_string",
    "bool",
    "binary",
    "date32[day]",
}


class Mine(Exception):
    """The exception that the caller's generator raises."""


def batch_of(batch: Batch) -> pa.RecordBatch:
    fields = [pa.field(column.name, TYPES[column.type], nullable=column.nullable) for column in batch]
    return pa.record_batch([_array(column) for column in batch], schema=pa.schema(fields))


def _array(column: Column) -> pa.Array:
    return pa.array(list(column.values), TYPES[column.type])


def _alike(source: Source) -> list[pa.RecordBatch]:
    """Returns the batches that have the same schema as the first batch."""
    batches = [batch_of(batch) for batch in source.batches]
    return [batch for batch in batches if batch.schema.equals(batches[0].schema)]


def _table(source: Source) -> pa.Table:
    batches = _alike(source)
    return pa.Table.from_batches(batches) if batches else pa.table({})


def _reader(source: Source) -> pa.RecordBatchReader:
    return _table(source).to_reader()


def _drifting_reader(source: Source) -> pa.RecordBatchReader:
    """Returns a reader with batches that do not fit its schema. pyarrow does not compare the
    batches of an iterable with the schema.
    """
    batches = [batch_of(batch) for batch in source.batches]
    return pa.RecordBatchReader.from_batches(batches[0].schema if batches else pa.schema([]), iter(batches))


def _generator(source: Source) -> Iterator[pa.RecordBatch]:
    for batch in source.batches:
        yield batch_of(batch)


def _raises(source: Source) -> Iterator[pa.RecordBatch]:
    yield from _generator(source)
    raise Mine("the caller's own")


def _frames(source: Source) -> list[Any]:
    return [batch_of(batch).to_pandas() for batch in source.batches]


def _chunks(source: Source) -> Iterator[Any]:
    yield from _frames(source)


def _polars(batch: pa.RecordBatch | pa.Table) -> Any:
    import polars as pl

    if any(pa.types.is_decimal256(kind) for kind in batch.schema.types):
        return batch  # Polars panics on decimals of more than 38 digits.
    return pl.from_arrow(batch)


def _lazy(source: Source) -> Any:
    import polars as pl

    frame = _polars(_table(source))
    return frame.lazy() if isinstance(frame, pl.DataFrame) else pl.LazyFrame()


def _duckdb(source: Source) -> Any:
    import duckdb

    table = _table(source)
    names = {name.lower() for name in table.column_names}
    # DuckDB has no relations without columns, renames duplicate columns, and lacks some types of
    # Arrow.
    has_all = all(one.type in OF_DUCKDB for batch in source.batches for one in batch)
    return duckdb.connect().from_arrow(table) if has_all and 0 < len(names) == table.num_columns else table


def _dicts(source: Source) -> Rows:
    return [row for batch in source.batches for row in batch_of(batch).to_pylist()]


def _mapping(source: Source) -> dict[str, list[Any]]:
    return _table(source).to_pydict()


def _broken(kind: str) -> pa.Table:
    """Returns data with invalid buffers, as a faulty library may produce them. Offsets become
    invalid only after pyarrow has validated them.
    """
    offsets = array("i", [0, 1, 1])
    of_offsets = pa.py_buffer(offsets)
    broken = {
        "offsets that fall": lambda: pa.Array.from_buffers(pa.string(), 2, [None, of_offsets, pa.py_buffer(b"abc")]),
        "offsets out of bounds": lambda: pa.Array.from_buffers(
            pa.list_(pa.int32()), 2, [None, of_offsets], children=[pa.array([1], pa.int32())]
        ),
        "bytes that are no text": lambda: pa.Array.from_buffers(pa.string(), 2, [None, of_offsets, pa.py_buffer(b"\xff\xfe")]),
        "keys out of bounds": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 9]), pa.array(["x"]), safe=False),
    }
    table = pa.table({"id": [7, 8], "s": broken[kind]()})
    later = {"offsets that fall": [0, 3, 1], "offsets out of bounds": [0, 1, 1 << 30]}
    offsets[:] = array("i", later.get(kind, [0, 2, 2]))
    return table


BROKEN = ("offsets that fall", "offsets out of bounds", "bytes that are no text", "keys out of bounds")


#: The kind of a frame with a named index. The index becomes a column of the table.
WITH_INDEX = "pandas with an index"
#: The functions that make the data of a source. Some data can be read only once.
KINDS: dict[str, Callable[[Source], Any]] = {
    "table": _table,
    "reader": _reader,
    "drifting reader": _drifting_reader,
    "batch": lambda source: batch_of(source.batches[0]) if source.batches else pa.record_batch({}),
    "list": lambda source: [batch_of(batch) for batch in source.batches],
    "tuple of tables": lambda source: tuple(pa.Table.from_batches([batch_of(batch)]) for batch in source.batches),
    "generator": _generator,
    "generator that raises": _raises,
    "pandas": lambda source: _table(source).to_pandas(),
    WITH_INDEX: lambda source: _table(source).to_pandas().rename_axis("at"),
    "chunks": _chunks,
    "list of frames": _frames,
    "polars": lambda source: _polars(_table(source)),
    "polars frames": lambda source: [_polars(batch_of(batch)) for batch in source.batches],
    "duckdb": _duckdb,
    "dicts": _dicts,
    "generator of dicts": lambda source: iter(_dicts(source)),
    "mapping": _mapping,
    "rows and batches": lambda source: [*_dicts(Source("", source.batches[:1])), *map(batch_of, source.batches[1:])],
    "nothing": lambda source: None,
    "number": lambda source: 5,
    "text": lambda source: "id",
    "numbers": lambda source: [1, 2],
    "lazy frame": _lazy,
    **{kind: partial(lambda kind, source: _broken(kind), kind) for kind in BROKEN},
}
#: The kinds of data without rows.
NO_ROWS = {"nothing", "number", "text", "numbers", "lazy frame", *BROKEN}
#: The kinds that pass each batch on unchanged, so that the schemas of the batches may differ.
DRIFTING = {
    "drifting reader",
    "list",
    "tuple of tables",
    "generator",
    "generator that raises",
    "chunks",
    "list of frames",
    "polars frames",
    "dicts",
    "generator of dicts",
    "rows and batches",
}
#: The kinds that a library converts to types of its own.
RETYPED = {"pandas", WITH_INDEX, "chunks", "list of frames", "polars", "polars frames", "duckdb", "dicts"}
RETYPED |= {"generator of dicts", "mapping", "rows and batches"}
#: The kinds from libraries with threads. These libraries do not work after a fork.
THREADED = {"polars", "polars frames", "lazy frame", "duckdb"}
OF_DICTS = {"dicts", "generator of dicts"}
OF_PANDAS = {"pandas", WITH_INDEX, "chunks", "list of frames"}


def make(source: Source) -> Any:
    return KINDS[source.kind](source)


def batches(source: Source) -> list[Batch]:
    """Returns the batches that the call gets."""
    if source.kind in NO_ROWS:
        return []
    if source.kind == "batch":
        return list(source.batches[:1])
    if source.kind in DRIFTING:
        return list(source.batches)
    found = [(batch, batch_of(batch).schema) for batch in source.batches]
    return [batch for batch, schema in found if schema.equals(found[0][1])]


def rows(source: Source) -> Rows:
    """Returns the rows that the call gets, with the column names of the first batch."""
    made = [batch_of(batch) for batch in batches(source)]
    if source.kind in OF_PANDAS:
        frames = [pa.Table.from_batches([batch]).to_pandas() for batch in made]
        found = [_without_nan(row) for frame in frames for row in frame.to_dict("records")]
        if source.kind == WITH_INDEX:
            found = [{"at": at, **row} for at, row in enumerate(found)]
        return found
    return [row for batch in made for row in batch.to_pylist()]


def _without_nan(row: Row) -> Row:
    """Replaces NaN by null, as pandas does not tell them apart."""
    import pandas as pd

    return {name: None if _is_missing(pd, value) else value for name, value in row.items()}


def _is_missing(pd: Any, value: Any) -> bool:
    return value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value))
