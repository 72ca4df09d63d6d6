"""Checks from Python: sound tables have no finding, and results can be read by people.

`test_repair.py` has the kinds of damage.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb
from corpus.oracle import Oracle


def test_sound_tables_have_no_finding(oracle: Oracle) -> None:
    result = lb.check(oracle.path, "history", absolute_paths=oracle.outside)
    assert not result.findings, result
    assert result.ok
    assert (result.version, result.checked_version) == (oracle.latest, oracle.latest)
    assert (result.files, result.rows) == (len(oracle.files), len(oracle.rows(oracle.latest)))


def test_unsupported_features_are_findings(refused: Oracle) -> None:
    result = lb.check(refused.path)
    assert [finding.kind for finding in result.findings] == ["feature_unsupported"]
    assert (result.ok, result.checked_version, result.files) == (False, None, None)


def test_result_names_file_and_remedy(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": [1, 2]})).table
    file = table.scan().files().to_pylist()[0]["path"]
    (tmp_path / "t" / file).unlink()
    result = table.check()
    assert not result
    (found,) = result.findings
    assert (found.kind, found.severity, found.level, found.file) == ("data_file_missing", "error", "files", file)
    assert (found.version, found.column, found.message) == (None, None, "the file does not exist")
    assert found.remedy == "table.repair(dry_run=False, drop_missing_files=True)"
    assert repr(result).splitlines() == [
        "CheckResult(version=0, level='files', ok=False)",
        f"  error: data_file_missing: {file}: the file does not exist",
        "    Reads that need the file fail. Restore it from a copy, or drop it from the table: its rows are lost.",
        "    table.repair(dry_run=False, drop_missing_files=True)",
    ]
    assert file in result._repr_html_()


def test_check_reads_and_never_writes(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": [1, 2]})).table
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    assert table.check("history")
    assert before == sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))


def test_progress_is_told_by_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": [1, 2]})).table
    seen: list[lb.CheckProgress] = []
    table.check("footers", progress=seen.append)
    last = {progress.level: progress.done for progress in seen}
    assert last == {"log": 1, "state": 1, "files": 1, "footers": 1}
    table.check(progress=True)
    assert "files: 1 of 1" in capsys.readouterr().err


def test_generated_columns_and_constraints_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lb.create(path, pa.schema([("id", pa.int64())]), constraints={"small": "id < 10"})
    lb.write(path, pa.table({"id": [1, 2]}))
    assert lb.check(path, "rows").ok
    commit = path / "_delta_log" / f"{0:020}.json"
    commit.write_text(commit.read_text().replace("id < 10", "id < 2"))
    for checksum in (path / "_delta_log").glob("*.crc"):
        checksum.unlink()
    (found,) = lb.check(path, "rows").findings
    assert found.message == "CHECK constraint small (id < 2) is not met by a row with id = 2"


def test_null_in_column_that_forbids_it_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lb.write(path, pa.table({"id": [1, None]}))
    commit = path / "_delta_log" / f"{0:020}.json"
    commit.write_text(commit.read_text().replace(r"\"nullable\":true", r"\"nullable\":false"))
    (path / "_delta_log" / f"{0:020}.crc").unlink()
    assert lb.check(path, "footers").ok
    (found,) = lb.check(path, "rows").findings
    assert (found.kind, found.column) == ("constraint_violated", "id")
    assert found.message == "column id must not be null, but 1 of its rows are"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"level": "deep"}, lb.InvalidInputError),
        ({"level": None}, TypeError),
        ({"limit": -1}, lb.InvalidInputError),
        ({"progress": 3}, TypeError),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": [1]})).table
    for call in (table.check, lambda **given: lb.check(tmp_path / "t", **given)):
        with pytest.raises(error):
            call(**options)


def test_check_without_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(lb.TableNotFoundError):
        lb.check(tmp_path / "nowhere")
