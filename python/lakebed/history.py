"""The commits of a table, as its log records them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from lakebed.display import html_table
from lakebed.times import moment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["History", "HistoryEntry", "entry"]


@dataclass(frozen=True)
class HistoryEntry:
    """A commit in the history of a table: its version, time, operation and author."""

    version: int
    timestamp: datetime
    operation: str | None
    parameters: dict[str, str | None]
    metrics: dict[str, str | None]
    user_metadata: str | None
    engine_info: str | None
    read_version: int | None
    isolation_level: str | None
    is_blind_append: bool | None
    #: The whole `commitInfo` action, as JSON values.
    commit_info: dict[str, Any] = field(repr=False)


class History(Sequence[HistoryEntry]):
    """The commits of a table, newest first. It is also an Arrow stream."""

    def __init__(self, entries: Sequence[HistoryEntry]) -> None:
        self._entries = tuple(entries)

    @overload
    def __getitem__(self, index: int) -> HistoryEntry: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> HistoryEntry | History:
        if isinstance(index, slice):
            return History(self._entries[index])
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[HistoryEntry]:
        return iter(self._entries)

    def to_arrow(self) -> pa.Table:
        """Returns a pyarrow table with one row for each commit. Parameters and metrics are maps."""
        import pyarrow as pa

        text_map = pa.map_(pa.string(), pa.string())
        columns: dict[str, tuple[pa.DataType, list[Any]]] = {
            "version": (pa.int64(), [entry.version for entry in self]),
            "timestamp": (pa.timestamp("ms", tz="UTC"), [entry.timestamp for entry in self]),
            "operation": (pa.string(), [entry.operation for entry in self]),
            "parameters": (text_map, [list(entry.parameters.items()) for entry in self]),
            "metrics": (text_map, [list(entry.metrics.items()) for entry in self]),
            "user_metadata": (pa.string(), [entry.user_metadata for entry in self]),
            "engine_info": (pa.string(), [entry.engine_info for entry in self]),
            "read_version": (pa.int64(), [entry.read_version for entry in self]),
            "isolation_level": (pa.string(), [entry.isolation_level for entry in self]),
            "is_blind_append": (pa.bool_(), [entry.is_blind_append for entry in self]),
        }
        return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        table: Any = self.to_arrow()
        return table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = [f"{entry.version:>6}  {entry.timestamp:%Y-%m-%d %H:%M:%S}  {entry.operation or '-'}" for entry in self]
        return "\n".join(["version  timestamp            operation", *lines])

    def _repr_html_(self) -> str:
        rows = [(entry.version, f"{entry.timestamp:%Y-%m-%d %H:%M:%S}", entry.operation or "-", entry.metrics) for entry in self]
        return html_table(("version", "timestamp", "operation", "metrics"), rows)


def entry(version: int, timestamp_ms: int, info: dict[str, Any]) -> HistoryEntry:
    blind = info.get("isBlindAppend")
    read_version = info.get("readVersion")
    return HistoryEntry(
        version=version,
        timestamp=moment(timestamp_ms),
        operation=info.get("operation"),
        parameters=_texts(info.get("operationParameters")),
        metrics=_texts(info.get("operationMetrics")),
        user_metadata=info.get("userMetadata"),
        engine_info=info.get("engineInfo"),
        read_version=None if read_version is None else int(read_version),
        isolation_level=info.get("isolationLevel"),
        is_blind_append=None if blind is None else str(blind).lower() == "true",
        commit_info=info,
    )


def _texts(found: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Returns the values as strings: Delta Spark writes strings here, others write JSON values.
    None stays None.
    """
    return {key: value if value is None or isinstance(value, str) else json.dumps(value) for key, value in (found or {}).items()}
