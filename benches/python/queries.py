"""The queries on lineitem, the digests that compare their answers, and the clauses of a merge."""

from dataclasses import dataclass
from typing import Any

# The tables, and the share of rows deleted in each.
DELETED = {"lineitem": 0.0, "lineitem_dv01": 0.001, "lineitem_dv10": 0.1}
Q6_COLUMNS = ["l_extendedprice", "l_discount", "l_shipdate", "l_quantity"]
Q6_WHERE = (
    "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' "
    "AND l_discount >= 0.05 AND l_discount <= 0.07 AND l_quantity < 24"
)
ONE_FILE = (3_200_000, 3_200_999)  # The range of order keys is in one file, the seventh.
SUMMED = ("l_orderkey", "l_extendedprice")


@dataclass(frozen=True)
class Merge:
    """Source rows, which match by keys. A matching row may be updated, and the other source rows
    are inserted.
    """

    keys: tuple[str, ...]
    updates: bool = True

    @property
    def on(self) -> str:
        """Returns the condition for a row of `target` and a row of `source`."""
        return " AND ".join(f"target.{key} = source.{key}" for key in self.keys)


def digest(rows: Any) -> dict[str, Any]:
    """Returns the number of rows of an Arrow table, and the sums of two columns if it has them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    out: dict[str, Any] = {"rows": len(rows)}
    for name in SUMMED:
        if name in rows.column_names:
            out[name] = str(pc.sum(rows[name].cast(pa.decimal128(38, 2))).as_py())
    return out
