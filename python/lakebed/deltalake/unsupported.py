"""What deltalake has and lakebed does not: options and calls that are refused, or ignored with a
warning.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from lakebed.deltalake.exceptions import UnsupportedFeatureError

__all__ = ["IgnoredOptionWarning", "ignored", "memory", "refused", "supported"]


class IgnoredOptionWarning(UserWarning):
    """An option of deltalake has no meaning in lakebed."""


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
