"""Runs `smoke.py` with the oldest pyspark that lakebed supports and with the newest one. The other
tests run with Delta Spark's version.
"""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

from corpus import places

pytestmark = pytest.mark.spark

SMOKE = Path(__file__).with_name("smoke.py")
VERSIONS = ("4.0.0", "4.3.0")


def installed(version: str) -> Path:
    """Returns a Python with this pyspark. It is installed once per machine."""
    folder = places.cache_dir() / f"venv-pyspark-{version}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, clear=True, with_pip=True)
        wanted = [f"pyspark=={version}", "pyarrow", "pandas<3"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
        (folder / "complete").touch()
    return python


@pytest.mark.parametrize("version", VERSIONS)
def test_a_small_round(version: str) -> None:
    python = installed(version)
    # The import path has only the packages of this Python, because it must not find another
    # installed version of pyspark.
    environment = {**os.environ, "PYSPARK_PYTHON": str(python), "PYTHONPATH": str(SMOKE.parents[3] / "python")}
    done = subprocess.run([python, SMOKE], capture_output=True, text=True, timeout=500, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.startswith(f"pyspark {version}")
    assert done.stdout.endswith("ok\n")
