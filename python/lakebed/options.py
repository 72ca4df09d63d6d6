"""Groups of keyword arguments that several verbs share. Each is a ``TypedDict`` for type checkers.

A function names its group in its signature, ``**options: Unpack[Writing]``, and in the decorator
:func:`takes`. The decorator shows the fields of the group in ``inspect.signature``, which ``help``
and notebooks read. It refuses every other keyword. :func:`checked` checks the values.
"""

# The annotations of the groups are read at run time, so they are not postponed.

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypedDict, TypeVar, get_args, get_origin, get_type_hints

from lakebed import arguments
from lakebed.arguments import Commits, Evolution, LostDeletionVectors, OnLossy, Partitions, SchemaMode

__all__ = [
    "Appending",
    "Changing",
    "Cloning",
    "Committing",
    "Converting",
    "Creating",
    "Defining",
    "Encoding",
    "Files",
    "Identified",
    "Located",
    "Merging",
    "Naming",
    "Opening",
    "Optimizing",
    "Overwriting",
    "Repairing",
    "RepairingAt",
    "StagedMerging",
    "StagedOverwriting",
    "Storage",
    "Writing",
    "WritingTo",
    "checked",
    "located",
    "reopening",
    "takes",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Storage(TypedDict, total=False):
    """The options that reach the store.

    - ``storage_options``: options of the store, with the keys of object_store and deltalake.
    - ``credentials``: a function that returns such options, with ``expires_at`` (a ``datetime``) if
      they expire. It is called before that.
    """

    storage_options: Mapping[str, str] | None
    credentials: Callable[[], Mapping[str, Any]] | None


class Opening(Storage, total=False):
    """The options that open a table.

    - ``version`` or ``timestamp``: the version, by its number or as of a ``datetime`` with a zone
      (or ISO text with one).
    - ``tag``: the version that has this tag.
    - ``absolute_paths``: whether to follow paths out of the table's root, which shallow clones
      have.
    """

    version: int | None
    timestamp: datetime | str | None
    tag: str | None
    absolute_paths: Annotated[bool, False]


class Committing(TypedDict, total=False):
    """The options of a commit.

    - ``user_metadata``: a text of your own, which the history keeps.
    - ``commit_info``: entries of your own in the commit's ``commitInfo``, as values of JSON.
    - ``upkeep``: whether a checkpoint and a cleanup of the log may follow the commit:
      ``{"checkpoint": False}`` or ``{"clean_up_log": False}``.
    - ``timeout``: the seconds to keep trying while other writers commit first.
    """

    user_metadata: str | None
    commit_info: Mapping[str, Any] | None
    upkeep: Mapping[str, bool] | None
    timeout: float | None


class Located(Storage, total=False):
    """The options that reach a table, also one that cannot be opened.

    - ``absolute_paths``: whether to follow paths out of the table's root, which shallow clones
      have.
    """

    absolute_paths: Annotated[bool, False]


class Repairing(Committing, total=False):
    """The options of ``Table.repair``.

    - ``drop_missing_files``: whether to remove data files that do not exist from the table.
    - ``lost_deletion_vectors``: what becomes of data files whose deletion vector cannot be read:
      their deleted rows come back (``restore_deleted_rows``), or the files are removed from the
      table (``drop_files``).
    - ``truncate_log``: whether to move the newest commits aside that cannot be read.
    """

    drop_missing_files: Annotated[bool, False]
    lost_deletion_vectors: LostDeletionVectors | None
    truncate_log: Annotated[bool, False]


class RepairingAt(Repairing, Located, total=False):
    """The options of ``repair``."""


class Cloning(Committing, Storage, total=False):
    """The options of ``Table.clone``.

    - ``properties``: properties that replace those of the source.
    """

    properties: Mapping[str, Any] | None


class Converting(Committing, Storage, total=False):
    """The options of ``convert``.

    - ``properties``: the properties of the table.
    - ``name`` and ``description``: words for people about the table.
    """

    properties: Mapping[str, Any] | None
    name: str | None
    description: str | None


class Identified(Committing, total=False):
    """The options of a change that is committed once.

    - ``txn``: an application's id and its number of the change, or several of these pairs. A
      change that the table knows already is not committed again.
    """

    txn: tuple[str, int] | Sequence[tuple[str, int]] | None


class Files(TypedDict, total=False):
    """The options of new data files.

    - ``target_file_size``: the approximate size of files in bytes.
    - ``compression``: the codec of the files.
    - ``row_group_rows``: the most rows of a row group.
    - ``bloom_columns``: columns that get Bloom filters.
    """

    target_file_size: int | None
    compression: str | None
    row_group_rows: int | None
    bloom_columns: str | Sequence[str] | None


class Encoding(Files, total=False):
    """The options of data files with rows of the caller.

    - ``on_lossy``: whether digits that a column cannot hold are an ``error``, or are cut off
      (``truncate``).
    """

    on_lossy: Annotated[OnLossy, "error"]


class Writing(Committing, Encoding, total=False):
    """The options of a commit that writes data files."""


class Defining(TypedDict, total=False):
    """The options of a new table.

    - ``partition_by``: the partition columns.
    - ``cluster_by``: the clustering columns.
    - ``properties``: the table's properties.
    """

    partition_by: str | Sequence[str] | None
    cluster_by: str | Sequence[str] | None
    properties: Mapping[str, Any] | None


class Naming(TypedDict, total=False):
    """The words for people about a new table.

    - ``name`` and ``description``: an existing table must have the same.
    """

    name: str | None
    description: str | None


class Creating(Defining, Storage, total=False):
    """The options of ``create``."""


class Appending(Writing, Identified, total=False):
    """The options of ``Table.append``."""


class Overwriting(Appending, Defining, total=False):
    """The options of ``Table.overwrite``."""


class WritingTo(Overwriting, Naming, Storage, total=False):
    """The options of ``write``."""


class Changing(Identified, Files, total=False):
    """The options of a change of rows.

    - ``retries``: whether to retry the change if another writer commits something on which it
      depends.
    """

    retries: Annotated[bool, True]


class Merging(Changing, total=False):
    """The options of a merge.

    - ``schema_mode``: whether a merge adds columns that only the source has (``merge``), or not
      (``enforce``).
    - ``on_lossy``: whether digits of the source that no column can hold are an ``error``, or are
      cut off (``truncate``).
    """

    schema_mode: Annotated[Evolution, "enforce"]
    on_lossy: Annotated[OnLossy, "error"]


class StagedOverwriting(Encoding, Defining, total=False):
    """The options of ``Transaction.overwrite``."""


class StagedMerging(Files, total=False):
    """The options of a merge in a transaction, as those of ``Table.merge``."""

    schema_mode: Annotated[Evolution, "enforce"]
    on_lossy: Annotated[OnLossy, "error"]


class Optimizing(Committing, Files, total=False):
    """The options of ``Table.optimize``."""

    zorder_by: str | Sequence[str] | None
    cluster_by: str | Sequence[str] | None
    min_files: Annotated[int, 2]
    max_deleted_share: Annotated[float, 0.05]
    full: Annotated[bool, False]
    fill_statistics: Annotated[bool, True]
    commit: Annotated[Commits, "run"]


def _word(choices: Any) -> Callable[[str, Any], Any]:
    return functools.partial(arguments.word, choices=choices)


#: The check of each option. It returns the value in the form that `_lakebed` takes.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "absolute_paths": arguments.flag,
    "bloom_columns": arguments.columns,
    "cluster_by": arguments.columns,
    "commit": _word(Commits),
    "commit_info": arguments.entries,
    "compression": arguments.text,
    "credentials": arguments.function,
    "description": arguments.words,
    "drop_missing_files": arguments.flag,
    "fill_statistics": arguments.flag,
    "full": arguments.flag,
    "lost_deletion_vectors": _word(LostDeletionVectors),
    "max_deleted_share": functools.partial(arguments.number, most=1),
    "min_files": functools.partial(arguments.integer, least=1),
    "mode": _word(arguments.Mode),
    "name": arguments.words,
    "on_lossy": _word(OnLossy),
    "partition_by": arguments.columns,
    "partitions": _word(Partitions),
    "properties": arguments.properties,
    "retries": arguments.flag,
    "row_group_rows": functools.partial(arguments.integer, least=1),
    "schema_mode": _word(SchemaMode),
    "storage_options": arguments.strings,
    "target_file_size": arguments.file_size,
    "timeout": arguments.number,
    "truncate_log": arguments.flag,
    "txn": arguments.txn,
    "upkeep": arguments.upkeep,
    "user_metadata": arguments.words,
    "where": arguments.text,
    "zorder_by": arguments.columns,
}


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options in the form that `_lakebed` takes."""
    return {name: _CHECKS[name](name, value) for name, value in options.items()}


def located(uri: str | os.PathLike[str], storage: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that locate a table."""
    return {
        "uri": arguments.location("uri", uri),
        "storage_options": arguments.strings("storage_options", storage.get("storage_options")),
        "credentials": arguments.function("credentials", storage.get("credentials")),
    }


def reopening(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that open a table again, out of those that wrote it."""
    return {**{name: options[name] for name in ("uri", "storage_options", "credentials")}, "absolute_paths": False}


def takes(group: Any) -> Callable[[_Function], _Function]:
    """Decorates a function with a last parameter ``**options``. The function then takes the options
    of a group and no others.
    """
    fields = get_type_hints(group, include_extras=True)

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        explicit = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        shared = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, **_of_hint(hint)) for name, hint in fields.items()]
        known = {one.name for one in [*explicit, *shared]}

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            for name in options:
                if name not in known:
                    raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}")
            return function(*args, **options)

        call.__signature__ = signature.replace(parameters=[*explicit, *shared])  # type: ignore[attr-defined]
        call.__annotations__ = {
            **{name: hint for name, hint in function.__annotations__.items() if name in known or name == "return"},
            **{one.name: one.annotation for one in shared},
        }
        return call  # type: ignore[return-value]

    return decorate


def _of_hint(hint: Any) -> dict[str, Any]:
    """Returns the annotation and the default of a field. The default is None, unless the field is
    annotated with another one.
    """
    if get_origin(hint) is Annotated:
        annotation, default = get_args(hint)
        return {"annotation": annotation, "default": default}
    return {"annotation": hint, "default": None}
