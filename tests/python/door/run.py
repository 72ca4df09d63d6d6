"""Runs one case and compares the outcome with the model. `check` returns the failure as text, or an
empty text.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import lakebed as lb
from dml import log
from door import deeds, model, sources, tables
from door.case import Case, Rows
from door.model import Wanted
from door.processes import WAYS, Answer
from door.values import Bag, bag, differ

#: Makes the call of a case: in this process or another one, through `lb` or through Spark.
Act = Callable[[Case, str, "lb.Table | None"], Answer]

#: Names from Rust or from inner libraries, which must not reach users.
_FOREIGN_WORDS = re.compile(
    r'panicked|unwrap\(|\bOption<|\bResult<|\bUtf8\b|(?<!")\bInt(8|16|32|64)\b|\bUInt|Timestamp\(|DataFusion|C Data interface|cast\(\w+@\d|\bu64\b|\busize\b|buffers'
)


def check(case: Case, act: Act | None = None) -> str:
    """Checks the case in a new folder. Returns the failure, or an empty text."""
    with log.folder() as folder:
        path = folder + "/t"
        handle = _prepare(case, path)
        before = _files(path)
        version = None if not case.table.exists else lb.Table(path).version
        answer = (act or WAYS[case.way])(case, path, handle)
        wanted = model.wanted(case)
        if answer.error:
            return _judge_refusal(case, answer, wanted, path) or _unchanged(path, before, by_tasks=act is not None)
        if not Path(path).exists() and case.deed.verb in deeds.READS:
            return ""
        return _judge_success(case, answer, wanted, path, version) or _afterwards(path)


def _prepare(case: Case, path: str) -> lb.Table | None:
    """Makes the table. Returns a handle if the call needs one. In cases without a table, the table
    is deleted after that.
    """
    needs_handle = case.deed.verb not in ("write", "create", "open")
    if case.table.exists or needs_handle:
        tables.make(path, case.table)
    handle = lb.Table(path) if needs_handle else None
    if not case.table.exists and needs_handle:
        shutil.rmtree(path)
    return handle


def _files(path: str) -> dict[str, int]:
    return log.everything(path) if Path(path).exists() else {}


def _judge_refusal(case: Case, answer: Answer, wanted: Wanted, path: str) -> str:
    own = case.source.kind == "generator that raises" and case.deed.verb in deeds.TAKES
    if not _is_ours(answer) and not (own and "Mine" in answer.classes):
        return f"an error that is not ours: {answer.error}"
    if not wanted.refused and not wanted.doubts:
        return f"refused, although nothing is wrong: {answer.error}"
    if wanted.refused == [model.RAISES] and not wanted.doubts and "Mine" not in answer.classes + answer.causes:
        return f"the caller's own exception is lost: {answer.error}, of {answer.causes}"
    if "LakebedError" in answer.classes and (word := _FOREIGN_WORDS.search(answer.error.replace(path, ""))):
        return f"a message with internal names ({word[0]}): {answer.error}"
    # The pickle of a handle on a deleted table is refused before the method is called.
    is_called = case.table.exists or case.way not in ("pickled", "spawn")
    if is_called and case.deed.wrong.startswith("unknown argument") and "TypeError" not in answer.classes:
        return f"an unknown argument is no TypeError: {answer.error}"
    return ""


def _is_ours(answer: Answer) -> bool:
    """Returns whether the error is a lakebed error, or a TypeError about the arguments. A subclass
    of TypeError from a library does not count.
    """
    return "LakebedError" in answer.classes or answer.classes[0] == "TypeError"


def _unchanged(path: str, before: dict[str, int], *, by_tasks: bool) -> str:
    """Returns how a refused call changed the table. If one of Spark's tasks fails, the tasks that
    ended before leave files that no version names. These files are ignored.
    """
    after = _files(path)
    if by_tasks:
        after = {
            name: size for name, size in after.items() if name in before or "_delta_log/" in name or not name.endswith(".parquet")
        }
    if after != before:
        return f"refused, but files changed: {sorted(set(after.items()) ^ set(before.items()))}"
    return ""


def _judge_success(case: Case, answer: Answer, wanted: Wanted, path: str, version: int | None) -> str:
    if wanted.refused:
        return f"done, although it must be refused: {wanted.refused}"
    table = lb.Table(path)
    rows = table.to_arrow().to_pylist()
    found = bag(rows)
    if wrong := _judge_rows(case, rows, wanted):
        return f"rows: {wrong}"
    if table.count() != found.total():
        return f"the log counts {table.count()} rows, the files have {found.total()}"
    if stray := log.files(path) - log.named(path, table.version):
        return f"files that no version names: {sorted(stray)}"
    if wanted.answer is not None and (wrong := _judge_answer(answer, wanted)):
        return f"what was read: {wrong}"
    made = table.version - (-1 if version is None else version)
    if case.deed.verb in deeds.READS and made:
        return f"a read made {made} versions"
    if case.deed.verb not in deeds.KEEPS:
        if wanted.commits is not None and made != wanted.commits:
            return f"{made} versions were made"
        if answer.committed is not None and answer.committed != bool(made):
            return f"committed={answer.committed}, but {made} versions were made"
    if "feed" in case.table.features and case.table.exists and made and case.deed.verb != "create" and version is not None:
        try:
            return _judge_feed(table, version, found, bag(tables.before(case.table)))
        except lb.SchemaMismatchError:
            if dict(case.deed.given).get("schema_mode") != "overwrite":
                raise  # Only rows of two schemas have no change data feed.
    return ""


def _judge_rows(case: Case, rows: Rows, wanted: Wanted) -> str:
    """Returns how the rows of the table differ from the expected rows. Columns with values that an
    assignment may have cast are ignored. If a key column is one of them, only the number of rows is
    checked: it is at least the number before, unless the call deletes rows, and at most the number
    before plus the source rows.
    """
    cast = _cast_columns(case) if wanted.casts else set()
    said = dict(case.deed.given)
    keys = said.get("keys", ("id",))
    if cast & {keys} if isinstance(keys, str) else cast & set(keys):
        before = len(tables.before(case.table))
        least = 0 if said.get("clauses", "").startswith("delete") else before
        most = before + len(sources.rows(case.source))
        return "" if least <= len(rows) <= most else f"{len(rows)} rows, {least} to {most} are wanted"

    def kept(given: Rows) -> Bag:
        return bag({name: value for name, value in row.items() if name.lower() not in cast} for row in given)

    return differ(kept(rows), kept(wanted.rows))


def _cast_columns(case: Case) -> set[str]:
    """Returns the columns of the table for which a batch has values of another family of types."""
    columns = [column for batch in sources.batches(case.source) for column in batch]
    known = [column for column in columns if column.name.lower() in tables.SCHEMA.names]
    return {
        column.name.lower()
        for column in known
        if model._family(tables.SCHEMA.field(column.name.lower()).type) != model._family(sources.TYPES[column.type])
    }


def _judge_answer(answer: Answer, wanted: Wanted) -> str:
    assert answer.rows is not None
    assert wanted.answer is not None
    if len(answer.rows) != wanted.count:
        return f"{len(answer.rows)} rows, {wanted.count} wanted"
    more = bag(answer.rows) - bag(wanted.answer)
    return f"{list(more)[:4]} are not in the table" if more else ""


def _judge_feed(table: lb.Table, version: int, after: Bag, before: Bag) -> str:
    """Checks that the rows before plus the changes of the feed equal the rows after."""
    if "_change_type" in table.schema.names or set(table.schema.names) < set(tables.SCHEMA.names):
        return ""
    told = table.changes(version + 1).to_arrow().drop_columns(["_commit_version", "_commit_timestamp"]).to_pylist()
    come = bag({**row, "_change_type": None} for row in told if row["_change_type"] in ("insert", "update_postimage"))
    gone = bag({**row, "_change_type": None} for row in told if row["_change_type"] in ("delete", "update_preimage"))
    wrong = differ(before + come, after + gone)
    return f"the change feed: {wrong}" if wrong else ""


def _afterwards(path: str) -> str:
    """Writes once more in this process, because its child may have written. No row may be lost."""
    table = lb.Table(path)
    rows: Rows = table.to_arrow().to_pylist()
    if rows:
        table.append(table.to_arrow().slice(0, 1))
        wrong = differ(bag(lb.Table(path).to_arrow().to_pylist()), bag([*rows, rows[0]]))
        return f"after one more append: {wrong}" if wrong else ""
    return ""
