"""The writers of `format("lakebed")` without Spark: what they take for options, and what they delete when they are told to abort."""

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
    # As the one that is pickled for the tasks.
    made.__dict__.update(made.__getstate__())
    return made


def parts(writer: Any, count: int = 2) -> list[Any]:
    return [writer.write(iter([pa.record_batch({"id": [part]})])) for part in range(count)]


BATCH = [(batch_writer, ()), (stream_writer, (7,))]


@pytest.mark.parametrize(("make", "batch"), BATCH, ids=["batch", "stream"])
def test_abort_after_a_commit_leaves_the_files_that_the_table_names(path: str, make: Any, batch: tuple[int, ...]) -> None:
    writer = make(path)
    messages = parts(writer)
    writer.commit(messages, *batch)
    # Spark does so whatever happened in commit, also if only its answer was lost.
    writer.abort(messages, *batch)
    assert sorted(lb.Table(path).to_arrow().column("id").to_pylist()) == [0, 1]


@pytest.mark.parametrize(("make", "batch"), BATCH, ids=["batch", "stream"])
def test_abort_deletes_what_tasks_wrote_if_one_of_them_failed(path: str, make: Any, batch: tuple[int, ...]) -> None:
    writer = make(path)
    messages = parts(writer)
    assert data_files(path) == 2
    writer.abort([*messages, None], *batch)
    assert data_files(path) == 0


@pytest.mark.parametrize("mode", ["append", "overwrite", "ignore"])
def test_the_mode_of_a_stream_is_its_output_mode(path: str, mode: str) -> None:
    for overwrite in (False, True):
        with pytest.raises(lb.InvalidInputError, match="its output mode"):
            stream_writer(path, overwrite, mode=mode)
