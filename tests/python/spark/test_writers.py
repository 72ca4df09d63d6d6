"""Tests the writers of `format("lakebed")` without Spark: their options, and the files that they
delete on abort.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

import lakebed as lb
from lakebed.spark.options import Options
from lakebed.spark.source import Writer
from lakebed.spark.stream import StreamWriter

pytestmark = pytest.mark.spark

SCHEMA = StructType([StructField("id", LongType())])


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def data_files(path: str) -> int:
    return len(list(Path(path).glob("*.parquet")))


def batch_writer(path: str, overwrite: bool = False, **options: str) -> Any:
    return Writer(Options({"path": path, **options}), SCHEMA, overwrite)


def stream_writer(path: str, overwrite: bool = False, **options: str) -> Any:
    made = StreamWriter(Options({"path": path, **options}), SCHEMA, overwrite)
    # This restores the state that the pickle for tasks would have.
    made.__dict__.update(made.__getstate__())
    return made


def parts(writer: Any, count: int = 2) -> list[Any]:
    return [writer.write(iter([pa.record_batch({"id": [part]})])) for part in range(count)]


BATCH = [(batch_writer, ()), (stream_writer, (7,))]


@pytest.mark.parametrize(("make", "batch"), BATCH, ids=["batch", "stream"])
def test_abort_after_commit_keeps_files(path: str, make: Any, batch: tuple[int, ...]) -> None:
    writer = make(path)
    messages = parts(writer)
    writer.commit(messages, *batch)
    # Spark calls abort whatever happened in commit, also if only the answer of commit was lost.
    writer.abort(messages, *batch)
    assert sorted(lb.Table(path).to_arrow().column("id").to_pylist()) == [0, 1]


@pytest.mark.parametrize(("make", "batch"), BATCH, ids=["batch", "stream"])
def test_abort_after_failed_task_deletes_files(path: str, make: Any, batch: tuple[int, ...]) -> None:
    writer = make(path)
    messages = parts(writer)
    assert data_files(path) == 2
    writer.abort([*messages, None], *batch)
    assert data_files(path) == 0


@pytest.mark.parametrize("mode", ["append", "overwrite", "ignore"])
def test_stream_mode_is_its_output_mode(path: str, mode: str) -> None:
    for overwrite in (False, True):
        with pytest.raises(lb.InvalidInputError, match="its output mode"):
            stream_writer(path, overwrite, mode=mode)


@pytest.mark.parametrize("overwrite", [False, True], ids=["append", "overwrite"])
def test_options_are_checked_by_resulting_mode(path: str, overwrite: bool) -> None:
    """The option mode has more values than Spark's own mode, which is append or overwrite."""

    def taken(**options: str) -> tuple[Any, ...]:
        found = batch_writer(path, overwrite, **options)._options
        return found["mode"], found["partitions"], found["schema_mode"]

    replacing = {"mode": "overwrite"}
    assert taken(**replacing) == ("overwrite", None, "enforce")
    assert taken(**replacing, partitionOverwriteMode="dynamic") == ("overwrite", "dynamic", "enforce")
    assert taken(**replacing, overwriteSchema="true") == ("overwrite", None, "overwrite")
    assert taken(**replacing, overwriteSchema="true", mergeSchema="true") == ("overwrite", None, "overwrite")
    assert taken(**replacing, overwriteSchema="false", mergeSchema="true") == ("overwrite", None, "merge")
    assert taken(**replacing, schema_mode="overwrite", overwriteSchema="true") == ("overwrite", None, "overwrite")
    adding = {"mode": "append"}
    assert taken(**adding, mergeSchema="true", overwriteSchema="false") == ("append", None, "merge")
    assert taken(**adding, partitions="static") == ("append", "static", "enforce")
    with pytest.raises(lb.InvalidInputError, match=r"needs mode=\"overwrite\""):
        taken(**adding, partitionOverwriteMode="dynamic")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "append", "overwriteSchema": "true"}, "overwriteSchema=true.*overwrite"),
        ({"mode": "error", "overwriteSchema": "true"}, "overwriteSchema=true.*overwrite"),
        ({"mode": "append", "schema_mode": "enforce", "mergeSchema": "true"}, "schema_mode=enforce and mergeSchema=true"),
        ({"mode": "append", "schema_mode": "merge", "mergeSchema": "false"}, "schema_mode=merge and mergeSchema=false"),
        (
            {"mode": "overwrite", "schema_mode": "enforce", "overwriteSchema": "true"},
            "schema_mode=enforce and overwriteSchema=true",
        ),
        ({"mode": "overwrite", "schema_mode": "merge", "overwriteSchema": "true"}, "schema_mode=merge and overwriteSchema=true"),
        (
            {"mode": "overwrite", "schema_mode": "overwrite", "overwriteSchema": "false"},
            "schema_mode=overwrite and overwriteSchema=false",
        ),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else "",
)
def test_options_that_contradict_each_other_are_refused(path: str, options: dict[str, str], said: str) -> None:
    for overwrite in (False, True):
        with pytest.raises(lb.InvalidInputError, match=said):
            batch_writer(path, overwrite, **options)
