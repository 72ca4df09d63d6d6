"""The options of ``format("lakebed")``: texts by name, in any case, as arguments of lakebed's functions.

Names are lakebed's; those that Delta Spark uses for the same are taken too. What is not known is refused: an option that is passed over
in silence is worse than an error. Begins with :class:`Options`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from lakebed.errors import InvalidInputError
from lakebed.spark.credentials import Access, Credentials

__all__ = ["Options"]

_Number = TypeVar("_Number", int, float)

#: Before the options of a store, such as `storage.aws_region`.
_STORAGE = "storage."
#: Before the properties of a new table.
_PROPERTY = "delta."

#: What Spark adds by itself.
_OF_SPARK = frozenset({"path", "checkpointlocation", "queryname", "__globpaths__"})


class Options:
    """Takes options one by one; :meth:`done` refuses what nobody took."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._given = {key.lower(): (key, value) for key, value in options.items()}
        self._left = set(self._given) - _OF_SPARK
        path = self._given.get("path")
        if path is None:
            raise InvalidInputError("which table? Give its path: .load(path), .save(path) or .option('path', ...)")
        self.path = path[1]

    def access(self, *, absolute_paths: bool = False) -> Access:
        """How workers reach the store."""
        named = self.text("credentials")
        return Access(self._below(_STORAGE), None if named is None else _provider(named), absolute_paths)

    def properties(self) -> dict[str, str]:
        """The properties of a new table, with the names as they are given."""
        return {_PROPERTY + name: value for name, value in self._below(_PROPERTY).items()}

    def has(self, *names: str) -> bool:
        """Whether one of these is given, whoever takes it."""
        return any(name.lower() in self._given for name in names)

    def text(self, *names: str) -> str | None:
        """The value under one of some names that mean the same."""
        found = [self._given[name.lower()] for name in names if name.lower() in self._given]
        self._left.difference_update(name.lower() for name in names)
        if len(found) > 1:
            raise InvalidInputError(
                f"the options {' and '.join(key for key, _ in found)} say the same thing twice: leave one out"
            )
        return found[0][1] if found else None

    def word(self, *names: str, among: tuple[str, ...]) -> str | None:
        """One of some words, in any case."""
        value = self.text(*names)
        if value is not None and value.lower() not in among:
            raise InvalidInputError(f"option {names[0]}={value!r}: it must be one of {', '.join(among)}")
        return None if value is None else value.lower()

    def flag(self, *names: str) -> bool | None:
        """True or false."""
        value = self.word(*names, among=("true", "false"))
        return None if value is None else value == "true"

    def number(self, *names: str) -> int | None:
        """A whole number."""
        return self._parsed(int, "a whole number", *names)

    def seconds(self, *names: str) -> float | None:
        """A number of seconds."""
        return self._parsed(float, "a number", *names)

    def names(self, *names: str) -> list[str] | None:
        """Names, split at commas, or as a JSON list where one has a comma in it."""
        value = self.text(*names)
        if value is None:
            return None
        if value.lstrip().startswith("["):
            found = json.loads(value)
            if not all(isinstance(name, str) for name in found):
                raise InvalidInputError(f"option {names[0]}={value!r}: a list of names is wanted")
            return list(found)
        return [name.strip() for name in value.split(",") if name.strip()]

    def done(self, what: str) -> None:
        """Nothing may be left."""
        if self._left:
            unknown = ", ".join(sorted(self._given[key][0] for key in self._left))
            raise InvalidInputError(
                f"format('lakebed') does not know these options {what}: {unknown}; those of a store begin with storage."
            )

    def _below(self, prefix: str) -> dict[str, str]:
        keys = [key for key in self._given if key.startswith(prefix)]
        self._left.difference_update(keys)
        return {self._given[key][0][len(prefix) :]: self._given[key][1] for key in keys}

    def _parsed(self, parse: Callable[[str], _Number], what: str, *names: str) -> _Number | None:
        value = self.text(*names)
        try:
            return None if value is None else parse(value)
        except ValueError:
            raise InvalidInputError(f"option {names[0]}={value!r}: {what} is wanted") from None


def _provider(named: str) -> Credentials:
    """A function by its name, such as `company.lake:credentials`: the name travels, workers import it."""
    module, _, name = named.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"option credentials={named!r}: no such function: write package.module:function ({error})"
        ) from error
    if not callable(found):
        raise InvalidInputError(f"option credentials={named!r}: it is no function")
    provider: Credentials = found
    return provider
