"""The Python blocks of the guide, and the docstrings' examples, run as they stand."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lakebed
import lakebed.changes
import lakebed.reader
import lakebed.scan
import lakebed.table
import lakebed.writer

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["docs/guide.md", "README.md"])
def test_the_blocks_of_a_page_run_one_after_the_other(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    run_blocks(page, {})


def run_blocks(page: str, names: dict[str, Any]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)


@pytest.mark.spark
def test_the_blocks_of_the_page_on_spark_run_one_after_the_other(spark: Any) -> None:
    run_blocks("docs/spark.md", {"spark": spark})


@pytest.mark.parametrize(
    "module", [lakebed, lakebed.alter, lakebed.changes, lakebed.table, lakebed.reader, lakebed.scan, lakebed.writer]
)
def test_docstring_examples(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    outcome = doctest.testmod(module)  # type: ignore[arg-type]
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_demo_runs() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "time travel" in done.stdout
