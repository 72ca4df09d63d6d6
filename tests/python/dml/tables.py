"""Creates tables like another writer. These tables have features that lakebed's `create` does not
offer: generated, identity and default columns.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def spark_table(
    path: str,
    fields: list[dict[str, Any]],
    features: list[str],
    properties: dict[str, str] | None = None,
) -> None:
    """Creates a table without rows."""
    schema = {"type": "struct", "fields": [{"nullable": True, "metadata": {}, **field} for field in fields]}
    readers = [feature for feature in features if feature in ("deletionVectors", "columnMapping")]
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    if readers:
        protocol |= {"minReaderVersion": 3, "readerFeatures": readers}
    metadata = {
        "id": "6e1b1ed2-3bd9-4d4e-a1f7-4d1d5fbd6d84",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": properties or {},
    }
    folder = Path(path) / "_delta_log"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.json").write_text(json.dumps({"protocol": protocol}) + "\n" + json.dumps({"metaData": metadata}) + "\n")
