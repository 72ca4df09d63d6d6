"""What the tests have in common that start Python elsewhere."""

from __future__ import annotations

import os
import sys


def environment() -> dict[str, str]:
    """The environment of a process with the same import path, whose Spark runs the same Python."""
    paths = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
