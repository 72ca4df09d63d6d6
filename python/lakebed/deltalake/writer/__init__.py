"""Writing, in the words of deltalake."""

from lakebed.deltalake.writer.convert_to import convert_to_deltalake
from lakebed.deltalake.writer.properties import BloomFilterProperties, ColumnProperties, WriterProperties
from lakebed.deltalake.writer.writer import write_deltalake

__all__ = ["BloomFilterProperties", "ColumnProperties", "WriterProperties", "convert_to_deltalake", "write_deltalake"]
