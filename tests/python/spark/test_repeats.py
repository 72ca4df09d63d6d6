"""A batch that Spark repeats is skipped. A batch that only has the same number as a known batch is
refused, so that its rows are not lost.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import lakebed as lb
import lakebed.spark as lbs
from lakebed.spark import repeats

pytestmark = pytest.mark.spark

#: Runs a stream from one table to another until it has read all rows: the two paths, the
#: checkpoint, and options of the sink. The source is Delta Spark's, which needs no process of its
#: own.
Door = Callable[..., None]


def rows_of(spark: Any, source: Path) -> Any:
    """Returns a stream of the rows of a table, or of the ids in a folder of files."""
    if (source / "_delta_log").exists():
        return spark.readStream.format("delta").load(str(source))
    return spark.readStream.schema("id bigint").parquet(str(source))


def by_sink(spark: Any, source: Path, target: Path, checkpoint: Path, **options: str) -> None:
    options.pop("app_id", None)
    writer = rows_of(spark, source).writeStream.format("lakebed").option("checkpointLocation", str(checkpoint)).options(**options)
    writer.trigger(availableNow=True).start(str(target)).awaitTermination()


def by_foreach(spark: Any, source: Path, target: Path, checkpoint: Path, app_id: str = "app", **options: str) -> None:
    write_batch: Any = lbs.foreach_batch(target, app_id=app_id, **options)
    writer = rows_of(spark, source).writeStream.foreachBatch(write_batch).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


DOORS = pytest.mark.parametrize("through", [by_sink, by_foreach])


@pytest.fixture(autouse=True)
def registered(spark: Any) -> None:
    lbs.register(spark)


def ids(path: Path) -> list[int]:
    return sorted(lb.Table(path).to_arrow(["id"]).column("id").to_pylist())


def forget_commit(checkpoint: Path, number: int) -> None:
    """Simulates that Spark ended after the table's commit of a batch and before its own."""
    (checkpoint / "commits" / str(number)).unlink()
    (checkpoint / "commits" / f".{number}.crc").unlink(missing_ok=True)


@contextmanager
def told(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    """Collects the warnings in this process. Batches of the sink are committed in a process of
    Spark's, which writes its warnings to standard error.
    """
    caplog.clear()
    with caplog.at_level(logging.WARNING, "lakebed"):
        yield lambda: "\n".join(record.getMessage() for record in caplog.records)


def test_new_checkpoint_of_known_name_is_refused(spark: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    lbs.write(spark.range(0, 5), source)
    by_foreach(spark, source, target, tmp_path / "first")
    lbs.write(spark.range(5, 10), source)
    with pytest.raises(Exception, match=r"batch 0 of stream 'app' belongs to another query: .*another app_id"):
        by_foreach(spark, source, target, tmp_path / "second")
    assert ids(target) == list(range(5))
    by_foreach(spark, source, target, tmp_path / "first")
    assert ids(target) == list(range(10))
    by_foreach(spark, source, target, tmp_path / "third", app_id="other")
    assert ids(target) == sorted([*range(10), *range(10)])


def test_two_streams_do_not_share_a_name(spark: Any, tmp_path: Path) -> None:
    one, two, target = tmp_path / "one", tmp_path / "two", tmp_path / "target"
    lbs.write(spark.range(0, 7), one)
    lbs.write(spark.range(100, 110), two)
    by_foreach(spark, two, target, tmp_path / "b")
    with pytest.raises(Exception, match="belongs to another query"):
        by_foreach(spark, one, target, tmp_path / "a")
    # Another application id makes it another stream.
    by_foreach(spark, one, target, tmp_path / "a", app_id="a")
    lbs.write(spark.range(7, 9), one)
    with pytest.raises(Exception, match="batch 1 of stream 'app' belongs to another query: the table has batch 0"):
        by_foreach(spark, one, target, tmp_path / "a")
    assert ids(target) == [*range(7), *range(100, 110)]


@DOORS
def test_copied_checkpoint_one_batch_behind_fails(spark: Any, tmp_path: Path, through: Door) -> None:
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    lbs.write(spark.range(0, 5), source)
    through(spark, source, target, checkpoint)
    shutil.copytree(checkpoint, tmp_path / "older")
    lbs.write(spark.range(5, 10), source)
    through(spark, source, target, checkpoint)
    lbs.write(spark.range(10, 15), source)
    shutil.rmtree(checkpoint)
    (tmp_path / "older").rename(checkpoint)
    with pytest.raises(Exception, match=r"batch 1 of stream .* it ends at other offsets of its source.*an older copy"):
        through(spark, source, target, checkpoint)
    assert ids(target) == list(range(10))
    assert len(list(target.glob("*.parquet"))) == len(lb.Table(target).files()), "what was written for it is deleted"


@DOORS
def test_repeated_batch_is_skipped_silently(spark: Any, tmp_path: Path, through: Door, caplog: pytest.LogCaptureFixture) -> None:
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    for first in (0, 5):
        lbs.write(spark.range(first, first + 5), source)
        through(spark, source, target, checkpoint)
    forget_commit(checkpoint, 1)
    lbs.write(spark.range(10, 15), source)
    with caplog.at_level(logging.WARNING, "lakebed"):
        through(spark, source, target, checkpoint)
    assert (ids(target), caplog.records) == (list(range(15)), [])


@DOORS
def test_row_counts_distinguish_batches_without_offsets(
    spark: Any, tmp_path: Path, through: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    lbs.write(spark.range(0, 5), source)
    if through is by_sink:
        # Only the JVM understands the address, as with an address on HDFS. The folder does not
        # exist.
        address = Path(f"{tmp_path}/nowhere/../checkpoint")
        assert not address.exists()
    else:
        address = checkpoint
        monkeypatch.setattr("lakebed.spark.repeats._offsets", lambda *_: None)
    through(spark, source, target, address)
    shutil.copytree(checkpoint, tmp_path / "older")
    lbs.write(spark.range(5, 10), source)
    through(spark, source, target, address)
    forget_commit(checkpoint, 1)
    with told(caplog) as said:
        through(spark, source, target, address)
    if through is by_foreach:
        assert "is skipped with 5 rows: the table has a batch with this number and the same number of rows" in said()
    assert ids(target) == list(range(10))
    lbs.write(spark.range(10, 15), source)
    shutil.rmtree(checkpoint)
    (tmp_path / "older").rename(checkpoint)
    with pytest.raises(
        Exception, match=r"batch 1 of stream .* has 10 rows, and the batch with this number in the table had 5.*repeats"
    ):
        through(spark, source, target, address)
    assert ids(target) == list(range(10))
    # With this option, lakebed does not compare row counts.
    with told(caplog) as said:
        through(spark, source, target, address, repeats="trust")
    assert said() == ""
    lbs.write(spark.range(15, 16), source)
    through(spark, source, target, address)
    assert ids(target) == [*range(10), 15]


def test_batch_of_other_engine_warns(spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    lbs.write(spark.range(0, 5), source)
    options = {"txnAppId": "app", "txnVersion": "0"}
    spark.range(0, 5).write.format("delta").options(**options).save(str(target))
    with caplog.at_level(logging.WARNING, "lakebed"):
        by_foreach(spark, source, target, tmp_path / "checkpoint")
    [said] = [record.getMessage() for record in caplog.records]
    assert "batch 0 of stream 'app' is skipped with 5 rows: the table has a batch with this number" in said
    lbs.write(spark.range(5, 7), source)
    by_foreach(spark, source, target, tmp_path / "checkpoint")
    assert ids(target) == list(range(7))


def test_delta_spark_and_lakebed_continue_stream(spark: Any, tmp_path: Path) -> None:
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    for number, sink in enumerate(["lakebed", "delta", "delta", "lakebed", "lakebed"]):
        lbs.write(spark.range(number, number + 1), source)
        if number in (2, 4):
            forget_commit(checkpoint, number - 1)  # Spark repeats a batch of the same sink.
        rows = spark.readStream.format("delta").load(str(source))
        writer = rows.writeStream.format(sink).option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start(str(target)).awaitTermination()
        assert ids(target) == [row.id for row in spark.read.format("delta").load(str(target)).orderBy("id").collect()]
    assert ids(target) == [0, 1, 2, 3, 4]
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    assert lb.Table(target).transaction_version(query) == 4


def test_a_number_that_goes_back_is_told(spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in (2, 2):
        lbs.write(spark.range(1), tmp_path / "t", txn=("job", number))
    assert caplog.records == []
    with caplog.at_level(logging.WARNING, "lakebed"):
        assert not lbs.write(spark.range(1), tmp_path / "t", txn=("job", 1)).committed
    [said] = [record.getMessage() for record in caplog.records]
    assert "write 1 of application 'job' is skipped, because the table already has write 2 of it" in said


def test_what_repeats_may_be(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(lb.InvalidInputError, match="repeats='never': it must be one of check, trust"):
        lbs.foreach_batch(tmp_path, app_id="app", repeats="never")  # type: ignore[arg-type]
    lbs.write(spark.range(1), tmp_path / "source")
    with pytest.raises(Exception, match="option repeats='never': it must be one of check, trust"):
        by_sink(spark, tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint", repeats="never")


def file_of(folder: Path, name: str, ids: range) -> Path:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": list(ids)}), folder / name)
    return folder / name


@DOORS
@pytest.mark.parametrize("as_many", [False, True], ids=["more rows", "as many rows"])
def test_older_checkpoint_of_file_stream_fails(spark: Any, tmp_path: Path, through: Door, as_many: bool) -> None:
    """The offset of a file source is a number in its own checkpoint. Other files can have the same
    number.
    """
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    file_of(source, "a.parquet", range(1, 4))
    through(spark, source, target, checkpoint)
    shutil.copytree(checkpoint, tmp_path / "older")
    second = file_of(source, "b.parquet", range(4, 6))
    through(spark, source, target, checkpoint)
    shutil.copytree(checkpoint, tmp_path / "newer")
    if as_many:
        second.unlink()
    file_of(source, "c.parquet", range(6, 8))
    shutil.rmtree(checkpoint)
    (tmp_path / "older").rename(checkpoint)
    with pytest.raises(Exception, match=r"batch 1 of stream .* it ends at other offsets of its source.*an older copy"):
        through(spark, source, target, checkpoint)
    assert ids(target) == list(range(1, 6))
    shutil.rmtree(checkpoint)
    (tmp_path / "newer").rename(checkpoint)
    forget_commit(checkpoint, 1)
    through(spark, source, target, checkpoint)
    assert ids(target) == list(range(1, 8))


def test_file_count_offset_needs_the_files(tmp_path: Path) -> None:
    logged = 'v1\n{"batchTimestampMs":5}\n{"kafka":{"0":7}}\n{"logOffset":3}'
    told_of = repeats._offsets(logged, {"sources/1/3": "one"}.get)
    assert told_of == repeats._offsets(logged.replace("5", "6"), {"sources/1/3": "one"}.get)
    assert told_of not in (None, repeats._offsets(logged, {"sources/1/3.compact": "other"}.get))
    assert repeats._offsets(logged, {"sources/0/3": "one", "sources/1/2": "one"}.get) is None
    assert repeats._offsets(logged.replace('{"logOffset":3}', '{"a":{"logOffset":3}}'), {"sources/1/3": "one"}.get) is None
    assert repeats._offsets('v1\n{}\n{"kafka":{"0":7}}\n-', {}.get) == '{"kafka":{"0":7}}\n-'


def streamed(spark: Any, source: Path, checkpoint: Path, function: Callable[[Any, int], None]) -> None:
    writer = rows_of(spark, source).writeStream.foreachBatch(function).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


def test_repeat_at_same_offsets_is_unread(spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    lbs.write(spark.range(0, 9, 1, 1), source)
    write_batch = lbs.foreach_batch(tmp_path / "target", app_id="app")

    def fail(rows: Any) -> Any:
        raise AssertionError("the rows of a repeat are read")

    streamed(spark, source, checkpoint, write_batch)
    forget_commit(checkpoint, 0)
    with told(caplog) as said:
        streamed(spark, source, checkpoint, lambda df, number: write_batch(df.mapInArrow(fail, df.schema), number))
    assert (said(), ids(tmp_path / "target")) == ("", list(range(9)))


@DOORS
def test_trust_is_in_rows_alone(spark: Any, tmp_path: Path, through: Door) -> None:
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    lbs.write(spark.range(0, 5), source)
    through(spark, source, target, checkpoint, repeats="trust")
    shutil.copytree(checkpoint, tmp_path / "older")
    lbs.write(spark.range(5, 10), source)
    through(spark, source, target, checkpoint, repeats="trust")
    lbs.write(spark.range(10, 15), source)
    if through is by_foreach:
        with pytest.raises(Exception, match="belongs to another query"):
            through(spark, source, target, tmp_path / "new", repeats="trust")
    shutil.rmtree(checkpoint)
    (tmp_path / "older").rename(checkpoint)
    with pytest.raises(Exception, match="it ends at other offsets of its source"):
        through(spark, source, target, checkpoint, repeats="trust")
    assert ids(target) == list(range(10))


def test_thread_pool_knows_query_and_offsets(spark: Any, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    targets = [tmp_path / "even", tmp_path / "odd"]
    lbs.write(spark.range(0, 6), source)

    def write(df: Any, number: int) -> None:
        with ThreadPoolExecutor(2) as pool:
            writes = [lbs.foreach_batch(target, app_id="app") for target in targets]
            list(pool.map(lambda part: writes[part](df.where(f"id % 2 = {part}"), number), range(2)))

    other = spark.readStream.format("rate").load().writeStream.foreachBatch(lambda df, number: None).start()
    try:
        streamed(spark, source, checkpoint, write)
        shutil.copytree(checkpoint, tmp_path / "older")
        lbs.write(spark.range(6, 8), source)
        streamed(spark, source, checkpoint, write)
        lbs.write(spark.range(8, 10), source)
        for copy, said in ((tmp_path / "older", "ends at other offsets"), (tmp_path / "new", "belongs to another query")):
            with pytest.raises(Exception, match=said):
                streamed(spark, source, copy, write)
        streamed(spark, source, checkpoint, write)
    finally:
        other.stop()
    assert [ids(target) for target in targets] == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


def test_second_write_of_batch_needs_name(spark: Any, tmp_path: Path) -> None:
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    lbs.write(spark.range(0, 6), source)

    def halves(df: Any, number: int, *names: str, times: int = 1) -> None:
        for part, name in enumerate(names):
            for _ in range(times):
                lbs.foreach_batch(target, app_id=name)(df.where(F.col("id") % 2 == part), number)

    with pytest.raises(
        Exception, match=r"this is a second write of batch 0 of stream 'app', with other rows.*an app_id of its own"
    ):
        streamed(spark, source, checkpoint, lambda df, number: halves(df, number, "app", "app"))
    assert ids(target) == [0, 2, 4]
    # The function is corrected, and the batch is repeated. No row is lost, and writing the same
    # rows again changes nothing.
    streamed(spark, source, checkpoint, lambda df, number: halves(df, number, "app", "other", times=2))
    assert ids(target) == list(range(6))


def test_a_write_that_failed_is_none(spark: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    lbs.write(spark.range(0, 6), source)
    write_batch = lbs.foreach_batch(target, app_id="app")

    def write(df: Any, number: int) -> None:
        with pytest.raises(lb.InvalidInputError):
            write_batch(df.selectExpr("id", "id AS ID"), number)
        write_batch(df, number)

    streamed(spark, source, tmp_path / "checkpoint", write)
    assert ids(target) == list(range(6))


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"app_id": None}, TypeError, "app_id=None: a value is required"),
        ({"app_id": 5}, TypeError, "app_id=5: it must be a string"),
        ({"app_id": " "}, lb.InvalidInputError, "the name of the stream is empty"),
        ({"mode": "ignore"}, lb.InvalidInputError, "mode='ignore': a stream must append"),
        ({"mode": "Error"}, lb.InvalidInputError, "mode='Error': a stream must append"),
        ({"mode": None}, TypeError, "mode=None: a value is required"),
        ({"target_file_size": 0}, lb.InvalidInputError, "target_file_size=0"),
    ],
    ids=str,
)
def test_foreach_batch_refuses_invalid_arguments_early(
    tmp_path: Path, options: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        lbs.foreach_batch(tmp_path / "t", **{"app_id": "app", **options})


def test_what_is_no_batch_is_refused(spark: Any, tmp_path: Path) -> None:
    write_batch: Any = lbs.foreach_batch(tmp_path / "t", app_id="app")
    with pytest.raises(TypeError, match="df must be a Spark DataFrame, not a pandas"):
        write_batch(pd.DataFrame({"id": [1]}), 0)
    for number, kind in ((None, TypeError), ("0", TypeError), (True, TypeError), (-1, lb.InvalidInputError)):
        with pytest.raises(kind, match="batch_id="):
            write_batch(spark.range(1), number)
    assert not (tmp_path / "t").exists()
