"""A batch that Spark repeats is passed over; one that only has its number in common with a known one is refused, and its rows are not lost."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lakebed as lb
import lakebed.spark as lbs

pytestmark = pytest.mark.spark

#: A stream from a table to a table, up to now: the two paths, the checkpoint, and options of the sink. The source is Delta Spark's, which needs no
#: process of its own.
Door = Callable[..., None]


def by_sink(spark: Any, source: Path, target: Path, checkpoint: Path, **options: str) -> None:
    options.pop("app_id", None)
    rows = spark.readStream.format("delta").load(str(source))
    writer = rows.writeStream.format("lakebed").option("checkpointLocation", str(checkpoint)).options(**options)
    writer.trigger(availableNow=True).start(str(target)).awaitTermination()


def by_foreach(spark: Any, source: Path, target: Path, checkpoint: Path, app_id: str = "app", **options: str) -> None:
    rows = spark.readStream.format("delta").load(str(source))
    write_batch: Any = lbs.foreach_batch(target, app_id=app_id, **options)
    writer = rows.writeStream.foreachBatch(write_batch).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


DOORS = pytest.mark.parametrize("through", [by_sink, by_foreach])


@pytest.fixture(autouse=True)
def registered(spark: Any) -> None:
    lbs.register(spark)


def ids(path: Path) -> list[int]:
    return sorted(lb.Table(path).to_arrow(["id"]).column("id").to_pylist())


def forget_commit(checkpoint: Path, number: int) -> None:
    """As if Spark had died after the table's commit of a batch, and before its own."""
    (checkpoint / "commits" / str(number)).unlink()
    (checkpoint / "commits" / f".{number}.crc").unlink(missing_ok=True)


def test_a_new_checkpoint_under_a_known_name_is_refused(spark: Any, tmp_path: Path) -> None:
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
    # Also where its number is a new one.
    by_foreach(spark, one, target, tmp_path / "a", app_id="a")
    lbs.write(spark.range(7, 9), one)
    with pytest.raises(Exception, match="batch 1 of stream 'app' belongs to another query: the table has batch 0"):
        by_foreach(spark, one, target, tmp_path / "a")
    assert ids(target) == [*range(7), *range(100, 110)]


@DOORS
def test_a_copy_of_a_checkpoint_that_is_one_batch_old_is_refused(spark: Any, tmp_path: Path, through: Door) -> None:
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
def test_a_batch_that_spark_repeats_is_passed_over_in_silence(
    spark: Any, tmp_path: Path, through: Door, caplog: pytest.LogCaptureFixture
) -> None:
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
def test_rows_tell_batches_apart_where_offsets_are_not_told(
    spark: Any, tmp_path: Path, through: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    lbs.write(spark.range(0, 5), source)
    if through is by_sink:
        # An address that only the JVM understands, as one on HDFS is: there is no such folder to leave.
        address = Path(f"{tmp_path}/nowhere/../checkpoint")
        assert not address.exists()
    else:
        address = checkpoint
        monkeypatch.setattr("lakebed.spark.repeats._offsets", lambda logged: None)
    through(spark, source, target, address)
    shutil.copytree(checkpoint, tmp_path / "older")
    lbs.write(spark.range(5, 10), source)
    through(spark, source, target, address)
    forget_commit(checkpoint, 1)
    through(spark, source, target, address)
    assert ids(target) == list(range(10))
    lbs.write(spark.range(10, 15), source)
    shutil.rmtree(checkpoint)
    (tmp_path / "older").rename(checkpoint)
    with pytest.raises(Exception, match=r"batch 1 of stream .* has 10 rows, and the one that the table has had 5.*repeats"):
        through(spark, source, target, address)
    assert ids(target) == list(range(10))
    # Who knows better says so.
    through(spark, source, target, address, repeats="trust")
    lbs.write(spark.range(15, 16), source)
    through(spark, source, target, address)
    assert ids(target) == [*range(10), 15]


def test_batches_of_other_engines_are_passed_over_with_a_warning(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    lbs.write(spark.range(0, 5), source)
    options = {"txnAppId": "app", "txnVersion": "0"}
    spark.range(0, 5).write.format("delta").options(**options).save(str(target))
    with caplog.at_level(logging.WARNING, "lakebed"):
        by_foreach(spark, source, target, tmp_path / "checkpoint")
    [said] = [record.getMessage() for record in caplog.records]
    assert "batch 0 of stream 'app' is passed over with 5 rows: the table has a batch of this number" in said
    lbs.write(spark.range(5, 7), source)
    by_foreach(spark, source, target, tmp_path / "checkpoint")
    assert ids(target) == list(range(7))


def test_delta_spark_goes_on_with_the_stream_and_lakebed_after_it(spark: Any, tmp_path: Path) -> None:
    source, target, checkpoint = tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint"
    for number, sink in enumerate(["lakebed", "delta", "delta", "lakebed", "lakebed"]):
        lbs.write(spark.range(number, number + 1), source)
        if number in (2, 4):
            forget_commit(checkpoint, number - 1)  # which repeats a batch of the same sink
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
    assert "write 1 of application 'job' is passed over, because the table has write 2 of it" in said


def test_what_repeats_may_be(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(lb.InvalidInputError, match="repeats='never': it must be one of check, trust"):
        lbs.foreach_batch(tmp_path, app_id="app", repeats="never")  # type: ignore[arg-type]
    lbs.write(spark.range(1), tmp_path / "source")
    with pytest.raises(Exception, match="option repeats='never': it must be one of check, trust"):
        by_sink(spark, tmp_path / "source", tmp_path / "target", tmp_path / "checkpoint", repeats="never")
