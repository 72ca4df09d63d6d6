"""The stream source for Spark 4.2 and later.

These versions pass the start of a batch and its limit. They also request a last offset for
`availableNow`.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from lakebed.spark import failure
from lakebed.spark.stream import StreamReader

__all__ = ["AdmittingReader"]


class AdmittingReader(StreamReader, SupportsTriggerAvailableNow):
    """A stream reader with batches that its options limit."""

    #: The offset at which an `availableNow` query ends.
    _until: str | None = None

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return self._next(start, self._until, everything=isinstance(limit, ReadAllAvailable))

    def getDefaultReadLimit(self) -> ReadLimit:
        # Spark has one limit at a time. lakebed applies both of its limits, and uses Spark's value
        # only to see whether limits apply at all.
        max_files, max_bytes = self._stream().limits()
        return ReadMaxFiles(max_files) if max_files is not None else ReadMaxBytes(max_bytes or 0)

    @failure.alone()
    def prepareForTriggerAvailableNow(self) -> None:
        self._until = self._stream().newest_offset()
