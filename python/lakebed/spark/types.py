"""Converts Delta's schemas to Spark's: for users, for data files, and for Arrow batches.

Delta writes a schema as Spark's JSON, so pyspark parses it: :func:`table_schema`. The other
functions derive the other schemas from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

__all__ = [
    "alone",
    "arrow_schema",
    "carried",
    "carried_rows",
    "converted",
    "has_type",
    "is_floating",
    "is_variant",
    "mapped",
    "nullable",
    "physical",
    "pruned",
    "quoted",
    "row_size_bytes",
    "shown",
    "table_schema",
    "unmapped",
]

_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
_MONTHS = YearMonthIntervalType(YearMonthIntervalType.MONTH, YearMonthIntervalType.MONTH)


def table_schema(schema_string: str) -> StructType:
    """Returns the schema of a table's ``metaData``, with the metadata of its fields."""
    return StructType.fromJson(json.loads(schema_string))


def unmapped(schema: StructType) -> StructType:
    """Returns the schema of a table without column mapping, without physical names that it may
    still have.
    """

    def field(found: StructField, data_type: DataType) -> StructField:
        metadata = {key: value for key, value in (found.metadata or {}).items() if key != _PHYSICAL_NAME}
        return StructField(found.name, data_type, found.nullable, metadata)

    return mapped(schema, field)


def pruned(schema: StructType, kept: pa.Schema) -> StructType:
    """Returns the part of a schema that a scan returns: its columns in its order, and its fields of
    structs.

    A column that the schema does not have is a metadata column.
    """
    names = set(schema.names)
    return StructType(
        [_pruned_field(schema[field.name], field.type) if field.name in names else _of_rows(field) for field in kept]
    )


def shown(schema: StructType) -> StructType:
    """Returns the schema of a data frame of the table.

    All columns are nullable, as Spark's reader of Parquet files declares them, so that a table has
    the same schema with either reader. Fields keep the metadata that Delta Spark shows: comments,
    the length of char and varchar, by which Spark compares, and invariants.
    """

    def field(found: StructField, data_type: DataType) -> StructField:
        metadata = {key: value for key, value in (found.metadata or {}).items() if _is_shown(key)}
        return StructField(found.name, data_type, True, metadata)

    return mapped(schema, field)


def physical(schema: StructType) -> StructType:
    """Returns the schema with the names in data files.

    Fields keep only the metadata by which Spark pads char. Its reader would act on some other
    metadata.
    """

    def field(found: StructField, data_type: DataType) -> StructField:
        metadata = found.metadata or {}
        kept = {key: value for key, value in metadata.items() if key == _CHAR_VARCHAR}
        return StructField(metadata.get(_PHYSICAL_NAME, found.name), data_type, True, kept)

    return mapped(schema, field)


def carried(schema: StructType) -> StructType:
    """Returns the schema in which Arrow carries rows to Spark. Intervals of months travel as
    numbers.

    pyarrow has no such type.
    """
    return _with_months(schema, IntegerType())


def nullable(schema: StructType) -> StructType:
    """Returns the same schema with all columns and fields nullable."""
    return mapped(schema, lambda found, data_type: StructField(found.name, data_type, True, found.metadata))


def alone(field: StructField) -> StructType:
    """Returns a schema of one field."""
    return StructType([field])


def arrow_schema(schema: StructType) -> pa.Schema:
    """Returns Spark's Arrow schema for this schema, with timestamps in UTC."""
    import inspect

    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark before 4.1 knows no other zone.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    found: pa.Schema = to_arrow_schema(schema, **zone)
    return found


def carried_rows(rows: pa.RecordBatch, schema: StructType) -> pa.RecordBatch:
    """Rows in the form that Spark takes. Spark finds the two parts of a variant by position, not by
    name.
    """
    import pyarrow as pa

    if not has_type(schema, is_variant):
        return rows
    columns = [_carried_array(column, field.dataType) for column, field in zip(rows.columns, schema.fields, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def converted(column: Column, data_type: DataType, field: StructField) -> Column:
    """Returns a column as one of the table: with its names of fields, and with intervals of months."""
    if has_type(field.dataType, lambda leaf: isinstance(leaf, YearMonthIntervalType)):
        # Spark converts a number only to an interval of one unit.
        data_type = _with_months(alone(field), _MONTHS).fields[0].dataType
        column = column.cast(data_type)
    if data_type != field.dataType:
        column = column.cast(field.dataType)
    return column.alias(field.name, metadata=field.metadata)


def quoted(name: str) -> str:
    """Returns a name, quoted for Spark's parser."""
    return "`" + name.replace("`", "``") + "`"


def has_type(data_type: DataType, test: Callable[[DataType], bool]) -> bool:
    """Returns whether a type, or one inside it, passes a test."""
    inner: list[DataType] = []
    if isinstance(data_type, StructType):
        inner = [field.dataType for field in data_type.fields]
    elif isinstance(data_type, ArrayType):
        inner = [data_type.elementType]
    elif isinstance(data_type, MapType):
        inner = [data_type.keyType, data_type.valueType]
    return test(data_type) or any(has_type(child, test) for child in inner)


def is_void(data_type: DataType) -> bool:
    """Returns whether it is the type without values except null. No file has a column of this type."""
    return isinstance(data_type, NullType)


def is_floating(data_type: DataType) -> bool:
    """Returns whether its values are floating-point numbers."""
    return isinstance(data_type, (FloatType, DoubleType))


def is_variant(data_type: DataType) -> bool:
    """Returns whether it is Spark's type of variants."""
    return data_type.typeName() == "variant"


def row_size_bytes(schema: StructType) -> int:
    """Returns the size of a row in the estimates of Spark's planner."""
    return 8 + _size_bytes(schema)


#: Spark's `DataType.defaultSize`, if it is not 8.
_SIZES_BYTES: dict[type[DataType], int] = {
    BinaryType: 100,
    BooleanType: 1,
    ByteType: 1,
    DateType: 4,
    FloatType: 4,
    IntegerType: 4,
    NullType: 1,
    ShortType: 2,
    StringType: 20,
    YearMonthIntervalType: 4,
}


def _size_bytes(data_type: DataType) -> int:
    if isinstance(data_type, StructType):
        return sum(_size_bytes(field.dataType) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return _size_bytes(data_type.elementType)
    if isinstance(data_type, MapType):
        return _size_bytes(data_type.keyType) + _size_bytes(data_type.valueType)
    if isinstance(data_type, DecimalType):
        return 8 if data_type.precision <= 18 else 16
    if is_variant(data_type):
        return 2048
    return _SIZES_BYTES.get(type(data_type), 8)


def _is_shown(key: str) -> bool:
    return key == "delta.invariants" or not key.startswith("delta.")


def _of_rows(field: pa.Field[Any]) -> StructField:
    import pyarrow as pa

    return StructField(field.name, StringType() if pa.types.is_string(field.type) else LongType())


def _pruned_field(field: StructField, kept: pa.DataType) -> StructField:
    return StructField(field.name, _pruned_type(field.dataType, kept), field.nullable, field.metadata)


def _pruned_type(whole: DataType, kept: Any) -> DataType:
    if isinstance(whole, StructType):
        return StructType([_pruned_field(whole[child.name], child.type) for child in kept])
    if isinstance(whole, ArrayType):
        return ArrayType(_pruned_type(whole.elementType, kept.value_type), whole.containsNull)
    if isinstance(whole, MapType):
        return MapType(whole.keyType, _pruned_type(whole.valueType, kept.item_type), whole.valueContainsNull)
    return whole


def _carried_array(array: Any, data_type: DataType) -> Any:
    import pyarrow as pa

    if not has_type(data_type, is_variant):
        return array
    if is_variant(data_type):
        parts = ["value", "metadata"]
        return pa.StructArray.from_arrays([array.field(part) for part in parts], names=parts, mask=array.is_null())
    if isinstance(data_type, StructType):
        fields = [_carried_array(array.field(at), field.dataType) for at, field in enumerate(data_type.fields)]
        return pa.StructArray.from_arrays(fields, names=data_type.names, mask=array.is_null())
    if isinstance(data_type, MapType):
        entries = {"key": array.keys, "value": _carried_array(array.items, data_type.valueType)}
        kind: Any = pa.map_(entries["key"].type, entries["value"].type)
        children = pa.StructArray.from_arrays(list(entries.values()), fields=[kind.key_field, kind.item_field])
    else:
        assert isinstance(data_type, ArrayType)
        children = _carried_array(array.values, data_type.elementType)
        kind = pa.list_(children.type)
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=[children])


def _with_months(schema: StructType, months: DataType) -> StructType:
    def field(found: StructField, data_type: DataType) -> StructField:
        data_type = months if isinstance(data_type, YearMonthIntervalType) else data_type
        return StructField(found.name, data_type, found.nullable, found.metadata)

    return mapped(schema, field)


def mapped(schema: StructType, field: Callable[[StructField, DataType], StructField]) -> StructType:
    """Returns a nullable schema with what `field` returns for each field and its mapped type."""

    def type_of(data_type: DataType) -> DataType:
        if isinstance(data_type, StructType):
            return StructType([field(found, type_of(found.dataType)) for found in data_type.fields])
        if isinstance(data_type, ArrayType):
            return ArrayType(inside(data_type.elementType), True)
        if isinstance(data_type, MapType):
            return MapType(inside(data_type.keyType), inside(data_type.valueType), True)
        return data_type

    def inside(data_type: DataType) -> DataType:
        """Maps an element of an array or a map, as a field without a name."""
        return field(StructField("", data_type), type_of(data_type)).dataType

    return StructType([field(found, type_of(found.dataType)) for found in schema.fields])
