"""Values as strings that can be compared. Equal values have equal strings, whichever library they
come from.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

#: Rows without order.
Bag = Counter[tuple[tuple[str, str], ...]]


def plain(value: Any) -> str:
    """Returns the string of a value. 1, 1.0 and Decimal("1.00") have the same string. True has
    another.
    """
    if hasattr(value, "item"):
        value = value.item()
    match value:
        case bool():
            return repr(value)
        case float() if math.isnan(value) or math.isinf(value):
            return repr(value)
        case int() | float() | Decimal():
            return str(Fraction(value))
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(timezone.utc)).isoformat()
        case date():
            return value.isoformat()
        case timedelta():
            return f"{value // timedelta(microseconds=1)} us"
        case Mapping():
            return "{" + ", ".join(f"{key}: {plain(one)}" for key, one in sorted(value.items())) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(plain, value)) + "]"
        case _:
            return repr(value)


def bag(rows: Iterable[Mapping[str, Any]]) -> Bag:
    """Counts the rows. A null column and a missing column are the same."""
    return Counter(
        tuple(sorted((name.lower(), plain(value)) for name, value in row.items() if value is not None)) for row in rows
    )


def differ(found: Bag, wanted: Bag) -> str:
    """Returns how two bags differ, or an empty text if they do not."""
    lost, gained = wanted - found, found - wanted
    if not lost and not gained:
        return ""
    return (
        f"{found.total()} rows, {wanted.total()} wanted; lost {list(lost.elements())[:4]}; gained {list(gained.elements())[:4]}"
    )
