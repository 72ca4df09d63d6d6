"""Arguments by position that deltalake still takes, with a warning, and that became keywords."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["COMMIT_FIRST", "FALSE", "HOOKS_FIRST", "NONE", "TRUE", "Default", "commit_keywords", "keywords"]

# The two orders in which methods of deltalake take the properties of a commit by position.
COMMIT_FIRST = ("commit_properties", "post_commithook_properties")
HOOKS_FIRST = ("post_commithook_properties", "commit_properties")


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


def commit_keywords(method: str, args: tuple[Any, ...], order: tuple[str, ...], commit: Any, hooks: Any) -> list[Any]:
    """Returns the properties of the commit and of what follows it."""
    return keywords(method, args, order, stacklevel=5, commit_properties=commit, post_commithook_properties=hooks)


def keywords(method: str, args: tuple[Any, ...], order: tuple[str, ...], *, stacklevel: int = 4, **given: Any) -> list[Any]:
    """Returns the values of the keywords ``given``, in their order.

    ``args`` are the arguments by position, and ``order`` names the keyword of each. ``stacklevel``
    is that of a warning, which concerns the caller of the door.
    """
    if len(args) > len(order):
        raise TypeError(f"{method}() takes at most {len(order)} arguments by position after the documented ones, not {len(args)}")
    if args:
        warnings.warn(
            f"{method}(): passing {', '.join(order[: len(args)])} positionally is deprecated: pass them as keywords",
            DeprecationWarning,
            stacklevel=stacklevel,
        )
    for name, value in zip(order, args, strict=False):
        if not (given[name] is None or isinstance(given[name], Default)):
            raise TypeError(f"{method}() got multiple values for {name!r}")
        given[name] = value
    return [value.value if isinstance(value, Default) else value for value in given.values()]
