"""The engines. All have the same few operations. If a method is missing, the engine lacks the
operation.

`load` imports the engine and does the setup that a process needs once. `open` returns a handle that
the other operations take:

- `columns(handle)`; `refresh(handle)`: the refreshed handle, and its version or None
- `list_files(handle)`: all paths. `list_actions(handle)`: all files with their statistics. Both
  return the number of files
- `plan(handle, where)`: the number of files that a scan with this predicate must read
- `count(handle)`, `read(handle, columns, where, limit)`: rows as an Arrow table
- `write(rows, path, partition_by)`: writes rows of an Arrow table to a new table. `append(rows,
  path)`: appends to a table that may exist
- `checkpoint(path)`: writes a checkpoint of the table
- `delete(handle, where)`, `update(handle, values, where)`, `merge(handle, source, merge, gone)`:
  changes of rows, each in one commit. They return the metrics of the engine. `gone` selects the
  target rows without a match that are deleted. `source(path)` is the source of `merge` in memory.
  `limit_memory(size_bytes)` sets a budget if the engine has one. `writes_vectors`: whether deletion
  vectors can delete rows
- `compact(handle)`: compacts small files. `zorder(handle, columns, target_bytes)`, `cluster(handle,
  columns, target_bytes)`: orders all rows, in files of about that size. `vacuum(handle)`: deletes
  files that no version names and that are older than a week. They return the metrics of the engine
- `digest(result)`: the digest by which answers are compared. `processes()`: the processes for which
  memory and CPU time count
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .queries import SUMMED, Merge, digest


class NoSuchOperation(Exception):
    """The engine lacks the operation."""


class Engine:
    """The base of all engines."""

    writes_vectors = False

    def operation(self, name: str) -> Callable[..., Any]:
        """Returns the method of this name."""
        method: Callable[..., Any] | None = getattr(self, name, None)
        if method is None:
            raise NoSuchOperation(f"{type(self).__name__} has no {name}")
        return method

    def load(self) -> str:
        """Imports the engine. Returns its version."""
        raise NotImplementedError

    def open(self, uri: str) -> Any:
        """Opens a table."""
        raise NotImplementedError

    def digest(self, result: Any) -> dict[str, Any]:
        """Returns the row count and sums of a read."""
        return digest(result)

    def processes(self) -> list[int]:
        """Returns the ids of the processes that do the work."""
        return [os.getpid()]

    def source(self, path: Path) -> Any:
        """Returns the rows of an Arrow file."""
        import pyarrow as pa

        with pa.OSFile(str(path)) as file:
            return pa.ipc.open_file(file).read_all()

    def limit_memory(self, size_bytes: int) -> None:
        """Does nothing by default."""


class Lakebed(Engine):
    """lakebed."""

    writes_vectors = True

    def load(self) -> str:
        import lakebed

        self.lb = lakebed
        return str(lakebed.__version__)

    def open(self, uri: str) -> Any:
        return self.lb.Table(uri)

    def columns(self, table: Any) -> list[str]:
        return list(table.schema.names)

    def refresh(self, table: Any) -> tuple[Any, int]:
        new = table.refresh()
        return new, int(new.version)

    def list_files(self, table: Any) -> int:
        return len(table.scan().files())

    def list_actions(self, table: Any) -> int:
        return len(table.files())

    def plan(self, table: Any, where: str) -> int:
        return len(table.scan(where=where).files())

    def count(self, table: Any) -> int:
        return int(table.scan().count())

    def read(self, table: Any, columns: list[str] | None, where: str | None, limit: int | None) -> Any:
        return table.scan(columns=columns, where=where, limit=limit).to_arrow()

    def write(self, rows: Any, path: str, partition_by: str | None) -> None:
        self.lb.write(path, rows, partition_by=partition_by)

    def append(self, rows: Any, path: str) -> None:
        self.lb.write(path, rows)

    def checkpoint(self, path: str) -> None:
        self.lb.Table(path).checkpoint()

    def limit_memory(self, size_bytes: int) -> None:
        self.lb.set_memory_limit(size_bytes)

    def delete(self, table: Any, where: str) -> dict[str, Any]:
        return asdict(table.delete(where).metrics)

    def update(self, table: Any, values: dict[str, str], where: str) -> dict[str, Any]:
        return asdict(table.update(values, where=where).metrics)

    def merge(self, table: Any, source: Any, merge: Merge, gone: str | None) -> dict[str, Any]:
        change = table.merge(source, merge.on)
        if merge.updates:
            change.when_matched_update()
        change.when_not_matched_insert()
        if gone:
            change.when_not_matched_by_source_delete(where=gone)
        return asdict(change.execute().metrics)

    def compact(self, table: Any) -> dict[str, Any]:
        return asdict(table.optimize().metrics)

    def zorder(self, table: Any, columns: tuple[str, ...], target_bytes: int) -> dict[str, Any]:
        return asdict(table.optimize(zorder_by=columns, target_file_size=target_bytes).metrics)

    def cluster(self, table: Any, columns: tuple[str, ...], target_bytes: int) -> dict[str, Any]:
        return asdict(table.optimize(cluster_by=columns, target_file_size=target_bytes).metrics)

    def vacuum(self, table: Any) -> dict[str, Any]:
        return asdict(table.vacuum().metrics)

    def restore(self, table: Any, version: int) -> int:
        return int(table.restore(version).metrics.num_files)

    def shallow_clone(self, table: Any, target: str) -> None:
        table.clone(target, shallow=True)

    def deep_clone(self, table: Any, target: str) -> None:
        table.clone(target)

    def check_footers(self, table: Any) -> int:
        return int(table.check(level="footers").files)

    def add_column(self, table: Any) -> None:
        table.alter.add_column("note", "string")


class LakebedUnflushed(Lakebed):
    """lakebed without flushing files to the disk, like the other engines."""

    def open(self, uri: str) -> Any:
        return self.lb.Table(uri, storage_options={"local_flush": "false"})

    def write(self, rows: Any, path: str, partition_by: str | None) -> None:
        self.lb.write(path, rows, partition_by=partition_by, storage_options={"local_flush": "false"})

    def append(self, rows: Any, path: str) -> None:
        self.lb.write(path, rows, storage_options={"local_flush": "false"})


class LakebedSingly(Lakebed):
    """lakebed with user metadata for each append, so that appends at the same time do not share a
    version.
    """

    def append(self, rows: Any, path: str) -> None:
        self.lb.write(path, rows, user_metadata="one append")


class Deltalake(Engine):
    """delta-rs."""

    streams_source = True

    def load(self) -> str:
        import deltalake

        self.module = deltalake
        return deltalake.__version__

    def open(self, uri: str) -> Any:
        return self.module.DeltaTable(uri)

    def columns(self, table: Any) -> list[str]:
        return [f.name for f in table.schema().fields]

    def refresh(self, table: Any) -> tuple[Any, int]:
        table.update_incremental()
        return table, int(table.version())

    def list_files(self, table: Any) -> int:
        return len(table.file_uris())

    def list_actions(self, table: Any) -> int:
        return int(table.get_add_actions().num_rows)

    def plan(self, table: Any, where: str) -> int:
        return len(table.file_uris(file_pruning_predicate=where))

    def count(self, table: Any) -> int:
        return int(self._sql(table, "SELECT count(*) FROM t")[0][0].as_py())

    def read(self, table: Any, columns: list[str] | None, where: str | None, limit: int | None) -> Any:
        if limit is not None:
            return self._sql(table, f"SELECT * FROM t LIMIT {limit}")
        return self._arrow(table.scan(columns=columns, predicate=where))

    def write(self, rows: Any, path: str, partition_by: str | None) -> None:
        self.module.write_deltalake(path, rows, partition_by=partition_by)

    def append(self, rows: Any, path: str) -> None:
        self.module.write_deltalake(path, rows, mode="append")

    def checkpoint(self, path: str) -> None:
        self.module.DeltaTable(path).create_checkpoint()

    def delete(self, table: Any, where: str) -> dict[str, Any]:
        return dict(table.delete(where))

    def update(self, table: Any, values: dict[str, str], where: str) -> dict[str, Any]:
        return dict(table.update(values, predicate=where))

    def merge(self, table: Any, source: Any, merge: Merge, gone: str | None) -> dict[str, Any]:
        names = {"source_alias": "source", "target_alias": "target"}
        change = table.merge(source, merge.on, **names, streamed_exec=self.streams_source)
        if merge.updates:
            change = change.when_matched_update_all()
        change = change.when_not_matched_insert_all()
        if gone:
            change = change.when_not_matched_by_source_delete(gone)
        return dict(change.execute())

    def compact(self, table: Any) -> dict[str, Any]:
        return dict(table.optimize.compact())

    def zorder(self, table: Any, columns: tuple[str, ...], target_bytes: int) -> dict[str, Any]:
        return dict(table.optimize.z_order(columns, target_size=target_bytes))

    def vacuum(self, table: Any) -> dict[str, Any]:
        """Without `full`, it would only look for files that the log removed."""
        return {"deleted": len(table.vacuum(retention_hours=168, dry_run=False, full=True))}

    def restore(self, table: Any, version: int) -> int:
        table.restore(version)
        return self.list_files(table)

    def add_column(self, table: Any) -> None:
        from deltalake import Field
        from deltalake.schema import PrimitiveType

        table.alter.add_columns(Field("note", PrimitiveType("string")))

    def _sql(self, table: Any, text: str) -> Any:
        return self._arrow(self.module.QueryBuilder().register("t", table).execute(text))

    def _arrow(self, stream: Any) -> Any:
        import pyarrow as pa

        # `pa.table(stream)` would import pandas.
        return pa.RecordBatchReader.from_stream(stream).read_all()


class DeltalakeCollected(Deltalake):
    """deltalake with the whole source of a merge in its plan instead of a stream. Only then do the
    bounds of the source skip files of the table.
    """

    streams_source = False
    delete: Any = None  # no other than above
    update: Any = None
    compact: Any = None
    zorder: Any = None
    vacuum: Any = None


class DeltalakeSpilling(Deltalake):
    """deltalake with a memory budget for a sort, if the case has one."""

    budget_bytes: int | None = None
    compact: Any = None  # no other than above
    vacuum: Any = None

    def limit_memory(self, size_bytes: int) -> None:
        self.budget_bytes = size_bytes

    def zorder(self, table: Any, columns: tuple[str, ...], target_bytes: int) -> dict[str, Any]:
        if self.budget_bytes is None:
            raise NoSuchOperation("no other than without a budget")
        return dict(table.optimize.z_order(columns, target_size=target_bytes, max_spill_size=self.budget_bytes))


class Duckdb(Engine):
    """DuckDB's delta_scan. EXPLAIN prunes the files to estimate the rows: a fifth of the rows in
    the remaining files.
    """

    def load(self) -> str:
        import duckdb
        import duckdb_extensions

        self.connection = duckdb.connect()
        duckdb_extensions.import_extension("delta", con=self.connection)
        self.connection.execute("LOAD delta; SET enable_progress_bar = false")
        return duckdb.__version__

    def open(self, uri: str) -> Any:
        self.connection.sql(f"FROM delta_scan('{uri}')").columns  # noqa: B018 binds the table
        return uri

    def columns(self, uri: str) -> list[str]:
        return list(self.connection.sql(f"FROM delta_scan('{uri}')").columns)

    def refresh(self, uri: str) -> tuple[str, None]:
        return self.open(uri), None

    def list_files(self, uri: str) -> int:
        return int(self.connection.sql(f"SELECT data_file FROM delta_list_files('{uri}')").to_arrow_table().num_rows)

    def plan(self, uri: str, where: str) -> int:
        text = self.connection.sql(f"EXPLAIN (FORMAT json) SELECT * FROM delta_scan('{uri}') WHERE {where}").fetchall()[0][1]
        rows = int(re.findall(r'"Estimated Cardinality": "(\d+)"', text)[-1])
        return round(rows * 5 / 1_000)

    def count(self, uri: str) -> int:
        return int(self.connection.sql(f"SELECT count(*) FROM delta_scan('{uri}')").fetchall()[0][0])

    def read(self, uri: str, columns: list[str] | None, where: str | None, limit: int | None) -> Any:
        text = f"SELECT {', '.join(columns or ['*'])} FROM delta_scan('{uri}')"
        text += f" WHERE {where}" if where else ""
        text += f" LIMIT {limit}" if limit is not None else ""
        return self.connection.sql(text).to_arrow_table()


class Polars(Engine):
    """polars, which reads the log with deltalake. Its plan is `explain`, which names the number of
    files.
    """

    def load(self) -> str:
        import deltalake  # noqa: F401 what scan_delta imports at its first call
        import polars

        self.pl = polars
        return polars.__version__

    def open(self, uri: str) -> Any:
        return self.pl.scan_delta(uri)

    def columns(self, frame: Any) -> list[str]:
        return list(frame.collect_schema().names())

    def plan(self, frame: Any, where: str) -> int:
        text = frame.filter(self.pl.sql_expr(where)).explain()
        more = re.search(r"\.\.\. (\d+) other sources", text)
        return 1 + int(more.group(1)) if more else text.count(".parquet")

    def count(self, frame: Any) -> int:
        return int(frame.select(self.pl.len()).collect().item())

    def read(self, frame: Any, columns: list[str] | None, where: str | None, limit: int | None) -> Any:
        frame = frame.filter(self.pl.sql_expr(where)) if where else frame
        frame = frame.select(columns) if columns else frame
        return (frame.head(limit) if limit is not None else frame).collect()

    def write(self, rows: Any, path: str, partition_by: str | None) -> None:
        options = {"partition_by": [partition_by]} if partition_by else None
        self.pl.from_arrow(rows).write_delta(path, delta_write_options=options)

    def append(self, rows: Any, path: str) -> None:
        self.pl.from_arrow(rows).write_delta(path, mode="append")

    def digest(self, result: Any) -> dict[str, Any]:
        return digest(result.to_arrow())


class Spark(Engine):
    """Delta Spark in one warm session. Rows stay in the JVM and do not go to Python."""

    writes_vectors = True

    def load(self) -> str:
        sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))
        from pyspark.sql import SparkSession

        from corpus import places

        conf = {
            "spark.jars": ",".join(map(str, places.jars())),
            "spark.driver.memory": "10g",
            "spark.ui.enabled": "false",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.driver.maxResultSize": "0",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.session.timeZone": "UTC",
        }
        builder = SparkSession.builder.master("local[2]")
        for key, value in conf.items():
            builder = builder.config(key, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")
        self.jvm: Any = self.spark._jvm
        from .tables import root

        self.spark.read.format("delta").load(str(root() / "lineitem")).filter("l_orderkey < 10").count()
        return f"{self.spark.version} / delta 4.4.0"

    def open(self, uri: str) -> Any:
        log = self.jvm.org.apache.spark.sql.delta.DeltaLog
        log.clearCache()
        return uri, log.forTable(self.spark._jsparkSession, uri)

    def columns(self, handle: Any) -> list[str]:
        return list(handle[1].update(False, self._none(), self._none()).schema().fieldNames())

    def refresh(self, handle: Any) -> tuple[Any, int]:
        return handle, int(handle[1].update(False, self._none(), self._none()).version())

    def list_files(self, handle: Any) -> int:
        return int(handle[1].update(False, self._none(), self._none()).allFiles().collectAsList().size())

    def plan(self, handle: Any, where: str) -> int:
        return len(self._frame(handle).filter(where).inputFiles())

    def count(self, handle: Any) -> int:
        return self._frame(handle).count()

    def read(self, handle: Any, columns: list[str] | None, where: str | None, limit: int | None) -> Any:
        frame = self._frame(handle)
        frame = frame.filter(where) if where else frame
        frame = frame.select(columns) if columns else frame
        if limit is not None:
            return self.spark.createDataFrame(frame.limit(limit).collect(), frame.schema)
        frame._jdf.queryExecution().toRdd().count()
        return frame

    def write(self, rows: Any, path: str, partition_by: str | None) -> None:
        """Uses the Parquet files, which Spark reads faster than Arrow data from Python."""
        from .tables import root

        frame = self.spark.read.format("delta").load(str(root() / "lineitem"))
        if partition_by == "month":
            frame = frame.selectExpr("*", "date_format(l_shipdate, 'yyyy-MM') as month")
        if partition_by == "bucket":
            frame = frame.selectExpr("*", "cast(l_suppkey - 1 as int) as bucket")
        writer = frame.write.format("delta")
        (writer.partitionBy(partition_by) if partition_by else writer).save(path)

    def append(self, rows: Any, path: str) -> None:
        frame = self.spark.range(len(rows)).selectExpr("id", "concat('row ', id) as text").coalesce(1)
        frame.write.format("delta").mode("append").save(path)

    def checkpoint(self, path: str) -> None:
        self.open(path)[1].checkpoint()

    def source(self, path: Path) -> Any:
        """Returns rows in Spark's cache, from the Parquet file."""
        frame = self.spark.read.parquet(str(path.with_suffix(".parquet"))).cache()
        frame.count()
        return frame

    def delete(self, handle: Any, where: str) -> dict[str, Any]:
        return self._told(f"DELETE FROM delta.`{handle[0]}` WHERE {where}")

    def update(self, handle: Any, values: dict[str, str], where: str) -> dict[str, Any]:
        changes = ", ".join(f"{column} = {value}" for column, value in values.items())
        return self._told(f"UPDATE delta.`{handle[0]}` SET {changes} WHERE {where}")

    def merge(self, handle: Any, source: Any, merge: Merge, gone: str | None) -> dict[str, Any]:
        source.createOrReplaceTempView("source")
        text = f"MERGE INTO delta.`{handle[0]}` AS target USING source ON {merge.on}"
        text += " WHEN MATCHED THEN UPDATE SET *" if merge.updates else ""
        text += " WHEN NOT MATCHED THEN INSERT *"
        text += f" WHEN NOT MATCHED BY SOURCE AND {gone} THEN DELETE" if gone else ""
        return self._told(text)

    def compact(self, handle: Any) -> dict[str, Any]:
        return self._told(f"OPTIMIZE delta.`{handle[0]}`")

    def zorder(self, handle: Any, columns: tuple[str, ...], target_bytes: int) -> dict[str, Any]:
        self.spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(target_bytes))
        return self._told(f"OPTIMIZE delta.`{handle[0]}` ZORDER BY ({', '.join(columns)})")

    def vacuum(self, handle: Any) -> dict[str, Any]:
        return self._told(f"VACUUM delta.`{handle[0]}` RETAIN 168 HOURS")

    def restore(self, handle: Any, version: int) -> int:
        return int(self._told(f"RESTORE TABLE delta.`{handle[0]}` TO VERSION AS OF {version}")["num_of_files_after_restore"])

    def shallow_clone(self, handle: Any, target: str) -> None:
        self._told(f"CREATE TABLE delta.`{target}` SHALLOW CLONE delta.`{handle[0]}`")

    def add_column(self, handle: Any) -> None:
        self.spark.sql(f"ALTER TABLE delta.`{handle[0]}` ADD COLUMNS (note STRING)")

    def digest(self, result: Any) -> dict[str, Any]:
        sums = [f"sum(cast({c} as decimal(38,2))) as {c}" for c in SUMMED if c in result.columns]
        row = result.selectExpr("count(*) as rows", *sums).first().asDict()
        return {k: v if k == "rows" else str(v) for k, v in row.items()}

    def processes(self) -> list[int]:
        return [os.getpid(), int(self.jvm.java.lang.ProcessHandle.current().pid())]

    def _told(self, text: str) -> dict[str, Any]:
        # The defaults, 200 and 50 tasks for each change, are for more cores.
        self.spark.conf.set("spark.sql.shuffle.partitions", "4")
        self.spark.conf.set("spark.databricks.delta.snapshotPartitions", "2")
        return dict(self.spark.sql(text).first().asDict(recursive=True))

    def _frame(self, handle: Any) -> Any:
        return self.spark.read.format("delta").load(handle[0])

    def _none(self) -> Any:
        return self.jvm.scala.Option.apply(None)


class Limit(Engine):
    """No engine: pyarrow decodes only the Parquet columns, or reads only the JSON bytes, that the
    operation needs.
    """

    def load(self) -> str:
        import pyarrow.dataset
        import pyarrow.parquet

        self.pq = pyarrow.parquet
        return pyarrow.__version__

    def open(self, uri: str) -> Path:
        log = Path(uri) / "_delta_log"
        self._decode(log, ["protocol", "metaData"])
        return Path(uri)

    def columns(self, _: Path) -> list[str] | None:
        return None

    def list_files(self, table: Path) -> None:
        self._adds(table, ["path"])

    def list_actions(self, table: Path) -> None:
        self._adds(table, ["path", "size", "modificationTime", "partitionValues", "stats"])

    def plan(self, table: Path, where: str) -> None:
        """Reads the paths, and the typed columns that the predicate names, or the text that has
        them.
        """
        column = where.split()[0]
        if table.name.endswith("_json"):
            self._adds(table, ["path", "stats" if column == "id" else "partitionValues"])
        elif column == "id":
            self._adds(table, ["path", "stats_parsed.minValues.id", "stats_parsed.maxValues.id"])
        else:
            self._adds(table, ["path", f"partitionValues_parsed.{column}"])

    def count(self, table: Path) -> None:
        self._adds(table, ["stats_parsed.numRecords"])

    def read(self, table: Path, columns: list[str] | None, where: str | None, limit: int | None) -> Any:
        files = sorted(table.glob("part-*.parquet"))
        if limit is not None:
            return next(self.pq.ParquetFile(files[0]).iter_batches(batch_size=limit))
        if where and "l_orderkey" in where:
            files = files[6:7]
        return self.pq.read_table(files, columns=columns)

    def write(self, rows: Any, path: str, partition_by: str | None) -> None:
        """Writes only Parquet files, with as many threads as there are CPUs and the codec of the
        other engines.
        """
        if partition_by:
            import pyarrow.dataset as ds

            options = ds.ParquetFileFormat().make_write_options(compression="snappy")
            # Arrow's default limits would refuse ten thousand partitions, or make tiny row groups
            # of them.
            limits = {"max_partitions": 20_000, "max_open_files": 20_000, "max_rows_per_group": 1 << 20}
            ds.write_dataset(rows, path, format="parquet", partitioning=[partition_by], file_options=options, **limits)
            return
        from concurrent.futures import ThreadPoolExecutor

        count = len(os.sched_getaffinity(0))
        share = -(-len(rows) // count)
        Path(path).mkdir()
        with ThreadPoolExecutor(count) as pool:
            parts = [(rows.slice(number * share, share), f"{path}/{number}.parquet") for number in range(count)]
            list(pool.map(lambda part: self.pq.write_table(*part, compression="snappy"), parts))

    def append(self, rows: Any, path: str) -> None:
        Path(path).mkdir(exist_ok=True)
        self.pq.write_table(rows, f"{path}/{len(os.listdir(path))}.parquet", compression="snappy")

    def restore(self, table: Path, version: int) -> None:
        """Lists the files."""
        self.list_files(table)

    def shallow_clone(self, table: Path, target: str) -> None:
        """Lists the files."""
        self.list_files(table)

    def deep_clone(self, table: Path, target: str) -> None:
        subprocess.run(["cp", "-r", str(table), target], check=True)

    def check_footers(self, table: Path) -> int:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return len(list(pool.map(self.pq.read_metadata, table.glob("part-*.parquet"))))

    def digest(self, result: Any) -> dict[str, Any]:
        return {}

    def _adds(self, table: Path, columns: list[str]) -> None:
        self._decode(table / "_delta_log", [f"add.{c}" for c in columns])

    def _decode(self, log: Path, columns: list[str]) -> None:
        for commit in log.glob("*.json"):
            commit.read_bytes()
        for checkpoint in log.glob("*.checkpoint.parquet"):  # not `read_table`: it decodes all of a struct for one of its fields
            self.pq.ParquetFile(checkpoint).read(columns=columns)


ENGINES: dict[str, type[Engine]] = {
    "lakebed": Lakebed,
    "lakebed_unflushed": LakebedUnflushed,
    "lakebed_singly": LakebedSingly,
    "deltalake": Deltalake,
    "deltalake_collected": DeltalakeCollected,
    "deltalake_spilling": DeltalakeSpilling,
    "duckdb": Duckdb,
    "polars": Polars,
    "spark": Spark,
    "limit": Limit,
}
