"""The properties of Parquet files, where deltalake has them."""

from lakebed.deltalake.properties import BloomFilterProperties, ColumnProperties, WriterProperties

__all__ = ["BloomFilterProperties", "ColumnProperties", "WriterProperties"]
