"""Tables from others: :meth:`lakebed.Table.clone`, and :func:`convert` for Parquet and Iceberg."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed import _lakebed, arguments
from lakebed.adapters.pyarrow import schema_of
from lakebed.arguments import ConvertMode
from lakebed.columns import described, field
from lakebed.input import arrow_schema
from lakebed.options import Converting, checked, located, reopening, takes
from lakebed.progress import watcher
from lakebed.results import CloneMetrics, CloneResult, ConvertMetrics, ConvertResult

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from lakebed.table import Table

__all__ = ["FileProgress", "clone", "convert", "target_storage"]

#: Schemes of one service, by its first one.
_SAME_SERVICE = {"s3a": "s3", "gcs": "gs", "az": "abfs", "abfss": "abfs", "adl": "abfs", "wasb": "abfs", "wasbs": "abfs"}


@dataclass(frozen=True)
class FileProgress:
    """The progress of a clone or a conversion, in data files."""

    done_files: int
    total_files: int
    done_bytes: int
    total_bytes: int


def target_storage(source: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that locate the target.

    Without options of its own, a target of the same service is reached like the source.
    """
    found = dict(target)
    is_same = _service(str(source["uri"])) == _service(str(target["uri"]))
    if is_same and not target["storage_options"] and target["credentials"] is None:
        found["storage_options"], found["credentials"] = source["storage_options"], source["credentials"]
    return found


def clone(
    table: Table, target: dict[str, Any], options: dict[str, Any], progress: bool | Callable[[FileProgress], Any] | None
) -> CloneResult:
    """Clones an open table."""
    given = {**options, "progress": watcher(progress, FileProgress, _line)}
    # The caller has named both places, so the new handle reads from both.
    follows = bool(options["shallow"]) and (table._given["absolute_paths"] or _service(table.uri) != _service(str(target["uri"])))
    located = {**target, "absolute_paths": follows}
    made, metrics = table._table.clone_to(located, given)
    copy = table._wrap(made, {**reopening(target), "absolute_paths": follows})
    return CloneResult(version=copy.version, metrics=CloneMetrics(**metrics), table=copy)


@takes(Converting)
def convert(
    uri: str | os.PathLike[str],
    *,
    partition_schema: pa.Schema | Mapping[str, str] | None = None,
    iceberg_metadata: str | None = None,
    mode: ConvertMode = "error",
    collect_statistics: bool = True,
    dry_run: bool = False,
    progress: bool | Callable[[FileProgress], Any] | None = None,
    **options: Unpack[Converting],
) -> ConvertResult:
    """Makes a table of the Parquet files in a folder, or of an Iceberg table. No file is moved or
    changed.

    All Parquet files below the folder become part of the table, except hidden ones (names that begin
    with ``_`` or ``.``). Their schemas are merged, and narrow types become wide ones. Of an Iceberg
    table, the files of the current snapshot become part of the table. Their columns are found by
    Iceberg's field ids.

    - ``uri``: the folder, a URL or a path on this machine.
    - ``partition_schema``: the partition columns, if the folders have names such as
      ``day=2024-01-01``: a ``pyarrow.Schema``, or the SQL types by name, in the order of the
      folders.
    - ``iceberg_metadata``: the current metadata file of an Iceberg table, as its catalog names it.
      The default is the last file in the folder ``metadata``.
    - ``mode``: what to do if there is a table already: ``error`` raises an error, and ``ignore``
      returns the table.
    - ``properties``: the properties of the table. ``name`` and ``description`` are for people.
    - ``collect_statistics=False`` leaves out the statistics, so that queries skip no files.
    - ``dry_run=True`` writes nothing and returns the files, the schema and the sizes.
    - ``progress=True`` prints the progress; a function is called with it.
    - ``user_metadata``: a text of your own, which the history keeps.
    - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, as values
      of JSON.
    - ``upkeep`` is that of :func:`lakebed.write`.
    - ``timeout``: the seconds to keep trying to commit.
    - ``storage_options`` and ``credentials`` say how to reach the store, as for
      :class:`lakebed.Table`.

    >>> import lakebed as lb, pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> pq.write_to_dataset(pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"]}), folder, partition_cols=["day"])
    >>> result = lb.convert(folder, partition_schema={"day": "string"})
    >>> result.metrics.converted_files, result.table.count("day = 'a'")
    (2, 2)
    """
    own = None if isinstance(progress, (bool, type(None))) else arguments.function("progress", progress)
    place = located(uri, options)
    given = {
        **checked({name: value for name, value in options.items() if name not in ("storage_options", "credentials")}),
        **place,
        "iceberg_metadata": arguments.text("iceberg_metadata", iceberg_metadata),
        "mode": arguments.word("mode", mode, ConvertMode),
        "collect_statistics": arguments.flag("collect_statistics", collect_statistics),
        "dry_run": arguments.flag("dry_run", dry_run),
        "progress": watcher(own or progress is True, FileProgress, _line),
    }
    made, metrics, schema, rest = _lakebed.Table.convert(given, _partition_columns(partition_schema))
    from lakebed.table import Table

    table = None if made is None else Table._wrap(made, reopening(place))
    return ConvertResult(
        table=table,
        version=None if table is None else table.version,
        metrics=ConvertMetrics(**metrics),
        schema=schema_of(schema),
        **rest,
    )


def _partition_columns(given: Any) -> Any:
    """Returns the partition columns as an Arrow schema."""
    if not isinstance(given, Mapping):
        return None if given is None else arrow_schema(given, "partition_schema")
    columns = [described(name, type, within="partition_schema: ") for name, type in given.items()]
    return arrow_schema([field(column) for column in columns], "partition_schema")


def _service(uri: str) -> str:
    """Returns the service of a location, and what follows the scheme up to the first slash for
    services that have one.
    """
    scheme, found, _ = uri.partition("://")
    if not found or os.path.isabs(uri):
        return "file"
    return _SAME_SERVICE.get(scheme.lower(), scheme.lower())


def _line(progress: FileProgress) -> str:
    share = progress.done_files / progress.total_files if progress.total_files else 1.0
    end = "\n" if progress.done_files == progress.total_files else ""
    done, total = progress.done_bytes / 1e6, progress.total_bytes / 1e6
    return f"{share:4.0%} of {progress.total_files:,} files, {done:,.1f} of {total:,.1f} MB{end}"
