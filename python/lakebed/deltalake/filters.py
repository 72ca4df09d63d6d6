"""Filters of deltalake, as lists of ``(column, operator, value)``, in SQL.

A list of tuples joins them by AND. A list of such lists joins these by OR.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from lakebed.deltalake.dialect import column, literal, sql
from lakebed.deltalake.exceptions import DeltaError

__all__ = [
    "FilterConjunctionType",
    "FilterDNFType",
    "FilterLiteralType",
    "FilterType",
    "conjunctions",
    "partition_value",
    "pruning",
    "superset",
]

#: A comparison: the name of a column, an operator and a value.
FilterLiteralType = tuple[str, str, Any]
#: Comparisons that are joined by AND.
FilterConjunctionType = list[FilterLiteralType]
#: Lists of comparisons that are joined by OR.
FilterDNFType = list[FilterConjunctionType]
FilterType = FilterConjunctionType | FilterDNFType

_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


def conjunctions(filters: Sequence[Any]) -> list[list[tuple[str, str, Any]]]:
    """Returns a filter as a list of lists of tuples."""
    if not filters:
        return []
    if all(isinstance(one, list) for one in filters):
        found = [list(one) for one in filters]
    elif all(isinstance(one, tuple) for one in filters):
        found = [list(filters)]
    else:
        raise ValueError("a filter is a list of (column, operator, value) tuples, or a list of such lists, not a mix of both")
    if not all(found):
        raise ValueError("a filter has an empty list of tuples: pass no filter to take all files")
    return found


def pruning(predicate: Any, columns: Sequence[str] | None = None) -> str | None:
    """Returns the SQL of a filter that selects files. Its values are compared as the partitions
    spell them. ``columns`` are those that it may name.
    """
    if predicate is None or isinstance(predicate, str):
        return sql(predicate)  # type: ignore[no-any-return]
    found = [[_partition(one, columns) for one in terms] for terms in conjunctions(predicate)]
    return " OR ".join(f"({' AND '.join(terms)})" for terms in found) or None


def _partition(term: tuple[str, str, Any], columns: Sequence[str] | None) -> str:
    name, operator, value = term
    many = isinstance(value, (list, tuple))
    values = [partition_value(one) for one in value] if many else [partition_value(value)]
    if operator not in (("in", "not in") if many else _COMPARISONS):
        shown = ", ".join(f'"{one}"' for one in values)
        raise DeltaError(f'Invalid partition filter found: ("{name}", "{operator}", {f"[{shown}]" if many else shown}).')
    if columns is not None and name not in columns:
        raise DeltaError(f"Data does not match the schema or partitions of the table: Field '{name}' is not a root table field.")
    if many:
        return _among(name, operator, values)
    if value == "" and operator in ("=", "==", "!="):
        return f"{column(name)} IS {'NOT ' if operator == '!=' else ''}NULL"
    return f"{column(name)} {_COMPARISONS[operator]} {literal(values[0])}"


def _among(name: str, operator: str, values: Sequence[str]) -> str:
    texts = ", ".join(literal(one) for one in values if one != "")
    is_in = f"{column(name)} IN ({texts})" if texts else "false"
    is_null = f"{column(name)} IS NULL" if "" in values else "false"
    found = f"({is_in} OR {is_null})"
    return found if operator == "in" else f"NOT {found}"


def partition_value(value: Any) -> str:
    """Returns a value as the paths of partitions spell it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("unicode_escape", "backslashreplace")
    raise ValueError(f"Could not encode partition value for type: {value}")


def superset(filters: Any) -> str | None:
    """Returns SQL that is true for each row that pyarrow's filter selects, and perhaps for more.

    It lets lakebed skip files; pyarrow then decides about each row. Only numbers, dates and times
    are compared as pyarrow does it. Other terms select every row here.
    """
    if not isinstance(filters, list):
        return None
    found = [[_plain(one) for one in terms] for terms in conjunctions(filters)]
    parts = [" AND ".join(one for one in terms if one is not None) for terms in found]
    return " OR ".join(f"({part})" for part in parts) if parts and all(parts) else None


def _plain(term: tuple[str, str, Any]) -> str | None:
    name, operator, value = term
    if operator not in _COMPARISONS or operator == "!=" or isinstance(value, bool):
        return None
    if isinstance(value, (int, str)) or (type(value) is date):
        return f"{column(name)} {_COMPARISONS[operator]} {literal(value)}"
    return None
