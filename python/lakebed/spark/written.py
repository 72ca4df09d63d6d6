"""The schema of a data frame that is written: as a Delta schema, and as the schema of Arrow
batches.

:func:`delta_schema` refuses types that Delta does not have, on the driver, before a task runs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
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
    TimestampNTZType,
    TimestampType,
    UserDefinedType,
    VarcharType,
)

from lakebed.errors import UnsupportedFeatureError
from lakebed.spark import types

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["delta_schema", "named_variants"]

#: Types that Delta has, too. Variants are not listed, because Spark before 4.0 does not know them.
_OF_DELTA = (
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)
#: The types to which a column of another type can be cast, by the prefix of the type's name.
_INSTEAD = {
    "interval": "a number or to STRING",
    "time": "STRING",
    "geometry": "BINARY, with st_asbinary",
    "geography": "BINARY, with st_asbinary",
    "string": "STRING, which compares strings by their bytes",
}
_EXTENSION_NAME = "ARROW:extension:name"
_VARIANT = "arrow.parquet.variant"


def delta_schema(schema: StructType) -> str:
    """Returns the schema of a data frame as a Delta schema.

    All columns are nullable, as in Delta Spark, because a query guarantees nothing about the rows
    of a table. Comments are kept. Metadata that Spark or Delta keep for themselves are dropped.
    """
    for found in schema.fields:
        _refuse_unknown(found.name, found.dataType)

    def field(found: StructField, data_type: DataType) -> StructField:
        metadata = {key: value for key, value in (found.metadata or {}).items() if not key.startswith(("delta.", "__"))}
        return StructField(found.name, data_type, True, metadata)

    return json.dumps(types.mapped(schema, field).jsonValue())


def _refuse_unknown(place: str, data_type: DataType) -> None:
    """Refuses a type that Delta does not have, at any depth in a column. The error names the
    column.
    """
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            _refuse_unknown(f"{place}.{field.name}", field.dataType)
    elif isinstance(data_type, UserDefinedType):
        _refuse_unknown(place, data_type.sqlType())
    elif isinstance(data_type, ArrayType):
        _refuse_unknown(f"{place}.element", data_type.elementType)
    elif isinstance(data_type, MapType):
        _refuse_unknown(f"{place}.key", data_type.keyType)
        _refuse_unknown(f"{place}.value", data_type.valueType)
    elif not _is_of_delta(data_type):
        name = data_type.simpleString()
        instead = next((other for begin, other in _INSTEAD.items() if name.startswith(begin)), "another type")
        raise UnsupportedFeatureError(f"column {place}: Delta tables have no type for {name}: cast it to {instead}")


def _is_of_delta(data_type: DataType) -> bool:
    if isinstance(data_type, StringType):
        return getattr(data_type, "collation", "UTF8_BINARY") == "UTF8_BINARY"
    return isinstance(data_type, _OF_DELTA) or types.is_variant(data_type)


def named_variants(schema: pa.Schema) -> pa.Schema:
    """Returns the schema of Spark's batches, with Arrow's name for variants at any depth."""
    import pyarrow as pa

    metadata: Any = schema.metadata
    return pa.schema([_named(field) for field in schema], metadata)


def _named(field: pa.Field[Any]) -> pa.Field[Any]:
    import pyarrow as pa

    found: Any = field.type
    if pa.types.is_struct(found):
        parts = {part.name: part for part in found}
        # Spark marks variants so, and no other struct.
        if set(parts) == {"value", "metadata"} and (parts["metadata"].metadata or {}).get(b"variant") == b"true":
            return field.with_metadata({_EXTENSION_NAME: _VARIANT})
        return field.with_type(pa.struct([_named(part) for part in found]))
    if pa.types.is_map(found):
        return field.with_type(pa.map_(_named(found.key_field), _named(found.item_field)))
    if pa.types.is_list(found):
        return field.with_type(pa.list_(_named(found.value_field)))
    return field
