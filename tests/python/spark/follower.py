"""The driver that `test_killed` kills. It runs two streams in the folder of its argument: one from
the table `source` to `middle`, and one from `middle` to `sink`.

`follow` runs until it is stopped. It reads few files at a time, so that there are many batches in
which it can be killed. `finish` reads the existing rows and stops. The first stream writes
with the sink of `format("lakebed")`, the second with `lbs.foreach_batch`.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import SparkSession

import lakebed.spark as lbs

what, lake = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2, 8]")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
lbs.register(spark)


def rows(table: str) -> Any:
    """Returns a stream of the rows of a table."""
    return (
        spark.readStream.format("lakebed")
        .option("maxFilesPerTrigger", "1000" if what == "finish" else "3")
        .load(f"{lake}/{table}")
    )


def trigger(stream: Any) -> Any:
    """Sets the trigger of a stream."""
    return stream.trigger(availableNow=True) if what == "finish" else stream.trigger(processingTime="0 seconds")


first = rows("source").writeStream.format("lakebed").option("checkpointLocation", f"{lake}/checkpoints/middle")
write_batch = lbs.foreach_batch(f"{lake}/sink", app_id="sink")
second = rows("middle").writeStream.foreachBatch(write_batch).option("checkpointLocation", f"{lake}/checkpoints/sink")
if what == "finish":
    trigger(first).start(f"{lake}/middle").awaitTermination()
    trigger(second).start().awaitTermination()
else:
    trigger(first).start(f"{lake}/middle")
    trigger(second).start()
    print("following", flush=True)
    spark.streams.awaitAnyTermination()
