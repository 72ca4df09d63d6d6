""":func:`column` describes a column of a new table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed import _lakebed, arguments
from lakebed.adapters.pyarrow import schema_of
from lakebed.errors import InvalidInputError
from lakebed.values import shown

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Identity", "column", "described", "field", "named", "typed"]


class Identity(NamedTuple):
    """The numbers of an identity column: ``start``, ``start + step``, ...

    With ``allow_given=True``, rows may bring numbers of their own.
    """

    start: int = 1
    step: int = 1
    allow_given: bool = False


def column(
    name: str,
    type: Any,
    *,
    nullable: bool = True,
    comment: str | None = None,
    default: str | None = None,
    generated: str | None = None,
    identity: Identity | tuple[int, int] | bool | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> pa.Field[Any]:
    """Describes a column of a new table, for :func:`lakebed.create`.

    - ``name``: the name of the column.
    - ``type``: a type of pyarrow, or SQL text such as ``"bigint"`` or ``"varchar(10)"``.
    - ``nullable=False``: every row must have a value.
    - ``comment``: a text for people.
    - ``default``: the SQL expression for rows that do not give the column.
    - ``generated``: the SQL expression that computes the column from others.
    - ``identity``: ``True``, or ``(start, step)``: the table numbers its rows.
    - ``metadata``: entries of your own in the column's metadata: strings, numbers or booleans.

    >>> import lakebed as lb
    >>> table = lb.create(
    ...     "memory://docs/column",
    ...     [
    ...         lb.column("id", "bigint", identity=True),
    ...         lb.column("at", "timestamp", nullable=False),
    ...         lb.column("day", "date", generated="CAST(at AS DATE)", comment="for partitions"),
    ...         lb.column("state", "varchar(10)", default="'new'"),
    ...     ],
    ...     partition_by="day",
    ... )
    >>> sorted(set(table.protocol.writer_features) - {"appendOnly", "invariants"})
    ['allowColumnDefaults', 'generatedColumns', 'identityColumns']
    """
    given = described(name, type, nullable=nullable, comment=comment, default=default, generated=generated, identity=identity)
    return field({**given, "metadata": arguments.entries("metadata", metadata)})


def field(given: dict[str, Any]) -> pa.Field[Any]:
    """Returns a column, as :func:`described` gives it, as a field of a pyarrow schema."""
    if "\0" in given["name"]:
        raise InvalidInputError(f"name={shown(given['name'])}: a field of Arrow cannot have a name with NUL")
    return schema_of(_lakebed.column_schema(given)).field(0)


def named(argument: str, value: Any) -> str:
    """Checks a required string."""
    return arguments.given(argument, arguments.text(argument, value))


def typed(argument: str, value: Any) -> dict[str, Any]:
    """Returns a type in the form that the extension takes."""
    if isinstance(value, str):
        return {"sql": named(argument, value)}
    if hasattr(value, "__arrow_c_schema__"):
        return {"delta": _lakebed.delta_type(value)}
    raise TypeError(f"{argument}={shown(value)}: it must be a type of pyarrow, or SQL text such as 'bigint'")


def described(
    name: str,
    type: Any,
    *,
    nullable: bool = True,
    comment: str | None = None,
    default: str | None = None,
    generated: str | None = None,
    identity: Identity | tuple[int, int] | bool | None = None,
    within: str = "",
) -> dict[str, Any]:
    """Returns a column in the form that the extension takes. ``within`` names the argument that holds
    the column, for errors.
    """
    return {
        "name": named(f"{within}name", name),
        "type": typed(f"{within}type", type),
        "nullable": arguments.flag("nullable", nullable),
        "comment": arguments.words("comment", comment),
        "default": arguments.text("default", default),
        "generated": arguments.text("generated", generated),
        "identity": _identity(identity),
    }


def _identity(value: Identity | tuple[int, int] | bool | None) -> dict[str, Any] | None:
    if value is None or value is False:
        return None
    if value is True:
        value = Identity()
    if not isinstance(value, tuple) or not 2 <= len(value) <= 3:
        raise TypeError(f"identity={shown(value)}: it must be True, or a pair of the first number and the step")
    given = Identity(*value)
    least = -(2**63)
    return {
        "start": arguments.integer("identity: start", given.start, least=least),
        "step": arguments.integer("identity: step", given.step, least=least),
        "allow_given": arguments.flag("identity: allow_given", given.allow_given),
    }
