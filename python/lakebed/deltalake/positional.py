"""Arguments by position that deltalake still takes, with a warning, and that became keywords."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["FALSE", "NONE", "TRUE", "Default", "keywords"]


class Default:
    """A default value that can be told from the same value given by the caller."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


# They stand for values of other types, so that signatures have the types that callers see.
TRUE: Any = Default(True)
FALSE: Any = Default(False)
NONE: Any = Default(None)


def keywords(method: str, args: tuple[Any, ...], order: tuple[str, ...], **given: Any) -> list[Any]:
    """Returns the values of the keywords ``given``, in their order.

    ``args`` are the arguments by position, and ``order`` names the keyword of each.
    """
    if len(args) > len(order):
        raise TypeError(f"{method}() takes at most {len(order)} arguments by position after the documented ones, not {len(args)}")
    if args:
        warnings.warn(
            f"{method}(): passing {', '.join(order[: len(args)])} positionally is deprecated: pass them as keywords",
            DeprecationWarning,
            stacklevel=4,
        )
    for name, value in zip(order, args, strict=False):
        if not (given[name] is None or isinstance(given[name], Default)):
            raise TypeError(f"{method}() got multiple values for {name!r}")
        given[name] = value
    return [value.value if isinstance(value, Default) else value for value in given.values()]
