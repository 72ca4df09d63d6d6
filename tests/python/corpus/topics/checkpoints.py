"""Checkpoints of every kind, with and without the commits before them, and log compactions."""

from __future__ import annotations

from corpus.case import Make, add_case, case

_WHERE = ("id = 7", "p = 'b'", "v IS NULL", "s.x > 10", "d < 2.5", "ts >= TIMESTAMP '2024-01-03 00:00:00'", "id > 100")


def _history(t: Make, commits: int) -> None:
    """Makes commits that add and remove files, and the other content of checkpoints: transactions,
    properties, partitions, statistics.
    """
    for i in range(commits):
        t.append(
            t.frame(
                f"SELECT id + {i * 10} AS id, IF(id % 2 = 0, 'a', 'b') AS p, IF(id = 1, null, concat('v', id)) AS v,"
                f" named_struct('x', id * {i}) AS s, CAST(id / 2 AS DECIMAL(10,2)) AS d,"
                f" TIMESTAMP '2024-01-01 00:00:00' + make_interval(0, 0, 0, {i}) AS ts FROM range(4)"
            ),
            txnAppId="app",
            txnVersion=str(i),
        )
        if i == 1:
            t.sql("DELETE FROM {t} WHERE id = 1")


def _forget_commits_before(t: Make, version: int) -> None:
    for old in range(version):
        for kind in ("json", "crc"):
            (t.log_dir() / f"{old:020}.{kind}").unlink()
            (t.log_dir() / f".{old:020}.{kind}.crc").unlink()
    t.forget()


# The form of the statistics in a checkpoint: JSON, typed columns, both, or none.
_STATS = {
    "json": ("true", "false"),
    "struct": ("false", "true"),
    "json_and_struct": ("true", "true"),
    "no_stats": ("false", "false"),
}


def _add_classic(name: str, as_json: str, as_struct: str) -> None:
    def make(t: Make) -> None:
        _create(
            t,
            f"'delta.checkpoint.writeStatsAsJson' = '{as_json}', 'delta.checkpoint.writeStatsAsStruct' = '{as_struct}'",
        )
        _history(t, 3)
        t.checkpoint()
        t.append(t.frame("SELECT 1000L AS id, 'c' AS p"))
        _forget_commits_before(t, 4)

    add_case(f"classic_checkpoint_with_{name}", make, where=_WHERE)


def _create(t: Make, properties: str, partitioned: bool = True) -> None:
    t.sql(
        "CREATE TABLE {t} (id BIGINT, p STRING, v STRING, s STRUCT<x: BIGINT>, d DECIMAL(10,2), ts TIMESTAMP) USING delta"
        f" {'PARTITIONED BY (p)' if partitioned else ''} TBLPROPERTIES ({properties})"
    )


for _name, (_json, _struct) in _STATS.items():
    _add_classic(_name, _json, _struct)


@case(where=_WHERE)
def multi_part_checkpoint(t: Make) -> None:
    t.set(spark__databricks__delta__checkpoint__partSize="3")
    _create(t, "'delta.checkpointInterval' = '100'")
    _history(t, 4)
    t.checkpoint()
    t.append(t.frame("SELECT 1000L AS id, 'c' AS p"))
    _forget_commits_before(t, 5)


def _add_v2(name: str, form: str, part_size: str) -> None:
    def make(t: Make) -> None:
        t.set(
            spark__databricks__delta__checkpointV2__topLevelFileFormat=form,
            spark__databricks__delta__checkpoint__partSize=part_size,
        )
        _create(t, "'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '100', 'delta.enableDeletionVectors' = 'true'")
        _history(t, 3)
        t.checkpoint()
        t.sql("DELETE FROM {t} WHERE id = 10")
        _forget_commits_before(t, 4)

    add_case(f"v2_checkpoint_{name}", make, where=_WHERE)


_add_v2("in_json", "json", "50000")
_add_v2("in_parquet", "parquet", "50000")
_add_v2("in_json_with_many_sidecars", "json", "2")
_add_v2("in_parquet_with_many_sidecars", "parquet", "2")


@case(where=_WHERE)
def v2_checkpoint_with_all_commits(t: Make) -> None:
    t.set(spark__databricks__delta__checkpoint__partSize="2")
    _create(t, "'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '100'")
    _history(t, 3)
    t.checkpoint()
    t.append(t.frame("SELECT 1000L AS id, 'c' AS p"))


@case(where=_WHERE)
def v2_checkpoint_with_a_classic_name(t: Make) -> None:
    """Spark's cleanup of the log leaves such a checkpoint for readers without V2 checkpoints: V2
    content under a classic name.
    """
    _create(t, "'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '100'")
    t.set(spark__databricks__delta__checkpointV2__topLevelFileFormat="parquet")
    _history(t, 3)
    t.checkpoint()
    (named,) = t.log_dir().glob(f"{4:020}.checkpoint.*.parquet")
    named.rename(t.log_dir() / f"{4:020}.checkpoint.parquet")
    (t.log_dir() / f".{named.name}.crc").unlink()
    (t.log_dir() / "_last_checkpoint").unlink()
    (t.log_dir() / "._last_checkpoint.crc").unlink(missing_ok=True)
    t.append(t.frame("SELECT 1000L AS id, 'c' AS p"))
    _forget_commits_before(t, 4)


@case(where=("id = 5", "id > 6"))
def checkpoint_every_second_commit(t: Make) -> None:
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '2')")
    for i in range(9):
        t.append(t.frame(f"SELECT {i}L AS id"))
    t.sql("DELETE FROM {t} WHERE id IN (3, 4)")


@case(where=_WHERE)
def several_kinds_of_checkpoint(t: Make) -> None:
    """One version has a classic and a multi-part checkpoint, and an older version has a V2
    checkpoint.
    """
    _create(t, "'delta.checkpointInterval' = '100'")
    _history(t, 3)
    t.checkpoint()
    t.set(spark__databricks__delta__checkpoint__partSize="2")
    t.checkpoint()
    t.append(t.frame("SELECT 1000L AS id, 'c' AS p"))


@case(where=("id = 1", "v = 'x'"))
def checkpoint_with_domains_transactions_and_tombstones(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id BIGINT, v STRING) USING delta CLUSTER BY (id)"
        " TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true')"
    )
    t.append(t.frame("SELECT id, 'x' AS v FROM range(5)"), txnAppId="app", txnVersion="7")
    t.sql("UPDATE {t} SET v = 'y' WHERE id = 2")
    t.sql("ALTER TABLE {t} CLUSTER BY NONE")
    t.checkpoint()
    t.sql("DELETE FROM {t} WHERE id = 4")
    _forget_commits_before(t, 3)


@case(where=("c = 1.5", "m['k'] = 1", "`a b`.`x y` = 1", "p > DATE '2024-01-01'"))
def struct_stats_of_all_types(t: Make) -> None:
    """The checkpoint has typed statistics and partition values under physical names."""
    t.sql(
        "CREATE TABLE {t} (c DECIMAL(20,3), f FLOAT, b BOOLEAN, x BINARY, t STRING, dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ,"
        " y TINYINT, m MAP<STRING, INT>, `a b` STRUCT<`x y`: INT>, v VARIANT, n VOID,"
        " p DATE, q DECIMAL(5,1), r TIMESTAMP) USING delta"
        " PARTITIONED BY (p, q, r)"
        " TBLPROPERTIES ('delta.checkpoint.writeStatsAsJson' = 'false', 'delta.columnMapping.mode' = 'name')"
    )
    t.sql(
        "INSERT INTO {t} SELECT 1.5, CAST('NaN' AS FLOAT), true, X'00', 'text', DATE '1500-01-01',"
        " TIMESTAMP '2024-01-01 00:00:00.000999', TIMESTAMP_NTZ '0001-01-01 00:00:00', 1, map('k', 1), struct(1),"
        " parse_json('1'), null, DATE '2024-01-02', 1.5,"
        " TIMESTAMP '2024-01-01 12:00:00.5'"
    )
    t.sql("INSERT INTO {t} (c, t) VALUES (99999999999999999.999, repeat('long', 20))")
    t.checkpoint()
    _forget_commits_before(t, 2)


_FAR = (
    "0001-01-01 00:00:00",
    "1500-06-01 12:00:00.000001",
    "1677-09-21 00:12:43.145224",
    "2262-04-11 23:47:16.854776",
    "9999-12-31 23:59:59.999999",
)


@case(
    where=tuple(
        f"{column} {operator} {kind} '{text}'"
        for column, kind in (("ts", "TIMESTAMP"), ("tn", "TIMESTAMP_NTZ"))
        for operator in ("=", ">=", "<=")
        for text in _FAR
    ),
    latest_only=True,
)
def struct_stats_of_far_times(t: Make) -> None:
    """Nanoseconds cannot represent these timestamps. The typed statistics have them as INT96, which
    is Spark's default.
    """
    t.sql("CREATE TABLE {t} (id INT, ts TIMESTAMP, tn TIMESTAMP_NTZ) USING delta")
    for i, text in enumerate((*_FAR, "2024-01-01 00:00:00")):
        t.sql(f"INSERT INTO {{t}} VALUES ({i}, TIMESTAMP '{text}', TIMESTAMP_NTZ '{text}')")
    t.checkpoint()


@case(where=("id = 5", "id = 3"))
def log_compactions(t: Make) -> None:
    """Delta's Java kernel writes the compactions. Spark reads compactions but does not write them."""
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    for i in range(4):
        t.append(t.frame(f"SELECT id FROM range({i * 3}, {i * 3 + 3})"))
    t.sql("DELETE FROM {t} WHERE id IN (3, 4)")
    t.sql("DELETE FROM {t} WHERE id < 3")
    _compact(t, 0, 3)
    _compact(t, 4, 6)
    t.append(t.frame("SELECT 100L AS id"))


@case(where=("id = 5", "id = 3"))
def log_compaction_after_a_checkpoint(t: Make) -> None:
    t.append(t.frame("SELECT id FROM range(3)"))
    t.append(t.frame("SELECT id FROM range(3, 6)"))
    t.checkpoint()
    t.sql("DELETE FROM {t} WHERE id < 4")
    t.append(t.frame("SELECT id FROM range(6, 9)"))
    t.append(t.frame("SELECT id FROM range(9, 12)"))
    _compact(t, 2, 4)
    _forget_commits_before(t, 1)


def _compact(t: Make, first: int, last: int) -> None:
    jvm = t.spark.sparkContext._jvm
    kernel = jvm.io.delta.kernel
    root, log = (kernel.internal.fs.Path(f"file:{path}") for path in (t.path, t.log_dir()))
    writer = kernel.internal.compaction.LogCompactionWriter(root, log, first, last, 0)
    writer.writeLogCompactionFile(
        kernel.defaults.engine.DefaultEngine.create(t.spark._jsparkSession.sessionState().newHadoopConf())
    )
    t.forget()


@case(where=("id = 5",), latest_only=True)
def cleaned_by_spark(t: Make) -> None:
    """Spark's own cleanup of the log deletes old commits and checkpoints by age."""
    import os

    t.sql(
        "CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 1 days',"
        " 'delta.deletedFileRetentionDuration' = 'interval 1 days')"
    )
    for i in range(6):
        t.append(t.frame(f"SELECT {i}L AS id"))
        if i == 3:
            t.checkpoint()
    for file in t.log_dir().iterdir():
        if file.name.startswith("0") and int(file.name[:20]) < 5:
            os.utime(file, (1_700_000_000 + int(file.name[:20]), 1_700_000_000 + int(file.name[:20])))
    t.forget()
    t.checkpoint()
    t.append(t.frame("SELECT 100L AS id"))


@case(where=("id = 5",))
def no_checksums(t: Make) -> None:
    t.set(spark__databricks__delta__writeChecksumFile__enabled="false")
    t.append(t.frame("SELECT id FROM range(5)"))
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('own' = 'x')")
    t.append(t.frame("SELECT id FROM range(5, 8)"))
