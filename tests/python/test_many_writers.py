"""Many writers at once, and writers that are killed: nothing is refused, lost or doubled, and the table can always be read."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

import lakebed as lb

PROCESSES, THREADS, APPENDS = 16, 4, 2_000
KILLS = 200

#: A process that has everything imported, and forks a writer for each number on its input. The writer tells its id, then each row that it
#: has appended.
NURSERY = """
import os, sys, pyarrow as pa, lakebed as lb
pa.array([1])  # imports pandas, which takes longer than all the rest
def say(word):  # in one write, which no kill can cut
    os.write(1, f"{word}\\n".encode())
for line in sys.stdin:
    writer = os.fork()
    if writer == 0:
        say(os.getpid())
        table = lb.Table(sys.argv[1])
        for number in range(int(line), int(line) + 10_000):
            table.append(pa.table({"id": [number]}))
            say(number)
    os.waitpid(writer, 0)
    say("gone")
"""


def _append(path: str, first: int, count: int, start: Any, refused: Any) -> None:
    """Some threads of one process, each with numbers of its own."""
    import threading

    def work(first: int) -> None:
        table = lb.Table(path)
        for number in range(first, first + count):
            try:
                # Both ways: on an open table, and on one that is opened for it.
                table.append(pa.table({"id": [number]})) if number % 2 else lb.write(path, pa.table({"id": [number]}))
            except lb.LakebedError as error:
                refused.put(f"{number}: {error}")

    threads = [threading.Thread(target=work, args=(first + thread * count,)) for thread in range(THREADS)]
    start.wait()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_sixty_four_writers_append_two_thousand_times(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    lb.create(path, pa.schema([("id", pa.int64())]))
    context = multiprocessing.get_context("spawn")
    start, refused = context.Barrier(PROCESSES), context.Queue()
    count = -(-APPENDS // (PROCESSES * THREADS))
    processes = [
        context.Process(target=_append, args=(path, number * THREADS * count, count, start, refused))
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    assert refused.empty(), refused.get()
    expected = list(range(PROCESSES * THREADS * count))
    assert sorted(lb.Table(path).to_arrow()["id"].to_pylist()) == expected
    assert sorted(pa.table(DeltaTable(path).to_pyarrow_table())["id"].to_pylist()) == expected
    files = Counter(row["path"] for row in _adds(path))
    assert len(files) == len(expected)
    assert set(files.values()) == {1}


def _adds(path: str) -> list[dict[str, Any]]:
    """Every `add` of the log, read without lakebed."""
    import json

    lines = [line for file in sorted((Path(path) / "_delta_log").glob("*.json")) for line in file.read_text().splitlines()]
    return [action["add"] for action in map(json.loads, lines) if "add" in action]


def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path, dice = str(tmp_path / "t"), random.Random(7)
    lb.create(path, pa.schema([("id", pa.int64())]))
    acknowledged: list[int] = []
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for kill in range(KILLS):
            print(kill * 10_000, file=nursery.stdin, flush=True)
            writer = int(nursery.stdout.readline())
            # The first number says that it works; the moment after that is anybody's.
            acknowledged.append(int(nursery.stdout.readline()))
            time.sleep(dice.uniform(0, 0.03))
            os.kill(writer, signal.SIGKILL)
            while (line := nursery.stdout.readline().strip()) != "gone":
                acknowledged.append(int(line))
        nursery.stdin.close()
    found = Counter(lb.Table(path).to_arrow()["id"].to_pylist())
    assert set(found.values()) == {1}
    assert set(acknowledged) <= set(found)
    # Of each writer at most the one append is there that it could not acknowledge any more.
    assert len(found) - len(acknowledged) <= KILLS
    assert sorted(pa.table(DeltaTable(path).to_pyarrow_table())["id"].to_pylist()) == sorted(found)
    log = Path(path) / "_delta_log"
    assert sorted(int(file.stem) for file in log.glob("*.json")) == list(range(lb.Table(path).version + 1))
