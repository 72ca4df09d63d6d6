"""Spark's doors, classic and Connect: places, words, arguments, threads and errors. The scenarios are in `doors`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import doors
import pytest
from processes import environment

import lakebed.spark as lbs

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("scenario", doors.SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_classic(scenario: Callable[[Any, Path], None], spark: Any, tmp_path: Path) -> None:
    lbs.register(spark)
    scenario(spark, tmp_path)


def test_each_session_registers_for_itself(spark: Any, tmp_path: Path) -> None:
    lbs.register(spark)
    second = spark.newSession()
    try:
        lbs.register(second)
        for session in (spark, second, spark):
            session.range(1).write.format("lakebed").mode("append").save(str(tmp_path))
            assert session.read.format("lakebed").load(str(tmp_path)).columns == ["id"]
    finally:
        lbs.register(spark)


def test_connect() -> None:
    done = subprocess.run(
        [sys.executable, doors.__file__], env=environment(), capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert done.stdout.splitlines()[-1] == "ok"
