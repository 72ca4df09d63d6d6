"""Settings of the shared Spark session that hold for a test or two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def configured(spark: Any, settings: dict[str, Any]) -> Iterator[None]:
    """Changes settings of the session, and puts the old values back."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, str(value).lower())
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)
