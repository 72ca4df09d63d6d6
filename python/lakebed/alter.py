"""Changes the definition of a table. The rows stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed import arguments

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["Alter"]


class Alter:
    """Changes of a table's definition. Each method commits on top of the newest version.

    It returns the table as of that commit.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def cluster_by(self, *columns: str) -> Table:
        """Sets the table's clustering columns to ``columns``, or removes them.

        Existing rows stay where they are. :meth:`Table.optimize` clusters new rows, and with
        ``full=True`` all rows.

        >>> import lakebed as lb, pyarrow as pa
        >>> table = lb.write("memory://docs/cluster-by", pa.table({"day": [1, 2], "id": [3, 4]})).table
        >>> table.alter.cluster_by("day", "id").detail().clustering_columns
        ('day', 'id')
        """
        names = arguments.columns("columns", columns) or []
        return self._table._with(self._table._table.cluster_by(names))
