"""The location of a handle. It stays the same in another folder and in another process, and it
leads to the same table.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed as lb
from lakebed import _lakebed


def ids(table: lb.Table) -> list[int]:
    found: list[int] = sorted(table.to_arrow()["id"].to_pylist())
    return found


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders. The first one is the working directory."""
    one, other = tmp_path / "a", tmp_path / "b"
    one.mkdir()
    other.mkdir()
    monkeypatch.chdir(one)
    return one, other


MAKE: dict[str, Callable[[], lb.Table]] = {
    "write": lambda: lb.write("t", pa.table({"id": [1]})).table,
    "open": lambda: (lb.write("t", pa.table({"id": [1]})), lb.Table("t"))[1],
    "append": lambda: lb.create("t", pa.schema([("id", pa.int64())])).append(pa.table({"id": [1]})).table,
}


@pytest.mark.parametrize("make", list(MAKE))
def test_relative_path_survives_chdir(make: str, folders: tuple[Path, Path]) -> None:
    one, other = folders
    table = MAKE[make]()
    os.chdir(other)
    lb.write("t", pa.table({"id": [99]}))
    again = pickle.loads(pickle.dumps(table))
    assert (ids(again), again) == ([1], table)
    table.append(pa.table({"id": [2]}))
    assert ids(table.refresh()) == [1, 2]
    assert (ids(lb.Table(one / "t")), ids(lb.Table(other / "t"))) == ([1, 2], [99])


def test_forked_child_elsewhere_writes_same_table(folders: tuple[Path, Path]) -> None:
    one, other = folders
    table = lb.write("t", pa.table({"id": [1]})).table
    lb.write(other / "t", pa.table({"id": [99]}))

    def child() -> None:
        os.chdir(other)
        table.append(pa.table({"id": [2]}))
        assert ids(table) == [1]

    in_child(child)
    assert (ids(lb.Table(one / "t")), ids(lb.Table(other / "t"))) == ([1, 2], [99])


def test_home_folder_is_that_of_maker(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = folders
    monkeypatch.setenv("HOME", str(one))
    table = lb.write("~/t", pa.table({"id": [1]})).table
    monkeypatch.setenv("HOME", str(other))
    assert ids(pickle.loads(pickle.dumps(table))) == [1]


def test_replaced_table_is_not_read(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": [1]})).table
    pickled = pickle.dumps(table)
    shutil.rmtree(tmp_path / "t")
    lb.write(tmp_path / "t", pa.table({"id": [99]}))
    with pytest.raises(lb.TableNotFoundError, match="another table was created at its location"):
        pickle.loads(pickled)

    def child() -> None:
        with pytest.raises(lb.TableNotFoundError, match="another table was created at its location"):
            table.to_arrow()

    in_child(child)


@pytest.mark.parametrize("appends", [0, 1, 2])
def test_append_detects_replaced_table_of_same_size(tmp_path: Path, appends: int) -> None:
    path = tmp_path / "t"
    table = lb.write(path, pa.table({"id": [1]})).table
    for number in range(appends):
        table = table.append(pa.table({"id": [number]})).table
    shutil.rmtree(path)
    for number in range(appends + 1):
        lb.write(path, pa.table({"ix": [number]}))
    with pytest.raises(lb.TableNotFoundError, match=f"file://{re.escape(str(path))}: "):
        table.append(pa.table({"id": [3]}))
    assert lb.Table(path).count() == appends + 1


def test_locations_are_shown_as_core_parses(folders: tuple[Path, Path]) -> None:
    here = str(folders[0])
    for uri, expected, is_relative in [
        ("t", f"{here}/t", True),
        ("./~/t", f"{here}/~/t", True),
        ("/data/a%20b/", "/data/a%20b", False),
        ("file:///data/a%20b", "/data/a b", False),
        ("s3://bucket/t", "s3://bucket/t", False),
        ("memory://name/t/", "memory://name/t", False),
    ]:
        assert (_lakebed.place_of(uri), _lakebed.is_relative(uri)) == (expected, is_relative)
    for wrong in [
        " s3://bucket/t",
        "wasbs:c@a/t",
        "s3n:b/t",
        "gcs:b/t",
        "azure:c/t",
        "http:/x",
        "hdfs:/t",
        "viewfs:/t",
        "~nobody/x",
        "dbfs:/t",
    ]:
        with pytest.raises(lb.InvalidInputError, match=f"^{re.escape(wrong)}: "):
            _lakebed.place_of(wrong)
        with pytest.raises(lb.InvalidInputError, match=f"^{re.escape(wrong)}: "):
            lb.Table(wrong)


def test_invalid_bytes_are_refused_by_name() -> None:
    uri = os.fsdecode(b"/tmp/\xff")
    for call in [lambda: lb.Table(uri), lambda: lb.write(uri, pa.table({"id": [1]})), lambda: _lakebed.place_of(uri)]:
        with pytest.raises(lb.InvalidInputError, match=r"^uri(: .*UTF-8|=.*half of a surrogate pair)"):
            call()


def in_child(work: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(20)
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
