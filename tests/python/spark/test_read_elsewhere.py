"""`lbs.read` in other processes: Spark Connect, workers that fail, and a store that requires
credentials.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from processes import environment

import frames
import lakebed as lb
import lakebed.spark as lbs
from corpus import build, canon
from stores.gateway import S3

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent

#: One table of each kind that readers treat differently.
CASES = [
    "all_in_all",
    "chars_renamed_and_added",
    "inline",
    "intervals",
    "mapped_by_id",
    "mapped_partitions_by_name",
    "mapped_with_deletion_vectors",
    "nested_fields_added",
    "no_rows",
    "pages_of_version_2",
    "partitioned_by_date",
    "partitioned_by_decimal",
    "primitives_together",
    "strings_that_need_escaping",
    "updates_and_merges",
    "variants_of_typed_values",
    "void_inside_a_struct",
    "widened_from_int",
]


def run(*arguments: str, **variables: str) -> str:
    """Runs a program in a process of its own. Returns its output."""
    done = subprocess.run(
        [sys.executable, *arguments], env={**environment(), **variables}, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_spark_connect(spark: Any) -> None:
    build.load(CASES)  # A Connect session cannot build the corpus.
    assert run(str(HERE / "connect.py"), *CASES).splitlines()[-1] == "ok"


def test_workers_call_the_provider_of_credentials(spark: Any, s3: S3, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = s3.options
    secrets = {key: value for key, value in options.items() if "access_key" in key}
    public = {key: value for key, value in options.items() if key not in secrets}
    uri = s3.uri("spark")
    expected = canon.rows(lb.write(uri, pa.table({"id": range(100)}), storage_options=options).table.to_arrow())
    kept = tmp_path / "secrets.json"
    kept.write_text(json.dumps(secrets))

    def fetched() -> dict[str, str]:
        found: dict[str, str] = json.loads(kept.read_text())
        return found

    found = lbs.read(spark, uri, storage_options=public, credentials=fetched)
    assert frames.rows(found) == expected
    text = found._jdf.queryExecution().toString() + repr(found) + capfd.readouterr().err
    assert not any(secret in text for secret in secrets.values())


def closing_over(secrets: dict[str, str]) -> Callable[[], dict[str, str]]:
    return lambda: secrets


def having_inside(secrets: dict[str, str]) -> Callable[[], dict[str, str]]:
    found: dict[str, Any] = {}
    exec(f"def written_inside():\n    return {secrets!r}", found)
    function: Callable[[], dict[str, str]] = found["written_inside"]
    return function


@pytest.mark.parametrize("carrying", [closing_over, having_inside])
def test_credentials_that_carry_secrets_are_refused(spark: Any, tmp_path: Path, carrying: Any) -> None:
    credentials = carrying({"aws_access_key_id": "lakebed", "aws_secret_access_key": "grant-to-nobody"})
    uri = str(tmp_path / "t")
    for attempt in (
        lambda: lbs.write(spark.range(1), uri, credentials=credentials),
        lambda: lbs.read(spark, uri, credentials=credentials),
    ):
        with pytest.raises(lb.InvalidInputError, match=r"contains what it returns \(aws_secret_access_key\)") as refused:
            attempt()
        assert "grant-to-nobody" not in str(refused.value)
    assert not (tmp_path / "t").exists()


def test_retried_task_gives_same_rows(tmp_path: Path) -> None:
    lb.write(tmp_path / "t", pa.table({"id": range(1000), "part": [row % 5 for row in range(1000)]}), partition_by=["part"])
    program = tmp_path / "program.py"
    program.write_text(RETRIED)
    assert run(str(program), str(tmp_path)).splitlines()[-1] == "ok"


#: A program in which first attempts of tasks fail, before their rows or in the middle of them.
RETRIED = '''
import os, sys
from pyspark.sql import SparkSession
import lakebed.spark as lbs

folder = sys.argv[1]
builder = SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()


def fail_at_first():
    path = f"{folder}/failed"
    if not os.path.exists(path):
        open(path, "w").close()
        raise RuntimeError("no credentials yet")
    return {}

for provider in (fail_at_first, None):
    found = lbs.read(spark, f"{folder}/t", reader="lakebed", credentials=provider, target_task_size=1)
    rows = sorted((row.id, row.part) for row in found.collect())
    assert rows == [(row, row % 5) for row in range(1000)], len(rows)

def broken(batches):
    """Takes a batch and fails, once a partition: what was read before is read again."""
    from pyspark import TaskContext
    for batch in batches:
        if TaskContext.get().attemptNumber() < 2:
            raise RuntimeError("once more")
        yield batch

found = lbs.read(spark, f"{folder}/t", reader="lakebed", target_task_size=1)
rows = sorted((row.id, row.part) for row in found.mapInArrow(broken, found.schema).collect())
assert rows == [(row, row % 5) for row in range(1000)], len(rows)
print("ok")
'''


def test_default_session_zone_is_of_jvm(tmp_path: Path) -> None:
    # The first timestamp is in March only in Berlin.
    at = pa.array(["2026-02-28 23:30:00", "2026-03-01 00:30:00"]).cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
    table = lb.write(tmp_path / "t", pa.table({"id": [1, 2], "at": at})).table
    where = "at >= '2026-03-01'"
    expected = table.to_arrow(["id"], where=where).column("id").to_pylist()
    assert expected == [2]
    program = tmp_path / "program.py"
    program.write_text(IN_BERLIN)
    assert run(str(program), str(tmp_path / "t"), where, TZ="Europe/Berlin").splitlines()[-1] == f"Europe/Berlin {expected}"


IN_BERLIN = """
import sys
from pyspark.sql import SparkSession
import lakebed.spark as lbs

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
spark = builder.config("spark.driver.extraJavaOptions", "-Duser.timezone=Europe/Berlin").getOrCreate()
found = lbs.read(spark, sys.argv[1], where=sys.argv[2])
print(spark.conf.get("spark.sql.session.timeZone"), sorted(row.id for row in found.collect()))
"""
