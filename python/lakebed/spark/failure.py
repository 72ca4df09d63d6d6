"""lakebed's errors in Spark's Python workers.

A worker shows them without a traceback, and the driver raises them with their own class.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from lakebed import errors

__all__ = ["alone", "own_error", "told"]

#: With this environment variable, a failing worker reports only the last line of its traceback.
#: Spark before 4.1 does not know it.
_HIDES_TRACEBACK = "SPARK_HIDE_TRACEBACK"

#: The last line of a traceback and further lines of the message, up to Spark's own text.
_RAISED = re.compile(
    r"(?:^|: )lakebed\.errors\.(\w+): (.*?)(?=^\s*$|^\s*SQLSTATE: |^\s+at |^JVM stacktrace:|^Driver stacktrace:|\Z)",
    re.MULTILINE | re.DOTALL,
)


@contextmanager
def alone() -> Iterator[None]:
    """For code that a worker runs: Spark shows lakebed's error without the traceback. The worker
    exits.
    """
    try:
        yield
    except errors.LakebedError as error:
        # An exception of the user's credentials function keeps its traceback.
        if error.__cause__ is None:
            os.environ[_HIDES_TRACEBACK] = "1"
        raise


@contextmanager
def told() -> Iterator[None]:
    """Raises a task's lakebed error here, with its class and message. Spark's error is the
    cause.
    """
    try:
        yield
    except PySparkException as failed:
        own = own_error(str(failed))
        if own is None:
            raise
        raise own from failed


def own_error(text: str) -> errors.LakebedError | None:
    """Returns lakebed's error in Spark's message about a failed task, if there is one."""
    found = _RAISED.search(text)
    kind = getattr(errors, found.group(1), None) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, errors.LakebedError)):
        return None
    return kind(found.group(2).rstrip())
