"""The options of ``format("lakebed")``: strings by name, in any case, as arguments of lakebed.

The names are lakebed's. Delta Spark's names for the same options work, too. An unknown option is an
error, because ignoring it would be worse. Begins with :class:`Options`.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from lakebed.errors import InvalidInputError
from lakebed.spark import location
from lakebed.spark.credentials import Access, Credentials
from lakebed.times import milliseconds

__all__ = ["Options"]

#: The prefix of options of a store, such as `storage.aws_region`.
_STORAGE = "storage."
#: The prefix of properties of a new table.
_PROPERTY = "delta."

#: Options that Spark adds by itself.
_OF_SPARK = frozenset({"path", "checkpointlocation", "queryname", "__globpaths__"})
#: Options that Spark adds for a table of a catalog.
_OF_CATALOGS = frozenset({"location", "owner", "provider"})
_NO_TABLE_OF_A_CATALOG = (
    "CREATE TABLE and saveAsTable do not work with format('lakebed'), because Spark reads no catalog table through a Python data source: "
    "CREATE TEMPORARY VIEW name USING lakebed OPTIONS (path '...') gives a table a name"
)


class Options:
    """Takes options one by one. :meth:`done` refuses the options that no method took."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._given = {key.lower(): (key, value) for key, value in options.items()}
        self._left = set(self._given) - _OF_SPARK
        if "paths" in self._given:
            raise InvalidInputError(
                f"format('lakebed') reads one table at a time, not {self._given['paths'][1]}: give .load(path) one path"
            )
        path = self._given.get("path")
        if path is None:
            raise InvalidInputError(
                "the path of the table is missing. Give it: .load(path), .save(path) or .option('path', ...). "
                + _NO_TABLE_OF_A_CATALOG
            )
        self.path = location.of_option(path[1])

    def access(self, *, absolute_paths: bool = False) -> Access:
        """Returns the access of workers to the store."""
        named = self.text("credentials")
        return Access(self._below(_STORAGE), None if named is None else _provider(named), absolute_paths)

    def properties(self) -> dict[str, str]:
        """Returns the properties of a new table, with their names as given."""
        return {_PROPERTY + name: value for name, value in self._below(_PROPERTY).items()}

    def has(self, *names: str) -> bool:
        """Returns whether one of these options is given. It takes none."""
        return any(name.lower() in self._given for name in names)

    def text(self, *names: str) -> str | None:
        """Returns the value of the option that has one of these names."""
        found = [self._given[name.lower()] for name in names if name.lower() in self._given]
        self._left.difference_update(name.lower() for name in names)
        if len(found) > 1:
            raise InvalidInputError(f"the options {' and '.join(key for key, _ in found)} mean the same: leave one of them out")
        return found[0][1] if found else None

    def word(self, *names: str, among: tuple[str, ...]) -> str | None:
        """Takes one of these keywords, in any case."""
        value = self.text(*names)
        if value is not None and value.lower() not in among:
            raise self._refusal(value, f"it must be one of {', '.join(among)}", *names)
        return None if value is None else value.lower()

    def flag(self, *names: str) -> bool | None:
        """Takes true or false."""
        value = self.word(*names, among=("true", "false"))
        return None if value is None else value == "true"

    def number(self, *names: str) -> int | None:
        """Takes a whole number of at least 0."""
        value = self.text(*names)
        if value is None:
            return None
        if re.fullmatch(r"\s*[0-9]{1,19}\s*", value) is None or int(value) >= 1 << 63:
            raise self._refusal(value, "it must be a whole number of 0 or more", *names)
        return int(value)

    def seconds(self, *names: str) -> float | None:
        """Takes a number of seconds."""
        value = self.text(*names)
        try:
            found = None if value is None else float(value)
        except ValueError:
            found = math.nan
        if value is not None and not (found is not None and 0 <= found < math.inf):
            raise self._refusal(value, "it must be a number of seconds, 0 or more", *names)
        return found

    def moment(self, *names: str) -> str | None:
        """Returns a timestamp with a zone, as a string."""
        value = self.text(*names)
        if value is not None:
            milliseconds(f"option {self._named(*names)}", value)
        return value

    def names(self, *names: str) -> list[str] | None:
        """Takes names separated by commas, or a JSON list if a name contains a comma."""
        value = self.text(*names)
        if value is None:
            return None
        try:
            found = json.loads(value) if value.lstrip().startswith("[") else [name.strip() for name in value.split(",")]
        except json.JSONDecodeError:
            found = None
        if found is None or not all(isinstance(name, str) and name for name in found):
            raise self._refusal(value, 'it must be column names: id,city or as JSON ["id", "city"]', *names)
        return list(found)

    def done(self, what: str) -> None:
        """Refuses the options that no method took."""
        if self._left >= _OF_CATALOGS:
            raise InvalidInputError(_NO_TABLE_OF_A_CATALOG)
        if self._left:
            unknown = ", ".join(sorted(self._given[key][0] for key in self._left))
            raise InvalidInputError(
                f"format('lakebed') does not know these options {what}: {unknown}; the names of store options begin with storage."
            )

    def _below(self, prefix: str) -> dict[str, str]:
        keys = [key for key in self._given if key.startswith(prefix)]
        self._left.difference_update(keys)
        return {self._given[key][0][len(prefix) :]: self._given[key][1] for key in keys}

    def _refusal(self, value: str | None, what: str, *names: str) -> InvalidInputError:
        """Returns the error about an option, by the name that was given. Spark passes names in
        lower case.
        """
        return InvalidInputError(f"option {self._named(*names)}={value!r}: {what}")

    def _named(self, *names: str) -> str:
        return next(name for name in names if name.lower() in self._given)


def _provider(named: str) -> Credentials:
    """Returns a function by its name, such as `company.lake:credentials`. The name travels; workers
    import it.
    """
    module, _, name = named.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"option credentials={named!r}: no such function: write package.module:function ({error})"
        ) from error
    if not callable(found):
        raise InvalidInputError(f"option credentials={named!r}: it is not a function")
    provider: Credentials = found
    return provider
