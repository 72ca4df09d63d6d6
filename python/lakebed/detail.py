"""Facts about a table: protocol, properties, sizes, checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakebed.versions import Tag

__all__ = ["Checkpoint", "Detail", "LogCleanup", "Protocol", "protocol"]


@dataclass(frozen=True)
class Protocol:
    """The protocol versions and features that readers and writers of a table need."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] = ()
    writer_features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Detail:
    """Facts about a table."""

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
    #: The tags that the version has. lakebed keeps the versions that they name.
    tags: tuple[Tag, ...]
    #: The older versions that lakebed keeps readable: those that tags name, and those that the last
    #: vacuum kept.
    kept_versions: tuple[int, ...]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was written."""

    version: int
    #: Its file in the log, or the file that names the others.
    name: str
    size_bytes: int
    num_files: int
    #: The tombstones in the checkpoint.
    num_tombstones: int


@dataclass(frozen=True)
class LogCleanup:
    """What a cleanup of the log deleted."""

    #: The oldest version that can still be read. None if no version was given up.
    first_version: int | None
    #: Commits, checkpoints, log compactions and checksums.
    log_files: int
    #: Sidecars that no checkpoint names.
    sidecars: int
    #: Files of abandoned uploads.
    leftovers: int


def protocol(found: Mapping[str, Any]) -> Protocol:
    return Protocol(
        found["minReaderVersion"],
        found["minWriterVersion"],
        tuple(found.get("readerFeatures") or ()),
        tuple(found.get("writerFeatures") or ()),
    )
