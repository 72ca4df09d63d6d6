"""Distinguishes a batch of a stream from another batch with the same number.

A query numbers its batches from 0, and a table knows the number of the last one. The number does
not identify a batch: a query with a new checkpoint begins at 0 again, and a query with an older
copy of its checkpoint makes other batches from there on. A :class:`Batch` therefore also has the
query and the offsets, if Spark provides them. They are committed with the number, and the core
compares them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lakebed import arguments
from lakebed.errors import InvalidInputError
from lakebed.spark import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["QUERY_ID", "Batch", "Repeats"]

_LOGGER = logging.getLogger("lakebed.spark")

#: A property of Spark's tasks and of the thread that runs a query.
QUERY_ID = "sql.streaming.queryId"
#: An environment variable of the process in which a Connect server calls the function of one run.
_OF_CONNECT_WORKERS = "SPARK_CONNECT_LOCAL_URL"
#: Whether a batch with a known number must have the row count of the known one.
Repeats = Literal["check", "trust"]


class _Query(NamedTuple):
    """Facts about the query that runs a batch. Each may be unknown."""

    id: str | None = None
    #: A restarted query has the same id and another run id.
    run: str | None = None
    #: The offsets at which the batch ends.
    offsets: str | None = None


class Batch(tuple[str, int]):
    """The ``txn`` of a batch: the name of its stream, its number, and other known facts."""

    _query: _Query
    _trusted: bool

    def __new__(cls, stream: str, number: int, query: _Query, *, trusted: bool) -> Batch:
        batch = super().__new__(cls, (stream, number))
        batch._query, batch._trusted = query, trusted
        return batch

    @classmethod
    def in_foreach(cls, rows: DataFrame, app_id: str, number: int, *, trusted: bool) -> Batch:
        """Returns a batch of a stream that the caller names, as `foreachBatch` passes it."""
        query = _query_of_connect(rows) if session.is_connect(rows.sparkSession) else _query_in_jvm(rows, number)
        return cls(app_id, number, query, trusted=trusted)

    @classmethod
    def of_sink(cls, query: str, number: int, checkpoint: str | None, *, trusted: bool) -> Batch:
        """Returns a batch of a stream that is named by the id of its query."""
        offsets = None if checkpoint is None else _offsets_in(checkpoint, query, number)
        return cls(query, number, _Query(offsets=offsets), trusted=trusted)

    def option(self, rows: int | None = None) -> dict[str, Any] | None:
        """Returns the option ``txn`` for `_lakebed`, with the facts by which the table recognizes
        the batch.

        ``rows`` is its row count, if known.
        """
        query, _, offsets = self._query
        known = {"query": _digest(query), "offsets": _digest(offsets), "rows": rows, "trusted": self._trusted}
        number = arguments.txn("txn", self)
        return None if number is None else {**number, "batch": known}

    @contextmanager
    def written_once(self, uri: str, rows: DataFrame) -> Iterator[None]:
        """Guards a write of the batch: a second write with other rows in the same run is an error.

        The table would take it for a repeat. Spark repeats no batch within a run, but the caller's
        function may try the same rows again.
        """
        stream, number = self
        run = self._query.run
        if run is None:
            yield
            return
        write = _Write(run, number, rows.semanticHash())
        with _LOCK:
            before = _LAST_WRITES.get((uri, stream))
            if before is not None and before[:2] == write[:2] and before != write:
                raise InvalidInputError(
                    f"{uri}: this is a second write of batch {number} of stream '{stream}', with other rows: it would be ignored, because the table "
                    "has this batch already. Give each write of a batch an app_id of its own, or combine the rows in one write"
                )
            _LAST_WRITES[uri, stream] = write
        try:
            yield
        except BaseException:
            with _LOCK:
                if before is None:
                    _LAST_WRITES.pop((uri, stream), None)
                else:
                    _LAST_WRITES[uri, stream] = before
            raise


class _Write(NamedTuple):
    """A write of a batch: the run of its query, its number, and the rows that it writes."""

    run: str
    number: int
    rows: int


#: The last write of a batch by this process, by table and stream.
_LAST_WRITES: dict[tuple[str, str], _Write] = {}
_LOCK = threading.Lock()


def _query_in_jvm(rows: DataFrame, number: int) -> _Query:
    """Returns the query that runs this batch, in any thread, and the offsets at which the batch
    ends.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    spark = rows.sparkSession
    try:
        query = _running(spark)
        if query is None:
            return _Query()
        log = query.offsetLog()
        latest = log.getLatestBatchId()
        if latest.isEmpty() or latest.get() != number:
            return _Query()
        jvm: Any = spark.sparkContext._jvm
        text = jvm.java.io.ByteArrayOutputStream()
        log.serialize(log.get(number).get(), text)
        root = query.resolvedCheckpointRoot()
        offsets = _offsets(text.toString("UTF-8"), lambda name: _hash_by_hadoop(spark, f"{root}/{name}"))
        return _Query(query.id().toString(), query.runId().toString(), offsets)
    except (Py4JError, PySparkException, AttributeError, TypeError) as error:
        _LOGGER.debug("Spark does not say to which query batch %d belongs: %s", number, error)
        return _Query()


def _running(spark: SparkSession) -> Any:
    """Returns the query that runs in this session, or the one that runs in this thread."""
    ours = spark._jsparkSession
    running = ours.sharedState().activeStreamingQueries()
    for query in running.values():
        # Each run of a query has a session of its own, from which all rows of its batches come.
        if query.sparkSessionForStream().equals(ours):
            return query
    # The caller's function created the rows in another session.
    named = spark.sparkContext.getLocalProperty(QUERY_ID)
    return None if named is None else running.get(spark.sparkContext._jvm.java.util.UUID.fromString(named))  # type: ignore[union-attr]


def _hash_by_hadoop(spark: SparkSession, place: str) -> str | None:
    """Returns the hash of a file on any store. None if the file does not exist."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(place)
    store = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    if not store.exists(path):
        return None
    stream = store.open(path)
    try:
        return str(jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
    finally:
        stream.close()


def _query_of_connect(rows: DataFrame) -> _Query:
    """Returns the query that runs this batch, if no other query of the session runs a batch.

    Connect does not provide offsets.
    """
    # A process serves one run of one query.
    run = f"process {os.getpid()}" if _OF_CONNECT_WORKERS in os.environ else None
    running = rows.sparkSession.streams.active
    if len(running) > 1:
        running = [query for query in running if query.status["isTriggerActive"]]
    if len(running) != 1:
        return _Query(run=run)
    # A stopped query loses its batch before it leaves the list. This call to the server then fails,
    # so that no other query is taken for the stopped one.
    _ = rows.limit(0).schema
    return _Query(running[0].id, run)


def _offsets_in(checkpoint: str, query: str, number: int) -> str | None:
    """Returns the offsets at which a batch ends, from a checkpoint on this machine that belongs to
    the query.
    """
    scheme, colon, path = checkpoint.partition(":")
    if colon and scheme != "file":
        return None
    folder = Path("/" + path.lstrip("/") if colon else checkpoint)
    try:
        metadata = json.loads((folder / "metadata").read_text("utf-8"))
        if metadata["id"] != query:
            return None
        logged = (folder / "offsets" / str(number)).read_text("utf-8")
        return _offsets(logged, lambda name: _hash_of(folder / name))
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOGGER.debug("the offsets of batch %d cannot be read from the checkpoint %s: %s", number, checkpoint, error)
        return None


def _hash_of(file: Path) -> str | None:
    """Returns the hash of a file. None if the file does not exist."""
    if not file.is_file():
        return None
    found = hashlib.sha256()
    with file.open("rb") as opened:
        while piece := opened.read(1 << 20):
            found.update(piece)
    return found.hexdigest()


def _offsets(logged: str, hash_in_checkpoint: Callable[[str], str | None]) -> str | None:
    """Returns the offsets in an entry of Spark's offset log, without its version and metadata.

    The metadata has times and settings. For a source of files, the offset is only a count of
    entries in the source's own log. Another copy of the checkpoint may have the same count for
    other files, so the hash of the entry is added to such an offset.
    """
    offsets = logged.splitlines()[2:]
    entries = []
    for number, offset in enumerate(offsets):
        if "logOffset" not in offset:
            continue
        try:
            entry = f"sources/{number}/{int(json.loads(offset)['logOffset'])}"
        except (ValueError, KeyError, TypeError):
            return None
        found = hash_in_checkpoint(entry) or hash_in_checkpoint(f"{entry}.compact")
        if found is None:
            return None
        entries.append(found)
    return "\n".join(offsets + entries)


def _digest(text: str | None) -> int | None:
    """Returns a hash of 63 bits, the same in all versions of lakebed."""
    return None if text is None else int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
