"""The metadata of a table can use a feature that its protocol does not list. lakebed reads such a
table only if Delta Spark reads it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb

pytestmark = pytest.mark.spark

PROPERTIES = {
    "delta.appendOnly": "true",
    "delta.checkpointPolicy": "v2",
    "delta.columnMapping.mode": "name",
    "delta.constraints.c": "id > 0",
    "delta.enableChangeDataFeed": "true",
    "delta.enableDeletionVectors": "true",
    "delta.enableIcebergCompatV2": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.enableMaterializePartitionColumnsFeature": "true",
    "delta.enableRowTracking": "true",
    "delta.enableTypeWidening": "true",
    "delta.enableVariantShredding": "true",
    "delta.requireCheckpointProtectionBeforeVersion": "3",
}
#: Versions for readers and writers, and whether there are lists of features.
PROTOCOLS = [(1, 2, False), (1, 4, False), (2, 5, False), (2, 6, False), (1, 7, True), (3, 7, True)]


def make(path: Path, protocol: tuple[int, int, bool], name: str, value: str) -> None:
    lb.write(path, pa.table({"id": [1, 2]}))
    commit = path / "_delta_log" / f"{0:020}.json"
    (path / "_delta_log" / f"{0:020}.crc").unlink(missing_ok=True)
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    reader, writer, has_lists = protocol
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": reader, "minWriterVersion": writer}
            if has_lists:
                action["protocol"]["writerFeatures"] = []
            if reader == 3:
                action["protocol"]["readerFeatures"] = []
        if "metaData" in action:
            action["metaData"]["configuration"] = {name: value}
            field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
            if "columnMapping" in name:
                field["metadata"] = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
            action["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": [field]})
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))


def is_read(read: Any) -> bool:
    try:
        return bool(read() == 2)
    except Exception:
        return False


def test_metadata_beyond_its_protocol(spark: Any, tmp_path: Path) -> None:
    found = {}
    for protocol in PROTOCOLS:
        for name, value in PROPERTIES.items():
            path = tmp_path / f"{protocol}{name}".replace(" ", "")
            make(path, protocol, name, value)
            by_lakebed = is_read(lambda path=path: lb.Table(path).to_arrow().num_rows)
            by_spark = is_read(lambda path=path: len(spark.read.format("delta").load(str(path)).collect()))
            if by_lakebed != by_spark:
                found[f"{protocol} {name}"] = {"lakebed": by_lakebed, "spark": by_spark}
    assert found == {}
