"""SQL expressions, each with its text and its meaning in Python. The meaning follows Spark's rules
and not lakebed's code.

NULL is None. A condition is True, False or None, and AND, OR and NOT follow three-valued logic.
Doubles are ordered as in Spark: NaN is equal to itself and greater than all other values, and -0.0
equals 0.0. `conditions` and `values_of` draw random expressions. `Kind` is the type of the values
of a column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from hypothesis import strategies as st

#: A row by the names of its columns, as expressions write them.
Row = Mapping[str, Any]
Kind = Literal["long", "int", "double", "decimal", "string", "boolean", "date", "timestamp"]


@dataclass(frozen=True)
class Sql:
    """An expression."""

    text: str
    value: Callable[[Row], Any] = field(repr=False, compare=False)

    def holds(self, row: Row) -> bool:
        """Returns whether the condition is true, and neither false nor null."""
        return self.value(row) is True


def column(name: str) -> Sql:
    """Returns a column, or with dots a field of a struct. An expression over two rows begins with
    the name of a row: `target.s.x`.
    """
    path = name.split(".")

    def value(row: Row) -> Any:
        found: Any = row
        for part in path:
            found = None if found is None else found[part]
        return found

    return Sql(name, value)


def literal(value: Any, kind: Kind) -> Sql:
    return Sql(_literal(value, kind), lambda _: value)


def _literal(value: Any, kind: Kind) -> str:
    if value is None:
        return "NULL"
    if kind == "string":
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if kind == "boolean":
        return str(value).upper()
    if kind == "date":
        return f"DATE'{value}'"
    if kind == "timestamp":
        return f"TIMESTAMP'{value:%Y-%m-%d %H:%M:%S.%f}'".replace("TIMESTAMP'1-", "TIMESTAMP'0001-")
    if kind == "decimal":
        return f"({value:f})" if value < 0 else f"{value:f}"
    if kind == "double":
        return f"{value!r}D" if math.isfinite(value) else f"CAST('{value!r}' AS DOUBLE)"
    return f"({value})" if value < 0 else str(value)


def _order(value: Any) -> Any:
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def compare(left: Sql, operator: str, right: Sql) -> Sql:
    def value(row: Row) -> Any:
        a, b = left.value(row), right.value(row)
        if operator == "<=>":
            return _order(a) == _order(b) if a is not None and b is not None else a is b
        return None if a is None or b is None else _COMPARISONS[operator](_order(a), _order(b))

    return Sql(f"{left.text} {operator} {right.text}", value)


def is_null(operand: Sql, *, negated: bool) -> Sql:
    return Sql(f"{operand.text} IS {'NOT ' * negated}NULL", lambda row: (operand.value(row) is None) != negated)


def is_in(operand: Sql, options: Sequence[Sql], *, negated: bool) -> Sql:
    either = any_of([compare(operand, "=", option) for option in options])
    text = f"{operand.text} {'NOT ' * negated}IN ({', '.join(option.text for option in options)})"
    return Sql(text, not_(either).value if negated else either.value)


def between(operand: Sql, low: Sql, high: Sql) -> Sql:
    both = all_of([compare(operand, ">=", low), compare(operand, "<=", high)])
    return Sql(f"{operand.text} BETWEEN {low.text} AND {high.text}", both.value)


def starts_with(operand: Sql, prefix: str) -> Sql:
    """Returns a LIKE condition with a plain prefix."""

    def value(row: Row) -> Any:
        found = operand.value(row)
        return None if found is None else found.startswith(prefix)

    return Sql(f"{operand.text} LIKE '{prefix}%'", value)


def all_of(parts: Sequence[Sql]) -> Sql:
    def value(row: Row) -> Any:
        values = [part.value(row) for part in parts]
        return False if False in values else None if None in values else True

    return Sql("(" + " AND ".join(part.text for part in parts) + ")", value)


def any_of(parts: Sequence[Sql]) -> Sql:
    def value(row: Row) -> Any:
        values = [part.value(row) for part in parts]
        return True if True in values else None if None in values else False

    return Sql("(" + " OR ".join(part.text for part in parts) + ")", value)


def not_(part: Sql) -> Sql:
    def value(row: Row) -> Any:
        found = part.value(row)
        return None if found is None else not found

    return Sql(f"NOT ({part.text})", value)


def case(when: Sql, then: Sql, otherwise: Sql) -> Sql:
    text = f"CASE WHEN {when.text} THEN {then.text} ELSE {otherwise.text} END"
    return Sql(text, lambda row: then.value(row) if when.holds(row) else otherwise.value(row))


def coalesce(first: Sql, second: Sql) -> Sql:
    def value(row: Row) -> Any:
        found = first.value(row)
        return second.value(row) if found is None else found

    return Sql(f"coalesce({first.text}, {second.text})", value)


#: The values of columns and expressions. They are few, so that rows match. The least and greatest
#: values of each type are among them.
VALUES: dict[Kind, list[Any]] = {
    "long": [0, 1, 2, 3, 5, 8, 2**63 - 1, -(2**63)],
    "int": [0, 1, 2, -1, 2**31 - 1, -(2**31)],
    "double": [0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf],
    "decimal": [Decimal(text) for text in ("0.000", "1.250", "-1.250", "999999999.999", "-999999999.999")],
    "string": ["a", "b", "B", "it's", "ü/% x=1"],
    "date": [date(1, 1, 1), date(1582, 10, 15), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)],
    # Statistics keep milliseconds.
    "timestamp": [
        datetime(1, 1, 1, tzinfo=timezone.utc),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, timezone.utc),
        datetime(2024, 2, 29, 12, 0, 0, 1, timezone.utc),
        datetime(2024, 2, 29, 12, 0, 0, 999, timezone.utc),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, timezone.utc),
    ],
    "boolean": [True, False],
}

#: The columns that expressions may name, and their types.
Columns = tuple[tuple[str, Kind], ...]


@cache
def literals(kind: Kind) -> st.SearchStrategy[Sql]:
    return st.sampled_from([None, *VALUES[kind]]).map(lambda value: literal(value, kind))


@cache
def conditions(columns: Columns) -> st.SearchStrategy[Sql]:
    """Draws conditions on these columns."""
    simple = st.one_of([_simple(columns, name, kind) for name, kind in columns])
    return st.recursive(simple, _joined, max_leaves=4)


def _joined(parts: st.SearchStrategy[Sql]) -> st.SearchStrategy[Sql]:
    several = st.lists(parts, min_size=2, max_size=3)
    return st.one_of(several.map(all_of), several.map(any_of), parts.map(not_))


def _simple(columns: Columns, name: str, kind: Kind) -> st.SearchStrategy[Sql]:
    of, value = column(name), literals(kind)
    comparable = [column(other) for other, other_kind in columns if other_kind == kind]
    operand = st.one_of(value, value, st.sampled_from(comparable))
    operators = ["=", "<>", "<=>"] if kind == "boolean" else ["=", "=", "<>", "<", "<=", ">", ">=", "<=>"]
    found = [
        st.builds(compare, st.just(of), st.sampled_from(operators), operand),
        st.builds(is_null, st.just(of), negated=st.booleans()),
        st.builds(is_in, st.just(of), st.lists(value, min_size=1, max_size=3), negated=st.booleans()),
    ]
    if kind == "boolean":
        found.append(st.just(of))
    else:
        found.append(st.builds(between, st.just(of), value, value))
    if kind == "string":
        found.append(st.sampled_from(["a", "it", "ü"]).map(lambda prefix: starts_with(of, prefix)))
    return st.one_of(found)


@cache
def values_of(kind: Kind, columns: Columns) -> st.SearchStrategy[Sql]:
    """Draws expressions of this type over these columns."""
    same = [column(name) for name, other in columns if other == kind]
    simple = st.one_of(literals(kind), st.sampled_from(same)) if same else literals(kind)
    found = [simple, simple, st.builds(coalesce, simple, simple), st.builds(case, conditions(columns), simple, simple)]
    if kind == "boolean":
        found.append(conditions(columns))
    return st.one_of(found)
