"""Tables by their place alone: reading one, and whether there is one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from lakebed.errors import TableNotFoundError
from lakebed.scan import Scan
from lakebed.table import Table

__all__ = ["exists", "read"]


def read(
    uri: str | os.PathLike[str],
    columns: str | Sequence[str] | None = None,
    *,
    where: str | None = None,
    limit: int | None = None,
    version: int | None = None,
    timestamp: datetime | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    credentials: Callable[[], Mapping[str, Any]] | None = None,
    absolute_paths: bool = False,
) -> Scan:
    """The rows of a table, not read yet: ``to_pandas()``, ``to_arrow()`` and the other ways out of :class:`lakebed.Scan` read them.

    Short for ``Table(uri, ...).scan(columns, where=where, limit=limit)``: ``version``, ``timestamp``, ``storage_options``, ``credentials`` and
    ``absolute_paths`` are those of :class:`lakebed.Table`.

    >>> import lakebed as lb
    >>> lb.read("examples/trips", "city", where="fare > 20").to_pandas()["city"].tolist()
    ['Kyoto', 'Lisbon']
    """
    table = Table(
        uri,
        version=version,
        timestamp=timestamp,
        storage_options=storage_options,
        credentials=credentials,
        absolute_paths=absolute_paths,
    )
    return table.scan(columns, where=where, limit=limit)


def exists(
    uri: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, str] | None = None,
    credentials: Callable[[], Mapping[str, Any]] | None = None,
) -> bool:
    """Whether there is a table at ``uri``. A store that cannot be reached is an error, and so is a table that is damaged.

    ``storage_options`` and ``credentials`` are those of :class:`lakebed.Table`.

    >>> import lakebed as lb
    >>> lb.exists("examples/trips"), lb.exists("examples/no-trips")
    (True, False)
    """
    try:
        Table(uri, storage_options=storage_options, credentials=credentials)
    except TableNotFoundError:
        return False
    return True
