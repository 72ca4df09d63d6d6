"""Checks arguments before anything is read or written.

A wrong type is a ``TypeError``. An invalid value of the right type is an
:class:`lakebed.InvalidInputError`. Both messages begin with the argument as it was given. None
always means "not given".
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, Literal, TypeVar, get_args

from lakebed.errors import InvalidInputError
from lakebed.values import printable, shown

__all__ = [
    "LEAST_FILE_SIZE",
    "CheckLevel",
    "CloneMode",
    "Commits",
    "ConvertMode",
    "CreateMode",
    "Evolution",
    "LostDeletionVectors",
    "Mode",
    "OnLossy",
    "Partitions",
    "SchemaMode",
    "VacuumMode",
    "columns",
    "entries",
    "expressions",
    "file_size",
    "flag",
    "function",
    "given",
    "integer",
    "integers",
    "location",
    "number",
    "pairs",
    "properties",
    "strings",
    "task_size",
    "text",
    "texts",
    "txn",
    "upkeep",
    "word",
    "words",
]

#: The keywords of arguments.
Mode = Literal["append", "overwrite", "error", "ignore"]
CreateMode = Literal["error", "ignore", "replace"]
CloneMode = Literal["error", "replace"]
ConvertMode = Literal["error", "ignore"]
VacuumMode = Literal["full", "lite"]
CheckLevel = Literal["log", "state", "files", "footers", "rows", "history"]
#: What a repair does with data files whose deletion vector cannot be read.
LostDeletionVectors = Literal["restore_deleted_rows", "drop_files"]
SchemaMode = Literal["enforce", "merge", "overwrite"]
#: How `append`, `upsert` and `merge` treat columns that the table does not have.
Evolution = Literal["enforce", "merge"]
Partitions = Literal["static", "dynamic"]
OnLossy = Literal["error", "truncate"]
Commits = Literal["run", "group"]

#: The largest number that Delta's `long` holds.
_LONGEST = 2**63 - 1
#: In a smaller file, the footer would be most of its bytes. The core has the same limit.
LEAST_FILE_SIZE = 1024
#: The most levels of lists and mappings in a value of JSON. The core has the same limit.
_MOST_LEVELS = 32

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Value = TypeVar("_Value")


def integer(name: str, value: Any, *, least: int = 0) -> int | None:
    """Checks a whole number. numpy's integers are whole numbers, and True and 1.0 are not."""
    if value is None:
        return None
    if _is_flag(value):
        raise _wrong_type(name, value, "a whole number")
    try:
        found = operator.index(value)
    except TypeError:
        raise _wrong_type(name, value, "a whole number") from None
    if not least <= found <= _LONGEST:
        raise _no_sense(name, value, f"it must be {least} or more" if found < least else f"it must be {_LONGEST} at most")
    return found


def integers(name: str, value: Any) -> list[int]:
    """Checks a list of whole numbers."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong_type(name, value, "a list of whole numbers")
    return [given(name, integer(name, one)) for one in value]


def file_size(name: str, value: Any) -> int | None:
    """Checks an approximate size of files in bytes."""
    return integer(name, value, least=LEAST_FILE_SIZE)


def task_size(name: str, value: Any) -> int:
    """Checks an approximate number of bytes that one task reads."""
    return given(name, integer(name, value, least=1))


def number(name: str, value: Any, *, most: float = math.inf, finite: bool = False) -> float | None:
    """Checks a number of at least 0."""
    if value is None:
        return None
    if _is_flag(value) or not isinstance(value, Real):
        raise _wrong_type(name, value, "a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf if value == abs(value) else -math.inf
    if math.isnan(found) or not 0 <= found <= most or (finite and math.isinf(found)):
        raise _no_sense(name, value, f"it must be a number from 0 to {most:g}" if math.isfinite(most) else "it must be 0 or more")
    return found


def flag(name: str, value: Any) -> bool:
    """Checks a boolean. numpy's booleans are accepted, and 1 and "true" are not."""
    if not _is_flag(value):
        raise _wrong_type(name, value, "True or False")
    return bool(value)


def text(name: str, value: Any) -> str | None:
    """Checks a string that is not blank."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise _wrong_type(name, value, "a string")
    if not value.strip():
        raise _no_sense(name, value, "it is empty; leave it out, or pass None")
    return _characters(name, value)


def words(name: str, value: Any) -> str | None:
    """Checks a string, which may be empty."""
    if value is None:
        return None
    if isinstance(value, str):
        return _characters(name, value)
    raise _wrong_type(name, value, "a string")


def given(name: str, value: _Value | None) -> _Value:
    """Checks that a required value is given."""
    if value is None:
        raise TypeError(f"{name}=None: a value is required")
    return value


def word(name: str, value: Any, choices: Any) -> str | None:
    """Checks one of the keywords of a ``Literal``, in upper or lower case."""
    if value is None:
        return None
    known = get_args(choices)
    if not isinstance(value, str):
        raise _wrong_type(name, value, f"one of {', '.join(known)}")
    if value.lower() not in known:
        raise _no_sense(name, value, f"it must be one of {', '.join(known)}")
    return value.lower()


def columns(name: str, value: Any) -> list[str] | None:
    """Checks names of columns without repetition. A single name may be given as a string."""
    if value is None:
        return None
    if isinstance(value, (bytes, bytearray, memoryview, Mapping)) or not isinstance(value, (str, Iterable)):
        raise _wrong_type(name, value, "the name of a column, or a list of names")
    try:
        found = [value] if isinstance(value, str) else list(value)
    except TypeError:
        # A column of Spark has `__iter__`, but cannot be iterated.
        raise _wrong_type(name, value, "the name of a column, or a list of names") from None
    for one in found:
        if not isinstance(one, str):
            raise _wrong_type(name, value, f"{shown(one)} is not a column name: names are strings", raw=True)
        if not one.strip():
            raise _no_sense(name, value, "one of the names is empty")
        _characters(name, one)
    seen: set[str] = set()
    for one in found:
        if one.lower() in seen:
            raise _no_sense(name, value, f"{one} is given twice")
        seen.add(one.lower())
    return found


def expressions(name: str, value: Any) -> list[tuple[str, str]]:
    """Checks a mapping of columns to SQL expressions."""
    if not isinstance(value, Mapping):
        raise _wrong_type(name, value, "a mapping of columns to SQL expressions")
    for column, expression in value.items():
        if not isinstance(column, str):
            raise TypeError(f"{name}: {shown(column)} is not a column name: names are strings")
        if not isinstance(expression, str):
            raise TypeError(
                f"{name}: column {column}: {shown(expression)} is not an SQL expression: write it as a string, such as {str(expression)!r}"
            )
        _characters(name, column)
        _characters(name, expression)
    return list(value.items())


def pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """Checks pairs of strings."""
    wanted = 'a list of pairs of strings, such as ("row_id", "_id")'
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong_type(name, value, wanted)
    found = list(value)
    for one in found:
        if not isinstance(one, (tuple, list)) or len(one) != 2 or not all(isinstance(part, str) for part in one):
            raise _wrong_type(name, value, wanted)
    return [(_characters(name, first), _characters(name, second)) for first, second in found]


def texts(name: str, value: Any) -> set[str] | None:
    """Checks a list of strings. A single string is refused."""
    if value is None:
        return None
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong_type(name, value, "a list of strings")
    found = list(value)
    if not all(isinstance(one, str) for one in found):
        raise _wrong_type(name, value, "a list of strings")
    return {_characters(name, one) for one in found}


def entries(name: str, value: Any) -> dict[str, Any]:
    """Checks a mapping of strings to values of JSON."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong_type(name, value, "a mapping of strings to values of JSON")
    return {_key(name, key): _json(f"{name}: {shown(key)}", one, 0) for key, one in value.items()}


def upkeep(name: str, value: Any) -> dict[str, Any]:
    """Checks what follows a commit."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong_type(name, value, "a mapping such as {'checkpoint': False}")
    for key in value:
        if key not in ("checkpoint", "clean_up_log"):
            raise InvalidInputError(f"{name}: {shown(key)} is unknown: it has checkpoint and clean_up_log")
    return {key: flag(f"{name}: {key}", one) for key, one in value.items() if one is not None}


def _key(name: str, key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{name}: {shown(key)} is not a name: keys must be strings")
    return _characters(name, key)


def _json(name: str, value: Any, level: int) -> Any:
    """Checks a value of JSON, and returns it with dictionaries and lists."""
    if level > _MOST_LEVELS:
        raise InvalidInputError(f"{name}: it has more than {_MOST_LEVELS} levels of lists and mappings")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _characters(name, str(value))
    if isinstance(value, int):
        if not -_LONGEST - 1 <= value <= _LONGEST:
            raise InvalidInputError(f"{name}: {shown(value)} does not fit in 64 bits: pass it as a string")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{name}: {shown(value)} is no value of JSON")
        return float(value)
    if isinstance(value, Mapping):
        return {_key(name, key): _json(name, one, level + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(name, one, level + 1) for one in value]
    raise TypeError(f"{name}: {shown(value)} of type {type(value).__name__} is no value of JSON")


def txn(name: str, value: Any) -> dict[str, Any] | None:
    """Checks an application's id and its number of a write, as a pair, or several of these pairs."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, (list, tuple)) for one in value):
        first, *others = [_application(name, one) for one in value]
        for one in others:
            if sum(one["id"] == other["id"] for other in [first, *others]) > 1:
                raise _no_sense(name, value, f"application {one['id']} is given twice")
        return {**first, "others": others}
    return None if value is None else _application(name, value)


def _application(name: str, value: Any) -> dict[str, Any]:
    """Checks an application's id and its number of a write, as a pair."""
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not isinstance(value[0], str):
        raise _wrong_type(name, value, 'a pair of a name and a number, such as ("my-job", 7)')
    if not value[0]:
        raise _no_sense(name, value, "the name of the application is empty")
    try:
        version = integer("", value[1])
    except TypeError:
        version = None
    except InvalidInputError:
        raise _no_sense(name, value, f"its number must be from 0 to {_LONGEST}") from None
    if version is None:
        raise _wrong_type(name, value, 'a pair of a name and a whole number, such as ("my-job", 7)')
    return {"id": _characters(name, value[0]), "version": version}


def properties(name: str, value: Any) -> dict[str, str]:
    """Checks properties, and returns them as the strings of the log. ``True`` is written as Delta
    writes it.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong_type(name, value, "a mapping of names to values")
    for key, one in value.items():
        if not isinstance(key, str) or not key.strip():
            raise _wrong_type(name, value, f"{shown(key)} is not a property name: names are strings", raw=True)
        if not isinstance(one, (str, Real)) and not _is_flag(one):
            raise TypeError(f"{name}: {key}: {shown(one)} is neither a string, a number, True nor False")
        _characters(name, f"{key}{one}")
    return {key: str(one).lower() if _is_flag(one) else str(one) for key, one in value.items()}


def strings(name: str, value: Any) -> dict[str, str]:
    """Checks a mapping of strings to strings. The values may be secrets, so messages name only
    keys.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is of type {type(value).__name__}: it must be a mapping of strings to strings")
    for key, one in value.items():
        if not isinstance(key, str):
            raise TypeError(f"{name}: {shown(key)} is not a name: names are strings")
        if not isinstance(one, str):
            given = "true" if one is True else "false" if one is False else "5"
            raise TypeError(f'{name}: the value of {key} is of type {type(one).__name__}: it must be a string, such as "{given}"')
        if printable(key) != key or printable(one) != one:
            raise InvalidInputError(f"{name}: {printable(key)}: it contains half of a surrogate pair, which is not a character")
    return dict(value)


def function(name: str, value: _Function | None) -> _Function | None:
    """Checks a function."""
    if value is None or callable(value):
        return value
    raise TypeError(f"{name} is of type {type(value).__name__}: it must be a function, or anything that can be called")


def location(name: str, value: Any) -> str:
    """Checks a URL or a path."""
    try:
        found: str | bytes = os.fspath(value)
    except TypeError:
        raise _wrong_type(name, value, "a URL or a path, as a string or a pathlib.Path") from None
    if isinstance(found, bytes):
        raise _wrong_type(name, value, "a URL or a path, as a string or a pathlib.Path")
    if not found.strip():
        raise _no_sense(name, value, "it is empty")
    return _characters(name, str(found))


def _characters(name: str, value: str) -> str:
    """Checks that the string can be encoded."""
    if printable(value) != value:
        raise _no_sense(name, value, "it contains half of a surrogate pair, which is not a character")
    return value


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"))


def _wrong_type(name: str, value: Any, wanted: str, *, raw: bool = False) -> TypeError:
    return TypeError(f"{name}={shown(value)}: {wanted if raw else f'it must be {wanted}'}")


def _no_sense(name: str, value: Any, why: str) -> InvalidInputError:
    return InvalidInputError(f"{name}={shown(value)}: {why}")
