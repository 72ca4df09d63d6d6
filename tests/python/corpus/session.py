"""The Spark session of a test process, with Delta Spark."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from typing import TYPE_CHECKING

from corpus import places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = places.POM.with_name("log4j2.properties").as_uri()

_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Duser.timezone=UTC"


def start() -> SparkSession:
    """Starts Spark on two threads, or returns the running session of this process."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Otherwise workers run any `python3`.
    scratch = tempfile.mkdtemp(prefix="lakebed-spark-")
    conf = {
        "spark.jars": ",".join(str(path) for path in places.jars()),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.local.dir": f"{scratch}/local",
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": f"{_JVM} -Dlog4j2.configurationFile={_LOGGING} -Dderby.system.home={scratch}",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        # There are hundreds of tiny queries. Compiling them takes longer than running them
        # (measured: a third of the CPU time).
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("lakebed-tests")
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return session
