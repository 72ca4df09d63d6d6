"""What the tests have in common that start Python elsewhere."""

from __future__ import annotations

import os
import sys


def environment() -> dict[str, str]:
    """Of a process that finds what this one finds, and whose Spark runs the same Python."""
    paths = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
