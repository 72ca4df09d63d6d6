"""Changing what a table is, while its rows stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed import arguments

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["Alter"]


class Alter:
    """What can be changed about a table; each method is one commit on top of the latest version, and gives the table afterwards."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def cluster_by(self, *columns: str) -> Table:
        """Clusters the table by these ``columns`` from now on, or without any by none.

        Rows that are there stay where they are: :meth:`Table.optimize` brings those in order that come, and with ``full=True`` all of them.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/cluster-by", pa.table({"day": [1, 2], "id": [3, 4]})).table
        >>> table.alter.cluster_by("day", "id").detail().clustering_columns
        ('day', 'id')
        """
        names = arguments.columns("columns", columns) or []
        return self._table._with(self._table._table.cluster_by(names))
