"""The small round of `smoke.py` on the oldest pyspark that lakebed takes and on the newest there is. The suite runs on Delta Spark's."""

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
    """A Python with this pyspark, made once for the machine."""
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
    # The path has its own packages only, because an installed pyspark of another version must not be found.
    environment = {**os.environ, "PYSPARK_PYTHON": str(python), "PYTHONPATH": str(SMOKE.parents[3] / "python")}
    done = subprocess.run([python, SMOKE], capture_output=True, text=True, timeout=500, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.startswith(f"pyspark {version}")
    assert done.stdout.endswith("ok\n")
