"""Rows by file, and the predicates by which files are skipped."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa


def chunks() -> list[pa.Table]:
    """Returns the rows of each file. There is no NaN, because lakebed omits its bounds and some
    readers compare it like other numbers.
    """

    def chunk(
        ints: list[int | None], text: str | None, day: int | None, cents: str | None, f: float | None, y: str | None
    ) -> pa.Table:
        rows = len(ints)
        instant = None if day is None else datetime(2024, 1, day, 12, 30, 45, 123_000 + day, tzinfo=timezone.utc)
        inner = pa.struct([("x", pa.int32()), ("in", pa.struct([("y", pa.string())]))])
        return pa.table(
            {
                "i": pa.array(ints, pa.int64()),
                "s": pa.array([text] * rows, pa.string()),
                "d": pa.array([None if day is None else date(2024, 1, day)] * rows, pa.date32()),
                "t": pa.array([instant] * rows, pa.timestamp("us", "UTC")),
                "dec": pa.array([None if cents is None else Decimal(cents)] * rows, pa.decimal128(20, 2)),
                "f": pa.array([f] * rows, pa.float64()),
                "st": pa.array([{"x": number and number % 100, "in": {"y": y}} for number in ints], inner),
            }
        )

    return [
        chunk([1, 2, 3], "a", 1, "0.01", 0.5, "p"),
        chunk([-(2**63), -5], "a" * 31 + "b", 2, "-999999999999999999.99", float("-inf"), "q" * 40),
        chunk([4, 2**63 - 1], "a" * 32 + "b", 3, "999999999999999999.99", 7.5, "ü"),
        chunk([10, 11], "a" * 40, 4, "10.00", -0.0, None),
        chunk([None, 12], "\U0010ffff" * 33, 5, None, None, "p"),
        chunk([None, None], None, None, None, None, None),
        chunk([20], "", 31, "10.01", 0.0, ""),
        chunk([21], "ä𝄞" * 16 + "z", 30, "-0.01", float("inf"), "z"),
    ]


PREDICATES = [
    "i = 3", "i < 0", "i > 11", "i >= 9223372036854775807", "i IS NULL", "i <=> NULL", "i IN (1, 20, 99)",
    "i BETWEEN 4 AND 10", "i <> 20", "i < 2 OR i > 20", "i + 1 = 4",
    "s = 'a'", f"s = '{'a' * 32}'", f"s > '{'a' * 32}'", f"s = '{'a' * 32 + 'b'}'", f"s > '{'a' * 32 + 'c'}'", f"s < '{'a' * 32}'",
    "s LIKE 'aaa%'", "s IS NULL", "s = ''", f"s > '{'ä𝄞' * 16}'", f"s >= '{chr(0x10ffff) * 33}'", f"s > '{chr(0x10ffff) * 34}'",
    "d = DATE '2024-01-03'", "year(d) = 2023",
    "t = TIMESTAMP '2024-01-03 12:30:45.123003Z'", "t > TIMESTAMP '2024-01-03 12:30:45.123003Z'",
    "t > TIMESTAMP '2024-01-31 12:30:45.123999Z'", "t > TIMESTAMP '2024-01-31 12:30:45.124Z'", "t < TIMESTAMP '2024-01-01 12:30:45.123001Z'",
    "dec = 10.00", "dec IS NULL", "dec = 999999999999999999.99",
    "f = 0", "f > 1e308", "f < 0", "f = double('inf')",
    "st.x > 50", "st.x IS NULL", "st.in.y = 'p'", "st.in.y > 'z'", f"st.in.y = '{'q' * 40}'", "st IS NULL",
]  # fmt: skip
