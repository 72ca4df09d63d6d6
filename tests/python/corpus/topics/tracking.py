"""Row tracking, in-commit timestamps and time travel by timestamp."""

from __future__ import annotations

import os

from corpus.case import Make, case

_ICT = "TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"


@case(where=("id = 3", "v IS NULL"))
def row_tracking(t: Make) -> None:
    """Rewritten files have materialised row ids, which are no columns of the table."""
    t.sql("CREATE TABLE {t} (id BIGINT, v STRING) USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    t.sql("INSERT INTO {t} SELECT id, 'a' FROM range(10)")
    t.sql("UPDATE {t} SET v = 'b' WHERE id > 7")
    t.sql("MERGE INTO {t} t USING (SELECT 3L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = null")
    t.sql("OPTIMIZE {t}")


@case(where=("id = 3",))
def row_tracking_enabled_later(t: Make) -> None:
    """The backfill adds the same files again with row ids."""
    t.append(t.frame("SELECT id FROM range(5)"))
    t.append(t.frame("SELECT id FROM range(5, 8)"))
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    t.sql("DELETE FROM {t} WHERE id = 6")
    t.sql("ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.enableRowTracking')")


@case(where=("id = 3",))
def row_tracking_suspended(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.feature.rowTracking' = 'supported')")
    t.append(t.frame("SELECT id FROM range(5)"))
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.rowTrackingSuspended' = 'true')")
    t.append(t.frame("SELECT id FROM range(5, 8)"))


def _append_growing(t: Make, times: int) -> None:
    """Makes commits that each change the number of rows, so that the number identifies the version.
    The retention period is long, because the timestamps are old.
    """
    for kind in ("logRetention", "deletedFileRetention"):
        t.spark.conf.set(f"spark.databricks.delta.properties.defaults.{kind}Duration", "interval 36500 days")
    for i in range(times):
        t.append(t.frame(f"SELECT id, {i} AS batch FROM range({i + 1})"))


def _stamp(t: Make, millis: list[int]) -> None:
    """Sets the modification times of the commits."""
    for version, moment in enumerate(millis):
        os.utime(t.commit_file(version), ns=(moment * 1_000_000, moment * 1_000_000))
    t.forget()


_BASE = 1_700_000_000_000


@case(travel=True)
def times_of_commit_files(t: Make) -> None:
    _append_growing(t, 4)
    _stamp(t, [_BASE, _BASE + 1000, _BASE + 1001, _BASE + 60_000])


@case(travel=True)
def times_of_commit_files_out_of_order(t: Make) -> None:
    """The timestamps are equal or fall. A reader must adjust each to at least a millisecond after
    the one before.
    """
    _append_growing(t, 6)
    _stamp(t, [_BASE, _BASE, _BASE - 5000, _BASE + 1, _BASE + 500, _BASE + 100])


@case(travel=True)
def times_after_clean_up(t: Make) -> None:
    """The commits before a checkpoint are deleted, so time travel begins at the checkpoint."""
    _append_growing(t, 5)
    _stamp(t, [_BASE, _BASE + 2000, _BASE + 1000, _BASE + 1000, _BASE + 9000])
    t.checkpoint(2)
    for version in (0, 1):
        for file in t.log_dir().glob(f"*{version:020}.*"):
            file.unlink()
    t.forget()


@case(travel=True)
def in_commit_timestamps(t: Make) -> None:
    """The modification times of the files are wrong, and the timestamps in the commits count."""
    t.sql(f"CREATE TABLE {{t}} (id BIGINT, batch INT) USING delta {_ICT}")
    _append_growing(t, 3)
    _stamp(t, [_BASE, _BASE + 1000, _BASE + 1001, _BASE + 60_000])


@case(travel=True)
def in_commit_timestamps_enabled_later(t: Make) -> None:
    _append_growing(t, 3)
    _stamp(t, [_BASE, _BASE + 1000, _BASE + 1001])
    t.sql(f"CREATE OR REPLACE TABLE {{t}} USING delta {_ICT} AS SELECT id, 3 AS batch FROM range(11)")
    t.sql("DELETE FROM {t} WHERE id = 2")
    t.append(t.frame("SELECT id, 9 AS batch FROM range(20)"))
