"""Sixty-four writers that append to one table at once, and the check that each append is in the
table exactly once.

The acknowledged appends are compared with the log on a disk, read without lakebed, and with the
rows that lakebed and deltalake read.
"""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

import lakebed as lb

PROCESSES, THREADS, APPENDS = 16, 4, 2_000
#: The appends of each thread. Together they are slightly more than `APPENDS`.
_COUNT = -(-APPENDS // (PROCESSES * THREADS))

#: The outcome of each append by its number: the acknowledged version, or the error.
Outcome = dict[int, int | str]


def append_at_once(uri: str, storage_options: Mapping[str, str] | None = None) -> Outcome:
    """Appends every number from 0 on with an append of its own, from all processes and threads at
    the same time.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, context, _prepare, (context.Barrier(PROCESSES),)) as pool:
        firsts = [process * THREADS * _COUNT for process in range(PROCESSES)]
        answers = [pool.submit(_append, uri, dict(storage_options or {}), first) for first in firsts]
        return dict(chain.from_iterable(answer.result().items() for answer in answers))


def check_each_append_is_there_once(
    outcome: Outcome, uri: str, log: Path, storage_options: Mapping[str, str] | None = None
) -> None:
    """Checks that each append is in the table once. `log` is the folder of the table's log on a
    disk.
    """
    expected = list(range(PROCESSES * THREADS * _COUNT))
    refused = {number: answer for number, answer in outcome.items() if isinstance(answer, str)}
    assert refused == {}
    assert sorted(outcome) == expected

    commits = {int(file.stem): file.read_text().splitlines() for file in log.glob("*.json")}
    assert sorted(commits) == list(range(len(commits)))
    actions = [(version, json.loads(line)) for version, lines in commits.items() for line in lines]
    added = [(version, action["add"]) for version, action in actions if "add" in action]
    assert set(Counter(add["path"] for _, add in added).values()) == {1}
    # Each file has one row, and its statistics have the value.
    found = [(json.loads(add["stats"])["minValues"]["id"], version) for version, add in added]
    assert sorted(found) == sorted(outcome.items())

    options = dict(storage_options or {})
    assert sorted(lb.Table(uri, storage_options=options).to_arrow()["id"].to_pylist()) == expected
    assert sorted(pa.table(DeltaTable(uri, storage_options=options).to_pyarrow_table())["id"].to_pylist()) == expected


_start: Any = None


def _prepare(start: Any) -> None:
    """Gives a process the barrier, which cannot be sent with the work."""
    global _start
    _start = start


def _append(uri: str, options: dict[str, str], first: int) -> Outcome:
    """Appends from the threads of one process. Each thread has its own numbers."""
    outcome: Outcome = {}

    def work(first: int) -> None:
        table = None
        for number in range(first, first + _COUNT):
            row = pa.table({"id": [number]})
            try:
                # Odd numbers use the open handle, and even numbers open the table.
                table = table or lb.Table(uri, storage_options=options)
                done = table.append(row) if number % 2 else lb.write(uri, row, storage_options=options)
                outcome[number] = done.version
            except lb.LakebedError as error:
                outcome[number] = f"{type(error).__name__}: {error}"

    threads = [threading.Thread(target=work, args=(first + thread * _COUNT,)) for thread in range(THREADS)]
    _start.wait()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcome
