"""What tells a batch of a stream from another one with the same number.

A query counts its batches from 0, and a table knows the number of the last one. That number alone does not say which batch it was: a query
with a new checkpoint begins again at 0, and one with an older copy of its checkpoint makes batches of its own from there on. A :class:`Batch`
therefore carries the query and the offsets too, as far as Spark tells them. They are committed with the number, and compared by the core.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lakebed.spark import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["QUERY_ID", "Batch", "Repeats"]

_LOGGER = logging.getLogger("lakebed.spark")

#: In the properties of Spark's tasks, and of the thread that runs a query.
QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"
#: Whether a batch with a known number has to be the same one in all that is known of it.
Repeats = Literal["check", "trust"]


class Batch(tuple[str, int]):
    """The ``txn`` of a batch: the name of its stream and its number; and what else is known of it."""

    _query: str | None
    _offsets: str | None
    _trusted: bool

    def __new__(cls, stream: str, number: int, query: str | None, offsets: str | None, *, trusted: bool) -> Batch:
        batch = super().__new__(cls, (stream, number))
        batch._query, batch._offsets, batch._trusted = query, offsets, trusted
        return batch

    @classmethod
    def in_foreach(cls, rows: DataFrame, app_id: str, number: int, *, trusted: bool) -> Batch:
        """The batch of a stream that the caller names, as `foreachBatch` gives it."""
        spark = rows.sparkSession
        query, offsets = (_query_of_connect(spark), None) if session.is_connect(spark) else _query_of_thread(spark, number)
        return cls(app_id, number, query, offsets, trusted=trusted)

    @classmethod
    def of_sink(cls, query: str, number: int, checkpoint: str | None, *, trusted: bool) -> Batch:
        """The batch of a stream that goes by the id of its query."""
        offsets = None if checkpoint is None else _offsets_in(checkpoint, query, number)
        return cls(query, number, None, offsets, trusted=trusted)

    def known(self, rows: int | None = None) -> dict[str, Any]:
        """What is known of the batch, in the form that `_lakebed` takes; with the number of its rows if they were counted."""
        return {"query": _digest(self._query), "offsets": _digest(self._offsets), "rows": rows, "trusted": self._trusted}


def _query_of_thread(spark: SparkSession, number: int) -> tuple[str | None, str | None]:
    """The id of the query that this thread runs, and the offsets at which its batch ends."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    context = spark.sparkContext
    query = context.getLocalProperty(QUERY_ID)
    if query is None or context.getLocalProperty(_BATCH_ID) != str(number):
        return None, None
    try:
        jvm: Any = context._jvm
        running = spark._jsparkSession.sharedState().activeStreamingQueries()
        log = running.get(jvm.java.util.UUID.fromString(query)).offsetLog()
        text = jvm.java.io.ByteArrayOutputStream()
        log.serialize(log.get(number).get(), text)
        return query, _offsets(text.toString("UTF-8"))
    except (Py4JError, AttributeError, TypeError) as error:
        _LOGGER.debug("query %s does not tell the offsets of its batch %d: %s", query, number, error)
        return query, None


def _query_of_connect(spark: SparkSession) -> str | None:
    """The id of the query that runs this batch, if it is the only one of the session that is at work. Connect tells no offsets."""
    running = spark.streams.active
    if len(running) > 1:
        running = [query for query in running if query.status["isTriggerActive"]]
    return running[0].id if len(running) == 1 else None


def _offsets_in(checkpoint: str, query: str, number: int) -> str | None:
    """The offsets at which a batch ends, from a checkpoint that lies on this machine and belongs to the query."""
    scheme, colon, path = checkpoint.partition(":")
    if colon and scheme != "file":
        return None
    folder = Path("/" + path.lstrip("/") if colon else checkpoint)
    try:
        metadata = json.loads((folder / "metadata").read_text("utf-8"))
        if metadata["id"] != query:
            return None
        return _offsets((folder / "offsets" / str(number)).read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOGGER.debug("the checkpoint %s does not tell the offsets of batch %d: %s", checkpoint, number, error)
        return None


def _offsets(logged: str) -> str:
    """Of an entry of Spark's log of offsets: what stands behind its version and its metadata, which tell times and settings."""
    return "\n".join(logged.splitlines()[2:])


def _digest(text: str | None) -> int | None:
    """63 bits that stand for a text, in all versions of lakebed."""
    return None if text is None else int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
