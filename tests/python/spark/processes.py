"""The shared part of the tests that start Python processes."""

from __future__ import annotations

import os
import sys


def environment() -> dict[str, str]:
    """Returns the environment of a process with the same import path. Its Spark runs the same
    Python.
    """
    paths = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
