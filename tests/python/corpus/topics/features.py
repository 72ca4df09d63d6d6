"""Protocols: features that change nothing for a reader, dropped features, old protocol versions,
other session zones.
"""

from __future__ import annotations

from corpus.case import Make, add_case, case

_PROTOCOLS = {
    "protocol_1_1": "'delta.minReaderVersion' = '1', 'delta.minWriterVersion' = '1'",
    "protocol_1_4": "'delta.minReaderVersion' = '1', 'delta.minWriterVersion' = '4'",
    "protocol_2_5": "'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'",
    "feature_vacuum_protocol_check": "'delta.feature.vacuumProtocolCheck' = 'supported'",
    "feature_checkpoint_protection": "'delta.feature.checkpointProtection' = 'supported'",
    "feature_domain_metadata": "'delta.feature.domainMetadata' = 'supported'",
    "feature_coordinated_commits": "'delta.feature.coordinatedCommits-preview' = 'supported'",
    "features_of_variants_in_preview": (
        "'delta.feature.variantType-preview' = 'supported', 'delta.feature.variantShredding-preview' = 'supported'"
    ),
    "features_that_are_supported_and_not_used": (
        "'delta.feature.deletionVectors' = 'supported', 'delta.feature.columnMapping' = 'supported',"
        " 'delta.feature.typeWidening' = 'supported', 'delta.feature.timestampNtz' = 'supported',"
        " 'delta.feature.v2Checkpoint' = 'supported', 'delta.feature.variantType' = 'supported',"
        " 'delta.feature.variantShredding' = 'supported', 'delta.feature.changeDataFeed' = 'supported',"
        " 'delta.feature.identityColumns' = 'supported', 'delta.feature.generatedColumns' = 'supported',"
        " 'delta.feature.checkConstraints' = 'supported'"
    ),
}


def _add_protocol(name: str, properties: str) -> None:
    def make(t: Make) -> None:
        t.sql(f"CREATE TABLE {{t}} (id INT, v STRING) USING delta TBLPROPERTIES ({properties})")
        t.sql("INSERT INTO {t} VALUES (1, 'a'), (2, null)")

    add_case(name, make, where=("id = 1", "v IS NULL"), latest_only=True)


for _name, _properties in _PROTOCOLS.items():
    _add_protocol(_name, _properties)


@case(where=("id = 3",))
def feature_deletion_vectors_dropped(t: Make) -> None:
    """The protocol goes back to reader version 1, but older versions still need the feature."""
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    t.sql("INSERT INTO {t} SELECT id FROM range(5)")
    t.sql("DELETE FROM {t} WHERE id = 2")
    t.sql("ALTER TABLE {t} DROP FEATURE deletionVectors")


@case(where=("id = 3",))
def feature_v2_checkpoint_dropped(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')")
    t.sql("INSERT INTO {t} SELECT id FROM range(5)")
    t.checkpoint()
    t.sql("ALTER TABLE {t} DROP FEATURE v2Checkpoint")


@case(where=("id = 3",))
def protocol_upgraded_step_by_step(t: Make) -> None:
    t.append(t.frame("SELECT id FROM range(5)"))
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '6')")
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    t.sql("DELETE FROM {t} WHERE id = 4")


@case(
    conf={"spark.sql.session.timeZone": "Asia/Kolkata", "spark.databricks.delta.write.utcTimestampPartitionValues": "true"},
    where=(
        "ts = TIMESTAMP '2023-12-31 18:30:00'",
        "ts >= TIMESTAMP '2024-01-01 00:00:00'",
        "p = TIMESTAMP '2024-06-30 18:30:00'",
        "p < TIMESTAMP '2024-07-01 00:00:00'",
    ),
)
def written_in_another_time_zone(t: Make) -> None:
    """Statistics have the offset of the zone, and partition values are in UTC."""
    t.sql("CREATE TABLE {t} (id INT, ts TIMESTAMP, p TIMESTAMP) USING delta PARTITIONED BY (p)")
    t.sql("INSERT INTO {t} VALUES (1, TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-07-01 00:00:00')")
    t.sql("INSERT INTO {t} VALUES (2, TIMESTAMP '2024-01-01 09:00:00.123456', TIMESTAMP '2024-07-01 12:00:00')")


@case(conf={"spark.databricks.delta.schema.typeCheck.enabled": "false"}, where=("s = 'a'", "s > 'A'", "id = 2", "s LIKE 'A%'"))
def collated_strings(t: Make) -> None:
    """Equality of a collated column ignores case, so a reader must not skip its files by binary
    statistics.
    """
    t.sql("CREATE TABLE {t} (id INT, s STRING COLLATE UTF8_LCASE) USING delta")
    t.sql("INSERT INTO {t} VALUES (1, 'A'), (2, 'b')")
    t.sql("INSERT INTO {t} VALUES (3, 'a'), (4, null)")
