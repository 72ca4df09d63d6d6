"""The small round of `smoke.py` where the suite does not go: on the oldest pyspark that lakebed takes, and on a Spark Connect server."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from corpus import places

pytestmark = pytest.mark.spark

SMOKE = Path(__file__).with_name("smoke.py")
OLDEST = "4.0.0"


def smoke(python: Path | str, *arguments: str) -> str:
    # Only what is its own: an installed pyspark of another version must not be found.
    environment = {**os.environ, "PYSPARK_PYTHON": str(python), "PYTHONPATH": str(SMOKE.parents[3] / "python")}
    done = subprocess.run([python, SMOKE, *arguments], capture_output=True, text=True, timeout=500, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def oldest() -> Path:
    folder = places.cache_dir() / f"venv-pyspark-{OLDEST}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, clear=True, with_pip=True)
        wanted = [f"pyspark=={OLDEST}", "pyarrow", "pandas<3"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
        (folder / "complete").touch()
    return python


def test_the_oldest_pyspark(oldest: Path) -> None:
    assert smoke(oldest).startswith(f"pyspark {OLDEST}")


def test_spark_connect() -> None:
    assert smoke(sys.executable, "connect").rstrip().endswith("ok")
