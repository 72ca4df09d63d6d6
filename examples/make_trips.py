"""Makes the small table that the demo, the docs and their tests read: `examples/trips`.

It needs `pip install deltalake==1.6.6 pyarrow`: deltalake writes the table, so the examples read a table of another
writer. The result is stored in the repository.
"""

from datetime import date
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

TABLE = Path(__file__).parent / "trips"
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("day", pa.date32())])


def rows(*values: tuple[int, str, float | None, int]) -> pa.Table:
    columns = zip(*((id, city, fare, date(2026, 3, day)) for id, city, fare, day in values), strict=True)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def main() -> None:
    rmtree(TABLE, ignore_errors=True)
    first = rows((1, "Lisbon", 12.5, 1), (2, "Oslo", 31.0, 1), (3, "Lisbon", 8.75, 2), (4, "Kyoto", 22.0, 2))
    write_deltalake(TABLE, first, partition_by=["day"], name="trips", description="Taxi trips, for trying things out")
    write_deltalake(TABLE, rows((5, "Kyoto", None, 2), (6, "Oslo", 18.25, 3)), mode="append")
    DeltaTable(TABLE).delete("id = 2")
    write_deltalake(TABLE, rows((7, "Lisbon", 40.0, 3)), mode="append")


if __name__ == "__main__":
    main()
