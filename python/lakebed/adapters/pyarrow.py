"""Arrow streams and schemas of the extension as objects of pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lakebed import _lakebed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "reader", "schema_of"]


def read(stream: _lakebed.ArrowStream) -> pa.Table:
    """Reads a whole stream, in a way that does not import pandas."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(stream.collect()).read_all()


def reader(stream: _lakebed.ArrowStream) -> pa.RecordBatchReader:
    """Returns a reader of a stream. Unlike in a C stream, errors keep their class and Ctrl-C works."""
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        while (one := stream.next()) is not None:
            yield from pa.RecordBatchReader.from_stream(one)

    return pa.RecordBatchReader.from_batches(schema_of(stream.__arrow_c_schema__()), batches())


def schema_of(capsule: object) -> pa.Schema:
    """Returns a schema from a capsule."""
    import pyarrow as pa

    wrapped: Any = _CSchema(capsule)
    return pa.schema(wrapped)


class _CSchema:
    """Wraps a capsule for pyarrow, which takes capsules only from objects with a method."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> object:
        return self._capsule
