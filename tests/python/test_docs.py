"""Runs the Python blocks of the guide and the examples of docstrings unchanged."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lakebed
import lakebed.changes
import lakebed.checker
import lakebed.columns
import lakebed.copies
import lakebed.deltalake
import lakebed.dml
import lakebed.reader
import lakebed.repairer
import lakebed.scan
import lakebed.scannable
import lakebed.table
import lakebed.transaction
import lakebed.writer

ROOT = Path(__file__).parents[2]


#: The pages whose Python blocks run without Spark.
PAGES = [
    "README.md",
    "docs/alter.md",
    "docs/check.md",
    "docs/copies.md",
    "docs/deltalake.md",
    "docs/erase.md",
    "docs/guide.md",
    "docs/transactions.md",
    "docs/versions.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_page_run_in_order(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    run_blocks(page, {})


def run_blocks(page: str, names: dict[str, Any]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)


@pytest.mark.spark
def test_blocks_of_spark_page_run(spark: Any) -> None:
    run_blocks("docs/spark.md", {"spark": spark})


@pytest.mark.parametrize(
    "module",
    [
        lakebed,
        lakebed.alter,
        lakebed.changes,
        lakebed.deltalake,
        lakebed.dml,
        lakebed.table,
        lakebed.reader,
        lakebed.checker,
        lakebed.repairer,
        lakebed.columns,
        lakebed.transaction,
        lakebed.copies,
        lakebed.scan,
        lakebed.scannable,
        lakebed.writer,
    ],
)
def test_docstring_examples(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    outcome = doctest.testmod(module)  # type: ignore[arg-type]
    assert outcome.attempted > 0
    assert outcome.failed == 0


def run_demo(*given: str) -> str:
    demo = [sys.executable, str(ROOT / "examples" / "demo.py"), *given]
    done = subprocess.run(demo, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def below(output: str, title: str) -> list[str]:
    """Returns the lines of a step of the demo, with single spaces between words."""
    _, _, found = output.partition(f". {title}\n")
    assert found, f"no step {title!r} in {output}"
    return [" ".join(line.split()) for line in re.split(r"\n\d+\. ", found)[0].splitlines()]


def test_the_demo_shows_the_main_job(tmp_path: Path) -> None:
    output = run_demo("--no-spark", str(tmp_path))
    took = re.search(r"\nThat took (\d+\.\d) seconds\.", output)
    assert took is not None
    # This is the promised bound. The demo takes five to ten seconds on an idle machine.
    assert float(took[1]) < 60
    assert "30 600,000 30" in below(output, "Append thirty days of trips")
    assert any(line.startswith("31 2,000 500 ") for line in below(output, "Upsert"))
    mistakes = [line for line in below(output, "Delete the mistakes") if line.startswith("32 ")]
    deleted = int(mistakes[0].split()[1])
    assert 0 < deleted < 1_200
    assert mistakes == [f"32 {deleted} 0"]
    assert [f"31 {deleted}", "32 0"] == below(output, "Travel in time")[-2:]
    assert f"32 delete {deleted}" in below(output, "Read the change feed")
    optimized = below(output, "Optimize")
    before, after = (next(line.split() for line in optimized if line.startswith(word)) for word in ("before", "after"))
    assert before[1:4] == ["31", "31", "0%"]
    assert int(after[1]) >= 10
    assert int(after[3].rstrip("%")) >= 75
    assert before[4] == after[4]
    table = lakebed.Table(tmp_path / "trips")
    assert table.count() == 600_500 - deleted
    found = table.scan(where="city = 'Oslo' AND fare BETWEEN 40 AND 45").count()
    assert before[4] == f"{found:,}"


def test_demo_without_java_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert "There is no Java here. Install Java 17 or newer" in run_demo()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('openjdk version "11.0.22" 2024-01-16', "Java 11 is too old. Install Java 17 or newer"),
        ('java version "1.8.0_392"', "Java 8 is too old. Install Java 17 or newer"),
        (None, "java does not run. Install Java 17 or newer"),
    ],
)
def test_demo_with_old_java_says_so(said: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n" + (f"echo '{said}' >&2\n" if said else "exit 1\n"))
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    output = run_demo()
    assert told in output
    assert "docs/guide.md" in output
    assert subprocess.run([ROOT / "tests" / "need", "java"], capture_output=True, check=False).returncode == 1


def test_java_home_is_preferred_to_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark also ignores the path if JAVA_HOME is set."""
    there = tmp_path / "java"
    there.write_text("#!/bin/sh\necho 'openjdk version \"17.0.15\" 2025-04-15' >&2\n")
    there.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for home, is_found in ((None, True), ("", True), (str(tmp_path / "nothing"), False)):
        monkeypatch.delenv("JAVA_HOME", raising=False) if home is None else monkeypatch.setenv("JAVA_HOME", home)
        said = runpy.run_path(str(ROOT / "examples" / "demo.py"))["lack_of_spark"]()
        assert ("java does not run. Install Java 17 or newer" in said) != is_found, said
        need = subprocess.run([ROOT / "tests" / "need", "java"], capture_output=True, text=True, check=False)
        assert (need.returncode == 0) == is_found, need.stderr


@pytest.mark.spark
def test_demo_with_spark_shows_same_table() -> None:
    output = run_demo()
    assert "34 100" in below(output, "Write to it with Spark")
    assert "2026-04-01 100 1200.0" in below(output, "Query it in SQL")
