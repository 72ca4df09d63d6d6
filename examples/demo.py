"""The main job of lakebed, step by step, on a small table beside this file. Run it with `make demo`."""

from pathlib import Path

import lakebed as lb

TABLE = Path(__file__).parent / "trips"


def step(title: str) -> None:
    print(f"\n--- {title}")


def main() -> None:
    step("open a table: only its protocol and metadata are read")
    table = lb.Table(TABLE)
    print(table.schema)
    print(f"version {table.version}, partitioned by {', '.join(table.partition_columns)}, {table.count()} rows")

    step("read it, some columns and rows of it")
    scan = table.scan(columns=["id", "city", "fare"], where="day >= '2026-03-02' AND fare > 10")
    for row in scan.to_arrow().to_pylist():
        print(row)

    step("which files that took, and why not more")
    print(scan.explain())

    step("who did what")
    print(table.history())

    step("time travel: the table before the delete")
    for version in range(table.version + 1):
        past = lb.Table(TABLE, version=version)
        print(f"version {version}: {past.count()} rows, ids {sorted(past.to_arrow(columns=['id'])['id'].to_pylist())}")

    step("batch by batch, for what does not fit in memory")
    for batch in table.to_reader(columns=["city"]):
        print(f"a batch of {batch.num_rows} rows")


if __name__ == "__main__":
    main()
