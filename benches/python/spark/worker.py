"""One engine in a process of its own, which runs requests line by line.

`python -m benches.python.spark.worker ENGINE MEMORY SCRATCH`

A request is a JSON object on standard input, and its answer is one on standard output (`took_s`, or
`failed`):

- `{"do": "open", "tables": {NAME: PATH}}` gives each table to SQL by its name
- `{"do": "query", "text": SQL, "into": PATH}` runs a query and writes its answer to an Arrow file,
  which is not timed
- `{"do": "load", "source": PATH, "cached": BOOL, "into": PATH}` writes the rows of a table that
  `open` has not seen to a new table
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .engines import ENGINES, Parquet


def open_tables(engine: Parquet, request: dict[str, Any]) -> None:
    """Makes views of the tables."""
    for name, path in request["tables"].items():
        engine.read(path).createOrReplaceTempView(name)


def query(engine: Parquet, request: dict[str, Any]) -> Any:
    """Runs the query and returns all rows in Python."""
    return engine.spark.sql(request["text"]).toArrow()


def load(engine: Parquet, request: dict[str, Any]) -> None:
    """Writes the same rows from the same place for every engine: Parquet files, or Spark's cache of
    them.
    """
    engine.write(request["frame"], request["into"])


def prepare_load(engine: Parquet, request: dict[str, Any]) -> None:
    """Prepares a load. This is not timed."""
    engine.spark.catalog.clearCache()  # Otherwise Spark would find a cached frame.
    request["frame"] = engine.spark.read.parquet(request["source"])
    if request["cached"]:
        request["frame"].cache().count()


DO: dict[str, Callable[[Parquet, dict[str, Any]], Any]] = {"open": open_tables, "query": query, "load": load}


def serve(engine: Parquet, request: dict[str, Any]) -> dict[str, Any]:
    """Runs one request."""
    try:
        if request["do"] == "load":
            prepare_load(engine, request)
        start = time.perf_counter()
        result = DO[request["do"]](engine, request)
        record: dict[str, Any] = {"took_s": time.perf_counter() - start}
    except Exception as error:
        return {"failed": reason(error)}
    if request["do"] == "query":
        put(result, request["into"])
        record["rows"] = result.num_rows
    return record


def reason(error: Exception) -> str:
    """Returns the first line of an error, or of its innermost cause, because the JVM wraps errors
    of Spark's threads.
    """
    head, *causes = f"{type(error).__name__}: {error}".split("Caused by: ")
    return (causes[-1] if causes else head).strip().splitlines()[0][:500]


def put(rows: Any, path: str) -> None:
    """Writes rows to an Arrow file. Columns may share a name, so they get numbers."""
    import pyarrow as pa
    import pyarrow.feather as feather

    numbered = pa.Table.from_arrays(rows.columns, names=[str(n) for n in range(rows.num_columns)])
    feather.write_feather(numbered, path, compression="uncompressed")


def main(name: str, memory: str, scratch: str) -> None:
    """Starts the engine, reports the start, and serves requests until the input ends."""
    # The output of Spark and its JVM must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    engine = ENGINES[name]()
    answers.write(json.dumps({"ready": engine.start(memory, Path(scratch))}) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(serve(engine, json.loads(line))) + "\n")
    engine.spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
