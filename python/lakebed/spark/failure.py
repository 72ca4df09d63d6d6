"""Errors that lakebed raises in Spark's Python workers: the worker shows them without a traceback, and the driver raises them with their own class."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from lakebed import errors

__all__ = ["alone", "own_error", "told"]

#: By this setting of its environment a worker that fails tells the last line of its traceback alone. Spark before 4.1 does not know it.
_HIDES_TRACEBACK = "SPARK_HIDE_TRACEBACK"

#: The last line of a traceback, and what the message has more, up to where Spark goes on.
_RAISED = re.compile(
    r"(?:^|: )lakebed\.errors\.(\w+): (.*?)(?=^\s*$|^\s*SQLSTATE: |^\s+at |^JVM stacktrace:|^Driver stacktrace:|\Z)",
    re.MULTILINE | re.DOTALL,
)


@contextmanager
def alone() -> Iterator[None]:
    """For code that a worker runs: Spark shows an error of lakebed without the traceback above it. The worker ends with the error."""
    try:
        yield
    except errors.LakebedError as error:
        # What the user's own function raised, which a store was opened with, is worth its traceback.
        if error.__cause__ is None:
            os.environ[_HIDES_TRACEBACK] = "1"
        raise


@contextmanager
def told() -> Iterator[None]:
    """What a task raised of lakebed's is raised here as the same class with the same message; Spark's account of it is the cause."""
    try:
        yield
    except PySparkException as failed:
        own = own_error(str(failed))
        if own is None:
            raise
        raise own from failed


def own_error(text: str) -> errors.LakebedError | None:
    """The error of lakebed that Spark's account of a failed task speaks of."""
    found = _RAISED.search(text)
    kind = getattr(errors, found.group(1), None) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, errors.LakebedError)):
        return None
    return kind(found.group(2).rstrip())
