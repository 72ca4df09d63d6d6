"""Links of the file system. No reader and no writer follows a link out of a table, for any kind of
file.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed as lb


def made(path: Path, **properties: object) -> lb.Table:
    """Makes two files of two rows. One row is deleted with a deletion vector."""
    given = {"delta.enableDeletionVectors": True, **properties}
    lb.write(str(path), pa.table({"id": [1, 2], "p": ["a", "a"]}), partition_by=["p"], properties=given)
    table = lb.write(str(path), pa.table({"id": [3, 4], "p": ["b", "b"]})).table
    return table.delete("id = 2").table


def moved_out(file: Path) -> Path:
    """Moves a file or folder out of the table, and leaves a link in its place."""
    outside = file.parents[file.parts[::-1].index("t")] / "outside"
    outside.mkdir(exist_ok=True)
    target = outside / file.name
    shutil.move(file, target)
    file.symlink_to(target)
    return target


def one(folder: Path, pattern: str) -> Path:
    [found] = folder.glob(pattern)
    return found


KINDS: dict[str, Callable[[Path], Path]] = {
    "a data file": lambda table: one(table, "p=a/*.parquet"),
    "a partition's folder": lambda table: table / "p=b",
    "a deletion vector": lambda table: one(table, "deletion_vector_*.bin"),
    "a commit": lambda table: table / "_delta_log" / "00000000000000000001.json",
    "the log": lambda table: table / "_delta_log",
}


@pytest.mark.parametrize("kind", KINDS)
def test_link_outside_table_needs_trust(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    made(path)
    moved_out(KINDS[kind](path))
    with pytest.raises(lb.InvalidInputError, match=r"leads from this file out of the table .*absolute_paths=True"):
        lb.Table(str(path)).to_arrow()
    trusted = lb.Table(str(path), absolute_paths=True)
    assert sorted(trusted.to_arrow()["id"].to_pylist()) == [1, 3, 4]


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_checkpoint_outside_table_is_not_read(tmp_path: Path, policy: str) -> None:
    path = tmp_path / "t"
    table = made(path, **{"delta.checkpointPolicy": policy})
    table.checkpoint()
    log = path / "_delta_log"
    moved_out(one(log, "_sidecars/*.parquet") if policy == "v2" else one(log, "*.checkpoint.parquet"))
    for commit in log.glob("*.json"):
        if commit.stem.isdigit():
            commit.unlink()
    (log / "00000000000000000003.json").write_text('{"commitInfo":{}}\n')
    with pytest.raises(
        lb.InvalidInputError, match=r"/00000000000000000002\.checkpoint\.[^/]*parquet: .*a symbolic link .*absolute_paths=True"
    ):
        lb.Table(str(path)).to_arrow()
    assert sorted(lb.Table(str(path), absolute_paths=True).to_arrow()["id"].to_pylist()) == [1, 3, 4]


def test_links_inside_and_above_are_followed(tmp_path: Path) -> None:
    real = tmp_path / "disk" / "lake"
    real.mkdir(parents=True)
    (tmp_path / "lake").symlink_to(real)
    path = tmp_path / "lake" / "t"
    made(path)
    file = KINDS["a data file"](real / "t")
    file.rename(real / "t" / "kept")
    file.symlink_to("../kept")
    for seen in (path, real / "t"):
        assert sorted(lb.Table(str(seen)).to_arrow()["id"].to_pylist()) == [1, 3, 4]
    (tmp_path / "link").symlink_to(path)
    table = lb.write(str(tmp_path / "link"), pa.table({"id": [5], "p": ["a"]})).table
    assert sorted(table.to_arrow()["id"].to_pylist()) == [1, 3, 4, 5]
    assert table.delete("id = 1").table.count() == 3


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    path, outside = tmp_path / "t", tmp_path / "outside"
    made(path)
    outside.mkdir()
    (path / "p=c").symlink_to(outside)
    rows = pa.table({"id": [5], "p": ["c"]})
    before = lb.Table(str(path)).version
    with pytest.raises(lb.InvalidInputError, match="leads from this file out of the table"):
        lb.write(str(path), rows)
    assert list(outside.iterdir()) == []
    assert lb.Table(str(path)).version == before


@pytest.mark.parametrize("way", ["full", "lite", "inventory"])
def test_vacuum_deletes_nothing_through_a_link(tmp_path: Path, way: str) -> None:
    path = tmp_path / "t"
    made(path)
    target = moved_out(path / "p=b")
    lb.Table(str(path), absolute_paths=True).overwrite(pa.table({"id": [6], "p": ["a"]}))
    [kept] = target.glob("*.parquet")
    listed = {"path": [f"p=b/{kept.name}"], "length": [kept.stat().st_size], "isDir": [False], "modificationTime": [0]}
    trusted = lb.Table(str(path), absolute_paths=True)
    match way:
        case "full":
            assert trusted.vacuum(0, enforce_retention=False).metrics.found_files == 2
        case "lite":
            with pytest.raises(lb.LakebedError, match="leads from this folder out of the table"):
                trusted.vacuum(0, enforce_retention=False, mode="lite")
        case _:
            with pytest.raises(lb.LakebedError, match="leads from this folder out of the table"):
                trusted.vacuum(0, enforce_retention=False, inventory=pa.table(listed))
    assert kept.exists()
    # Vacuum deletes the file in the folder that is no link, unless it uses an inventory, which does
    # not name the file.
    assert len(list((path / "p=a").glob("*.parquet"))) == (2 if way == "inventory" else 1)
    assert lb.Table(str(path)).to_arrow().to_pylist() == [{"id": 6, "p": "a"}]
