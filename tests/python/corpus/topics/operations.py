"""The results of statements: overwrite, delete, update, merge, restore, optimize, vacuum,
clustering, change data.
"""

from __future__ import annotations

from corpus.case import Make, case


@case(where=("id < 3", "v = 'b'"))
def rewritten_by_delete_update_merge(t: Make) -> None:
    t.set(spark__sql__files__maxRecordsPerFile="4")
    t.append(t.frame("SELECT id, IF(id % 2 = 0, 'a', 'b') AS v FROM range(12)"))
    t.sql("DELETE FROM {t} WHERE id = 5")
    t.sql("UPDATE {t} SET v = 'c' WHERE id > 8")
    t.sql(
        "MERGE INTO {t} t USING (SELECT id * 3 AS id FROM range(6)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'm'"
        " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'i') WHEN NOT MATCHED BY SOURCE AND t.id < 2 THEN DELETE"
    )
    t.sql("DELETE FROM {t}")


@case(where=("id = 1",))
def overwritten_and_restored(t: Make) -> None:
    for start in (0, 10, 20):
        t.frame(f"SELECT id + {start} AS id FROM range(3)").write.format("delta").mode("overwrite").save(str(t.path))
    t.sql("RESTORE TABLE {t} TO VERSION AS OF 0")
    t.sql("TRUNCATE TABLE {t}")


@case(where=("id = 57", "x > 90", "y < 5 AND x < 50"))
def optimized_and_zordered(t: Make) -> None:
    t.set(spark__databricks__delta__optimize__maxFileSize="4000")
    for part in range(3):
        t.append(t.frame(f"SELECT id, id * 37 % 101 AS x, id * 53 % 97 AS y FROM range({part * 100}, {part * 100 + 100})", 2))
    t.sql("OPTIMIZE {t} ZORDER BY (x, y)")
    t.sql("DELETE FROM {t} WHERE x = 7")
    t.sql("OPTIMIZE {t}")


@case(where=("id > 5",), latest_only=True)
def vacuumed(t: Make) -> None:
    """Only the latest version has all its files."""
    t.set(spark__databricks__delta__retentionDurationCheck__enabled="false")
    t.append(t.frame("SELECT id FROM range(10)"))
    t.sql("UPDATE {t} SET id = id + 1")
    t.sql("VACUUM {t} RETAIN 0 HOURS")


@case(where=("a = 3", "s.b = 'x'", "a BETWEEN 10 AND 20 AND s.b > 'm'"))
def clustered(t: Make) -> None:
    t.sql("CREATE TABLE {t} (a INT, s STRUCT<b: STRING>, v DOUBLE) USING delta CLUSTER BY (a, s.b)")
    t.sql("INSERT INTO {t} SELECT CAST(id AS INT), struct(IF(id % 2 = 0, 'x', 'm')), id / 4 FROM range(40)")
    t.sql("OPTIMIZE {t}")
    t.sql("ALTER TABLE {t} CLUSTER BY (v)")
    t.sql("INSERT INTO {t} VALUES (100, null, null)")
    t.sql("ALTER TABLE {t} CLUSTER BY NONE")


@case(where=("id = 2", "v = 'new'"))
def change_data_feed(t: Make) -> None:
    """The data files of inserts and updates have `_change_type`, which is no column of the table."""
    t.sql(
        "CREATE TABLE {t} (id BIGINT, v STRING, p INT) USING delta PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    )
    t.sql("INSERT INTO {t} SELECT id, 'old', CAST(id % 2 AS INT) FROM range(8)")
    t.sql("UPDATE {t} SET v = 'new' WHERE id IN (2, 3)")
    t.sql("DELETE FROM {t} WHERE id = 4")
    t.sql(
        "MERGE INTO {t} t USING (SELECT id FROM range(6, 10)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'merged'"
        " WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 'in', 5)"
    )


@case(where=("id > 10",))
def change_data_feed_with_deletion_vectors(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id BIGINT, v STRING) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true',"
        " 'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true')"
    )
    t.sql("INSERT INTO {t} SELECT id, 'old' FROM range(20)")
    t.sql("UPDATE {t} SET v = 'new' WHERE id > 15")
    t.sql("DELETE FROM {t} WHERE id < 3")


@case(where=("id = 3",))
def idempotent_and_streamed_writes(t: Make) -> None:
    """The log has `txn` actions, user metadata and a commit that changes nothing."""
    t.append(t.frame("SELECT id FROM range(3)"), txnAppId="app", txnVersion="1", userMetadata='first \u00fc "quoted"')
    t.append(t.frame("SELECT id FROM range(3)"), txnAppId="app", txnVersion="1")
    t.append(t.frame("SELECT 3L AS id"), txnAppId="app", txnVersion="5")
    t.append(t.frame("SELECT 4L AS id"), txnAppId="other app", txnVersion="1")
    stream = t.spark.readStream.format("delta").load(str(t.path))
    target = t.home / "stream"
    query = stream.writeStream.format("delta").option("checkpointLocation", str(t.home / "progress")).trigger(availableNow=True)
    query.start(str(target)).awaitTermination()
    t.path = target
    t.append(t.frame("SELECT 5L AS id"))


@case(where=("id < 50",))
def auto_compacted_and_optimized_writes(t: Make) -> None:
    t.sql(
        "CREATE TABLE {t} (id BIGINT) USING delta"
        " TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true', 'delta.autoOptimize.optimizeWrite' = 'true')"
    )
    t.set(spark__databricks__delta__autoCompact__minNumFiles="3")
    for start in range(3):
        t.append(t.frame(f"SELECT id FROM range({start * 10}, {start * 10 + 10})"))


@case(conf={"spark.databricks.delta.write.dataFilesToSubdir": "true"}, where=("p = 1",))
def data_files_in_a_subfolder(t: Make) -> None:
    t.append(t.frame("SELECT id, id % 2 AS p FROM range(4)"), partitionBy="p")
    t.append(t.frame("SELECT id, 1L AS p FROM range(4, 6)"))
