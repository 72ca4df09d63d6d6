"""Reads the log of a table on a disk without lakebed: the existing files, the named files, and the
effect of a commit on them.
"""

from __future__ import annotations

import base64
import json
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

#: The alphabet of Z85, in which the log names files of deletion vectors, and the alphabet of
#: Python's base 85.
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_B85 = str.maketrans(_Z85, _B85)


@dataclass(frozen=True)
class Effect:
    """The effect of a commit on the files of its table."""

    #: The data files that the commit added, the data files that it removed, and the data files that
    #: stay with other deletion vectors.
    new: list[dict[str, Any]]
    gone: list[dict[str, Any]]
    changed: list[dict[str, Any]]
    #: The change data files.
    changes: list[dict[str, Any]]


def actions(path: str | Path, version: int, kind: str) -> list[dict[str, Any]]:
    """Returns the actions of this kind in a commit."""
    lines = (Path(path) / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return [found[kind] for found in map(json.loads, lines) if kind in found]


def live(path: str | Path, version: int) -> dict[str, dict[str, Any]]:
    """Returns the files of a version by their paths in the log, computed from all commits up to the
    version.
    """
    found: dict[str, dict[str, Any]] = {}
    for number in range(version + 1):
        for removed in actions(path, number, "remove"):
            found.pop(removed["path"], None)
        found |= {added["path"]: added for added in actions(path, number, "add")}
    return found


def effect(path: str | Path, version: int) -> Effect:
    before = live(path, version - 1)
    added = {add["path"]: add for add in actions(path, version, "add")}
    removed = {remove["path"] for remove in actions(path, version, "remove")}
    assert removed <= before.keys(), "files are removed that are not there"
    return Effect(
        new=[add for name, add in added.items() if name not in before],
        gone=[before[name] for name in sorted(removed - added.keys())],
        changed=[add for name, add in added.items() if name in before],
        changes=actions(path, version, "cdc"),
    )


def named(path: str | Path, version: int) -> set[str]:
    """Returns all files that any commit up to this version names."""
    found = set()
    for number in range(version + 1):
        for kind in ("add", "cdc"):
            for action in actions(path, number, kind):
                found.add(unquote(action["path"]))
                found.update(_vector_file(action.get("deletionVector")))
    return found


def _vector_file(vector: dict[str, Any] | None) -> list[str]:
    if vector is None or vector["storageType"] == "i":
        return []
    assert vector["storageType"] == "u"
    text = vector["pathOrInlineDv"]
    name = uuid.UUID(bytes=base64.b85decode(text[-20:].translate(_TO_B85)))
    prefix = text[:-20]
    return [f"{prefix + '/' if prefix else ''}deletion_vector_{name}.bin"]


def files(path: str | Path) -> set[str]:
    """Returns all files in the folder except the log."""
    found = (file.relative_to(path) for file in Path(path).rglob("*") if file.is_file())
    return {str(file) for file in found if file.parts[0] != "_delta_log"}


def folder() -> tempfile.TemporaryDirectory[str]:
    """Creates a folder for many small tables. The folder is in memory if the machine has
    `/dev/shm`, because flushing to a disk takes longer than a statement.
    """
    return tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)


def everything(path: str | Path) -> dict[str, int]:
    """Returns all files in the folder with their sizes. A statement that does nothing must not
    change them.
    """
    return {str(file.relative_to(path)): file.stat().st_size for file in Path(path).rglob("*") if file.is_file()}
