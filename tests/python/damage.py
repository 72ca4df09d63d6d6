"""Copies of corpus tables that a test may damage. The edits of `test_damage.py` use this module."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus.oracle import Oracle

Action = dict[str, Any]


class Broken:
    """A copy of a table, and the ways to break it."""

    def __init__(self, oracle: Oracle, folder: Path) -> None:
        self.oracle = oracle
        self.root = Path(shutil.copytree(oracle.path, folder / "table", copy_function=shutil.copy2))
        self.log = self.root / "_delta_log"

    def commit(self, version: int) -> Path:
        return self.log / f"{version:020}.json"

    def checkpoints(self) -> list[Path]:
        """The checkpoints' main files, oldest first."""
        return sorted(self.log.glob("0*.checkpoint*.*"))

    def sidecars(self) -> list[Path]:
        """The sidecars by size. The largest is last, because a reader may not need the damaged
        column of a smaller sidecar.
        """
        return sorted((self.log / "_sidecars").glob("*.parquet"), key=lambda sidecar: sidecar.stat().st_size)

    def data_files(self) -> list[Path]:
        """The files of the latest version, in the order of their paths."""
        return [self.root / path for path, *_ in self.oracle.files]

    def vector_file(self) -> Path:
        """The file of deletion vectors that the latest commit wrote."""
        return max(self.root.rglob("deletion_vector_*.bin"), key=lambda path: path.stat().st_mtime_ns)

    def hint(self) -> Action:
        found: Action = json.loads((self.log / "_last_checkpoint").read_text())
        return found

    def put_hint(self, content: bytes | str | Action) -> None:
        if isinstance(content, dict):
            content = json.dumps(content)
        (self.log / "_last_checkpoint").write_bytes(content.encode() if isinstance(content, str) else content)

    def edit(self, change: Callable[[str, Action], object], version: int | None = None) -> None:
        """Runs `change(kind, action)` on each action of one commit, or of all commits. Deletes the
        version checksums, because a reader could repair the table from them.
        """
        found = sorted(self.log.glob("0*.json")) if version is None else [self.commit(version)]
        for commit in found:
            actions = [json.loads(line) for line in commit.read_text().splitlines()]
            for action in actions:
                for kind, content in list(action.items()):
                    change(kind, content)
            commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
        self.forget_checksums()

    def forget_checksums(self) -> None:
        for checksum in self.log.glob("0*.crc"):
            checksum.unlink()

    def add_line(self, action: Action, version: int) -> None:
        with self.commit(version).open("a") as commit:
            commit.write(json.dumps(action) + "\n")
        self.forget_checksums()


def cut(path: Path) -> None:
    """Leaves the first half of a file."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garble(path: Path) -> None:
    """Replaces the content of a file with noise of the same size."""
    path.write_bytes(bytes(i * 37 % 251 for i in range(path.stat().st_size)))


def zero_middle(path: Path) -> None:
    """Zeroes the bytes between the first and the last quarter. The magic bytes and the footer stay."""
    content = path.read_bytes()
    quarter = min(len(content) // 4, 400)
    path.write_bytes(content[:16] + bytes(quarter) + content[16 + quarter :])


def lengthen_footer(path: Path) -> None:
    """Makes a Parquet file's footer claim 2 GiB."""
    content = path.read_bytes()
    path.write_bytes(content[:-8] + b"\xff\xff\xff\x7f" + content[-4:])


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)
