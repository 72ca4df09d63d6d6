"""Reads with Spark's own Parquet reader.

The reader gets the planned files, and their columns become those of the table. Spark then knows the
files: it prunes columns and partitions, pushes filters down, and plans joins by actual sizes.
`reader_choice` decides which files it may read. Read :func:`frame` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from lakebed.spark import deletions, partitions, places, types
from lakebed.spark.reader_choice import Asked, Reading

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["frame"]

#: Options that a correct read needs. Without them, rows would be lost, or settings of the session
#: would apply.
_EXACT = {
    "__globPaths__": "false",
    "datetimeRebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    # Spark up to 4.2 skips rows within pages that it needs only in part. It miscounts in pages with
    # the encoding DELTA_BINARY_PACKED, and then combines values of different rows. Without the
    # column index it skips nothing.
    "parquet.filter.columnindex.enabled": "false",
}

#: Options for floating-point numbers. Parquet's dictionary and Bloom filters compare bits, so a
#: search for 0.0 does not find -0.0.
_NOT_BY_BITS = {"parquet.filter.bloom.enabled": "false", "parquet.filter.dictionary.enabled": "false"}
#: For Spark, NaN is greater than all other numbers. Bounds without NaN would skip row groups that
#: contain it.
_NOT_BY_BOUNDS = {"parquet.filter.stats.enabled": "false"}


def frame(spark: SparkSession, asked: Asked, reading: Reading, deleted: DataFrame | None) -> DataFrame:
    """Returns the rows of data files with the table's columns, without the rows in `deleted` (from
    `deletions`).
    """
    schema = _schema(asked)
    by_directory = reading.values is None
    in_files = [field for field in schema.fields if not (types.is_void(field.dataType) or field.name in asked.partition_columns)]
    in_directories = [asked.table_schema[name] for name in asked.partition_columns] if by_directory else []
    read = types.physical(StructType([*in_files, *in_directories]))
    options = (
        {**_EXACT, "basePath": places.hadoop_root(asked.root)} if by_directory else {**_EXACT, "recursiveFileLookup": "true"}
    )
    options.update(_pushdown(read, reading))
    found = spark.read.schema(read).options(**options).parquet(*reading.paths)
    if deleted is not None:
        found = deletions.without(found, deleted)

    def column(field: StructField, physical: StructField) -> Column:
        if types.is_void(field.dataType):
            return F.lit(None).alias(field.name, metadata=field.metadata)
        if reading.values is not None and field.name in asked.partition_columns:
            value = partitions.literal(reading.values[field.name], field.dataType)
            return types.converted(value, field.dataType, field)
        value = F.col(types.quoted(physical.name))
        if types.is_floating(field.dataType) and not reading.complete_bounds:
            # The value does not change, but the expression is no column of the file, so Spark
            # pushes no filter down for it.
            value = F.nanvl(value, value)
        return types.converted(value, physical.dataType, field)

    fields = zip(types.shown(schema).fields, types.physical(schema).fields, strict=True)
    columns = {field.name: column(field, physical) for field, physical in fields if field.name in asked.needed.names}
    if asked.where is None:
        return found.select(*[columns[name] for name in asked.schema.names])
    return found.select(*columns.values()).where(asked.where).select(*map(types.quoted, asked.schema.names))


def _pushdown(read: StructType, reading: Reading) -> dict[str, str]:
    """Returns the options that switch off inexact pushdown for these files."""
    if reading.complete_bounds:
        return _NOT_BY_BITS if types.has_type(read, types.is_floating) else {}
    # Spark does not push down filters on floating-point columns, but it pushes down filters on
    # fields of structs.
    in_structs = [field for field in read.fields if not types.is_floating(field.dataType)]
    return {**_NOT_BY_BITS, **_NOT_BY_BOUNDS} if types.has_type(StructType(in_structs), types.is_floating) else {}


def _schema(asked: Asked) -> StructType:
    """Returns the table's columns, and only the needed fields of structs.

    Spark prunes other columns itself, so that it knows the share of the files' size that is read.
    Columns that contain void types are left out, because Spark's reader refuses them.
    """
    fields = [asked.schema[field.name] if field.name in asked.schema.names else field for field in asked.table_schema.fields]
    return StructType(
        [field for field in fields if types.is_void(field.dataType) or not types.has_type(field.dataType, types.is_void)]
    )
