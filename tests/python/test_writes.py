"""Every engine reads the tables that lakebed writes. Expected rows are worked out by hand and
compared with lakebed, deltalake, DuckDB and Delta Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from writes import read
from writes.scenarios import SCENARIOS, Scenario


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("peer", list(read.PEERS))
def test_a_table_reads_as_it_was_written(scenario: Scenario, peer: str, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    expected = scenario.build(path)
    if peer in scenario.unread:
        pytest.skip(scenario.unread[peer])
    assert read.canonical(read.PEERS[peer](path)) == read.canonical(expected)


@pytest.mark.spark
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_delta_spark_reads_it(scenario: Scenario, tmp_path: Path, spark: Any) -> None:
    path = str(tmp_path / "t")
    expected = scenario.build(path)
    assert read.canonical(read.with_spark(spark, path)) == read.canonical(expected)
