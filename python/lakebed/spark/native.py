"""The road through Spark's own Parquet reader: it is given the planned files, and their columns become those of the table.

Spark then knows the files: it prunes columns and partitions, pushes filters down, and plans joins by true sizes. What must hold for a
file to go this road is decided in `roads`. Read :func:`frame` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType, NullType, StructField, StructType

from lakebed.spark import deletions, partitions, types
from lakebed.spark.roads import Asked, Reading, hadoop_root

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["frame"]

#: What would otherwise cost rows, or is for settings of the session to decide.
_EXACT = {
    "__globPaths__": "false",
    "datetimeRebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    # Spark up to 4.2 skips within pages that it does not need whole, and miscounts in those of encoding DELTA_BINARY_PACKED:
    # the rows that it then gives are made of values of different rows. Without the index there is nothing to skip.
    "parquet.filter.columnindex.enabled": "false",
}

#: For numbers with a point: Parquet's filters by dictionaries and Bloom filters look for bits, and find no 0.0 where there is only -0.0.
_BY_STATISTICS = {"parquet.filter.bloom.enabled": "false", "parquet.filter.dictionary.enabled": "false"}


def frame(spark: SparkSession, asked: Asked, reading: Reading, deleted: DataFrame | None) -> DataFrame:
    """The rows of data files as the table's columns, without the rows in `deleted`, which is made by `deletions`."""
    by_directory = reading.values is None
    schema = asked.schema if asked.where is None else asked.table_schema
    in_files = [field for field in schema.fields if not (_is_void(field) or field.name in asked.partition_columns)]
    in_directories = [asked.table_schema[name] for name in asked.partition_columns] if by_directory else []
    read = types.physical(StructType([*in_files, *in_directories]))
    options = {**_EXACT, "basePath": hadoop_root(asked.root)} if by_directory else {**_EXACT, "recursiveFileLookup": "true"}
    if types.has_type(read, lambda leaf: isinstance(leaf, (FloatType, DoubleType))):
        options.update(_BY_STATISTICS)
    found = spark.read.schema(read).options(**options).parquet(*reading.paths)
    if deleted is not None:
        found = deletions.without(found, deleted)

    def column(field: StructField, physical_name: str) -> Column:
        if _is_void(field):
            return F.lit(None)
        if reading.values is not None and field.name in asked.partition_columns:
            return partitions.literal(reading.values[field.name], field.dataType)
        return F.col(types.quoted(physical_name))

    names = types.physical(schema).names
    columns = [column(field, name) for field, name in zip(schema.fields, names, strict=True)]
    found = found.select(*[types.converted(*pair) for pair in zip(columns, types.shown(schema).fields, strict=True)])
    if asked.where is None:
        return found
    return found.where(asked.where).select(*[types.quoted(name) for name in asked.schema.names])


def _is_void(field: StructField) -> bool:
    """Whether it is a column that no file has."""
    return isinstance(field.dataType, NullType)
