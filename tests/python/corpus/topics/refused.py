"""Tables that a reader must refuse before it reads any data, because they have a reader feature
that it does not support.
"""

from __future__ import annotations

import json

from corpus.case import Make, add_case, case


@case(refused=("geospatial",), conf={"spark.databricks.delta.geo.preview.enabled": "true"})
def refused_geospatial(t: Make) -> None:
    """Spark writes this table with a development flag."""
    t.sql("CREATE TABLE {t} USING delta AS SELECT 1 AS id, st_geomfromwkb(X'0101000000000000000000F03F0000000000000040') AS g")


@case(
    refused=("adaptiveMetadata-preview", "catalogManaged"),
    conf={"spark.databricks.delta.tableFeatures.dev.unsupportedTableFeatures.enabled": "true"},
)
def refused_adaptive_metadata(t: Make) -> None:
    """Spark writes this table with a development flag."""
    t.sql(
        "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES"
        " ('delta.feature.adaptiveMetadata-preview' = 'supported', 'delta.columnMapping.mode' = 'id')"
    )


def _add_refused(feature: str) -> None:
    """Adds a table with a feature that Spark writes only with a catalog, or not at all. The
    protocol is edited.
    """

    def make(t: Make) -> None:
        t.append(t.frame("SELECT id FROM range(3)"))
        actions = t.commit_actions(0)
        for action in actions:
            if "protocol" in action:
                action["protocol"] = {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": [feature],
                    "writerFeatures": [feature, "appendOnly"],
                }
        t.commit_file(0).write_text("".join(json.dumps(action) + "\n" for action in actions))
        for name in (f".{0:020}.json.crc", f"{0:020}.crc", f".{0:020}.crc.crc"):
            (t.log_dir() / name).unlink()

    add_case("refused_" + feature.lower().replace("-", "_"), make, refused=(feature,))


for _feature in ("catalogManaged", "catalogOwned-preview", "redirectReaderWriter-preview", "aFeatureOfTheFuture"):
    _add_refused(_feature)
