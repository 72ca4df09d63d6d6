"""A pytest plugin that gives deltalake's own tests the door instead of deltalake.

It runs in a process of its own. The environment variable ``OUTCOMES`` names the file for the
outcomes of the tests, by their ids.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import types
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

import lakebed.deltalake as door
from lakebed.deltalake import exceptions, filters, schema


def module(name: str, **names: Any) -> types.ModuleType:
    """Makes a module that can be imported."""
    made = types.ModuleType(name)
    vars(made).update(names)
    sys.modules[name] = made
    return made


class Queries:
    """Stands in for ``QueryBuilder``, with which most tests read their tables: SQL by DuckDB over the
    rows that the door reads.
    """

    def __init__(self, session_config: Any = None) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone='UTC'")
        self.required: set[str] = set()

    def register(self, table_name: str, delta_table: Any) -> Queries:
        rows = delta_table.to_pyarrow_table()
        self.required |= {field.name for field in rows.schema if not field.nullable}
        self.connection.register(table_name, rows)
        return self

    def execute(self, sql: str) -> Any:
        from arro3.core import RecordBatchReader

        rows = self.connection.execute(sql.replace("`", '"')).to_arrow_table()
        # DuckDB forgets which columns have no nulls.
        fields = [field.with_type(view(field.type)).with_nullable(field.name not in self.required) for field in rows.schema]
        return RecordBatchReader.from_arrow(rows.cast(pa.schema(fields)))


def view(kind: pa.DataType) -> pa.DataType:
    """Returns the type of strings that DataFusion returns."""
    if pa.types.is_string(kind):
        return pa.string_view()
    return pa.binary_view() if pa.types.is_binary(kind) else kind


def dataset(self: Any, partitions: Any = None, *_: Any, file_pruning_predicate: Any = None, **__: Any) -> Any:
    """Stands in for ``to_pyarrow_dataset``."""
    found = door.DeltaTable.to_pyarrow_table
    return ds.dataset(found(self, partitions=partitions if partitions is not None else file_pruning_predicate))


def exchange() -> None:
    """Makes ``import deltalake`` import the door."""
    sys.modules["deltalake"] = door
    for one in pkgutil.walk_packages(door.__path__, "lakebed.deltalake."):
        sys.modules[one.name.removeprefix("lakebed.")] = importlib.import_module(one.name)
    # What tests import of deltalake's internals. Those that call it fail.
    inner = {name: getattr(exceptions, name) for name in exceptions.__all__}
    inner |= {name: getattr(schema, name) for name in schema.__all__}
    inner |= {"TableFeatures": door.TableFeatures, "Transaction": door.Transaction}
    module("deltalake._internal", _NANOSECOND_TIMESTAMPS=False, **inner)
    module("deltalake._util", encode_partition_value=filters.partition_value, deprecate_positional_commit_args=None)
    module("deltalake.writer._utils", try_get_table_and_table_uri=None)
    module("deltalake.writer._conversion", _convert_arro3_schema_to_delta=None)
    module("deltalake.fs", DeltaStorageHandler=None)
    of_door: Any = door
    of_door._disable_nanosecond_timestamps = lambda: None
    of_door._nanosecond_timestamps_enabled = lambda: False
    of_door.QueryBuilder = Queries
    sys.modules["deltalake.query"].QueryBuilder = Queries  # type: ignore[attr-defined]
    table: Any = door.DeltaTable
    table.to_pyarrow_dataset = dataset
    table._table = property(lambda self: types.SimpleNamespace(table_uri=lambda: self.table_uri))


exchange()
blob = module("azure.storage.blob")
module("azure", storage=module("azure.storage", blob=blob))

outcomes: dict[str, tuple[str, str]] = {}


def pytest_runtest_logreport(report: Any) -> None:
    if report.when != "call" and report.outcome == "passed":
        return
    if outcomes.get(report.nodeid, ("", ""))[0] != "failed":
        crash = getattr(report.longrepr, "reprcrash", None)
        outcomes[report.nodeid] = (report.outcome, crash.message if crash else str(report.longrepr or ""))


def pytest_collectreport(report: Any) -> None:
    if report.outcome == "failed":
        outcomes[report.nodeid] = ("failed", str(report.longrepr))


def pytest_sessionfinish() -> None:
    with open(os.environ["OUTCOMES"], "w") as file:
        json.dump(outcomes, file)
