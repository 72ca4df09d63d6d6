"""Rows and schemas as text without loss, so that the results of two readers can be compared.

A table becomes a sorted list of lines, with one JSON array per row. Integers, dates (days) and
timestamps (microseconds) are JSON integers. Floats are written with `repr`, which keeps NaN, inf
and -0.0. Decimals are strings with their scale, binary values are hex, structs and lists are
arrays, maps are sorted pairs, and variants are decoded. The types of the values are in the schema,
which is compared separately. Start with `rows` and `fields`.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus import variant


def rows(table: pa.Table) -> list[str]:
    """Returns the rows of a table as sorted lines."""
    return sorted(lines(table))


def lines(table: pa.Table) -> list[str]:
    """Returns the rows of a table as lines, in the order of the table."""
    if table.num_columns == 0:
        return ["[]"] * table.num_rows
    columns = [[value for chunk in column.chunks for value in values(chunk)] for column in table.columns]
    return [_line(row) for row in zip(*columns, strict=True)]


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def values(array: Any) -> list[Any]:
    """Returns the values of an array as values for JSON."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return values(array.storage)
    if pa.types.is_dictionary(kind):
        return values(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return values(pc.run_end_decode(array))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind) or is_string(kind):
        return array.to_pylist()
    if pa.types.is_floating(kind):
        return [None if value is None else repr(value) for value in array.to_pylist()]
    if pa.types.is_decimal(kind):
        return [None if value is None else _decimal(value) for value in array.to_pylist()]
    if is_binary(kind):
        return [None if value is None else value.hex() for value in array.to_pylist()]
    if pa.types.is_date32(kind):
        return array.view(pa.int32()).to_pylist()
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return array.view(pa.int64()).to_pylist()
    if pa.types.is_duration(kind) and kind.unit == "us":
        return array.view(pa.int64()).to_pylist()
    if is_variant(kind):
        return _variants(array)
    if pa.types.is_struct(kind):
        return _structs(array)
    if pa.types.is_map(kind):
        return _maps(array)
    if is_list(kind):
        return _lists(array)
    raise TypeError(f"no canonical form for the Arrow type {kind}")


def _decimal(value: Decimal) -> str:
    return format(value, "f")


def _variants(array: Any) -> list[Any]:
    metadata, value = array.field("metadata").to_pylist(), array.field("value").to_pylist()
    pairs = zip(array.is_valid().to_pylist(), metadata, value, strict=True)
    return [variant.decode(meta, data) if valid else None for valid, meta, data in pairs]


def _structs(array: Any) -> list[Any]:
    children = [values(array.field(i)) for i in range(array.type.num_fields)]
    valid = array.is_valid().to_pylist()
    return [[child[i] for child in children] if valid[i] else None for i in range(len(array))]


def _maps(array: Any) -> list[Any]:
    if len(array) == 0:
        return []
    keys, items = values(array.keys), values(array.items)
    offsets, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    found: list[Any] = []
    for i, is_set in enumerate(valid):
        pairs = [[keys[j], items[j]] for j in range(offsets[i], offsets[i + 1])]
        found.append(sorted(pairs, key=_line) if is_set else None)
    return found


def _lists(array: Any) -> list[Any]:
    items = iter(values(pc.list_flatten(array)))
    lengths = pc.list_value_length(array).to_pylist()
    return [None if length is None else [next(items) for _ in range(length)] for length in lengths]


def is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)


def is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_list_view(kind)


def is_variant(kind: pa.DataType) -> bool:
    """Returns whether a struct is a variant: it has exactly the binary fields `metadata` and
    `value`. No table of the corpus has such a struct.
    """
    if not pa.types.is_struct(kind) or kind.num_fields != 2:
        return False
    fields = {kind.field(i).name: kind.field(i).type for i in range(2)}
    return set(fields) == {"metadata", "value"} and all(is_binary(child) for child in fields.values())


def fields(schema: pa.Schema) -> list[Any]:
    """Returns the schema as Delta writes it in JSON, without column metadata: `[name, type,
    nullable]` per field.
    """
    return [[field.name, _type(field.type), field.nullable] for field in schema]


def delta_fields(struct: dict[str, Any]) -> list[Any]:
    """Returns a Delta schema (the parsed `schemaString`) in the same form."""
    return [[field["name"], _delta_type(field["type"]), field["nullable"]] for field in struct["fields"]]


def _delta_type(kind: Any) -> Any:
    if kind == "interval year to month":
        return "integer"  # pyarrow has no type for months and reads their number.
    if isinstance(kind, str):
        return kind
    if kind["type"] == "struct":
        return {"struct": delta_fields(kind)}
    if kind["type"] == "array":
        return {"array": [_delta_type(kind["elementType"]), kind["containsNull"]]}
    return {"map": [_delta_type(kind["keyType"]), _delta_type(kind["valueType"]), kind["valueContainsNull"]]}


_PRIMITIVES = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("us", tz="UTC"): "timestamp",
    pa.null(): "void",
    pa.duration("us"): "interval day to second",
}


def _type(kind: pa.DataType) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        return _type(kind.storage_type)
    if kind in _PRIMITIVES:
        return _PRIMITIVES[kind]
    if is_string(kind):
        return "string"
    if is_binary(kind):
        return "binary"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if is_variant(kind):
        return "variant"
    if pa.types.is_struct(kind):
        return {"struct": fields(pa.schema(list(kind)))}
    if pa.types.is_map(kind):
        return {"map": [_type(kind.key_type), _type(kind.item_type), kind.item_field.nullable]}
    if is_list(kind):
        return {"array": [_type(kind.value_type), kind.value_field.nullable]}
    return str(kind)
