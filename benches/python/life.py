"""The cases that copy, restore, check and alter whole tables. Each call opens its own copy of a
prepared table. Only this call is timed.

- `restore/1m_adds_ckpt_10`: goes back by one version. Ten files leave, and two come back
- `shallow_clone/1m_adds_ckpt_10`: names a million files in a new table
- `deep_clone/TABLE`: copies the table. For `limit` it is `cp -r`
- `check_footers/TABLE`: compares the footers with the log. For `limit`, pyarrow reads the footers
- `add_column/TABLE`: adds a column of strings
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .dml import copy
from .engines import Engine
from .tables import ADDS_PER_COMMIT, CHECKPOINT_VERSION, TABLES, expected, removed_indexes, root

MILLION = "1m_adds_ckpt_10"
#: The tables of each operation.
OPERATIONS = {
    "restore": [MILLION],
    "shallow_clone": [MILLION],
    "deep_clone": ["lineitem", "100m_rows_cow"],
    "check_footers": ["lineitem", "100m_rows_cow"],
    "add_column": ["lineitem", MILLION],
}


def is_life(operation: str) -> bool:
    """Returns whether this module has the case."""
    return operation in OPERATIONS


def tables(operation: str) -> list[str]:
    """Returns the tables of the operation."""
    return OPERATIONS[operation]


def answer(operation: str, table: str) -> dict[str, Any]:
    """Returns the expected answer."""
    if operation == "restore":
        return {"files": _live(_commits(table) - 1)}
    if operation == "shallow_clone":
        return {"files": expected(table)["files"]}
    if operation == "add_column":
        return {"columns": 1}
    sizes = [path.stat().st_size for path in (root() / table).rglob("*.parquet") if "_delta_log" not in path.parts]
    return {"files": len(sizes), "bytes": sum(sizes)} if operation == "deep_clone" else {"files": len(sizes)}


def _log_table(name: str) -> Any:
    return next(table for table in TABLES if table.name == name)


def _commits(name: str) -> int:
    return len(removed_indexes(_log_table(name)))


def _live(commits: int) -> int:
    table = _log_table(MILLION)
    removed = removed_indexes(table)[:commits]
    return table.base + commits * ADDS_PER_COMMIT - sum(map(len, removed))


def calls(engine: Engine, operation: str, table: str, scratch: Path) -> Iterator[Callable[[], Any]]:
    """Returns the timed calls. A call returns a function that computes the answer."""
    made = engine.operation(operation)
    for number in range(1_000):
        source, target = copy(root() / table, scratch / str(number)), scratch / f"{number}-clone"
        if operation == "restore":
            put_removed(source)

        def once(source: Path = source, target: Path = target) -> Callable[[], dict[str, Any]]:
            match operation:
                case "restore":
                    told = made(engine.open(str(source)), CHECKPOINT_VERSION + _commits(table) - 1)
                case "shallow_clone" | "deep_clone":
                    told = made(engine.open(str(source)), str(target))
                case _:
                    told = made(engine.open(str(source)))
            return lambda: left_behind(operation, source, target, told)

        yield once
        shutil.rmtree(source)
        shutil.rmtree(target, ignore_errors=True)


def put_removed(path: Path) -> None:
    """Creates the files that the last commit removed. A restore looks whether they exist."""
    for line in max((path / "_delta_log").glob("*.json")).read_text().splitlines():
        if line.startswith('{"remove":'):
            file = path / json.loads(line)["remove"]["path"]
            file.parent.mkdir(exist_ok=True)
            file.touch()


def left_behind(operation: str, source: Path, target: Path, told: Any) -> dict[str, Any]:
    """Returns the answer: counts of files on disk, or the result of a call that leaves no files."""
    if operation == "deep_clone":
        sizes = [path.stat().st_size for path in target.rglob("*.parquet") if "_delta_log" not in path.parts]
        return {"files": len(sizes), "bytes": sum(sizes)}
    if operation == "shallow_clone" and (target / "_delta_log").exists():
        with (target / "_delta_log" / f"{0:020}.json").open() as lines:
            return {"files": sum(line.startswith('{"add":') for line in lines)}
    if operation == "add_column":
        commit = max((source / "_delta_log").glob("*.json")).read_text()
        metadata = next(json.loads(line)["metaData"] for line in commit.splitlines() if line.startswith('{"metaData":'))
        names = [field["name"] for field in json.loads(metadata["schemaString"])["fields"]]
        return {"columns": names.count("note")}
    return {"files": told}
