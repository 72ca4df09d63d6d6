"""Spark's doors, classic and Connect: places, words, arguments, threads and errors. The scenarios are in `doors`."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import doors
import pytest
from processes import environment

import lakebed as lb
import lakebed.spark as lbs
from lakebed.spark.options import Options
from lakebed.spark.parts import write_options
from lakebed.spark.source import _ReadOptions

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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("versionAsOf", "abc"),
        ("versionAsOf", "-1"),
        ("versionAsOf", "1_0"),
        ("versionAsOf", ""),
        ("versionAsOf", "9" * 20),
        ("version", "1.5"),
        ("timestampAsOf", "tomorrow"),
        ("timestamp", "2026-01-01"),
        ("columns", ""),
        ("columns", "id,,id"),
        ("columns", '["id"'),
        ("columns", "[1]"),
        ("columns", '[""]'),
        ("absolute_paths", "yes"),
    ],
)
def test_an_option_of_a_read_that_makes_no_sense(name: str, value: str) -> None:
    # Spark hands the names of options over in lower case.
    with pytest.raises(lb.InvalidInputError) as refused:
        _ReadOptions.of(Options({"path": "/t", name.lower(): value}))
    assert str(refused.value).startswith(f"option {name}={value!r}: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "nope"),
        ("schema", "x"),
        ("partitionOverwriteMode", "some"),
        ("on_lossy", ""),
        ("target_file_size", "1mb"),
        ("row_group_rows", "-1"),
        ("timeout", "-1"),
        ("timeout", "nan"),
        ("timeout", "soon"),
        ("partition_by", "a,"),
        ("mergeSchema", "yes"),
    ],
)
def test_an_option_of_a_write_that_makes_no_sense(name: str, value: str) -> None:
    options = Options({"path": "/t", name.lower(): value})
    with pytest.raises(lb.InvalidInputError) as refused:
        write_options(options, False, options.access())
    assert str(refused.value).startswith(f"option {name}={value!r}: ")


def test_no_function_takes_what_it_does_not_name() -> None:
    functions = {name: getattr(lbs, name) for name in lbs.__all__ if inspect.isfunction(getattr(lbs, name))}
    assert len(functions) == 6
    for name, function in functions.items():
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}, name
    of_a_batch = set(inspect.signature(lbs.foreach_batch).parameters) - {"app_id", "repeats"}
    assert of_a_batch == set(inspect.signature(lbs.write).parameters) - {"df", "txn"}


def test_connect() -> None:
    done = subprocess.run(
        [sys.executable, doors.__file__], env=environment(), capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert done.stdout.splitlines()[-1] == "ok"
