"""The results of Delta Spark for the table of a case, stored as files beside the table.

`ask` queries Spark and writes the files, and `Oracle.load` reads them without Spark. One query per
version fetches the rows, and the value of each predicate as an extra boolean column. The rows of a
predicate are stored as positions in the sorted rows.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus import canon, predicates
from corpus.case import Case, Make

_FILE = "oracle.json"
_ALL_UP_TO = 6


@dataclass(frozen=True)
class Oracle:
    """The table of a case with Spark's results."""

    home: Path
    facts: dict[str, Any]

    @classmethod
    def load(cls, home: Path) -> Oracle:
        return cls(home, json.loads((home / _FILE).read_text()))

    @property
    def path(self) -> Path:
        return self.home / self.facts["folder"]

    @property
    def refused(self) -> list[str]:
        """The features for which a reader must refuse the table. It is empty if the table must be
        read.
        """
        found: list[str] = self.facts.get("refused", [])
        return found

    @property
    def outside(self) -> bool:
        """Whether the table has files outside its root."""
        return bool(self.facts["outside"])

    @property
    def latest(self) -> int:
        return int(self.facts["latest"])

    @property
    def history(self) -> list[dict[str, Any]]:
        """The rows of `DESCRIBE HISTORY`, newest first, without nulls."""
        found: list[dict[str, Any]] = self.facts["history"]
        return found

    @property
    def detail(self) -> dict[str, Any]:
        """The row of `DESCRIBE DETAIL`, without nulls."""
        found: dict[str, Any] = self.facts["detail"]
        return found

    @property
    def files(self) -> list[Any]:
        """The fields `[path, size, partition values, number of deleted rows]` of each file of the
        latest version. Paths are spelled as in the log.
        """
        found: list[Any] = self.facts["files"]
        return found

    @property
    def travel(self) -> list[Any]:
        """Pairs `[timestamp in ms, version or None]`: the version that Spark reads for
        `timestampAsOf`. It is empty if Spark was not queried.
        """
        found: list[Any] = self.facts.get("travel", [])
        return found

    @property
    def versions(self) -> list[int]:
        """The versions that were read, in order. The last is the latest. It is empty if the table
        must be refused.
        """
        return sorted(int(version) for version in self.facts["versions"])

    def schema(self, version: int) -> list[Any]:
        """Returns the schema of the table in the form of `canon.fields`."""
        return canon.delta_fields(self.facts["versions"][str(version)]["schema"])

    def conditions(self, version: int) -> dict[str, list[int]]:
        """Returns the positions in `rows` of the rows of each predicate."""
        found: dict[str, list[int]] = self.facts["versions"][str(version)]["conditions"]
        return found

    def rows(self, version: int) -> list[str]:
        """Returns the rows in the form of `canon.rows`."""
        return (self.home / f"v{version}.jsonl").read_text().splitlines()


def is_kept(home: Path) -> bool:
    return (home / _FILE).is_file()


def ask(make: Make, case: Case) -> None:
    """Reads the table of a finished case with Spark and writes the results."""
    spark = make.spark
    history = _objects(spark.sql(f"DESCRIBE HISTORY {make.name()}"))
    latest = history[0]["version"]
    detail = _objects(spark.sql(f"DESCRIBE DETAIL {make.name()}"))[0]
    facts = {
        "folder": make.path.name,
        "outside": case.outside,
        "latest": latest,
        "history": history,
        "detail": detail,
        "files": _files(make),
        "versions": {},
    }
    derived: list[str] = []
    versions = [latest] if case.latest_only else _sample([entry["version"] for entry in history], make)
    for version in reversed(versions):
        frame = spark.read.format("delta").option("versionAsOf", version).load(str(make.path))
        if version == latest:
            frame = spark.read.format("delta").load(str(make.path))
            plain = [predicates.quoted(name) for name, kind in frame.dtypes if not kind.startswith("interval")]
            derived = predicates.derive(_arrow(frame.select(*plain)))
        conditions = list(case.where) + (derived if version == latest else derived[::3])
        facts["versions"][version] = _read(make, frame, version, conditions)
    if case.travel:
        facts["travel"] = _travel(make, history)
    (make.home / _FILE).write_text(json.dumps(facts, indent=1))


def refuse(make: Make, features: tuple[str, ...]) -> None:
    """Writes the oracle of a table that every reader must refuse."""
    facts = {"folder": make.path.name, "refused": list(features), "versions": {}}
    (make.home / _FILE).write_text(json.dumps(facts, indent=1))


def _sample(versions: list[int], make: Make) -> list[int]:
    """Returns the versions to read: all of them, or of many versions the first, the middle and the
    latest. Versions that can no longer be reconstructed are left out.
    """
    versions = sorted(versions)
    first = _earliest(make)
    versions = [version for version in versions if version >= first]
    if len(versions) <= _ALL_UP_TO:
        return versions
    return [versions[0], versions[len(versions) // 2], versions[-1]]


def _earliest(make: Make) -> int:
    """Returns the first version that a reader can reconstruct. It is 0, or the version of the
    oldest checkpoint after a cleanup of the log.
    """
    if make.commit_file(0).exists():
        return 0
    return min(int(path.name[:20]) for path in make.log_dir().glob("0*.checkpoint*.*"))


def _read(make: Make, frame: Any, version: int, conditions: list[str]) -> dict[str, Any]:
    from pyspark.sql import functions as F

    known = _known(frame, conditions)
    width = len(frame.columns)
    shown = [F.expr(_shown(name, kind)) for name, kind in frame.dtypes]
    asked = frame.select(*shown, *[F.expr(text).alias(f"__{i}") for i, text in enumerate(known)])
    table = _arrow(asked)
    data = table.select(range(width))
    lines = canon.lines(data)
    order = sorted(range(len(lines)), key=lines.__getitem__)
    (make.home / f"v{version}.jsonl").write_text("".join(lines[i] + "\n" for i in order))
    answers = {}
    for i, text in enumerate(known):
        is_true = table.column(width + i).to_pylist()
        answers[text] = [position for position, line in enumerate(order) if is_true[line]]
    return {"schema": _schema(make, version), "conditions": answers}


def _shown(name: str, kind: str) -> str:
    """Returns the expression that fetches a column. Spark cannot convert intervals of months to
    Arrow, so they are fetched as integers.
    """
    column = predicates.quoted(name)
    return f"CAST(CAST({column} AS INTERVAL MONTH) AS INT)" if kind == "interval year to month" else column


def _arrow(frame: Any) -> pa.Table:
    """Returns the rows from Spark's own Arrow batches. `toArrow` casts them, which fails for nulls
    in structs with required fields.
    """
    return pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))


def _known(frame: Any, conditions: list[str]) -> list[str]:
    """Returns the predicates on columns of this version."""
    try:
        frame.selectExpr(*conditions)
    except Exception as error:
        if "UNRESOLVED_COLUMN" not in str(error) and "FIELD_NOT_FOUND" not in str(error):
            raise
        if len(conditions) == 1:
            return []
        half = len(conditions) // 2
        return _known(frame, conditions[:half]) + _known(frame, conditions[half:])
    return conditions


def _schema(make: Make, version: int) -> Any:
    return json.loads(make.snapshot_at(version).metadata().schemaString())


def _files(make: Make) -> list[Any]:
    from pyspark.sql import DataFrame

    make.forget()
    frame = DataFrame(make.snapshot().allFiles().toDF(), make.spark)
    found = _objects(frame.selectExpr("path", "size", "partitionValues", "deletionVector.cardinality AS deleted"))
    return sorted([f["path"], f["size"], f["partitionValues"], f.get("deleted", 0)] for f in found)


def _objects(frame: Any) -> list[dict[str, Any]]:
    """Returns the rows as JSON objects without nulls."""
    return [json.loads(row[0]) for row in frame.selectExpr("to_json(struct(*))").collect()]


def _travel(make: Make, history: list[dict[str, Any]]) -> list[Any]:
    """Returns the versions that Spark reads for timestamps around each commit's time.

    The number of rows identifies the version, so each version of such a case has another number of
    rows.
    """
    spark, path = make.spark, str(make.path)
    counts: dict[int, int] = {}
    for entry in history:
        rows = spark.read.format("delta").option("versionAsOf", entry["version"]).load(path).count()
        if counts.setdefault(rows, entry["version"]) != entry["version"]:
            raise ValueError(f"{path}: versions {counts[rows]} and {entry['version']} both have {rows} rows")
    times = [_millis(entry["timestamp"]) for entry in history]
    found: list[Any] = []
    for instant in sorted({time + step for time in times for step in (-1, 0, 1)} | {min(times) - 86_400_000}):
        text = f"{dt.datetime.fromtimestamp(instant / 1000, dt.timezone.utc):%Y-%m-%d %H:%M:%S}.{instant % 1000:03}"
        try:
            rows = spark.read.format("delta").option("timestampAsOf", text).load(path).count()
        except Exception as error:
            if "TIMESTAMP" not in str(error):
                raise
            found.append([instant, None])
        else:
            found.append([instant, counts[rows]])
    return found


def _millis(text: str) -> int:
    """Converts a timestamp of Spark's JSON (UTC, milliseconds) to milliseconds since 1970."""
    return round(dt.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
