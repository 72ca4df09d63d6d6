"""The stream source for Spark 4.2 and later, which says where a batch begins, limits it, and knows a last offset for `availableNow`."""

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
    """A stream that takes as much at a time as its options say."""

    #: Beyond it nothing is read: the end of a query that takes what is there now.
    _until: str | None = None

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return self._next(start, self._until, everything=isinstance(limit, ReadAllAvailable))

    def getDefaultReadLimit(self) -> ReadLimit:
        # Spark knows one limit at a time. Both hold: what it hands back only tells whether limits count at all.
        max_files, max_bytes = self._stream().limits()
        return ReadMaxFiles(max_files) if max_files is not None else ReadMaxBytes(max_bytes or 0)

    @failure.alone()
    def prepareForTriggerAvailableNow(self) -> None:
        self._until = self._stream().newest_offset()
