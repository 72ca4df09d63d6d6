"""Calls of lakebed that the door needs, and what it does about those that are missing."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from lakebed.deltalake.exceptions import UnsupportedFeatureError

__all__ = ["IgnoredOptionWarning", "ignored", "memory", "method", "refused", "supported"]


class IgnoredOptionWarning(UserWarning):
    """An option of deltalake has no meaning in lakebed."""


def method(owner: Any, name: str) -> Callable[..., Any]:
    """Returns a function of lakebed, or raises an error if lakebed does not have it yet."""
    found = getattr(owner, name, None)
    if found is None:
        kind = owner.__name__ if inspect.ismodule(owner) else f"lakebed.{type(owner).__name__}"
        raise UnsupportedFeatureError(f"this version of lakebed has no {kind}.{name} yet, which this call needs")
    return found  # type: ignore[no-any-return]


def supported(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns those options that are given. An error names those that the function does not have."""
    wanted = {name: value for name, value in options.items() if value is not None}
    known = inspect.signature(function).parameters
    for name in wanted:
        if name not in known:
            raise UnsupportedFeatureError(f"lakebed's {function.__qualname__} has no option {name} yet: leave it out here")
    return wanted


def refused(what: str, why: str, /, **options: Any) -> None:
    """Refuses options that lakebed cannot honour."""
    for name, value in options.items():
        if value is not None:
            raise UnsupportedFeatureError(f"{what}: {name}={value!r}: {why}")


def ignored(what: str, why: str, /, **options: Any) -> None:
    """Warns of options that have no meaning in lakebed."""
    for name, value in options.items():
        if value is not None:
            warnings.warn(f"{what}: {name} has no effect: {why}", IgnoredOptionWarning, stacklevel=5)


def memory(what: str, **options: int | None) -> None:
    """Warns of limits of memory and disk, which lakebed has for the process."""
    ignored(what, "lakebed.set_memory_limit and LAKEBED_MEMORY_LIMIT limit the whole process", **options)
