"""The behaviour of the Python API besides the rows: streams, threads, forks, pickles, Ctrl-C,
logging, errors, types.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed as lb

ROOT = Path(__file__).parents[2]
TRIPS = ROOT / "examples" / "trips"


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TRIPS, tmp_path / "trips"))


def ids(source: object) -> list[int]:
    return sorted(pa.table(source)["id"].to_pylist())


def test_every_door_gives_the_same_rows() -> None:
    table = lb.Table(TRIPS)
    scan = table.scan(where="id > 3")
    expected = [4, 5, 6, 7]
    assert ids(scan) == expected
    assert sorted(scan.to_arrow()["id"].to_pylist()) == expected
    assert sorted(scan.to_pandas()["id"]) == expected
    assert sorted(scan.to_polars()["id"]) == expected
    assert sorted(pl.DataFrame(scan)["id"]) == expected
    assert sorted(row[0] for row in scan.to_duckdb().project("id").fetchall()) == expected
    assert sorted(row[0] for row in duckdb.sql("SELECT id FROM scan").fetchall()) == expected
    assert sorted(value for batch in scan.to_reader() for value in batch["id"].to_pylist()) == expected
    assert ids(pa.RecordBatchReader.from_stream(scan)) == expected
    assert scan.count() == len(expected)


def test_metrics_are_those_of_extension() -> None:
    table = lb.write("memory://api/metrics", pa.table({"id": [1, 2]})).table
    handle = table._table
    found = {
        lb.WriteMetrics: handle.write_rows({"mode": "append"}, pa.table({"id": [3]}))[2],
        lb.ChangeMetrics: handle.delete_rows({"where": "id = 1"})[2],
        lb.OptimizeMetrics: handle.optimize({})[2],
        lb.VacuumMetrics: handle.vacuum({})[1],
        lb.EraseMetrics: handle.erase({"where": "id = 2"})[2],
    }
    for declared, metrics in found.items():
        assert {field.name for field in dataclasses.fields(declared)} == set(metrics)


def test_scan_is_read_again_stream_once() -> None:
    scan = lb.Table(TRIPS).scan()
    assert ids(scan) == ids(scan) == [1, 3, 4, 5, 6, 7]
    reader = scan.to_reader()
    reader.read_all()
    assert reader.read_all().num_rows == 0


def test_scan_schema_is_known_before_reading() -> None:
    table = lb.Table(TRIPS)
    assert table.schema == pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("day", pa.date32())])
    scan = table.scan(columns=["day", "id"])
    assert scan.schema == scan.to_arrow().schema == pa.schema([("day", pa.date32()), ("id", pa.int64())])
    assert pa.schema(table) == table.schema


def test_unknown_column_is_named_case_ignored() -> None:
    table = lb.Table(TRIPS)
    assert table.scan(columns=["ID"], where="CITY = 'Oslo'").to_arrow().column(0).to_pylist() == [6]
    with pytest.raises(lb.LakebedError, match="cty"):
        table.scan(columns=["cty"]).to_arrow()
    with pytest.raises(lb.PredicateError, match="cty"):
        table.scan(where="cty = 'Oslo'").to_arrow()
    assert table.scan(columns="city").to_arrow().column_names == ["city"]


def test_limits() -> None:
    table = lb.Table(TRIPS)
    assert table.scan(limit=0).to_arrow().num_rows == 0
    assert table.scan(limit=4).to_arrow().num_rows == table.scan(limit=4).count() == 4
    assert table.scan(limit=100).to_arrow().num_rows == table.scan(limit=100).count() == 6
    assert table.scan(where="fare > 10", limit=1).to_arrow().num_rows == 1


def test_an_empty_result_keeps_its_schema() -> None:
    result = lb.Table(TRIPS).scan(columns=["city"], where="id < 0").to_arrow()
    assert result.num_rows == 0
    assert result.schema == pa.schema([("city", pa.string())])
    assert lb.Table(TRIPS).scan(columns=[]).to_arrow().num_rows == 6


def test_time_travel(trips: Path) -> None:
    for version in range(4):
        os.utime(trips / "_delta_log" / f"{version:020}.json", (1_700_000_000 + version * 60,) * 2)
    at = datetime.fromtimestamp(1_700_000_100, tz=timezone.utc)
    assert lb.Table(trips, timestamp=at).version == 1
    assert lb.Table(trips, timestamp=at.isoformat()).version == 1
    assert lb.Table(trips, timestamp="2023-11-14T22:13:20Z").version == 0
    assert [lb.Table(trips, version=version).count() for version in range(4)] == [4, 6, 5, 6]
    with pytest.raises(lb.VersionNotFoundError, match=r"2023-11-14T22:13:19\.000Z is before .* version 0 at 2023-11-14T22:13:20"):
        lb.Table(trips, timestamp="2023-11-14T22:13:19Z")
    with pytest.raises(lb.VersionNotFoundError, match=r"2033-01-01T00:00:00\.000Z is after .* version 3 at 2023-11-14T22:16:20"):
        lb.Table(trips, timestamp="2033-01-01T00:00:00Z")
    with pytest.raises(lb.VersionNotFoundError, match="version 9 "):
        lb.Table(trips, version=9)
    with pytest.raises(lb.InvalidInputError, match=r"^version=-1: "):
        lb.Table(trips, version=-1)
    with pytest.raises(ValueError, match="zone"):
        lb.Table(trips, timestamp="2023-11-14T22:13:20")
    with pytest.raises(TypeError, match="give version, timestamp or tag, not several of them"):
        lb.Table(trips, version=1, timestamp=at)


def test_history_and_detail(trips: Path) -> None:
    table = lb.Table(trips)
    history = table.history()
    assert [entry.version for entry in history] == [3, 2, 1, 0]
    assert [entry.operation for entry in history[:2]] == ["WRITE", "DELETE"]
    assert table.history(limit=1)[0].version == 3
    assert [entry.version for entry in lb.Table(trips, version=1).history()] == [1, 0]
    assert pa.table(history).num_rows == 4
    assert "DELETE" in repr(history)
    assert "<table>" in history._repr_html_()
    detail = table.detail()
    assert (detail.name, detail.num_files, detail.partition_columns) == ("trips", 5, ("day",))
    assert detail.size_bytes == sum(table.files()["size_bytes"].to_pylist())
    assert detail.protocol.min_reader_version == 1
    assert "day" in table._repr_html_()


def test_files_have_typed_partition_values() -> None:
    files = lb.Table(TRIPS).scan(where="day = '2026-03-03'").files()
    assert files.schema.field("partition").type == pa.struct([("day", pa.date32())])
    assert files["num_records"].to_pylist() == [1, 1]
    assert {str(row["day"]) for row in files["partition"].to_pylist()} == {"2026-03-03"}


def test_explain_says_what_was_skipped_by_what() -> None:
    found = lb.Table(TRIPS).scan(where="day = DATE '2026-03-02' AND id = 5").explain()
    assert (found.files, found.skipped_by_partition, found.skipped_by_statistics) == (1, 3, 1)
    assert "skips 3 files by partition" in str(found)
    assert str(found).splitlines()[-2:] == [
        "  `day = DATE '2026-03-02'` skips 3 by partition; the rest may match: the values of day allow it",
        "  `id = 5` skips 1 by statistics; the rest may match: the statistics of id allow it",
    ]


def test_explain_says_why_a_condition_skips_nothing() -> None:
    found = lb.Table(TRIPS).scan(where="city LIKE '%x' AND id > 1000").explain()
    assert [(one.skipped_by_partition, one.skipped_by_statistics, one.reason) for one in found.conjuncts] == [
        (0, 4, None),
        (0, 1, None),
    ]
    # If all rows of a file have the same city, the pattern is computed for this value.
    conjunct = lb.Table(TRIPS).scan(where="city LIKE '%x'").explain().conjuncts[0]
    assert (conjunct.skipped_by_statistics, conjunct.reason) == (4, "the statistics of city allow it")
    reason = lb.Table(TRIPS).scan(where="size(array(fare)) = 2").explain().conjuncts[0].reason
    assert reason is not None
    assert reason.startswith("size does not keep the order of its arguments")


def test_refresh_returns_new_handle(trips: Path) -> None:
    last = trips / "_delta_log" / f"{3:020}.json"
    text = last.read_text()
    last.unlink()
    old = lb.Table(trips)
    assert old.refresh() == old
    last.write_text(text)
    new = old.refresh()
    assert (old.version, new.version) == (2, 3)
    assert (old.count(), new.count()) == (5, 6)


def test_refresh_detects_replaced_table(trips: Path) -> None:
    table = lb.Table(trips, version=0)
    for version in range(1, 4):
        (trips / "_delta_log" / f"{version:020}.json").unlink()
    first = trips / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["id"] = "another"
    first.write_text("\n".join(json.dumps(line) for line in lines if "add" not in line))
    (trips / "_delta_log" / f"{1:020}.json").write_text('{"commitInfo":{}}')
    assert table.refresh().version == 1


def test_pickles_hold_no_secrets() -> None:
    table = lb.Table(TRIPS, version=1, storage_options={"aws_secret_access_key": "hush", "timeout": "30s"})
    pickled = pickle.dumps(table)
    assert b"hush" not in pickled
    again = pickle.loads(pickled)
    assert again == table
    assert again.count() == 6
    assert "hush" not in repr(table)


def test_threads_share_a_handle() -> None:
    table = lb.Table(TRIPS)
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda _: table.to_arrow().num_rows, range(64)))
    assert set(counts) == {6}


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_processes_share_a_handle(how: str) -> None:
    table = lb.Table(TRIPS)
    assert table.count() == 6
    with multiprocessing.get_context(how).Pool(2) as pool:
        assert pool.map(count_rows, [table] * 4) == [6] * 4


def count_rows(table: lb.Table) -> int:
    return table.to_arrow().num_rows


def test_forked_child_reads_by_inherited_handle() -> None:
    table = lb.Table(TRIPS)
    table.to_arrow()
    child = os.fork()
    if child == 0:
        # The child must not run the parent's test session to its end.
        os._exit(0 if table.to_arrow().num_rows == 6 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_ctrl_c_ends_a_call(tmp_path: Path) -> None:
    """A store that never answers, and a signal after half a second."""
    script = """
import socket, threading, time, os, signal
import lakebed as lb
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
threading.Thread(target=lambda: (time.sleep(0.5), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
start = time.monotonic()
try:
    lb.Table("s3://bucket/table", storage_options={
        "endpoint": f"http://127.0.0.1:{port}", "allow_http": "true", "region": "us-east-1",
        "access_key_id": "a", "secret_access_key": "b"})
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 5)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "interrupted True", done.stderr
    assert signal.SIGINT


def test_warnings_go_to_logging(trips: Path, caplog: pytest.LogCaptureFixture) -> None:
    (trips / "_delta_log" / "_last_checkpoint").write_text("{")
    with caplog.at_level(logging.WARNING, logger="lakebed"):
        assert lb.Table(trips).count() == 6
    warnings = [record for record in caplog.records if record.name.startswith("lakebed")]
    assert len(warnings) == 1
    assert "_last_checkpoint" in warnings[0].getMessage()


def test_errors_are_also_the_standard_kind(tmp_path: Path, trips: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no Delta table") as missing:
        lb.Table(tmp_path / "nothing")
    assert isinstance(missing.value, lb.TableNotFoundError)
    data = next(trips.glob("day=2026-03-03/*.parquet"))
    data.unlink()
    with pytest.raises(lb.StoreError, match=data.name) as gone:
        lb.Table(trips).to_arrow()
    assert isinstance(gone.value, OSError)
    with pytest.raises(lb.StoreError, match=data.name):
        for _ in lb.Table(trips).to_reader():
            pass


def test_importing_brings_in_nothing_large() -> None:
    script = "import lakebed, sys; print([name for name in ('pyspark', 'pandas', 'polars', 'duckdb', 'pyarrow') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_tasks_read_everything_once_in_another_process() -> None:
    tasks = lb.Table(TRIPS).scan(columns=["id"], where="id <> 4").tasks(target_task_size=1)
    assert len(tasks) == 5
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = [value for part in pool.map(read_ids, tasks) for value in part]
    assert sorted(found) == [1, 3, 5, 6, 7]


def test_tasks_of_some_files() -> None:
    scan = lb.Table(TRIPS).scan(columns=["id"], row_columns=[("file_path", "path"), ("file_size", "size")])
    everything = scan.to_arrow()
    sizes = {path: (TRIPS / path).stat().st_size for path in everything["path"].to_pylist()}
    assert [sizes[path] for path in everything["path"].to_pylist()] == everything["size"].to_pylist()
    for path in sizes:
        rows = [row for row in everything.to_pylist() if row["path"] == path]
        assert [row for task in scan.tasks(paths=[path]) for row in lb.read_task(task).read_all().to_pylist()] == rows
    assert scan.tasks(paths=["no such file"]) == []


def read_ids(task: bytes) -> list[int]:
    return lb.read_task(task).read_all()["id"].to_pylist()


def test_a_reader_that_is_dropped_stops() -> None:
    before = threading.active_count()
    for _ in range(20):
        reader = lb.Table(TRIPS).to_reader()
        next(iter(reader))
        del reader
    assert threading.active_count() <= before + 1


def test_a_slow_consumer_holds_the_reader_back(tmp_path: Path) -> None:
    count = 1_500_000
    columns = {name: pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(os.urandom(8 * count))]) for name in "abcd"}
    lb.write(tmp_path / "t", pa.table(columns), row_group_rows=100_000)
    script = f"""
import lakebed as lb, time
def read():
    return int(open("/proc/self/io").read().split()[1])
task, = lb.Table({str(tmp_path / "t")!r}).scan().tasks(target_task_size=1 << 40)
before = read()
rows = iter(lb.read_task(task))
first = next(rows).num_rows
time.sleep(1)
early = read() - before
print(early, first + sum(batch.num_rows for batch in rows), read() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    early, rows, everything = map(int, done.stdout.split())
    assert rows == count
    assert everything > 8 * 4 * count
    assert early < everything / 2


def test_batches_survive_their_scan(tmp_path: Path) -> None:
    batch = next(iter(lb.Table(TRIPS).scan(columns=["city"]).to_reader()))
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == batch.num_rows
