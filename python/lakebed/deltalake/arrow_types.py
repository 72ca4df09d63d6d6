"""Converts types of Delta to types of pyarrow and back, as deltalake does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lakebed.deltalake.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType, VariantType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_field", "from_schema", "from_type", "imported", "to_definition", "to_field", "to_schema", "to_type"]

#: What marks a struct as a variant in Arrow.
_VARIANT = {"ARROW:extension:name": "arrow.parquet.variant"}


def _primitives() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "string": pa.string(),
        "long": pa.int64(),
        "integer": pa.int32(),
        "short": pa.int16(),
        "byte": pa.int8(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "void": pa.null(),
    }


def to_type(found: DataType | Any) -> Any:
    """Returns the type of pyarrow."""
    import pyarrow as pa

    if isinstance(found, ArrayType):
        return pa.list_(_made("element", found.element_type, found.contains_null))
    if isinstance(found, MapType):
        return pa.map_(_made("key", found.key_type, False), _made("value", found.value_type, found.value_contains_null))
    if isinstance(found, StructType):
        return pa.struct([to_field(one) for one in found.fields])
    if isinstance(found, VariantType):
        return pa.struct([pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")])
    if found.type.startswith("decimal"):
        precision, scale = found.type[len("decimal(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return _primitives()[found.type]


def to_field(found: Field) -> Any:
    """Returns the field of pyarrow. Its metadata is that which is text."""
    return _made(
        found.name, found.type, found.nullable, {key: value for key, value in found.metadata.items() if isinstance(value, str)}
    )


def to_definition(schema: StructType) -> Any:
    """Returns the schema of pyarrow for a new table, with all metadata of the fields."""
    import pyarrow as pa

    return pa.schema([_defined(one, to_field(one)) for one in schema.fields])


def _defined(found: Field, field: Any) -> Any:
    """Returns the field with the entries of its metadata that Delta does not know, as lakebed takes
    them.
    """
    own = {key: value for key, value in found.metadata.items() if not _is_known(key)}
    notes = {key.decode(): value.decode() for key, value in (field.metadata or {}).items() if key.decode() not in own}
    if own:
        notes["lakebed.metadata"] = json.dumps(own)
    return field.with_type(_defined_type(found.type, field.type)).with_metadata(notes or None)


def _is_known(key: str) -> bool:
    """Returns whether Delta, Arrow or Parquet has a meaning for a key of a field's metadata."""
    return key in ("comment", "CURRENT_DEFAULT", "EXISTS_DEFAULT") or key.startswith(("delta.", "__", "ARROW:", "PARQUET:"))


def _defined_type(found: DataType, kind: Any) -> Any:
    import pyarrow as pa

    if isinstance(found, StructType):
        return pa.struct([_defined(one, field) for one, field in zip(found.fields, kind, strict=True)])
    if isinstance(found, ArrayType):
        return pa.list_(kind.value_field.with_type(_defined_type(found.element_type, kind.value_type)))
    if isinstance(found, MapType):
        key = kind.key_field.with_type(_defined_type(found.key_type, kind.key_type))
        return pa.map_(key, kind.item_field.with_type(_defined_type(found.value_type, kind.item_type)))
    return kind


def _made(name: str, kind: DataType, nullable: bool, notes: Mapping[str, str] | None = None) -> Any:
    import pyarrow as pa

    if isinstance(kind, VariantType):
        notes = {**(notes or {}), **_VARIANT}
    return pa.field(name, to_type(kind), nullable=nullable, metadata=dict(notes) if notes else None)


def to_schema(found: StructType, as_large_types: bool = False) -> pa.Schema:
    """Returns the schema of pyarrow."""
    import pyarrow as pa

    fields = [to_field(one) for one in found.fields]
    return pa.schema([_large_field(one) for one in fields] if as_large_types else fields)


def _large_field(field: Any) -> Any:
    return field.with_type(_large(field.type))


def _large(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.large_list(_large_field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_large_field(kind.key_field), _large_field(kind.item_field))
    if pa.types.is_struct(kind):
        return pa.struct([_large_field(kind.field(index)) for index in range(kind.num_fields)])
    return kind


def imported(given: Any) -> Any:
    """Returns the field of pyarrow for any object with ``__arrow_c_schema__``."""
    import pyarrow as pa

    if isinstance(given, pa.Field):
        return given
    if not hasattr(given, "__arrow_c_schema__"):
        raise ValueError(f"{given!r} is not an object with __arrow_c_schema__")
    found: Any = pa.Field
    return found._import_from_c_capsule(given.__arrow_c_schema__())


def from_schema(given: Any) -> list[Field]:
    """Returns the fields for any object with ``__arrow_c_schema__``."""
    import pyarrow as pa

    return [from_field(one) for one in pa.schema(given)]


def from_field(field: Any) -> Field:
    """Returns the field of Delta."""
    notes = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    if _VARIANT.items() <= notes.items():
        kept = {key: value for key, value in notes.items() if not key.startswith("ARROW:extension:")}
        return Field(field.name, VariantType(), nullable=field.nullable, metadata=kept)
    return Field(field.name, from_type(field.type), nullable=field.nullable, metadata=notes)


def from_type(kind: Any) -> DataType:
    """Returns the type of Delta."""
    import pyarrow as pa

    types: Any = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return from_type(kind.value_type)
    if types.is_map(kind):
        return MapType(from_type(kind.key_type), from_type(kind.item_type), kind.item_field.nullable)
    if types.is_struct(kind):
        return StructType([from_field(kind.field(index)) for index in range(kind.num_fields)])
    if any(test(kind) for test in _lists(types)):
        return ArrayType(from_type(kind.value_type), kind.value_field.nullable)
    if types.is_decimal128(kind) or types.is_decimal32(kind) or types.is_decimal64(kind):
        return PrimitiveType(f"decimal({kind.precision},{kind.scale})")
    for name, test in _tests(types):
        if test(kind):
            return PrimitiveType(name)
    raise TypeError(f"Invalid data type for Delta Lake: {kind}")


def _lists(types: Any) -> list[Callable[[Any], bool]]:
    return [types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view]


def _tests(types: Any) -> list[tuple[str, Callable[[Any], bool]]]:
    """Returns the primitive types with a test for each. An unsigned type becomes the signed type of
    its width.
    """
    return [
        ("string", lambda kind: types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)),
        ("long", lambda kind: types.is_int64(kind) or types.is_uint64(kind)),
        ("integer", lambda kind: types.is_int32(kind) or types.is_uint32(kind)),
        ("short", lambda kind: types.is_int16(kind) or types.is_uint16(kind)),
        ("byte", lambda kind: types.is_int8(kind) or types.is_uint8(kind)),
        ("float", types.is_float32),
        ("double", types.is_float64),
        ("boolean", types.is_boolean),
        ("binary", lambda kind: any(test(kind) for test in _binaries(types))),
        ("date", types.is_date),
        ("timestamp", lambda kind: types.is_timestamp(kind) and kind.unit in ("us", "ns", "ms") and kind.tz is not None),
        ("timestamp_ntz", lambda kind: types.is_timestamp(kind) and kind.unit in ("us", "ns", "ms")),
        ("void", types.is_null),
    ]


def _binaries(types: Any) -> list[Callable[[Any], bool]]:
    return [types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view]
