"""Runs the notebook examples/pipeline.ipynb from its first cell to its last in a new kernel.

The notebook is stored with the output of its cells. `python tests/python/spark/test_notebook.py`
runs the notebook and stores the new output.
"""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
NOTEBOOK = ROOT / "examples" / "pipeline.ipynb"
CITIES = {"LIM": "Lima", "OSL": "Oslo", "QUI": "Quito"}
DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")

Cents = dict[tuple[str, str], list[int]]


def run() -> Any:
    """Returns the notebook with the outputs of a run, without the parts that differ between runs
    and machines.
    """
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    # The notebook sets it.
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(NOTEBOOK.parent)}},
    )
    client.execute(env=environment)
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def texts(notebook: Any) -> dict[str, str]:
    """Returns the output of each cell as text, by the id of the cell."""
    return {
        cell.id: "".join(
            output.get("text", "") or output.get("data", {}).get("text/plain", "") or output.output_type
            for output in cell.outputs
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


def pictures(notebook: Any) -> dict[str, bytes]:
    return {
        cell.id: base64.b64decode(output.data["image/png"])
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    }


@pytest.fixture(scope="module")
def stored() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def ran() -> Any:
    return run()


@pytest.fixture(scope="module")
def shown(ran: Any) -> dict[str, str]:
    return texts(ran)


@pytest.fixture(scope="module")
def raw(pipeline: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Returns the events of the twelve files as the upstream system writes them, including the late
    ones.
    """
    lake = tmp_path_factory.mktemp("raw")
    for number in range(12):
        pipeline.land_events(lake, number, count=750)
    return [json.loads(line) for file in (lake / "raw").iterdir() for line in file.read_text().splitlines()]


def is_late(event: dict[str, Any]) -> bool:
    return event["city_code"] == "OSL" and event["at"][:10] == "2026-03-02" and 6 <= int(event["at"][11:13]) < 18


def is_sound(event: dict[str, Any]) -> bool:
    return event["city_code"] in CITIES and event["fare"] > 0


def cents(events: Iterator[dict[str, Any]]) -> Cents:
    """Returns trips and fares in cents by day and city."""
    sums: Cents = defaultdict(lambda: [0, 0])
    for event in events:
        found = sums[event["at"][:10], CITIES[event["city_code"]]]
        found[0] += 1
        found[1] += round(event["fare"] * 100)
    return sums


def test_stored_outputs_equal_a_run(stored: Any, shown: dict[str, str]) -> None:
    assert texts(stored) == shown
    assert [cell.execution_count for cell in stored.cells if cell.cell_type == "code"] == list(range(1, len(shown) + 1))


def test_stored_notebook_hides_machine(stored: Any, ran: Any) -> None:
    text = NOTEBOOK.read_text()
    assert len(text) < 400_000
    for private in (tempfile.gettempdir() + "/", str(Path.home()), str(ROOT), "WARN", "Traceback"):
        assert private not in text
    drawn = pictures(ran)
    assert list(drawn) == list(pictures(stored))
    assert list(drawn) == [
        "batches-picture",
        "hours-picture",
        "repeat-picture",
        "fares-picture",
        "versions-picture",
        "files-picture",
    ]
    for picture in drawn.values():
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 5_000


def test_every_event_is_in_one_table_once(raw: list[dict[str, Any]], shown: dict[str, str]) -> None:
    landed = [event for event in raw if not is_late(event)]
    sound = sum(map(is_sound, landed))
    unsound = len(landed) - sound
    unknown = sum(event["city_code"] not in CITIES for event in landed)
    assert shown["land"].endswith(f"{len(landed)} events landed, {9000 - len(landed)} are kept back\n")
    assert shown["ingest"].splitlines() == [
        f"{len(landed)} events read in 6 batches",
        f"{sound} rows in events at version 6",
        f"{unsound} rows in quarantine at version 5",
    ]
    counted = dict(re.findall(r"^(\w+(?: \w+)?) +(\d+)$", shown["hours"], flags=re.MULTILINE))
    expected = {"landed": len(landed), "sound": sound, "unknown city": unknown, "no fare": unsound - unknown}
    assert counted == {kind: str(count) for kind, count in expected.items()}
    assert shown["hours"].endswith("adds up in every hour: True\n")


def test_a_batch_that_comes_twice_changes_nothing(raw: list[dict[str, Any]], shown: dict[str, str]) -> None:
    landed = [event for event in raw if not is_late(event)]
    sound = sum(map(is_sound, landed))
    state = f"{sound} rows in events at version 6 and {len(landed) - sound} rows in quarantine at version 5"
    assert shown["repeat"].splitlines() == [
        f"before: {state}",
        "batch 5 again: 0 events read, noted: True",
        f"after:  {state}",
    ]


def test_backfill_brings_only_late_rows(raw: list[dict[str, Any]], shown: dict[str, str]) -> None:
    before = cents(event for event in raw if is_sound(event) and not is_late(event))
    after = cents(event for event in raw if is_sound(event))
    rows = re.findall(r"^\d+ +(\S+) +(\w+) +([\d.]+) +(\d+)$", shown["aggregate"], flags=re.MULTILINE)
    assert {(day, city): [int(trips), round(float(fares) * 100)] for day, city, fares, trips in rows} == before

    def trips(found: Cents, day: str) -> int:
        return sum(count for (at, _), (count, _) in found.items() if at == day)

    everything = sum(count for count, _ in after.values())
    assert shown["backfill"].splitlines()[-2:] == [
        f"backfill of 2026-03-02: {trips(before, '2026-03-02')} rows made way for {trips(after, '2026-03-02')}",
        f"{everything} rows in events at version 7",
    ]
    assert shown["again"].startswith("fares_by_day went from version 0 to 1\n")
    more = re.findall(r"^(\d\S+) +([\d.]+) +([\d.]+) +([\d.]+)$", shown["again"], flags=re.MULTILINE)
    assert [day for day, *_ in more] == list(DAYS)
    for day, *fares in more:
        for city, fare in zip(("Lima", "Oslo", "Quito"), fares, strict=True):
            assert round(float(fare) * 100) == after[day, city][1] - before[day, city][1]

    audited = shown["audit"].splitlines()
    assert audited[-2:] == [
        f"version 6: {sum(count for count, _ in before.values())} rows",
        f"version 7: {everything} rows",
    ]


def test_every_engine_skips_and_agrees(raw: list[dict[str, Any]], shown: dict[str, str]) -> None:
    # Six batches of two files each wrote one file per day, and ids grow by a million per file. The
    # backfill left one file of 2 March.
    assert shown["skip"].splitlines()[0] == "reads 3 of 13 files"
    assert "skips 6 by partition" in shown["skip"]
    assert "skips 4 by statistics" in shown["skip"]
    expected = {}
    for city in CITIES.values():
        found = [sums for (_, place), sums in cents(event for event in raw if is_sound(event)).items() if place == city]
        expected[city] = (sum(count for count, _ in found), sum(fares for _, fares in found))
    for engine in ("pandas", "polars", "duckdb"):
        rows = re.findall(r"(Lima|Oslo|Quito)\W+(\d+)\W+([\d.]+)", shown[engine])
        assert {city: (int(count), round(float(fares) * 100)) for city, count, fares in rows} == expected, engine


if __name__ == "__main__":
    nbformat.write(run(), NOTEBOOK)
