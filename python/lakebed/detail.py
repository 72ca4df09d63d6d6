"""What a table is, but for its rows: protocol, properties, sizes, checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["Checkpoint", "Detail", "Protocol", "protocol"]


@dataclass(frozen=True)
class Protocol:
    """What readers and writers of a table must know."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] = ()
    writer_features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Detail:
    """What a table is: everything about it but its rows."""

    id: str
    name: str | None
    description: str | None
    location: str
    version: int
    created_at: datetime | None
    last_modified: datetime | None
    partition_columns: tuple[str, ...]
    clustering_columns: tuple[str, ...]
    num_files: int
    size_bytes: int
    properties: dict[str, str]
    protocol: Protocol


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was written."""

    version: int
    #: Its file in the log, or the one that leads to the others.
    name: str
    size_bytes: int
    num_files: int
    #: Files that the table no longer has, but that must not be forgotten yet.
    num_tombstones: int


def protocol(found: Mapping[str, Any]) -> Protocol:
    return Protocol(
        found["minReaderVersion"],
        found["minWriterVersion"],
        tuple(found.get("readerFeatures") or ()),
        tuple(found.get("writerFeatures") or ()),
    )
