"""A log read with Delta Spark's own classes: its state reconstruction, its check of checksums, its
choice of files.

Spark's caches of a table are cleared before each call, so Spark reads only the files of the log.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: The fields that no writer keeps for the tombstones of a checkpoint.
_NOT_IN_TOMBSTONES = ("stats", "tags")

#: Lists without order, and the field by which they are sorted here.
_UNORDERED = {"setTransactions": "appId", "domainMetadata": "domain", "readerFeatures": None, "writerFeatures": None}


class DeltaLog:
    """Delta Spark's `DeltaLog` of the table at `path`."""

    def __init__(self, spark: Any, path: str) -> None:
        self.spark = spark
        self.path = path
        self.folder = Path(path) / "_delta_log"

    def open(self) -> Any:
        jvm = self.spark.sparkContext._jvm
        jvm.SparkSession.setActiveSession(self.spark._jsparkSession)
        logs = jvm.org.apache.spark.sql.delta.DeltaLog
        logs.clearCache()
        return logs.forTable(self.spark._jsparkSession, self.path)

    def snapshot(self, version: int | None = None) -> Any:
        none = self.spark.sparkContext._jvm.scala.Option.apply(None)
        if version is None:
            return self.open().update(False, none, none)
        return self.open().getSnapshotAt(version, none, none, False)

    def rows(self, version: int | None = None) -> list[dict[str, Any]]:
        self.open()
        reader = self.spark.read.format("delta")
        reader = reader if version is None else reader.option("versionAsOf", version)
        found: list[dict[str, Any]] = reader.load(self.path).toArrow().to_pylist()
        return found

    def state(self, version: int | None = None) -> list[tuple[str, Any]]:
        """Returns every action of Delta Spark's state reconstruction: files, tombstones,
        transactions, domains, protocol, metadata.
        """
        from pyspark.sql import DataFrame

        found = []
        for line in DataFrame(self.snapshot(version).stateDF(), self.spark).toJSON().collect():
            ((kind, action),) = json.loads(line).items()
            if kind == "remove":
                action = {key: value for key, value in action.items() if key not in _NOT_IN_TOMBSTONES}
            if "stats" in action:
                action["stats"] = _without_empty(json.loads(action["stats"], parse_float=str))
            found.append((kind, _sorted(action)))
        return sorted(found, key=repr)

    def validate_checksum(self, version: int | None = None) -> None:
        """Lets Delta Spark compare the checksum of a version with its state. Raises if they differ,
        or if there is no checksum.
        """
        snapshot = self.snapshot(version)
        assert snapshot.checksumOpt().isDefined(), f"version {version} has no checksum"
        assert snapshot.validateChecksum(getattr(snapshot, "validateChecksum$default$1")())

    def computed_checksum(self, version: int) -> dict[str, Any]:
        """Returns the checksum that Delta Spark computes from the whole state of a version. The
        version must have no checksum file.
        """
        snapshot = self.snapshot(version)
        assert not snapshot.checksumOpt().isDefined(), f"version {version} has a checksum"
        snapshot.computedState()
        utils = getattr(self.spark.sparkContext._jvm.org.apache.spark.sql.delta.util, "JsonUtils$")
        return dict(_sorted(json.loads(utils.__getattr__("MODULE$").mapper().writeValueAsString(snapshot.computeChecksum()))))

    def files_read(self, where: str) -> set[str]:
        """Returns the names of the files that a query with this predicate opens."""
        frame = self.spark.read.format("delta").load(self.path).where(where)
        return {name.rsplit("/", 1)[-1] for name in frame.inputFiles()}

    def last_checkpoint(self) -> int | None:
        """Returns the version in `_last_checkpoint`, if Delta Spark finds the hint valid."""
        found = self.open().readLastCheckpointFile()
        return int(found.get().version()) if found.isDefined() else None

    def commit_info(self, version: int) -> dict[str, Any]:
        lines = (self.folder / f"{version:020}.json").read_text().splitlines()
        (info,) = [json.loads(line)["commitInfo"] for line in lines if line.startswith('{"commitInfo"')]
        return dict(info)

    def versions(self) -> list[int]:
        """Returns the versions that have a commit in the log."""
        return sorted(int(file.stem) for file in self.folder.glob("0*.json") if file.stem.isdigit())

    def versions_by_lakebed(self) -> list[int]:
        return [version for version in self.versions() if self.commit_info(version)["engineInfo"].startswith("lakebed/")]

    def checksum(self, version: int) -> dict[str, Any]:
        """Returns the content of a version's checksum file."""
        return dict(_sorted(json.loads((self.folder / f"{version:020}.crc").read_text())))

    def put_checksum(self, version: int, checksum: dict[str, Any]) -> None:
        self._delete(f"{version:020}.crc")
        (self.folder / f"{version:020}.crc").write_text(json.dumps(checksum) + "\n")

    def forget_checksums(self) -> None:
        for file in self.folder.glob("0*.crc"):
            self._delete(file.name)

    def forget_checkpoints(self, pattern: str = "0*.checkpoint.*") -> None:
        for file in self.folder.glob(pattern):
            self._delete(file.name)
        self._delete("_last_checkpoint")

    def forget_commits_before(self, version: int) -> None:
        """Deletes the commits that a checkpoint of that version replaces, and all other log files
        of older versions.
        """
        for file in self.folder.glob("0*"):
            if int(file.name[:20]) < version:
                self._delete(file.name)

    def _delete(self, name: str) -> None:
        (self.folder / name).unlink()
        # Hadoop writes these files beside its own.
        (self.folder / f".{name}.crc").unlink(missing_ok=True)


def _without_empty(statistics: Any) -> Any:
    """Returns statistics without empty structs, because an empty struct means the same as no
    struct.
    """
    if not isinstance(statistics, dict):
        return statistics
    found = {key: _without_empty(value) for key, value in statistics.items()}
    return {key: value for key, value in found.items() if value != {}}


def _sorted(value: Any) -> Any:
    """Returns the action with its unordered lists sorted."""
    if isinstance(value, list):
        return [_sorted(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: _sorted(one) for key, one in sorted(value.items())}
    for name, field in _UNORDERED.items():
        if isinstance(found.get(name), list):
            found[name] = sorted(found[name], key=lambda one, field=field: one[field] if field else one)
    return found
