"""lakebed for PySpark: Spark's executors read and write tables, with ``pip install`` and no jar.

>>> import lakebed.spark as lbs  # doctest: +SKIP
>>> df = lbs.read(spark, "/data/trips", columns=["city"], where="fare > 20")  # doctest: +SKIP
"""

from __future__ import annotations

from lakebed.spark.changes import changes
from lakebed.spark.read import Explanation, explain, read
from lakebed.spark.source import register
from lakebed.spark.write import foreach_batch, write

__all__ = ["Explanation", "changes", "explain", "foreach_batch", "read", "register", "write"]
