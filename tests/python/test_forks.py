"""Forked processes. Each process makes its own commits, and readers that the parent opened stay
usable in the parent.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import duck
import forks
import lakebed as lb
from lakebed import _lakebed
from stores.gateway import S3

#: The seconds after which a hanging child is killed.
PATIENCE = 20


# Writers


def test_append_from_children_in_turn_keeps_rows(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    lb.write(path, pa.table({"id": [0]}))
    for number in (1, 2, 3):
        in_child(lambda number=number: lb.write(path, pa.table({"id": [number]})))
    assert sorted(lb.Table(path).to_arrow()["id"].to_pylist()) == [0, 1, 2, 3]
    assert lb.Table(path).version == 3


@pytest.mark.parametrize(("method", "children", "turns"), [("fork", 8, 20), ("spawn", 3, 6), ("forkserver", 3, 6)])
def test_a_pool_writes_to_a_folder(tmp_path: Path, method: str, children: int, turns: int) -> None:
    check_pool(str(tmp_path / "t"), {}, tmp_path / "t", method, children, turns)


@pytest.mark.parametrize(("method", "children", "turns"), [("fork", 8, 20), ("forkserver", 2, 6)])
def test_a_pool_writes_to_a_store(s3: S3, method: str, children: int, turns: int) -> None:
    name = f"pool-{method}"
    check_pool(s3.uri(name), s3.options, s3.folder / name, method, children, turns)
    # Only the hint and checkpoints, which are named by their version alone, may be written more
    # than once.
    again = {key for key, times in s3.stored(name).items() if times > 1}
    assert {key for key in again if not key.endswith(("_last_checkpoint", ".checkpoint.parquet"))} == set()


def check_pool(uri: str, options: dict[str, str], folder: Path, method: str, children: int, turns: int) -> None:
    """Runs `forks.py` and checks its rows and its log. `folder` is the folder of the table on a
    disk.
    """
    arguments = [sys.executable, forks.__file__, uri, method, str(children), str(turns)]
    told = json.dumps(options)
    done = subprocess.run(arguments, input=told, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    expected = [tuple(row) for row in json.loads(done.stdout)]

    table = lb.Table(uri, storage_options=options)
    assert sorted(zip(*table.to_arrow().to_pydict().values(), strict=True)) == expected
    with duck.connect() as connection:
        assert connection.sql(f"SELECT * FROM delta_scan('{folder}') ORDER BY ALL").fetchall() == expected
    check_names(folder / "_delta_log", children * turns + 2)


def check_names(log: Path, commits: int) -> None:
    """Checks that no two commits share a name: of the commit, of its data files, or of its files of
    deletion vectors.
    """
    files = sorted(log.glob("*.json"))
    files = [file for file in files if file.stem.isdigit()]
    assert [int(file.stem) for file in files] == list(range(commits))
    named: Counter[str] = Counter()
    for file in files:
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        named[next(action["commitInfo"]["txnId"] for action in actions if "commitInfo" in action)] += 1
        adds = [action["add"] for action in actions if "add" in action]
        removed = {action["remove"]["path"] for action in actions if "remove" in action}
        named.update({add["path"] for add in adds if add["path"] not in removed})
        vectors = [add["deletionVector"] for add in adds if add.get("deletionVector")]
        # The last twenty characters are the file's identifier. One file may hold several deletion
        # vectors of a commit.
        named.update({vector["pathOrInlineDv"][-20:] for vector in vectors if vector["storageType"] == "u"})
    assert {name: times for name, times in named.items() if times > 1} == {}


# Readers


def opened(path: str) -> dict[str, Callable[[], Iterator[pa.RecordBatch]]]:
    """Returns all ways to open a reader."""
    table = lb.Table(path)
    stream: Callable[[Any], pa.RecordBatchReader] = pa.RecordBatchReader.from_stream
    return {
        "to_reader": lambda: iter(table.to_reader()),
        "a C stream": lambda: iter(stream(table)),
        "a scan's C stream": lambda: iter(stream(table.scan(where="id >= 0"))),
        "changes": lambda: iter(table.changes(0).to_reader()),
        "a task": lambda: iter(lb.read_task(table.scan().tasks()[0])),
    }


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of twenty files, so that no reader has all rows at once."""
    path = str(tmp_path_factory.mktemp("readers") / "t")
    feed = {"delta.enableChangeDataFeed": True}
    for part in range(20):
        lb.write(path, pa.table({"id": range(part * 1000, part * 1000 + 1000)}), properties=feed)
    return path


@pytest.mark.parametrize("has_begun", [False, True], ids=["fresh", "begun"])
@pytest.mark.parametrize("way", ["to_reader", "a C stream", "a scan's C stream", "changes", "a task"])
def test_reader_is_refused_in_another_process(parts: str, way: str, has_begun: bool) -> None:
    readers = [opened(parts)[way]()]
    rows = next(readers[0]).num_rows if has_begun else 0

    def in_vain() -> None:
        with pytest.raises((lb.InvalidInputError, pa.ArrowInvalid)) as raised:
            next(readers[0])
        assert f"opened by process {os.getppid()}, from which this process was forked later" in str(raised.value)
        assert "open it again in this process" in str(raised.value)
        readers.clear()
        gc.collect()
        # Readers that the child opens work.
        assert sum(batch.num_rows for batch in opened(parts)[way]()) == 20_000

    in_child(in_vain)
    assert rows + sum(batch.num_rows for batch in readers[0]) == 20_000


def test_write_of_parents_reader_in_child_fails(parts: str, tmp_path: Path) -> None:
    reader = lb.Table(parts).to_reader()

    def in_vain() -> None:
        with pytest.raises(lb.LakebedError, match="opened by process"):
            lb.write(str(tmp_path / "copy"), reader)

    in_child(in_vain)
    assert not (tmp_path / "copy" / "_delta_log").exists()
    assert lb.write(str(tmp_path / "copy"), reader).table.count() == 20_000


@pytest.mark.parametrize("limit", [1 << 30, 256], ids=["in memory", "in a file"])
def test_merge_in_child_uses_parents_source(tmp_path: Path, limit: int) -> None:
    """The parent and its children run at the same time. They share the spill file of the source,
    and no process moves the file position of another one.
    """
    source = pa.table({"id": range(100), "text": [f"row {number}" for number in range(100)]})
    tables = [lb.write(str(tmp_path / str(number)), source.slice(0, 50)).table for number in range(4)]
    _lakebed.set_memory_limit(limit)
    try:
        merges = [table.merge(source, on="target.id = source.id").when_not_matched_insert() for table in tables]
        for merge in merges:
            assert (merge.explain().spilled_bytes > 0) == (limit == 256)
            # All merges share one source.
            merge._source = merges[0]._source
        children = [begin_child(merge.execute) for merge in merges[1:]]
        merges[0].execute()
        for child in children:
            end_child(child)
    finally:
        _lakebed.set_memory_limit(1 << 30)
    for table in tables:
        assert table.refresh().to_arrow().sort_by("id").to_pydict() == source.to_pydict()


def test_child_inherits_memory_limit(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    lb.write(path, pa.table({"id": range(10)}))
    source = pa.table({"id": range(5, 100_000)})
    _lakebed.set_memory_limit(1 << 20)
    try:

        def spills() -> None:
            assert lb.Table(path).upsert(source, keys=["id"]).metrics.spilled_bytes > 500_000

        in_child(spills)
    finally:
        _lakebed.set_memory_limit(1 << 30)
    assert lb.Table(path).count() == 100_000


# Children


def in_child(work: Callable[[], object]) -> None:
    """Does something in a forked child. Fails if the child fails or hangs."""
    end_child(begin_child(work))


def begin_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child > 0:
        return child
    status = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        work()
        status = 0
    except BaseException as error:
        print(f"in the child: {error!r}", file=sys.stderr, flush=True)
    finally:
        # The child must not run the parent's test session to its end.
        os._exit(status)


def end_child(child: int) -> None:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the child failed, or hung"
