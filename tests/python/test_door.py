"""Each drawn call stores the right rows, or raises a lakebed error and changes nothing. CI runs 200
draws, and `make fuzz-door` runs for hours.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import lakebed as lb
from door import drawn, model, processes, run, sources
from door.case import Case, Column, Deed, Source, Table
from door.seeds import SEEDS
from door.worker import Worker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def draws(count: int) -> settings:
    """Draws the same cases each time. Only `make fuzz-door` shrinks a failing case, because it has
    the time.
    """
    quiet = list(HealthCheck)
    return settings(
        derandomize=True, deadline=None, database=None, max_examples=count, phases=[Phase.generate], suppress_health_check=quiet
    )


def check(found: str, case: Case) -> None:
    assert not found, f"{found}\nrepeat it with door.run.check({case!r})"


def test_given_rows_are_stored_or_refused(worker: Worker) -> None:
    must = Counter[str]()

    @draws(200)
    @given(drawn.case())
    def one(case: Case) -> None:
        wanted = model.wanted(case)
        must["be refused" if wanted.refused else "be one of both" if wanted.doubts else "be done"] += 1
        check(worker.check(case), case)

    one()
    assert min(must["be done"], must["be refused"]) >= 40, must


@pytest.mark.parametrize("seed", list(SEEDS))
def test_a_case_that_failed_once(seed: str, worker: Worker) -> None:
    check(worker.check(SEEDS[seed]), SEEDS[seed])


@pytest.mark.spark
@pytest.mark.parametrize("door", ["lbs", "format"])
def test_spark_rows_are_stored_or_refused(door: str, spark: Any) -> None:
    import lakebed.spark as lbs
    from door.spark import Deeds

    lbs.register(spark)
    must = Counter[str]()

    @draws(12)
    @given(drawn.of_spark())
    def one(case: Case) -> None:
        wanted = model.wanted(case)
        must["be refused" if wanted.refused else "be one of both" if wanted.doubts else "be done"] += 1
        check(run.check(case, Deeds(spark, door)), case)

    one()
    assert must["be done"] >= 4, must
    assert must["be refused"] >= 1, must


# Faults that the fuzzer finds, shown with faulty implementations

_TWO = Case(Table(), Source("table", ((Column("id", "int64", (7, 8)),),)), Deed("write"))


def loses(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
    return processes.act(case, path, table, lambda: lb.write(path, sources.make(case.source).slice(1)))


def doubles(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
    return processes.act(case, path, table, lambda: [lb.write(path, sources.make(case.source)) for _ in range(2)][-1])


def changes_a_value(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
    return processes.act(case, path, table, lambda: lb.write(path, pa.table({"id": [7, 9]})))


def does_nothing(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
    return processes.act(case, path, table, lambda: None)


def writes_and_complains(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
    lb.write(path, sources.make(case.source))
    return processes.act(case, path, table, lambda: lb.write(path, pa.table({"nope": [1]})))


def complains(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
    return processes.act(case, path, table, lambda: lb.write(path, pa.table({"nope": [1]})))


def fails_in_words_of_its_own(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
    return processes.act(case, path, table, lambda: {}["id"])


def fails_in_words_of_arrow(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
    return processes.act(case, path, table, lambda: pa.array([1, "x"]))


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (loses, "rows: 5 rows, 6 wanted"),
        (doubles, "rows: 8 rows, 6 wanted"),
        (changes_a_value, "lost [(('id', '8'),)]; gained [(('id', '9'),)]"),
        (does_nothing, "rows: 4 rows, 6 wanted"),
        (complains, "refused, although nothing is wrong"),
        (fails_in_words_of_its_own, "an error that is not ours: KeyError"),
        (fails_in_words_of_arrow, "an error that is not ours: ArrowInvalid"),
    ],
)
def test_a_door_at_fault_is_found(fault: Callable[..., processes.Answer], told: str) -> None:
    assert told in run.check(_TWO, fault)


_CAST = Case(
    Table(),
    Source(
        "table",
        (
            (
                *(Column("id", "int64", (1, 50)), Column("n", "string", ("7", "8")), Column("v", "double", (1.5, None))),
                *(Column("p", "string", ("x", "y")), Column("s", "string", ("a", None))),
            ),
        ),
    ),
    Deed("upsert", (("keys", "id"),)),
)


def test_fuzzer_finds_row_lost_beside_casts() -> None:
    assert model.wanted(_CAST).casts
    assert run.check(_CAST) == ""

    def half(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
        assert table is not None
        return processes.act(case, path, table, lambda: table.upsert(sources.make(case.source).slice(0, 1), keys="id"))

    assert "rows: " in run.check(_CAST, half)


def test_fuzzer_finds_rows_lost_by_casts() -> None:
    """The model cannot compute the matches after a cast, but an upsert removes no rows."""
    columns = tuple(
        Column("id", "decimal", (Decimal("1.00"), Decimal("50.00"))) if column.name == "id" else column
        for column in _CAST.source.batches[0]
    )
    case = replace(_CAST, source=Source("table", (columns,)))
    assert model.wanted(case).casts
    assert run.check(case) == ""

    def less(case: Case, path: str, table: lb.Table | None) -> processes.Answer:
        assert table is not None
        return processes.act(case, path, table, lambda: table.delete("id <= 2"))

    assert "rows: 2 rows, 4 to 6 are wanted" in run.check(case, less)


def test_a_refusal_that_leaves_something_is_found() -> None:
    case = Case(Table(), _TWO.source, Deed("write", (), "it must be refused"))
    assert "refused, but files changed" in run.check(case, writes_and_complains)
    assert "done, although it must be refused" in run.check(case)


class Deadly:
    """An object that kills the process that unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (signal.raise_signal, (signal.SIGSEGV,))


def test_fuzzer_replaces_dead_process(worker: Worker) -> None:
    deadly: Any = Deadly()
    assert "SIGSEGV" in worker.check(deadly)
    assert worker.check(_TWO) == ""
