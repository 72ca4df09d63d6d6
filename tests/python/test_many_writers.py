"""Many writers at once, and writers that are killed. No write is refused, lost or doubled, and the
table can always be read.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

import lakebed as lb
import writers

KILLS = 200

#: A process that has imported everything. It forks a writer for each number on its input. The
#: writer prints its process id, and then the number of each row that it has appended.
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


def test_sixty_four_writers_append_two_thousand_times(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    lb.create(path, pa.schema([("id", pa.int64())]))
    outcome = writers.append_at_once(path)
    writers.check_each_append_is_there_once(outcome, path, tmp_path / "t" / "_delta_log")


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
            # The first number shows that the writer works. The kill comes at a random moment after
            # it.
            acknowledged.append(int(nursery.stdout.readline()))
            time.sleep(dice.uniform(0, 0.03))
            os.kill(writer, signal.SIGKILL)
            while (line := nursery.stdout.readline().strip()) != "gone":
                acknowledged.append(int(line))
        nursery.stdin.close()
    found = Counter(lb.Table(path).to_arrow()["id"].to_pylist())
    assert set(found.values()) == {1}
    assert set(acknowledged) <= set(found)
    # A killed writer may have made one append that it could not acknowledge.
    assert len(found) - len(acknowledged) <= KILLS
    assert sorted(pa.table(DeltaTable(path).to_pyarrow_table())["id"].to_pylist()) == sorted(found)
    log = Path(path) / "_delta_log"
    assert sorted(int(file.stem) for file in log.glob("*.json")) == list(range(lb.Table(path).version + 1))
