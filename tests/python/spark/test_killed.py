"""Kills the driver and the workers of streams, while other threads write, compact and vacuum the
table.

`LAKEBED_KILLS` is the number of kills of a driver. They hit a batch of the sink and a batch of
`foreach_batch` in turn.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from processes import environment

import duck
import lakebed as lb
from settings import configured

pytestmark = pytest.mark.spark

FOLLOWER = Path(__file__).with_name("follower.py")
KILLS = int(os.environ.get("LAKEBED_KILLS", "2"))
WRITERS = 2
#: The streams by their targets. The first writes with the sink of `format("lakebed")`, the second
#: with `foreach_batch`.
STREAMS = ("middle", "sink")
#: The seconds for which VACUUM keeps a removed file, or a file that no version names. Every write
#: of the source commits its files sooner.
RETENTION = 30
#: The greatest age in seconds of the version that the stream reads next, for VACUUM to run. VACUUM
#: must begin within the rest of the retention period.
LARGEST_LAG = 10
SCHEMA = pa.schema({"id": pa.int64(), "value": pa.int64()})


def value(id: int) -> int:
    """Computes a value from an id. A row with columns of two different rows does not have this
    value.
    """
    return id * 2654435761 % 1_000_003


class Upstream:
    """Two threads that append to a table until they are stopped."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.ids: list[list[int]] = [[] for _ in range(WRITERS)]
        self.failed: list[BaseException] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]

    def __enter__(self) -> Upstream:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        chance = random.Random(number)
        written = self.ids[number]
        try:
            while not self._over.is_set():
                ids = [(len(written) + place) * WRITERS + number for place in range(chance.randrange(1, 40))]
                lb.write(self.path, pa.table({"id": ids, "value": list(map(value, ids))}, SCHEMA))
                written += ids
                self._over.wait(chance.uniform(0, 2))
        except BaseException as failed:
            self.failed.append(failed)


@contextmanager
def follower(what: str, lake: Path, log: Path) -> Iterator[subprocess.Popen[str]]:
    """Starts the driver in a process group of its own. At the end, ends the driver and all
    processes that it started.
    """
    with log.open("a") as errors:
        started = subprocess.Popen(
            [sys.executable, str(FOLLOWER), what, str(lake)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    try:
        yield started
    finally:
        # The parent of the workers has a process group of its own. It ends when its JVM ends.
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def workers(session: int) -> list[int]:
    """Returns the Python processes that run tasks, and their parent process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(") ", 1)[1].split()
            command = stat.with_name("cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(words[3]) == session and b"pyspark.daemon" in command:
            found.append(int(stat.parent.name))
    return found


def passed(lake: Path, stream: str) -> int | None:
    """Returns the version of its source up to which a stream has noted its batches as done. Returns
    None if the stream is not past the first snapshot.
    """
    checkpoint = lake / "checkpoints" / stream
    done = [int(found.name) for found in (checkpoint / "commits").glob("[0-9]*")]
    if not done:
        return None
    offset = json.loads((checkpoint / "offsets" / str(max(done))).read_text().splitlines()[-1])
    return None if offset["isStartingVersion"] else offset["reservoirVersion"]


def unfinished(lake: Path, stream: str) -> int:
    """Returns how many batches a stream has begun and not noted as done."""
    offsets, commits = (
        {found.name for found in (lake / "checkpoints" / stream / part).glob("[0-9]*")} for part in ("offsets", "commits")
    )
    return len(offsets - commits)


def begins_a_batch(lake: Path, stream: str, driver: subprocess.Popen[str]) -> None:
    """Waits for the beginning of a batch."""
    until = time.monotonic() + 60
    for wanted in (False, True):
        while (unfinished(lake, stream) > 0) != wanted and time.monotonic() < until and driver.poll() is None:
            time.sleep(0.002)


def is_close(lake: Path) -> bool:
    """Returns whether the stream has read all of the source except the last seconds."""
    version = passed(lake, "middle")
    if version is None:
        return False
    commit = lake / "source" / "_delta_log" / f"{version:020}.json"
    return not commit.exists() or time.time() - commit.stat().st_mtime < LARGEST_LAG


def catches_up(lake: Path, driver: subprocess.Popen[str]) -> None:
    """Waits at most a minute until the stream has read all of the source except the last seconds."""
    until = time.monotonic() + 60
    while not is_close(lake) and time.monotonic() < until and driver.poll() is None:
        time.sleep(0.05)


def vacuum(spark: Any, lake: Path) -> None:
    """Removes old files of the source with Delta Spark's VACUUM, unless the stream may still read
    them.

    A property of the table sets the retention period, because `RETAIN` rounds to whole hours.
    """
    if is_close(lake):
        spark.sql(f"VACUUM delta.`{lake}/source`")


@pytest.fixture
def settings(spark: Any) -> Iterator[None]:
    """Lets Delta Spark's VACUUM keep files for less than a week, and list a folder in two tasks
    instead of ten thousand.
    """
    names = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }
    with configured(spark, names):
        yield


@pytest.mark.usefixtures("settings")
def test_no_row_is_lost_or_doubled(spark: Any, tmp_path: Path) -> None:
    for table in ("source", "middle", "sink"):
        properties = {"delta.checkpointInterval": 7, "delta.deletedFileRetentionDuration": f"interval {RETENTION} seconds"}
        lb.create(tmp_path / table, SCHEMA, properties=properties)
    log = tmp_path / "follower.log"
    chance = random.Random(KILLS)
    upkeep: list[Callable[[], object]] = [
        lambda: spark.sql(f"OPTIMIZE delta.`{tmp_path}/source`"),
        lambda: vacuum(spark, tmp_path),
        lambda: spark.sql(f"OPTIMIZE delta.`{tmp_path}/middle`"),
    ]
    killed_in_a_batch = dict.fromkeys(STREAMS, 0)
    with Upstream(str(tmp_path / "source")) as upstream:
        for kill in range(KILLS):
            with follower("follow", tmp_path, log) as driver:
                assert driver.stdout is not None
                assert driver.stdout.readline() == "following\n", log.read_text()[-3000:]
                catches_up(tmp_path, driver)
                for work in chance.sample(upkeep, len(upkeep)):
                    work()
                    time.sleep(chance.uniform(0, 2))
                    running = workers(driver.pid)
                    # A killed worker that plans for the driver makes its stream fail.
                    if running and chance.random() < 0.5:
                        with suppress(ProcessLookupError):
                            os.kill(chance.choice(running), signal.SIGKILL)
                assert "lakebed.errors" not in log.read_text(), log.read_text()[-3000:]
                begins_a_batch(tmp_path, STREAMS[kill % 2], driver)
                time.sleep(chance.uniform(0, 0.3))
            for stream in STREAMS:
                killed_in_a_batch[stream] += unfinished(tmp_path, stream)
        for work in upkeep:
            work()
    assert not upstream.failed
    assert KILLS == 0 or sum(killed_in_a_batch.values()) > 0, killed_in_a_batch
    with follower("finish", tmp_path, log) as driver:
        assert driver.wait(timeout=300) == 0, log.read_text()[-3000:]
    # All writers have stopped. VACUUM deletes every file that was compacted before the last batch
    # of the stream, and the stream continues.
    spark.sql(f"VACUUM delta.`{tmp_path}/source` RETAIN 0 HOURS")
    late = max(upstream.ids[0]) + WRITERS
    lb.write(tmp_path / "source", pa.table({"id": [late], "value": [value(late)]}, SCHEMA))
    upstream.ids[0].append(late)
    with follower("finish", tmp_path, log) as driver:
        assert driver.wait(timeout=300) == 0, log.read_text()[-3000:]

    ids = sorted(id for written in upstream.ids for id in written)
    expected = (len(ids), len(set(ids)), sum(map(value, ids)))
    counted = "SELECT count(*), count(DISTINCT id), CAST(sum(value) AS BIGINT) FROM"
    with duck.connect() as connection:
        for table in ("source", "middle", "sink"):
            assert connection.sql(f"{counted} delta_scan('{tmp_path / table}')").fetchall() == [expected], table
            assert [tuple(row) for row in spark.sql(f"{counted} delta.`{tmp_path}/{table}`").collect()] == [expected], table
            found = lb.Table(tmp_path / table).to_arrow().to_pydict()
            assert sorted(zip(found["id"], found["value"], strict=True)) == [(id, value(id)) for id in ids], table
    operations = [commit.operation for commit in lb.Table(tmp_path / "source").history()]
    assert "OPTIMIZE" in operations
    log_files = (tmp_path / "source" / "_delta_log").glob("*.json")
    added = {action["add"]["path"] for found in log_files for line in found.open() if "add" in (action := json.loads(line))}
    on_disk = {found.name for found in (tmp_path / "source").glob("*.parquet")}
    assert on_disk < added, "vacuum removed some"
    print(
        f"{len(ids)} rows, {len(operations)} versions, {len(added - on_disk)} files vacuumed, {killed_in_a_batch} batches cut off by {KILLS} kills"
    )
