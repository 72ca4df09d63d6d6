"""What a draw is: plain values, whose `repr` is the program that repeats it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: One row, and many.
Row = dict[str, Any]
Rows = list[Row]


@dataclass(frozen=True)
class Column:
    """A column of one batch. `type` is a word of `sources.TYPES`."""

    name: str
    type: str
    values: tuple[Any, ...]
    nullable: bool = True


Batch = tuple[Column, ...]


@dataclass(frozen=True)
class Source:
    """What is handed over: batches in some form. `kind` is a word of `sources.KINDS`."""

    kind: str
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True)
class Table:
    """The table as it is before. Its columns are those of `tables.SCHEMA`."""

    exists: bool = True
    #: Words of `tables.FEATURES`.
    features: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    #: Whether `id` must not be null, and whether it must be positive.
    required: bool = False
    positive: bool = False


@dataclass(frozen=True)
class Deed:
    """What is done with it. `verb` is a word of `deeds.VERBS`."""

    verb: str
    #: The arguments by name, as Python values.
    given: tuple[tuple[str, Any], ...] = ()
    #: Why the arguments must be refused, or nothing if they are sound.
    wrong: str = ""


@dataclass(frozen=True)
class Case:
    """One draw."""

    table: Table = field(default_factory=Table)
    source: Source = field(default_factory=lambda: Source("table"))
    deed: Deed = field(default_factory=lambda: Deed("write"))
    #: A word of `processes.WAYS`.
    way: str = "same"
