"""The cases that write. They write to a folder of their own, from rows that are in memory before
the clock starts.

- `write`, `write_month`, `write_10k`: lineitem without partitions, in 84 partitions by month, in
  10,000 partitions. The later calls write it again
- `append500`, `append10000`: small appends of 1,000 rows one after the other. The answer has the
  times of the first and the last fifty
- `commits_N`: N processes append 1,000 rows each time, 320 times in all. `commits_N_threads`: the
  same with threads of one process
- `checkpoint`: a checkpoint of the table
"""

import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .engines import ENGINES, Engine
from .tables import root

PARTITIONED = {"write": None, "write_month": "month", "write_10k": "bucket"}
SMALL_ROWS = 1_000
#: The number of commits. Up to 64 writers share them equally.
COMMITS = 320


def is_write(operation: str) -> bool:
    """Returns whether this module has the case."""
    return operation in PARTITIONED or operation.startswith(("append", "commits_")) or operation == "checkpoint"


def answer(operation: str, table: str) -> dict[str, Any]:
    """Returns the expected answer."""
    from .tables import expected

    if operation in PARTITIONED:
        return {"rows": expected(table)["full"]["rows"]}
    if operation.startswith("append"):
        return {"rows": int(operation.removeprefix("append")) * SMALL_ROWS}
    if operation.startswith("commits_"):
        return {"rows": COMMITS * SMALL_ROWS, "failed": 0}
    return {}


def calls(engine: Engine, operation: str, table: str, scratch: Path) -> Iterator[Callable[[], Any]]:
    """Returns the timed calls."""
    if operation in PARTITIONED:
        yield from _bulk(engine, operation, table, scratch)
    elif operation.startswith("append"):
        yield partial(_appends, engine, int(operation.removeprefix("append")), scratch)
    elif operation.startswith("commits_"):
        yield partial(_commits, engine, operation.removeprefix("commits_"), scratch)
    else:
        copy = scratch / table
        shutil.copytree(root() / table, copy, copy_function=os.link)
        checkpoint = engine.operation("checkpoint")

        def once() -> dict[str, Any]:
            checkpoint(str(copy))
            return {}

        yield once


def _bulk(engine: Engine, operation: str, table: str, scratch: Path) -> Iterator[Callable[[], Any]]:
    write = engine.operation("write")
    rows = source(table, PARTITIONED[operation])
    for number in range(1_000):
        path = scratch / str(number)

        def once(path: Path = path) -> dict[str, Any]:
            write(rows, str(path), PARTITIONED[operation])
            return {"rows": _rows_below(path)}

        yield once
        shutil.rmtree(path)


def source(table: str, column: str | None) -> Any:
    """Returns the rows, with a column for partitions."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    rows = pa.concat_tables([pq.read_table(file) for file in sorted((root() / table).glob("part-*.parquet"))])
    if column == "month":
        rows = rows.append_column(column, pc.strftime(rows["l_shipdate"], "%Y-%m"))
    if column == "bucket":
        rows = rows.append_column(column, pc.subtract(rows["l_suppkey"], 1).cast(pa.int32()))
    return rows


def _rows_below(path: Path) -> int:
    import pyarrow.parquet as pq

    data = (file for file in path.rglob("*.parquet") if "_delta_log" not in file.parts)
    return sum(pq.read_metadata(file).num_rows for file in data)


def _small() -> Any:
    import pyarrow as pa

    numbers = range(SMALL_ROWS)
    return pa.table({"id": pa.array(numbers, pa.int64()), "text": [f"row {number}" for number in numbers]})


def _appends(engine: Engine, count: int, scratch: Path) -> dict[str, Any]:
    append, rows, path = engine.operation("append"), _small(), str(scratch / "t")
    took = []
    for _ in range(count):
        start = time.perf_counter()
        append(rows, path)
        took.append(time.perf_counter() - start)
    return {"rows": _rows_below(Path(path)), "first50_s": sum(took[:50]), "last50_s": sum(took[-50:])}


def _commits(engine: Engine, who: str, scratch: Path) -> dict[str, Any]:
    """Runs writers that begin together when all are ready."""
    writers, _, kind = who.partition("_")
    count, path = int(writers), str(scratch / "t")
    engine.operation("append")(_small(), path)
    failed, took_s = _threads(engine, count, path) if kind == "threads" else _processes(engine, count, path)
    return {"rows": _rows_below(Path(path)) - SMALL_ROWS, "failed": failed, "took_s": took_s}


def _processes(engine: Engine, count: int, path: str) -> tuple[int, float]:
    name = next(name for name, made in ENGINES.items() if type(engine) is made)
    context = multiprocessing.get_context("spawn")
    ready, failures = context.Barrier(count + 1), context.Value("i", 0)
    processes = [
        context.Process(target=_process, args=(name, path, number, COMMITS // count, ready, failures)) for number in range(count)
    ]
    for process in processes:
        process.start()
    ready.wait()
    begun = time.perf_counter()
    ready.wait()
    took_s = time.perf_counter() - begun
    for process in processes:
        process.join()
    return failures.value, took_s


def _process(name: str, path: str, number: int, count: int, ready: Any, failures: Any) -> None:
    engine = ENGINES[name]()
    engine.load()
    append, rows = engine.operation("append"), _small()
    append(rows, f"{path}-of-{number}")
    ready.wait()
    for _ in range(count):
        try:
            append(rows, path)
        except Exception:
            with failures.get_lock():
                failures.value += 1
    ready.wait()


def _threads(engine: Engine, count: int, path: str) -> tuple[int, float]:
    append, rows, failed = engine.operation("append"), _small(), list[str]()

    def work() -> None:
        for _ in range(COMMITS // count):
            try:
                append(rows, path)
            except Exception as error:
                failed.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(count)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(failed), time.perf_counter() - begun
