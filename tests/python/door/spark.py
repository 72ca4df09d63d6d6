"""Runs cases through Spark: `lbs.write`, and `format("lakebed")`."""

from __future__ import annotations

import json
from typing import Any

import lakebed as lb
import lakebed.spark as lbs
from door import sources
from door.case import Case
from door.processes import Answer, act
from lakebed.spark import failure


class Deeds:
    """Writes with a session, through `lbs.write` or `format("lakebed")`."""

    def __init__(self, spark: Any, door: str) -> None:
        self._spark = spark
        self._write = {"lbs": self._by_function, "format": self._by_format}[door]

    def __call__(self, case: Case, path: str, table: lb.Table | None) -> Answer:
        given = dict(case.deed.given)
        return act(case, path, table, lambda: self._write(self._spark.createDataFrame(sources.make(case.source)), path, given))

    def _by_function(self, frame: Any, path: str, given: dict[str, Any]) -> Any:
        return lbs.write(frame, path, **given)

    def _by_format(self, frame: Any, path: str, given: dict[str, Any]) -> None:
        writer = frame.write.format("lakebed").mode(given.pop("mode", "append"))
        for name, value in given.items():
            writer = writer.option(name, json.dumps(value) if isinstance(value, list) else value)
        with failure.told():
            writer.save(path)
