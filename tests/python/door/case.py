"""One test case as plain values. The `repr` of a case is Python code that builds the case again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: One row, and a list of rows.
Row = dict[str, Any]
Rows = list[Row]


@dataclass(frozen=True)
class Column:
    """A column of one batch. `type` is a key of `sources.TYPES`."""

    name: str
    type: str
    values: tuple[Any, ...]
    nullable: bool = True


Batch = tuple[Column, ...]


@dataclass(frozen=True)
class Source:
    """The data of a call: batches in one form. `kind` is a key of `sources.KINDS`."""

    kind: str
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True)
class Table:
    """The table before the call. Its columns are those of `tables.SCHEMA`."""

    exists: bool = True
    #: Keys of `tables.FEATURES`.
    features: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    #: Whether `id` must not be null, and whether it must be positive.
    required: bool = False
    positive: bool = False


@dataclass(frozen=True)
class Deed:
    """One call. `verb` is a key of `deeds.VERBS`."""

    verb: str
    #: The arguments by name, as Python values.
    given: tuple[tuple[str, Any], ...] = ()
    #: Why the arguments must be refused; empty if the arguments are valid.
    wrong: str = ""


@dataclass(frozen=True)
class Case:
    """One draw."""

    table: Table = field(default_factory=Table)
    source: Source = field(default_factory=lambda: Source("table"))
    deed: Deed = field(default_factory=lambda: Deed("write"))
    #: A key of `processes.WAYS`.
    way: str = "same"
