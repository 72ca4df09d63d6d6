"""Defines cases, registers the cases of a topic, and provides the methods with which the function
of a case makes its table.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Case:
    """One table of the corpus: the function that makes it, and the way in which it is read."""

    name: str
    topic: str
    make: Callable[[Make], None]
    #: Predicates for this table, in addition to those that `predicates.py` derives from its
    #: columns.
    where: tuple[str, ...] = ()
    #: Spark settings that hold while the table is made.
    conf: Mapping[str, str] = field(default_factory=dict)
    #: The reader features for which a reader must refuse the table, by name. If it is empty, the
    #: table must be read.
    refused: tuple[str, ...] = ()
    #: Whether the table has files outside its root. A reader follows them only if the caller allows
    #: it.
    outside: bool = False
    #: Whether only the latest version is read. This is for tables that test values and not history.
    latest_only: bool = False
    #: Whether time travel by timestamp is compared with Spark: at each commit's time, 1 ms before,
    #: between, and at the ends.
    travel: bool = False
    #: The name of the table's folder.
    folder: str = "table"


_CASES: dict[str, Case] = {}


def case(**options: Any) -> Callable[[Callable[[Make], None]], Callable[[Make], None]]:
    """Registers the decorated function as a case with the function's name, in the topic of its
    file.
    """

    def register(make: Callable[[Make], None]) -> Callable[[Make], None]:
        add_case(make.__name__, make, **options)
        return make

    return register


def add_case(name: str, make: Callable[[Make], None], **options: Any) -> None:
    """Registers `make` as the case `name`. Topics use it to make one case per value of a list."""
    if name in _CASES:
        raise ValueError(f"two cases are named {name}")
    topic = make.__module__.rpartition(".")[2]
    _CASES[name] = Case(name=name, topic=topic, make=make, **options)


def all_cases() -> dict[str, Case]:
    """Returns every case by name, in the order of the files of the topics."""
    from corpus import topics

    for module in sorted(pkgutil.iter_modules(topics.__path__), key=lambda found: found.name):
        importlib.import_module(f"corpus.topics.{module.name}")
    return _CASES


class Make:
    """The argument of a case's function: a new Spark session, and the path of the table."""

    def __init__(self, spark: SparkSession, home: Path, case: Case) -> None:
        self.spark = spark
        self.home = home
        self.path = home / case.folder

    def sql(self, text: str) -> DataFrame:
        """Runs one statement, in which `{t}` stands for the table."""
        return self.spark.sql(text.replace("{t}", self.name()))

    def name(self, path: Path | None = None) -> str:
        """Returns the name in SQL of the table, or of the Delta table at `path`."""
        return f"delta.`{path or self.path}`"

    def set(self, **conf: str) -> None:
        """Changes Spark settings from here on. A dot in the key is written as two underscores."""
        for key, value in conf.items():
            self.spark.conf.set(key.replace("__", "."), value)

    def append(self, rows: DataFrame, **options: str) -> None:
        """Appends a DataFrame. Creates the table if it does not exist."""
        rows.write.format("delta").mode("append").options(**options).save(str(self.path))

    def frame(self, query: str, partitions: int = 1) -> DataFrame:
        """Returns the rows of a query in so many partitions. A write makes one file per partition."""
        return self.spark.sql(query).coalesce(1) if partitions == 1 else self.spark.sql(query).repartition(partitions)

    def log_dir(self) -> Path:
        return self.path / "_delta_log"

    def commit_file(self, version: int) -> Path:
        return self.log_dir() / f"{version:020}.json"

    def commit_actions(self, version: int) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.commit_file(version).read_text().splitlines()]

    def put_commit(self, version: int, actions: list[dict[str, Any]]) -> None:
        """Writes a commit directly, with content that the format allows and that no statement of
        Spark writes.
        """
        target = self.commit_file(version)
        target.with_name(f".{target.name}.crc").unlink(missing_ok=True)
        target.write_text("".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions))
        self.forget()

    def delta_log(self) -> Any:
        """Returns Delta Spark's own `DeltaLog` of the table, for operations that SQL lacks."""
        jvm: Any = self.spark.sparkContext._jvm
        jvm.SparkSession.setActiveSession(self.spark._jsparkSession)
        return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, str(self.path))

    def snapshot(self) -> Any:
        """Returns Delta Spark's `Snapshot` of the latest version."""
        return self.delta_log().update(False, self.none(), self.none())

    def snapshot_at(self, version: int) -> Any:
        return self.delta_log().getSnapshotAt(version, self.none(), self.none(), False)

    def checkpoint(self, version: int | None = None) -> None:
        """Writes a checkpoint of the latest version or of an older one."""
        snapshot = self.snapshot() if version is None else self.snapshot_at(version)
        self.delta_log().checkpoint(snapshot, self.none())

    def forget(self) -> None:
        """Clears Spark's caches of the table after a change of its files without Spark."""
        jvm: Any = self.spark.sparkContext._jvm
        jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(
            self.spark._jsparkSession, jvm.org.apache.hadoop.fs.Path(str(self.path))
        )

    def none(self) -> Any:
        """Returns Scala's `None`."""
        jvm: Any = self.spark.sparkContext._jvm
        return jvm.scala.Option.apply(None)
