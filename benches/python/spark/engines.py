"""The engines: how each starts its session, reads the tables and writes one. All run with the same
settings on the same files.

- `parquet`: Spark's own reader and writer without a log. The other engines are compared with it.
- `delta`: Delta Spark, with its jars on the class path.
- `lakebed`: `lbs.read` with the reader that it chooses, and `lbs.write`. No jar.
- `lakebed_arrow`: the same with lakebed's reader, which also reads tables with features that
  Spark's reader does not know.
- `lakebed_unflushed`: writes without flushing files to the disk, like the other two.
"""

import sys
from pathlib import Path
from typing import Any

CORES = 2
CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class Parquet:
    """Plain Parquet files. It is the base of all engines."""

    def conf(self) -> dict[str, str]:
        """Returns the settings in addition to the common ones."""
        return {}

    def start(self, memory: str, scratch: Path) -> str:
        """Starts the session. Returns the versions."""
        from pyspark.sql import SparkSession

        places = {"spark.local.dir": str(scratch / "local"), "spark.sql.warehouse.dir": str(scratch / "warehouse")}
        builder = SparkSession.builder.master(f"local[{CORES}]").appName("lakebed-bench")
        for key, value in (CONF | places | {"spark.driver.memory": memory} | self.conf()).items():
            builder = builder.config(key, value)
        self.spark: Any = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")
        return f"spark {self.spark.version}{self.version()}"

    def version(self) -> str:
        """Returns the versions besides Spark's."""
        return ""

    def read(self, path: str) -> Any:
        """Returns a table as a DataFrame."""
        return self.spark.read.parquet(path)

    def write(self, frame: Any, path: str) -> None:
        """Writes a DataFrame as a new table."""
        frame.write.parquet(path)


class Delta(Parquet):
    """Delta Spark."""

    def conf(self) -> dict[str, str]:
        sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "python"))
        from corpus import places

        return {
            "spark.jars": ",".join(map(str, places.jars())),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # The default of 50 tasks for each read of a log is for large logs and more cores.
            "spark.databricks.delta.snapshotPartitions": str(CORES),
        }

    def version(self) -> str:
        return " / delta 4.4.0"

    def read(self, path: str) -> Any:
        return self.spark.read.format("delta").load(path)

    def write(self, frame: Any, path: str) -> None:
        frame.write.format("delta").save(path)


class Lakebed(Parquet):
    """lakebed."""

    def version(self) -> str:
        import lakebed

        return f" / lakebed {lakebed.__version__}"

    def read(self, path: str) -> Any:
        import lakebed.spark as lbs

        return lbs.read(self.spark, path)

    def write(self, frame: Any, path: str) -> None:
        import lakebed.spark as lbs

        lbs.write(frame, path)


class LakebedArrow(Lakebed):
    """lakebed through mapInArrow."""

    def read(self, path: str) -> Any:
        import lakebed.spark as lbs

        return lbs.read(self.spark, path, reader="lakebed")


class LakebedUnflushed(Lakebed):
    """lakebed without waiting for the disk."""

    def write(self, frame: Any, path: str) -> None:
        import lakebed.spark as lbs

        lbs.write(frame, path, storage_options={"local_flush": "false"})


ENGINES: dict[str, type[Parquet]] = {
    "parquet": Parquet,
    "delta": Delta,
    "lakebed": Lakebed,
    "lakebed_arrow": LakebedArrow,
    "lakebed_unflushed": LakebedUnflushed,
}
