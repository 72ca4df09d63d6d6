"""Makes the cases that the cache lacks, with one Spark application, a few threads, and a new
session for each case.
"""

from __future__ import annotations

import fcntl
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from corpus import oracle, places
from corpus.case import Case, Make, all_cases
from corpus.oracle import Oracle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_THREADS = 3
_KEEP_SECONDS = 14 * 86_400


def load(names: list[str] | None = None) -> dict[str, Oracle]:
    """Returns the corpus by case. Makes the missing cases first, which takes minutes, and prints a
    message about it to stderr.
    """
    cases = all_cases()
    chosen = [cases[name] for name in names] if names else list(cases.values())
    missing = [case for case in chosen if not oracle.is_kept(home(case))]
    if missing:
        places.cache_dir().mkdir(parents=True, exist_ok=True)
        with (places.cache_dir() / "corpus.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _make_all([case for case in missing if not oracle.is_kept(home(case))])
    return {case.name: Oracle.load(home(case)) for case in chosen}


def home(case: Case) -> Path:
    """Returns the folder of a case. It has the table, the oracle and all other files of the case."""
    return places.topic_dir(case.topic) / case.name


def _make_all(cases: list[Case]) -> None:
    if not cases:
        return
    from corpus import session

    began = time.monotonic()
    print(f"corpus: Delta Spark makes {len(cases)} tables", file=sys.stderr, flush=True)
    spark = session.start()
    with ThreadPoolExecutor(_THREADS) as pool:
        errors = [text for text in pool.map(lambda case: _make(spark, case), cases) if text]
    print(f"corpus: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    _forget_old()
    if errors:
        raise RuntimeError(f"{len(errors)} cases could not be made:\n" + "\n".join(errors))


def _forget_old() -> None:
    """Deletes the tables of other versions of this code, if they are older than two weeks."""
    current = {places.topic_dir(case.topic) for case in all_cases().values()}
    for folder in (places.cache_dir() / "corpus").iterdir():
        if folder not in current and time.time() - folder.stat().st_mtime > _KEEP_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def _make(spark: SparkSession, case: Case) -> str | None:
    """Makes one case. Returns an error as text, so that the other cases are still made."""
    began = time.monotonic()
    folder = home(case)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    own = spark.newSession()
    try:
        make = Make(own, folder, case)
        for key, value in case.conf.items():
            own.conf.set(key, value)
        case.make(make)
        make.spark = spark.newSession()  # The settings of the case must not change the reads.
        if case.refused:
            oracle.refuse(make, case.refused)
        else:
            oracle.ask(make, case)
    except Exception as error:
        return f"{case.topic}/{case.name}: {type(error).__name__}: {str(error)[:1500]}"
    finally:
        print(f"corpus: {time.monotonic() - began:5.1f} s  {case.topic}/{case.name}", file=sys.stderr, flush=True)
    return None
