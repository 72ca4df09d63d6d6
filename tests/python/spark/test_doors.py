"""lakebed in Spark, classic and Connect: locations, names, arguments, threads and errors. The
scenarios are in `doors`.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import typing
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


def test_delta_extensions_break_misspelled_merge_schema(spark: Any, tmp_path: Path) -> None:
    """Delta's extensions rewrite the option for every format: see docs/spark.md. If this test
    fails, a sentence of that page is no longer true.
    """
    lbs.register(spark)
    path = str(tmp_path / "t")
    lbs.write(spark.range(1), path)
    wider = spark.range(1, 2).selectExpr("id", "'x' AS more")
    with pytest.raises(Exception, match="INTERNAL_ERROR"):
        doors.append(wider, path, MERGESCHEMA="true")
    doors.append(wider, path, mergeSchema="true")
    doors.append(wider.selectExpr("*", "1 AS most"), path, SCHEMA_MODE="Merge")
    assert lb.Table(path).schema.names == ["id", "more", "most"]


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
def test_invalid_read_option_is_named(name: str, value: str) -> None:
    # Spark passes the names of options in lower case.
    with pytest.raises(lb.InvalidInputError) as refused:
        _ReadOptions.of(Options({"path": "/t", name.lower(): value}))
    assert str(refused.value).startswith(f"option {name}={value!r}: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "nope"),
        ("schema_mode", "x"),
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
def test_invalid_write_option_is_named(name: str, value: str) -> None:
    options = Options({"path": "/t", name.lower(): value})
    with pytest.raises(lb.InvalidInputError) as refused:
        write_options(options, False, options.access())
    assert str(refused.value).startswith(f"option {name}={value!r}: ")


def test_no_function_takes_unnamed_arguments() -> None:
    functions = {name: getattr(lbs, name) for name in lbs.__all__ if inspect.isfunction(getattr(lbs, name))}
    assert len(functions) == 6
    for name, function in functions.items():
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}, name
    of_a_batch = set(inspect.signature(lbs.foreach_batch).parameters) - {"app_id", "repeats"}
    assert of_a_batch == set(inspect.signature(lbs.write).parameters) - {"df", "txn"}


def test_unknown_storage_options_are_refused_with_advice(spark: Any, tmp_path: Path) -> None:
    for name in ("aws_secret_access_key", "nobody_knows"):
        said = f"storage_options has {name}: these options may be secrets.*Pass credentials=, a function"
        for attempt in (lbs.read, lambda *place, **options: lbs.write(spark.range(1), place[1], **options)):
            with pytest.raises(lb.InvalidInputError, match=said) as refused:
                attempt(spark, tmp_path / "t", storage_options={name: "hush-hush"})
            assert "hush" not in str(refused.value)


def test_every_parameter_is_documented() -> None:
    for name in lbs.__all__:
        function = getattr(lbs, name)
        if not inspect.isfunction(function):
            continue
        told = set(re.findall(r"``(\w+)(?:=[^`]*)?``", inspect.getdoc(function) or ""))
        assert set(inspect.signature(function).parameters) <= told, name


def test_words_and_columns_are_those_of_lakebed() -> None:
    theirs = typing.get_type_hints(lb.write)
    for function in (lbs.write, lbs.foreach_batch):
        hints = typing.get_type_hints(function, localns={"DataFrame": Any})
        for name in ("mode", "schema_mode", "on_lossy", "bloom_columns", "partition_by", "cluster_by"):
            assert hints[name] == theirs[name], name
        assert hints["partitions"] == theirs["partitions"] | None


def test_connect() -> None:
    done = subprocess.run(
        [sys.executable, doors.__file__], env=environment(), capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert done.stdout.splitlines()[-1] == "ok"
