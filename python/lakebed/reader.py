""":func:`read` and :func:`exists` read a table by its location."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakebed.errors import TableNotFoundError
from lakebed.options import Opening, Storage, takes
from lakebed.scan import Scan
from lakebed.table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["exists", "read"]


@takes(Opening)
def read(
    uri: str | os.PathLike[str],
    columns: str | Sequence[str] | None = None,
    *,
    where: str | None = None,
    limit: int | None = None,
    **options: Unpack[Opening],
) -> Scan:
    """Returns a lazy scan of a table: ``to_pandas()``, ``to_arrow()`` and the like read its rows.

    Short for ``Table(uri, ...).scan(columns, where=where, limit=limit)``. ``version``,
    ``timestamp``, ``storage_options``, ``credentials`` and ``absolute_paths`` are those of
    :class:`lakebed.Table`.

    >>> import lakebed as lb
    >>> lb.read("examples/trips", "city", where="fare > 20").to_pandas()["city"].tolist()
    ['Kyoto', 'Lisbon']
    """
    return Table(uri, **options).scan(columns, where=where, limit=limit)


@takes(Storage)
def exists(uri: str | os.PathLike[str], **options: Unpack[Storage]) -> bool:
    """Returns whether there is a table at ``uri``.

    An unreachable store and a damaged table raise an error. ``storage_options`` and ``credentials``
    are those of :class:`lakebed.Table`.

    >>> import lakebed as lb
    >>> lb.exists("examples/trips"), lb.exists("examples/no-trips")
    (True, False)
    """
    try:
        Table(uri, **options)
    except TableNotFoundError:
        return False
    return True
