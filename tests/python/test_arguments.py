"""Arguments: unknown names, invalid values, and the agreement of signatures and docstrings."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import pydoc
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lakebed as lb
from lakebed import _lakebed
from lakebed.spark.credentials import Access

ROOT = Path(__file__).parents[2]
DATA = pa.table({"id": [1, 2, 3], "p": ["a", "b", "a"]})
FEED = {"delta.enableChangeDataFeed": True}
CLASSES = (lb.Table, lb.Scan, lb.Changes, lb.Merge, lb.Alter, lb.History)


@pytest.fixture
def table(tmp_path: Path) -> lb.Table:
    return lb.write(tmp_path / "t", DATA, properties=FEED).table


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# Callables


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, constructor and method of `lakebed`."""
    for name in lb.__all__:
        found = getattr(lb, name)
        if inspect.isclass(found):
            if issubclass(found, Exception):
                continue
            yield name, found
            for method, function in inspect.getmembers(found, inspect.isfunction):
                if not method.startswith("_"):
                    yield f"{name}.{method}", function
        elif callable(found):
            yield name, found


FUNCTIONS = dict(functions())


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return [one for one in inspect.signature(function).parameters.values() if one.name != "self"]


def test_every_public_function_is_checked() -> None:
    assert {"write", "create", "read", "exists", "read_task", "Table", "Table.append", "Table.optimize", "Scan.tasks"} <= set(
        FUNCTIONS
    )
    assert {"Scan.to_pandas", "Changes.to_arrow", "Merge.when_matched_update", "Alter.cluster_by"} <= set(FUNCTIONS)


def test_no_signature_takes_just_anything() -> None:
    """Only the arguments that go to pyarrow unchanged may have any name."""
    loose = {
        name
        for name, function in FUNCTIONS.items()
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters(function))
    }
    assert loose == {"Scan.to_pandas", "Changes.to_pandas"}


def objects(table: lb.Table) -> dict[str, Any]:
    return {
        "Table": table,
        "Scan": table.scan(),
        "Changes": table.changes(0),
        "Merge": table.merge(DATA, "target.id = source.id"),
        "Alter": table.alter,
        "History": table.history(),
    }


#: Valid values of required parameters, by name.
STAND_INS: dict[str, Any] = {
    "keys": "id",
    "on": "target.id = source.id",
    "where": "id = 1",
    "set": {"p": "'x'"},
    "task": b"",
    "app_id": "app",
    "start": 0,
    "name": "new",
    "type": "int",
    "column": "p",
    "columns": {"new": "int"},
    "condition": "id > 0",
    "nullable": True,
    "default": None,
    "comment": "text",
    "description": "text",
    "properties": {"team": "blue"},
    "metadata": {"owner": "sales"},
}


def stand_in(parameter: inspect.Parameter, folder: Path) -> Any:
    """A valid value of the parameter."""
    if parameter.name == "uri":
        return str(folder / "t")
    if parameter.name == "target":
        return f"memory://targets/{uuid.uuid4()}"
    if parameter.name in ("data", "source"):
        return DATA
    if parameter.name == "schema":
        return DATA.schema
    return STAND_INS.get(parameter.name, 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unknown_keyword_is_refused_before_write(name: str, table: lb.Table, tmp_path: Path) -> None:
    before = everything(tmp_path)
    owner, _, method = name.partition(".")
    found = objects(table)
    if method and owner not in found:
        pytest.skip("a result: nobody calls its methods with arguments")
    function = getattr(found[owner], method) if method else FUNCTIONS[name]
    if isinstance(inspect.getattr_static(FUNCTIONS[owner], method, None) if method else None, property):
        pytest.skip("no function")
    needed = {
        one.name: stand_in(one, tmp_path)
        for one in parameters(function)
        if one.default is inspect.Parameter.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }
    with pytest.raises(TypeError, match="nonsense"):
        function(**needed, nonsense=1)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t._table.write_rows({"mode": "append", "tnx": ("a", 1)}, DATA),
        lambda t: t._table.delete_rows({"wher": "id = 1"}),
        lambda t: t._table.update_rows({"set": [("p", "'x'")], "wher": "id = 1"}),
        lambda t: t._table.optimize({"cluster": ["id"]}),
        lambda t: t._table.plan_optimize({"target_size": 1}),
        lambda t: t._table.vacuum({"retention": 0}),
        lambda t: t._table.scan({"filter": "id = 1"}),
        lambda t: t._table.changes({"start": {"version": 0}, "filter": "id = 1"}),
        lambda t: _lakebed.Table.open({"uri": t.uri, "versoin": 1}),
        lambda t: _lakebed.Table.write({"uri": t.uri, "txnn": ("a", 1)}, DATA),
        lambda t: _lakebed.Table.create({"uri": t.uri, "mode": "replace", "partitionBy": ["p"]}, DATA.schema),
        lambda t: _lakebed.Table.abort_write({"uri": t.uri, "txnn": ("a", 1)}, []),
        lambda t: _lakebed.Follow.open({"uri": t.uri, "option": {}}),
    ],
)
def test_the_extension_refuses_options_that_nobody_takes(
    call: Callable[[lb.Table], Any], table: lb.Table, tmp_path: Path
) -> None:
    before = everything(tmp_path)
    with pytest.raises(TypeError, match="is not an option of this operation"):
        call(table)
    assert everything(tmp_path) == before


# Documentation


REFERENCES = {
    "lakebed.write": lb.write,
    "lakebed.create": lb.create,
    "lakebed.Table": lb.Table,
    "delete": lb.Table.delete,
    "merge": lb.Table.merge,
}
#: The phrases with which a docstring refers to another docstring for its options.
_ELSEWHERE = re.compile(r"(?:options are those of|are those of|as for|say how to reach the store, as for)\s+:\w+:`([\w.]+)`")


def documented(function: Callable[..., Any]) -> str:
    """Returns a docstring with the docstrings to which it refers for its options."""
    said = inspect.getdoc(function) or ""
    return said + "".join(documented(REFERENCES[name]) for name in _ELSEWHERE.findall(said) if name in REFERENCES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_documented(name: str) -> None:
    function = FUNCTIONS[name]
    if inspect.isclass(function) and (name not in ("Table",)):
        pytest.skip("it is made by others")
    said = documented(function)
    assert said
    standard = {"index", "value", "start", "stop"} if name.startswith("History.") else set()
    missing = [one.name for one in parameters(function) if one.name not in standard and not is_marked_up(one.name, said)]
    assert missing == []


def is_marked_up(name: str, said: str) -> bool:
    """Returns whether a docstring formats this name as code: alone, with a value, or in a call that
    this function is short for.
    """
    codes = re.findall(r"``(.+?)``", said, flags=re.DOTALL)
    return any(re.match(rf"{name}(=|$)", code) or re.search(rf"^\w+\(.*\b{name}\b.*\)", code) for code in codes)


@pytest.mark.parametrize("name", ["create", "write", "read", "exists", "Table.append", "Table.merge", "Table.optimize"])
def test_help_names_every_option(name: str) -> None:
    function = FUNCTIONS[name]
    shown = pydoc.plain(pydoc.render_doc(function))
    assert [one.name for one in parameters(function) if f"{one.name}: " not in shown] == []


def test_unknown_option_is_named_with_function(table: lb.Table) -> None:
    said = r"^Table\.append\(\) got an unexpected keyword argument 'tnx'$"
    with pytest.raises(TypeError, match=said):
        table.append(DATA, tnx=("my-job", 7))  # type: ignore[call-arg]


def test_a_word_in_prose_documents_no_parameter() -> None:
    said = "on top of that, where ``target.on`` and ``set_on`` are; ``at=on``"
    assert not any(is_marked_up(name, said) for name in ("on", "where", "set"))
    assert is_marked_up("at", said)
    assert is_marked_up("on", "short for ``scan(on)``")


def test_the_same_thing_has_the_same_name() -> None:
    called = [function for function in FUNCTIONS.values() if not inspect.isclass(function)]
    names = {one.name for function in [*called, lb.Table] for one in parameters(function)}
    assert names.isdisjoint({"cluster", "target_size", "target_size_bytes", "filter", "predicate"})
    for method in ("to_arrow", "to_reader", "to_pandas", "to_polars", "to_duckdb"):
        assert {"columns", "where", "limit"} <= {one.name for one in parameters(FUNCTIONS[f"Table.{method}"])}


# Values


TXN = [("a",), "a", ("a", "1"), (1, 1), ("a", 1.0), ("a", True), ("a", None), 7, {"a": 1}]
NO_TYPE: list[tuple[str, dict[str, list[Any]]]] = [
    (
        "append",
        {
            "txn": TXN,
            "target_file_size": ["1mb", 2048.0, True],
            "row_group_rows": ["7", 7.5, True],
            "compression": [1, b"zstd"],
            "bloom_columns": [1, [1], {"id": 1}, b"id"],
            "on_lossy": [True],
            "timeout": ["1", True, b"1"],
            "user_metadata": [1, {"a": 1}],
            "upkeep": ["none", [("checkpoint", False)], {"checkpoint": 0}, {"clean_up_log": "yes"}],
            "schema_mode": [True],
        },
    ),
    ("overwrite", {"where": [123, b"", True], "partitions": [True], "properties": ["a", [("a", 1)], {1: "a"}, {"a": None}]}),
    ("delete", {"where": [123, b"id = 1"], "retries": [0, "no", None], "timeout": ["1"], "txn": TXN[:2]}),
    ("update", {"set": ["p", {"p": 1}, {1: "p"}, None], "where": [1]}),
    ("merge", {"on": [1, None], "source_alias": [1], "schema_mode": [1], "retries": ["yes"]}),
    ("upsert", {"keys": [1, [1], b"id"], "target_file_size": ["big"]}),
    (
        "optimize",
        {"where": [1], "zorder_by": [1], "cluster_by": [[1]], "min_files": ["2", 2.5], "max_deleted_share": ["1"], "full": [1]},
    ),
    ("optimize", {"dry_run": ["false", 1, None], "progress": ["yes", 1], "commit": [1], "fill_statistics": ["no"]}),
    (
        "vacuum",
        {
            "retention_hours": [True, "7"],
            "mode": [1],
            "dry_run": ["false", None],
            "enforce_retention": [0],
            "log_commits": ["no"],
        },
    ),
    ("scan", {"columns": [1, [1], b"id", {"id": 1}, [None]], "where": [123, b"", True], "limit": ["1", 1.0, True]}),
    ("scan", {"row_columns": ["row_id", [("row_id",)], [("row_id", 1)]]}),
    ("head", {"n": ["1", 1.5, None, True], "columns": [1]}),
    ("count", {"where": [1]}),
    ("history", {"limit": ["1", 1.5, True]}),
    ("changes", {"start": [None, 1.5, True, date(2026, 3, 1)], "end": [1.5, date(2026, 3, 1)]}),
    ("transaction_version", {"app_id": [1, None]}),
    ("compact_log", {"first": ["0", None], "last": [1.5]}),
]
NO_SENSE: list[tuple[str, dict[str, list[Any]]]] = [
    (
        "append",
        {
            "txn": [("a", -1), ("", 1), ("a", 2**63)],
            "upkeep": [{"checkpoints": False}, {1: False}],
            "target_file_size": [0, 1, 1023, -1, 2**64],
            "row_group_rows": [0, -1, 2**70],
            "compression": ["", "zip", "zstd(99)"],
            "bloom_columns": ["nope", "", ["id", "ID"], ["id", "nope"]],
            "on_lossy": ["", "maybe"],
            "timeout": [-1, -0.5, float("nan")],
            "schema_mode": ["overwrite", "", "evolve"],
        },
    ),
    ("overwrite", {"where": ["", "  "], "partitions": ["dynamik"], "partition_by": ["", ["p", "p"], ["p", "P"]]}),
    ("overwrite", {"properties": [{"delta.targetFileSize": "0"}, {"delta.targetFileSize": 1}, {"delta.nonsense": 1}]}),
    ("delete", {"where": ["", "\n"], "timeout": [-1, float("nan")], "txn": [("a", -1)]}),
    ("update", {"set": [{}], "target_file_size": [0]}),
    (
        "merge",
        {"on": ["", " "], "source_alias": [""], "schema_mode": ["overwrite"], "on_lossy": ["maybe"], "target_file_size": [1]},
    ),
    ("upsert", {"keys": [[], "", ["id", "id"]], "timeout": [-1]}),
    ("optimize", {"target_file_size": [0, 1023, -1], "min_files": [0, -1], "max_deleted_share": [2, -0.1, float("nan")]}),
    (
        "optimize",
        {"where": [""], "zorder_by": ["", ["id", "ID"]], "cluster_by": [["id", "id"]], "commit": ["never"], "timeout": [-1]},
    ),
    ("vacuum", {"retention_hours": [-1, float("nan"), float("inf")], "mode": ["fast", ""]}),
    ("scan", {"columns": ["", [""], ["id", "id"], ["id", "ID"]], "where": ["", " "], "limit": [-1, 2**64]}),
    ("head", {"n": [-1]}),
    ("history", {"limit": [-1]}),
    ("changes", {"start": [-1, "tomorrow", "2026-03-01T00:00:00"], "end": [-1, datetime(2026, 3, 1)]}),
    ("compact_log", {"first": [-1], "last": [-1]}),
]


def cases(given: list[tuple[str, dict[str, list[Any]]]]) -> list[tuple[str, str, Any]]:
    return [(method, name, value) for method, options in given for name, values in options.items() for value in values]


def call(table: lb.Table, method: str, name: str, value: Any) -> Any:
    """Calls the method with this argument and with valid other arguments."""
    needed: dict[str, dict[str, Any]] = {
        "append": {"data": DATA},
        "overwrite": {"data": DATA, **({"schema_mode": "overwrite"} if name in ("properties", "partition_by") else {})},
        "update": {"set": {"p": "'x'"}},
        "merge": {"source": DATA, "on": "target.id = source.id"},
        "upsert": {"source": DATA, "keys": "id"},
        "changes": {"start": 0},
        "compact_log": {"first": 0, "last": 1},
    }
    return getattr(table, method)(**{**needed.get(method, {}), name: value})


@pytest.mark.parametrize(("method", "name", "value"), cases(NO_TYPE), ids=str)
def test_value_of_wrong_type_is_type_error(method: str, name: str, value: Any, table: lb.Table, tmp_path: Path) -> None:
    before = everything(tmp_path)
    with pytest.raises(TypeError, match=rf"^{name}(=|:| is of type)"):
        call(table, method, name, value)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(("method", "name", "value"), cases(NO_SENSE), ids=str)
def test_invalid_value_is_refused(method: str, name: str, value: Any, table: lb.Table, tmp_path: Path) -> None:
    before = everything(tmp_path)
    begins = next((said for part, said in TOLD_BY_THE_TABLE.items() if part in str(value)), rf"{name}[=:]")
    with pytest.raises(lb.InvalidInputError, match=rf"^{begins.format(re.escape(table.uri))}"):
        call(table, method, name, value)
    assert everything(tmp_path) == before


#: Values that only a comparison with the table can find invalid.
TOLD_BY_THE_TABLE = {
    "nope": "{}: bloom_columns: there is no column nope",
    "targetFileSize": "{}: property delta.targetFileSize: ",
    "nonsense": "{}: there is no property delta.nonsense",
}


ODD = {
    "a number": 5,
    "bytes": b"x",
    "an object": object(),
    "nothing in a list": [],
    "nothing in a mapping": {},
    "no text": "",
    "NaN": float("nan"),
    "a negative number": -1,
    "a large number": 2**70,
    "a number that no float holds": 10**400,
    "True": True,
    "a list": ["x"],
    "a list of None": [None],
    "a mapping": {"a": None},
    "a mapping of numbers": {1: 2},
    "a pair": ("a", 1),
    "a word": "nonsense",
    "no character": "\ud800",
    "NUL": "a\0b",
    "a range": range(3),
    "None": None,
}
#: The beginnings of errors about an argument of the right type with an invalid content: data, a
#: location, a task, an expression.
THEIR_OWN_WORDS = re.compile(
    r"file://|a\\0b: |in the expression|there is no (column|data)|this is not a scan task|say where to move|tag |versions \d+ to|"
    r"(the first|(an?|None|a dictionary)( \w+)* is not |column |1 cannot be the name)"
)


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_odd_value_is_taken_or_named(value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test covers each parameter of every public callable."""
    monkeypatch.chdir(tmp_path)
    for function_name, function in FUNCTIONS.items():
        owner, _, method = function_name.partition(".")
        if (
            (method and owner not in OWNERS)
            or (not method and inspect.isclass(function) and function_name != "Table")
            or owner == "History"
        ):
            continue
        for parameter in parameters(function):
            if parameter.kind is not parameter.VAR_KEYWORD and function_name != "set_memory_limit":
                told = outcome(function_name, parameter, value, tmp_path)
                assert not told, f"{function_name}({parameter.name}={value!r}): {told}"


OWNERS = {"Table", "Scan", "Changes", "Merge", "Alter"}


def outcome(name: str, parameter: inspect.Parameter, value: Any, folder: Path) -> str:
    """Returns the fault of a call with an odd value, or an empty text."""
    owner, _, method = name.partition(".")
    place = f"memory://odd/{folder}/{name}/{parameter.name}"
    table = lb.write(place, DATA, properties=FEED, mode="overwrite").table
    function = getattr(objects(table)[owner], method) if method else FUNCTIONS[name]
    needed = {
        one.name: place if one.name == "uri" else stand_in(one, folder)
        for one in parameters(FUNCTIONS[name])
        if one.default is inspect.Parameter.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }
    if name == "Table.restore" and parameter.name != "version" and not (parameter.name == "timestamp" and value is not None):
        needed["version"] = 0
    try:
        function(value) if parameter.kind is parameter.VAR_POSITIONAL else function(**{**needed, parameter.name: value})
    except (lb.LakebedError, TypeError) as error:
        said = str(error)
        said.encode()
        begins = re.match(rf"{parameter.name}(=|:| is of type| needs)", said)
        if begins or (isinstance(error, lb.LakebedError) and (said.startswith(table.uri) or THEIR_OWN_WORDS.match(said))):
            return ""
        return f"{type(error).__name__}: {said}"
    except Exception as error:
        return f"{type(error).__name__}, which is foreign: {error}"
    return ""


PLACES: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (TypeError, "version", {"version": True}),
    (TypeError, "version", {"version": "0"}),
    (TypeError, "version", {"version": 1.0}),
    (lb.InvalidInputError, "version", {"version": -1}),
    (TypeError, "timestamp.*a date has neither a time nor a zone", {"timestamp": date(2026, 3, 1)}),
    (TypeError, "timestamp", {"timestamp": 1_700_000_000}),
    (lb.InvalidInputError, "timestamp.*no time zone", {"timestamp": datetime(2026, 3, 1)}),
    (lb.InvalidInputError, "timestamp.*no time zone", {"timestamp": "2026-03-01"}),
    (lb.InvalidInputError, "timestamp.*not a timestamp", {"timestamp": "tomorrow"}),
    (lb.InvalidInputError, "timestamp.*not a timestamp", {"timestamp": pd.NaT}),
    (TypeError, "storage_options", {"storage_options": "timeout=3"}),
    (TypeError, "storage_options: the value of allow_http", {"storage_options": {"allow_http": True}}),
    (TypeError, "credentials", {"credentials": {"token": "hush"}}),
    (TypeError, "absolute_paths", {"absolute_paths": "no"}),
]


@pytest.mark.parametrize(("kind", "said", "options"), PLACES, ids=str)
@pytest.mark.parametrize("function", [lb.Table, lb.read])
def test_open_refuses_invalid_arguments(
    function: Callable[..., Any], kind: type[Exception], said: str, options: dict[str, Any], table: lb.Table
) -> None:
    with pytest.raises(kind, match=f"^{said}"):
        function(table.uri, **options)


@pytest.mark.parametrize("uri", [None, 1, b"/tmp/t", ["t"]], ids=str)
def test_a_place_is_text_or_a_path(uri: Any) -> None:
    for function in (lb.Table, lb.read, lb.exists):
        with pytest.raises(TypeError, match=r"^uri="):
            function(uri)
    with pytest.raises(TypeError, match=r"^uri="):
        lb.write(uri, DATA)


def test_messages_hide_storage_option_values() -> None:
    for options in ({"aws_secret_access_key": b"hush"}, {b"hush": "x"}):
        with pytest.raises(TypeError) as found:
            lb.Table("s3://lake/t", storage_options=options)  # type: ignore[arg-type]
        assert "hush" not in str(found.value) or b"hush" in options


def test_create_refuses_invalid_arguments(tmp_path: Path) -> None:
    for options, kind, fact in [
        ({"partition_by": ["p", "p"]}, lb.InvalidInputError, r"^partition_by=\['p', 'p'\]: p "),
        ({"partition_by": "nope"}, lb.InvalidInputError, "column nope "),
        ({"partition_by": 1}, TypeError, "^partition_by=1: "),
        ({"cluster_by": ""}, lb.InvalidInputError, "^cluster_by='': "),
        ({"properties": {"delta.targetFileSize": "1000"}}, lb.InvalidInputError, 'delta.targetFileSize: "1000" .* 1024 bytes'),
        ({"mode": "overwrite_"}, lb.InvalidInputError, "^mode='overwrite_': "),
        ({"target_file_size": 0}, lb.InvalidInputError, "^target_file_size=0: .* 1024 "),
        ({"bloom_columns": "nope"}, lb.InvalidInputError, "bloom_columns: .*column nope$"),
    ]:
        with pytest.raises(kind, match=fact):
            lb.write(tmp_path / "t", DATA, **options)  # type: ignore[arg-type]
        if "bloom_columns" not in options and "target_file_size" not in options:
            with pytest.raises(kind, match=fact):
                lb.create(tmp_path / "t", DATA.schema, **options)  # type: ignore[arg-type]
    for name, values in {
        "constraints": [{"c": 1}, "id > 0", "", [], 0, False, np.array([1, 2]), pd.NA],
        "name": [1, 0, []],
    }.items():
        for value in values:
            with pytest.raises(TypeError, match=rf"^{name}[=:]"):
                lb.create(tmp_path / "t", DATA.schema, **{name: value})  # type: ignore[arg-type]
    assert not (tmp_path / "t").exists()


def test_values_that_make_sense_are_taken(tmp_path: Path) -> None:
    result = lb.write(
        tmp_path / "t",
        DATA,
        mode="APPEND",  # type: ignore[arg-type]
        txn=("a", np.int64(3)),
        target_file_size=np.int32(4096),
        row_group_rows=np.uint8(7),
        timeout=np.float32(5),
        bloom_columns="id",
        compression="ZSTD",
        properties={"delta.enableDeletionVectors": np.True_, "delta.targetFileSize": "1kb"},
    )
    table = result.table
    assert table.transaction_version("a") == 3
    assert table.append(DATA, timeout=float("inf"), schema_mode="Merge").version == 1  # type: ignore[arg-type]
    assert lb.Table(tmp_path / "t", version=np.int64(1)).count() == 6
    assert lb.Table(tmp_path / "t", timestamp=pd.Timestamp(lb.Table(tmp_path / "t").history(1)[0].timestamp)).version == 1
    assert table.optimize(dry_run=np.True_, commit="GROUP", max_deleted_share=np.float64(0)) is not None  # type: ignore[call-overload]
    assert lb.create(tmp_path / "t", DATA.schema, mode="IGNORE").version == 1  # type: ignore[arg-type]
    assert table.vacuum(dry_run=True, mode="LITE").dry_run  # type: ignore[arg-type]
    assert table.upsert(DATA, "id").metrics.updated_rows == 6
    assert lb.Table(tmp_path / "t").scan("id").to_arrow().column_names == ["id"]
    assert lb.Table(tmp_path / "t").scan(pd.Index(["p", "id"])).to_arrow().column_names == ["p", "id"]
    assert lb.Table(tmp_path / "t").scan([]).to_arrow().num_rows == 6


# Shortcuts


def test_table_methods_equal_scan_methods() -> None:
    trips = str(ROOT / "examples" / "trips")
    table = lb.Table(trips)
    options: dict[str, Any] = {"columns": "id", "where": "fare > 10", "limit": 2}
    expected = table.scan(**options).to_arrow()
    assert expected.num_rows == 2
    assert table.to_arrow(**options) == table.to_reader(**options).read_all() == lb.read(trips, **options).to_arrow() == expected
    assert table.to_pandas(**options)["id"].tolist() == table.to_polars(**options)["id"].to_list() == expected["id"].to_pylist()
    assert [row[0] for row in table.to_duckdb(**options).fetchall()] == expected["id"].to_pylist()
    assert table.count(where="fare > 10") == table.scan(where="fare > 10").count()
    assert table.files(where="day = '2026-03-02'") == table.scan(where="day = '2026-03-02'").files()
    assert table.head(2).num_rows == 2
    assert table.head().num_rows == table.head(n=5, columns=["id"]).num_rows == 5
    assert table.head(100).num_rows == 6
    assert table.scan(limit=3).head(4).num_rows == 3
    assert table.head(0).column_names == table.schema.names
    assert lb.read(trips, version=0).count() == 4
    assert lb.exists(trips)
    assert not lb.exists(ROOT / "examples")


def test_exists_raises_if_store_fails() -> None:
    options = {
        "endpoint": "http://127.0.0.1:9",
        "allow_http": "true",
        "region": "us-east-1",
        "skip_signature": "true",
        "max_retries": "0",
    }
    with pytest.raises(lb.StoreError, match=r"^s3://lake/t/_delta_log/_last_checkpoint: .*127\.0\.0\.1:9"):
        lb.exists("s3://lake/t", storage_options=options)


def test_types_of_calls(tmp_path: Path) -> None:
    """With `dry_run` as a variable, the type is a union of both results."""
    page = tmp_path / "page.py"
    page.write_text(
        "import lakebed as lb\n"
        "def check(table: lb.Table, flag: bool) -> None:\n"
        "    one: lb.OptimizeResult = table.optimize()\n"
        "    two: tuple[lb.PlannedGroup, ...] = table.optimize(dry_run=True)\n"
        "    three: lb.OptimizeResult | tuple[lb.PlannedGroup, ...] = table.optimize(dry_run=flag, cluster_by='a', zorder_by=None)\n"
        "    four: int = table.count(where='id = 1')\n"
        "    five: lb.Scan = lb.read('t', 'id', limit=1)\n"
        "    six: bool = lb.exists('t')\n"
        "    table.append([], txn=('a', 1))\n"
        "    table.append([], nonsense=1)  # type: ignore[call-arg]\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", str(page)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout


# Sizes of files


@pytest.mark.parametrize("size", ["0", "1", "512"])
def test_odd_foreign_file_size_loses_no_row(size: str, tmp_path: Path) -> None:
    """A program that does not check properties may have written such a size."""
    lb.write(tmp_path / "t", DATA, properties={"delta.targetFileSize": "2048"})
    first = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    first.write_text(first.read_text().replace('"delta.targetFileSize":"2048"', f'"delta.targetFileSize":"{size}"'))
    (tmp_path / "t" / "_delta_log" / f"{0:020}.crc").unlink()
    table = lb.Table(tmp_path / "t")
    assert table.properties["delta.targetFileSize"] == size
    assert table.count() == 3
    numbers = pa.table({"id": range(100, 5000), "p": ["c"] * 4900})
    table.append(numbers)
    table.upsert(pa.table({"id": [1], "p": ["z"]}), "id")
    table.optimize(cluster_by="id")
    assert sorted(table.refresh().to_arrow()["id"].to_pylist()) == [1, 2, 3, *range(100, 5000)]
    table.overwrite(DATA)
    assert sorted(table.refresh().to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_the_smallest_files_hold_all_rows(tmp_path: Path) -> None:
    numbers = pa.table({"id": range(50_000)})
    result = lb.write(tmp_path / "t", numbers, target_file_size=1024)
    assert result.metrics.output_rows == result.table.count() == 50_000
    assert sorted(result.table.to_arrow()["id"].to_pylist()) == list(range(50_000))
    assert result.table.overwrite(numbers.slice(7), target_file_size=1024).table.count() == 49_993


# Handles of a deleted table


def operations() -> dict[str, Callable[[lb.Table], Any]]:
    return {
        "append": lambda t: t.append(DATA),
        "overwrite": lambda t: t.overwrite(DATA),
        "overwrite where": lambda t: t.overwrite(DATA, where="id > 0"),
        "schema_mode": lambda t: t.overwrite(DATA, schema_mode="overwrite"),
        "delete": lambda t: t.delete(),
        "update": lambda t: t.update({"p": "'x'"}),
        "upsert": lambda t: t.upsert(DATA, "id"),
        "optimize": lambda t: t.optimize(),
        "vacuum": lambda t: t.vacuum(),
        "cluster_by": lambda t: t.alter.cluster_by("id"),
    }


@pytest.mark.parametrize("operation", operations())
@pytest.mark.parametrize("versions", [1, 3])
def test_handle_of_deleted_table_creates_none(operation: str, versions: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    for _ in range(versions):
        table = lb.write(path, DATA).table
    shutil.rmtree(path)
    for handle in (table, copy.copy(table)):
        with pytest.raises(lb.TableNotFoundError, match=f"file://{re.escape(str(path))}: "):
            operations()[operation](handle)
    assert not path.exists() or everything(path) == {}


@pytest.mark.parametrize("operation", operations())
@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_handle_of_replaced_table_writes_nothing(operation: str, before: int, after: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    for _ in range(before):
        table = lb.write(path, DATA).table
    shutil.rmtree(path)
    for _ in range(after):
        other = lb.write(path, pa.table({"id": [7], "p": ["other"], "q": [1]})).table
    found = everything(path)
    with pytest.raises(lb.TableNotFoundError, match="another table was created at its location"):
        operations()[operation](table)
    assert everything(path) == found
    assert table.refresh().schema == other.schema
    operations()["delete"](table.refresh())


def test_table_replaced_in_log_is_same(table: lb.Table) -> None:
    lb.create(table.uri, pa.schema([("id", pa.int64())]), mode="replace")
    assert table.append(pa.table({"id": [7]})).table.count() == 1
    log = Path(table.uri.removeprefix("file://")) / "_delta_log"
    newest = log / f"{table.refresh().version + 1:020}.json"
    metadata = table.refresh()._table.metadata()
    metadata["id"] = "00000000-0000-0000-0000-000000000001"
    import json

    newest.write_text(json.dumps({"metaData": metadata}) + "\n")
    assert table.append(pa.table({"id": [8]})).table.count() == 2


# Pickles and copies

#: The store options without a secret value. See crates/lakebed-io/src/store/options.rs.
HARMLESS = {
    "aws_region": "eu", "AWS_DEFAULT_REGION": "eu", "aws_bucket": "lake", "aws_endpoint": "https://h", "aws_endpoint_url_s3": "https://h",
    "aws_virtual_hosted_style_request": "true", "aws_s3_express": "false", "aws_imdsv1_fallback": "true", "aws_unsigned_payload": "true",
    "aws_conditional_put": "etag", "aws_allow_http": "true", "aws_skip_signature": "true", "aws_request_payer": "true",
    "aws_server_side_encryption": "aws:kms", "aws_sse_kms_key_id": "id", "azure_storage_account_name": "acc", "azure_container_name": "c",
    "azure_storage_use_emulator": "true", "azure_use_fabric_endpoint": "true", "azure_storage_endpoint": "https://h", "google_bucket": "b",
    "google_base_url": "https://h", "timeout": "30s", "connect_timeout": "5s", "proxy_excludes": "h", "max_retries": "3", "retry_timeout": "9s",
    "backoff_config.base": "2", "local_flush": "false", "aws_s3_allow_unsafe_rename": "true", "dfs.nameservices": "ns",
    "google_service_account": "/run/key.json", "aws_web_identity_token_file": "/run/token", "azure_federated_token_file": "/run/token",
}  # fmt: skip
SECRET = [
    "aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "secret_access_key", "aws_session_token", "aws_access_key_id", "aws_sse_customer_key_base64",
    "azure_storage_account_key", "azure_storage_master_key", "account_key", "azure_storage_sas_key", "azure_storage_sas_token", "sas_token",
    "azure_storage_token", "bearer_token", "azure_client_secret", "fabric_session_token", "google_service_account_key", "fs.s3a.secret.key",
    "hadoop.security.credential", "user_agent", "proxy_ca_certificate",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_no_secret_travels_in_a_pickle(name: str) -> None:
    table = lb.Table(ROOT / "examples" / "trips", storage_options={name: "hush-hush", "timeout": "30s"})
    pickled = pickle.dumps(table)
    assert b"hush-hush" not in pickled
    assert pickle.loads(pickled)._given["storage_options"] == {"timeout": "30s"}
    assert "hush" not in repr(table) + repr(table.scan()) + table._repr_html_()


def test_harmless_options_are_pickled() -> None:
    table = lb.Table(ROOT / "examples" / "trips", storage_options=HARMLESS)
    assert pickle.loads(pickle.dumps(table))._given["storage_options"] == HARMLESS


def test_workers_of_spark_get_the_same_options() -> None:
    assert Access(HARMLESS).options()["storage_options"] == HARMLESS
    for options in ({"proxy_url": "http://me:hush@proxy:3128"}, {"aws_endpoint": "me:hush@h"}):
        with pytest.raises(lb.InvalidInputError, match=f"^storage_options has {next(iter(options))}: ") as refused:
            Access(HARMLESS | options)
        assert "hush" not in str(refused.value)


def test_unknown_options_stay_behind() -> None:
    assert _lakebed.options_without_secrets({"nobody_knows": "x", "aws_regoin": "x"}) == {}


def test_passwords_in_addresses_stay_behind() -> None:
    options = {"proxy_url": "http://me:hush@proxy:3128", "aws_endpoint": "https://me:hush@h"}
    table = lb.Table(ROOT / "examples" / "trips", storage_options=options)
    pickled = pickle.dumps(table)
    assert b"hush" not in pickled
    assert pickle.loads(pickled)._given["storage_options"]["proxy_url"] == "http://proxy:3128/"
    for uri in ("https://me:hush@h/t?token=hush", "abfss://c@acc.dfs.core.windows.net/t?sig=hush"):
        assert "hush" not in _lakebed.uri_without_secrets(uri)


def test_pickled_relative_path_means_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    pickled = pickle.dumps(lb.Table("examples/trips", version=1))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickled).count() == 6


def test_copy_returns_handle_itself() -> None:
    table = lb.Table(ROOT / "examples" / "trips", storage_options={"aws_secret_access_key": "hush"})
    assert copy.copy(table) is table
    assert copy.deepcopy({"t": [table]})["t"][0] is table


# Locations


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3:/bucket/x", "s3://bucket/x"),
        ("dbfs:/x", "as /dbfs/x, "),
        ("word:/x", "write ./word:/x for a folder of that name"),
        ("s3:bucket/x", "s3://bucket/x"),
        ("file:relative", "file:///"),
        ("C:\\x", "Windows"),
        ("", "empty"),
        ("  ", "empty"),
        ("~nobody/x", "home folder"),
        ("a\0b", "NUL"),
        ("s3://bucket/x?a=b", "%3F"),
        ("s3://bucket/x#a", "%23"),
        ("t/_delta_log", "_delta_log"),
    ],
    ids=repr,
)
def test_invalid_locations_make_no_folder(uri: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[Callable[[], Any]] = [
        lambda: lb.write(uri, DATA),
        lambda: lb.create(uri, DATA.schema),
        lambda: lb.Table(uri),
        lambda: lb.exists(uri),
        lambda: lb.read(uri),
    ]
    for one in calls:
        with pytest.raises(lb.InvalidInputError, match=re.escape(said)):
            one()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_table(table: lb.Table, tmp_path: Path) -> None:
    file = next((tmp_path / "t").glob("*.parquet"))
    before = everything(tmp_path)
    for one in (lambda: lb.Table(file), lambda: lb.write(file, DATA), lambda: lb.exists(f"file://{file}")):
        with pytest.raises(lb.InvalidInputError, match="it is a file; a table is a folder"):
            one()
    assert everything(tmp_path) == before


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert lb.write("~/lake/t", DATA).table.count() == 3
    assert (tmp_path / "home" / "lake" / "t" / "_delta_log").is_dir()
    assert lb.exists(Path("~/lake/t"))
    assert lb.write("./~/t", DATA).table.count() == 3
    assert sorted(os.listdir(tmp_path)) == ["home", "~"]


def test_equal_locations_open_same_table(table: lb.Table, tmp_path: Path) -> None:
    for uri in (f"{tmp_path}/t/", f"{tmp_path}//t", f"file:{tmp_path}/t", f"FILE://{tmp_path}/t/", f"{tmp_path}/x/../t"):
        assert lb.Table(uri).uri == table.uri
