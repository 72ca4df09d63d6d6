"""The cases. Each case is `operation/table` and has an expected answer, which every engine must
give.

The expected answers come from the generators (`NAME.expected.json`) and never from an engine.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import dml, layout, life, writes
from .engines import Engine
from .queries import DELETED, ONE_FILE, Q6_COLUMNS, Q6_WHERE
from .tables import ROWS_PER_FILE, expected, root

NEW_COMMITS = 5
BIG = [
    "1m_adds_ckpt_10",
    "1m_adds_ckpt_10_json",
    "1k_commits",
    "1m_adds_1k_commits",
    "1m_adds_1k_commits_json",
    "1m_partitions",
    "1m_partitions_json",
]
READS: dict[str, tuple[list[str] | None, str | None, int | None]] = {
    "head5": (None, None, 5),
    "full": (None, None, None),
    "q6_columns": (Q6_COLUMNS, None, None),
    "q6": (Q6_COLUMNS, Q6_WHERE, None),
    "one_file": (None, f"l_orderkey BETWEEN {ONE_FILE[0]} AND {ONE_FILE[1]}", None),
}


@dataclass(frozen=True)
class Case:
    """An operation on a table."""

    operation: str
    table: str

    @property
    def name(self) -> str:
        """The case's name: `operation/table`."""
        return f"{self.operation}/{self.table}" if self.table else self.operation

    def answer(self) -> dict[str, Any]:
        """The expected answer. An engine's answer may lack keys, but must not differ."""
        if writes.is_write(self.operation):
            return writes.answer(self.operation, self.table)
        if dml.is_change(self.operation):
            return dml.answer(self.operation, self.table)
        if layout.is_layout(self.operation):
            return layout.answer(self.operation, self.table)
        if life.is_life(self.operation):
            return life.answer(self.operation, self.table)
        if not self.table:
            return {}
        all_of = expected(self.table)
        if self.operation == "open":
            return {"columns": all_of["columns"]}
        if self.operation == "refresh":
            return {"fresh": True}
        if self.operation in ("list_files", "list_actions"):
            return {"files": all_of["files"]}
        if self.operation in ("plan_partition", "plan_range"):
            return {"files": all_of[self.operation.removeprefix("plan_")]["files"]}
        if self.operation == "count":
            return {"rows": all_of["full"]["rows"] if "full" in all_of else all_of["files"] * ROWS_PER_FILE}
        return {"rows": 5} if self.operation == "head5" else dict(all_of[self.operation])


def all_cases() -> list[Case]:
    """Returns every case, the quick ones first."""
    out = [Case("import", "")]
    out += [Case("open", t) for t in ["1m_adds_ckpt_10", "1m_adds_ckpt_10_crc", *BIG[1:]]]
    out += [Case("refresh", t) for t in ("1m_adds_ckpt_10", "1k_commits")]
    out += [Case(o, t) for o in ("head5", "count", "one_file", "q6", "q6_columns", "full") for t in DELETED]
    out += [Case(o, t) for o in ("plan_partition", "plan_range") for t in BIG]
    out += [Case("count", "1m_adds_ckpt_10")]
    out += [Case(o, t) for o in ("list_files", "list_actions") for t in BIG]
    out += [Case(o, "lineitem") for o in writes.PARTITIONED]
    out += [Case(o, "") for o in ("append500", "append10000")]
    out += [Case(f"commits_{n}", "") for n in (1, 4, 16)]
    out += [Case(f"commits_{n}_threads", "") for n in (1, 16, 64)]
    out += [Case("checkpoint", "1m_adds_ckpt_10")]
    out += [Case(o, t) for o in dml.CHANGES for t in dml.tables(o)]
    out += [Case(o, t) for o in layout.OPERATIONS for t in layout.tables(o)]
    out += [Case(o, t) for o in life.OPERATIONS for t in life.tables(o)]
    return out


def calls(engine: Engine, case: Case, scratch: Path) -> Iterator[Callable[[], Any]]:
    """Returns the timed calls. The first call opens the table and runs the operation. Later calls
    run the operation again on the same open table.

    A call returns the answer, or a value that `engine.digest` turns into the answer, or a function
    that computes it.
    """
    if dml.is_change(case.operation):
        yield from dml.calls(engine, case.operation, case.table, scratch)
        return
    if layout.is_layout(case.operation):
        yield from layout.calls(engine, case.operation, case.table, scratch)
        return
    if life.is_life(case.operation):
        yield from life.calls(engine, case.operation, case.table, scratch)
        return
    if writes.is_write(case.operation):
        yield from writes.calls(engine, case.operation, case.table, scratch)
        return
    table = root() / case.table
    if case.operation == "open":
        columns = engine.operation("columns")
        while True:
            yield lambda: {"columns": columns(engine.open(str(table)))}
    if case.operation == "refresh":
        yield from _refreshes(engine, table, scratch)
        return
    ask = _ask(engine, case)
    handle: list[Any] = []

    def first() -> Any:
        handle.append(engine.open(str(table)))
        return ask(handle[0])

    yield first
    while True:
        yield lambda: ask(handle[0])


def _ask(engine: Engine, case: Case) -> Callable[[Any], Any]:
    if case.operation in READS:
        read, arguments = engine.operation("read"), READS[case.operation]
        return lambda handle: read(handle, *arguments)
    if case.operation.startswith("plan_"):
        plan, where = engine.operation("plan"), expected(case.table)[case.operation.removeprefix("plan_")]["where"]
        return lambda handle: {"files": plan(handle, where)}
    call, key = engine.operation(case.operation), "rows" if case.operation == "count" else "files"
    return lambda handle: {key: call(handle)}


def _refreshes(engine: Engine, table: Path, scratch: Path) -> Iterator[Callable[[], Any]]:
    """Refreshes a table. One new commit is added before each refresh."""
    refresh = engine.operation("refresh")
    log = sorted((table / "_delta_log").iterdir())
    held_back = [p for p in log if p.suffix == ".json"][-NEW_COMMITS:]
    copy = scratch / table.name / "_delta_log"
    copy.mkdir(parents=True)
    for path in log:
        if path not in held_back:
            os.link(path, copy / path.name)
    handle = engine.open(str(copy.parent))

    def fresh(version: int) -> dict[str, Any]:
        nonlocal handle
        handle, reached = refresh(handle)
        return {"fresh": None if reached is None else reached == version}

    for path in held_back:
        os.link(path, copy / path.name)
        yield partial(fresh, int(path.stem))
