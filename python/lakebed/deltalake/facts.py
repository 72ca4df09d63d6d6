"""What a table says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["DeltaTableConfig", "Metadata", "ProtocolVersions"]


@dataclass(frozen=True)
class Metadata:
    """What the log says about the table as a whole."""

    id: str
    name: str | None
    description: str | None
    partition_columns: list[str]
    #: Milliseconds since the epoch.
    created_time: int | None
    configuration: dict[str, str]

    def __str__(self) -> str:
        return (
            f"Metadata(id: {self.id}, name: {self.name}, description: {self.description}, "
            f"partition_columns: {self.partition_columns}, created_time: {self.created_time}, configuration: {self.configuration})"
        )


class ProtocolVersions(NamedTuple):
    """The protocol versions and features that readers and writers need."""

    min_reader_version: int
    min_writer_version: int
    writer_features: list[str] | None
    reader_features: list[str] | None


class DeltaTableConfig(NamedTuple):
    """Options of older versions of deltalake, which have no effect there, either."""

    without_files: bool
    log_buffer_size: int
    skip_stats: bool = False
