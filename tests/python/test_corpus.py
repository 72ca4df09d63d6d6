"""Compares lakebed with Delta Spark on every table and version of the corpus: rows, schema,
predicates, history, files, timestamps.
"""

from __future__ import annotations

import json
import urllib.parse
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb
from conftest import Sample
from corpus import canon
from corpus.oracle import Oracle


def open_table(oracle: Oracle, **options: Any) -> lb.Table:
    return lb.Table(oracle.path, absolute_paths=oracle.outside, **options)


def open_sample(sample: Sample) -> lb.Table:
    """Opens a version of a table. The latest version is opened without its number."""
    return open_table(sample.oracle) if sample.is_latest else open_table(sample.oracle, version=sample.version)


def lost_and_gained(found: list[str], expected: list[str]) -> str:
    """Returns how two sorted lists of rows differ, or an empty text if they do not."""
    if found == expected:
        return ""
    lost, gained = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    return f"{len(found)} rows, expected {len(expected)}; lost {sorted(lost)[:3]}; gained {sorted(gained)[:3]}"


#: The tables with collated columns. lakebed refuses predicates on them, because it compares strings
#: by their bytes.
REFUSED_FILTERS = {"collated_strings"}


def test_rows_and_schema_equal_spark(sample: Sample) -> None:
    table = open_sample(sample)
    expected = sample.oracle.rows(sample.version)
    assert table.version == sample.version
    assert canon.fields(table.schema) == sample.oracle.schema(sample.version)
    data = table.to_arrow()
    data.validate(full=True)
    assert canon.fields(data.schema) == sample.oracle.schema(sample.version)
    assert lost_and_gained(canon.rows(data), expected) == ""
    assert table.count() == len(expected)


def test_conditions_keep_the_rows_that_spark_keeps(sample: Sample) -> None:
    table = open_sample(sample)
    rows = sample.oracle.rows(sample.version)
    if sample.name in REFUSED_FILTERS:
        with pytest.raises(lb.UnsupportedFeatureError, match="collation"):
            table.scan(where="s = 'a'").to_arrow()
        return
    wrong = {}
    for condition, positions in sample.oracle.conditions(sample.version).items():
        expected = [rows[position] for position in positions]
        try:
            scan = table.scan(where=condition)
            difference = lost_and_gained(canon.rows(scan.to_arrow()), expected)
            if not difference and scan.count() != len(expected):
                difference = f"count() is {scan.count()}, expected {len(expected)}"
        except lb.LakebedError as error:
            difference = f"{type(error).__name__}: {error}"
        if difference:
            wrong[condition] = difference
    assert not wrong, "\n".join(f"{condition}: {difference}" for condition, difference in wrong.items())


def test_single_columns_reordered_columns_and_limits(oracle: Oracle) -> None:
    table = open_table(oracle)
    whole = table.to_arrow()
    names = whole.column_names[::-1]
    assert lost_and_gained(canon.rows(table.to_arrow(_quoted(names))), canon.rows(whole.select(names))) == ""
    for name in names[:6]:
        assert lost_and_gained(canon.rows(table.to_arrow(_quoted([name]))), canon.rows(whole.select([name]))) == "", name
    some = canon.rows(table.scan(limit=3).to_arrow())
    assert len(some) == min(3, whole.num_rows)
    assert not Counter(some) - Counter(canon.rows(whole))


def _quoted(names: list[str]) -> list[str]:
    """Returns column names as `columns=` takes them. A name with a dot stands between backticks."""
    return [f"`{name}`" if "." in name else name for name in names]


def test_where_may_name_unread_columns(oracle: Oracle) -> None:
    if oracle.home.name in REFUSED_FILTERS:
        pytest.skip("its filters are refused")
    table = open_table(oracle)
    rows = oracle.rows(oracle.latest)
    name = table.schema.names[0]
    for condition, positions in list(oracle.conditions(oracle.latest).items())[:5]:
        found = canon.rows(table.to_arrow(_quoted([name]), where=condition))
        assert found == sorted(json.dumps(json.loads(rows[i])[:1], separators=(",", ":")) for i in positions), condition


def test_history_and_detail(oracle: Oracle) -> None:
    table = open_table(oracle)
    found = [
        (entry.version, entry.timestamp, entry.operation, entry.user_metadata, entry.is_blind_append, entry.parameters)
        for entry in table.history()
    ]
    assert found == [
        (
            entry["version"],
            datetime.fromisoformat(entry["timestamp"].replace("Z", "+00:00")),
            entry.get("operation"),
            entry.get("userMetadata"),
            entry.get("isBlindAppend"),
            entry.get("operationParameters", {}),
        )
        for entry in oracle.history
    ]
    detail, expected = table.detail(), oracle.detail
    assert detail.id == expected["id"]
    assert detail.name == expected.get("name")
    assert detail.description == expected.get("description")
    assert list(detail.partition_columns) == expected["partitionColumns"]
    assert list(detail.clustering_columns) == expected["clusteringColumns"]
    assert (detail.num_files, detail.size_bytes) == (expected["numFiles"], expected["sizeInBytes"])
    assert (detail.protocol.min_reader_version, detail.protocol.min_writer_version) == (
        expected["minReaderVersion"],
        expected["minWriterVersion"],
    )
    assert detail.properties == expected["properties"]


def test_files_are_those_that_spark_lists(oracle: Oracle) -> None:
    files = open_table(oracle).files().to_pylist()
    found = sorted([urllib.parse.unquote(file["path"]), file["size_bytes"]] for file in files)
    assert found == sorted([urllib.parse.unquote(path), size] for path, size, _, _ in oracle.files)


def test_time_travel_by_timestamp(oracle: Oracle) -> None:
    """Checks timestamps around each commit. lakebed refuses the timestamps that Spark refuses."""
    if not oracle.travel:
        pytest.skip("the case asks Spark for no timestamps")
    for millis, version in oracle.travel:
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=millis)
        if version is None:
            with pytest.raises(lb.VersionNotFoundError, match=r"timestamp .* is (before|after) the (earliest|latest) commit"):
                open_table(oracle, timestamp=moment)
        else:
            assert open_table(oracle, timestamp=moment).version == version, moment
            assert open_table(oracle, timestamp=moment.isoformat()).version == version, moment


def test_versions_that_do_not_exist(oracle: Oracle) -> None:
    with pytest.raises(lb.VersionNotFoundError, match=str(oracle.latest + 1)):
        open_table(oracle, version=oracle.latest + 1)


def test_tables_that_must_be_refused(refused: Oracle) -> None:
    with pytest.raises(lb.UnsupportedFeatureError) as error:
        lb.Table(refused.path).to_arrow()
    assert error.value.features == refused.refused
    assert all(feature in str(error.value) for feature in refused.refused)


def test_conditions_on_collated_columns_are_refused(corpus_by_name: dict[str, Oracle]) -> None:
    """With the collation, `s = 'a'` is true for 'A'. A comparison of bytes would lose that row."""
    for condition in ("s = 'a'", "s > 'A'", "s LIKE 'A%'", "s IN ('a', 'b')"):
        with pytest.raises(lb.UnsupportedFeatureError, match="collation"):
            open_table(corpus_by_name["collated_strings"]).to_arrow(where=condition)


def test_files_elsewhere_need_leave(oracle: Oracle) -> None:
    if not oracle.outside:
        pytest.skip("all files lie in the table")
    with pytest.raises(lb.LakebedError, match="outside"):
        lb.Table(oracle.path).to_arrow()


@pytest.mark.spark
@pytest.mark.parametrize("name", ["structs", "mapped_by_name", "positions_over_many_row_groups", "widened_from_int", "floats"])
def test_the_oracle_is_what_spark_filters(name: str, corpus_by_name: dict[str, Oracle], spark: Any) -> None:
    """The oracle computes predicates as columns and without compiled code. Filters in a session
    with Spark's defaults return the same rows.

    The filter of Spark's Parquet reader is off. If a dictionary has only -0.0, that filter loses
    these rows for `= 0`.
    """
    oracle = corpus_by_name[name]
    session = spark.newSession()
    defaults = {
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.adaptive.enabled": "true",
    }
    for setting, value in (defaults | {"spark.sql.parquet.filterPushdown": "false"}).items():
        session.conf.set(setting, value)
    frame = session.read.format("delta").load(str(oracle.path))
    rows = oracle.rows(oracle.latest)
    for condition, positions in list(oracle.conditions(oracle.latest).items())[:8]:
        found = pa.Table.from_batches(frame.where(condition)._collect_as_arrow(empty_list_if_zero_records=False))
        assert canon.rows(found) == [rows[position] for position in positions], condition


@pytest.mark.spark
@pytest.mark.parametrize("name", ["variants_from_json", "shredded_variants"])
def test_variants_are_decoded_as_spark_prints_them(name: str, corpus_by_name: dict[str, Oracle], spark: Any) -> None:
    """Compares the decoder of variants with Spark's own `to_json`."""
    frame = spark.read.format("delta").load(str(corpus_by_name[name].path)).selectExpr("v", "to_json(v) AS j")
    found = pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))
    decoded = [value for chunk in found.column("v").chunks for value in canon.values(chunk)]
    for value, text in zip(decoded, found.column("j").to_pylist(), strict=True):
        assert (None if value is None else _plain(value)) == (None if text is None else json.loads(text, parse_float=float))


def _plain(value: list[Any]) -> Any:
    """Returns a decoded variant as `json.loads` would return it."""
    kind, content = value[0], value[-1]
    if kind == "object":
        return {key: _plain(item) for key, item in content}
    if kind == "array":
        return [_plain(item) for item in content]
    if kind in ("number", "double"):
        return float(content) if "." in content or "e" in content else int(content)
    return {"null": None, "true": True, "false": False}.get(kind, content)
