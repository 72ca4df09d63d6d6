"""Clones, shallow and deep: their rows, their log beside Delta Spark's, and what they refuse."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed as lb
from stores.gateway import S3
from writes import read

FEATURES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.enableRowTracking": "true",
    "delta.enableInCommitTimestamps": "true",
    "user.key": "y",
}


def made(path: Path | str, **properties: str) -> lb.Table:
    """Makes a table of four rows and three files, with a deletion vector and odd names."""
    rows = pa.table({"id": [1, 2, 3, 4, 5], "p": ["a b%c", "a b%c", "é=/x", None, None]})
    table = lb.write(path, rows, partition_by=["p"], properties={**FEATURES, **properties}).table
    return table.delete("id = 2").table


def ids(table: lb.Table) -> list[int]:
    return sorted(table.to_arrow()["id"].to_pylist())


def actions(path: Path, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "_delta_log" / f"{version:020}.json").read_text().splitlines()]


def of_kind(path: Path, version: int, kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in actions(path, version) if kind in action]


def files(path: Path) -> list[str]:
    """Returns the files of a table without its log."""
    found = (str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
    return sorted(name for name in found if not name.startswith("_delta_log"))


@pytest.mark.parametrize("shallow", [True, False])
def test_clone_has_rows_of_source(tmp_path: Path, shallow: bool) -> None:
    source = made(tmp_path / "a source %25")
    result = source.clone(tmp_path / "copy é", shallow=shallow, user_metadata="why")
    assert (result.version, result.table.version, ids(result.table)) == (0, 0, [1, 3, 4, 5])
    opened = lb.Table(tmp_path / "copy é")
    assert (ids(opened), opened.partition_columns) == ([1, 3, 4, 5], ("p",))
    assert opened.detail().id != source.detail().id
    assert {name: opened.properties[name] for name in FEATURES} == FEATURES
    [entry] = opened.history()
    assert entry.operation == "CLONE"
    assert entry.parameters == {
        "source": f"delta.`file:{tmp_path}/a source %25`",
        "sourceVersion": "1",
        "isShallow": "true" if shallow else "false",
    }
    copied = 0 if shallow else 3
    size = source.detail().size_bytes
    assert entry.metrics == {
        "sourceTableSize": str(size),
        "sourceNumOfFiles": "3",
        "numRemovedFiles": "0",
        "numCopiedFiles": str(copied),
        "removedFilesSize": "0",
        "copiedFilesSize": "0" if shallow else str(size),
    }
    assert entry.user_metadata == "why"
    names = files(tmp_path / "copy é")
    assert names == ([] if shallow else files(tmp_path / "a source %25"))
    # The clone is a table of its own.
    changed = opened.delete("id = 3").table.append(pa.table({"id": [9], "p": ["n"]})).table
    assert (ids(changed), ids(source.refresh())) == ([1, 4, 5, 9], [1, 3, 4, 5])
    assert sorted(row["id"] for row in changed.changes(0).to_arrow().to_pylist() if row["_commit_version"] == 0) == [1, 3, 4, 5]


@pytest.mark.parametrize("shallow", [True, False])
def test_clone_of_an_older_version(tmp_path: Path, shallow: bool) -> None:
    source = made(tmp_path / "s")
    source.append(pa.table({"id": [7], "p": ["q"]}))
    assert ids(source.clone(tmp_path / "handle", shallow=shallow).table) == [1, 3, 4, 5]
    assert ids(source.clone(tmp_path / "version", shallow=shallow, version=0).table) == [1, 2, 3, 4, 5]
    moment = source.refresh().history()[0].timestamp
    assert ids(source.clone(tmp_path / "timestamp", shallow=shallow, timestamp=moment).table) == [1, 3, 4, 5, 7]
    with pytest.raises(TypeError, match=r"^give version or timestamp, not both$"):
        source.clone(tmp_path / "both", version=0, timestamp=moment)
    with pytest.raises(lb.VersionNotFoundError):
        source.clone(tmp_path / "none", version=99)
    assert not (tmp_path / "none").exists()


def test_deep_clone_survives_its_source(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    copy = source.clone(tmp_path / "c").table
    assert not of_kind(tmp_path / "c", 0, "add")[0]["path"].startswith(("/", "file:"))
    shutil.rmtree(tmp_path / "s")
    assert ids(lb.Table(copy.uri)) == [1, 3, 4, 5]


def test_repeated_deep_clone_copies_only_new_files(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    source.clone(tmp_path / "c")
    with pytest.raises(lb.TableExistsError, match="a table exists already"):
        source.clone(tmp_path / "c")
    source = source.append(pa.table({"id": [8], "p": ["z"]})).table.delete("id = 4").table.delete("p = 'é=/x'").table
    lb.Table(tmp_path / "c").append(pa.table({"id": [100], "p": ["own"]}))
    before = lb.Table(tmp_path / "c")
    result = source.clone(tmp_path / "c", mode="replace")
    assert ids(result.table) == [1, 5, 8]
    found = result.metrics
    # The file with the ids 4 and 5 has a new deletion vector. The file itself is there.
    assert (found.source_files, found.copied_files, found.kept_files, found.resumed_files) == (3, 1, 1, 1)
    assert (found.copied_vector_files, found.removed_files) == (1, 3)
    assert (result.version, ids(lb.Table(tmp_path / "c", version=before.version))) == (2, [1, 3, 4, 5, 100])
    assert result.table.detail().id == before.detail().id
    added = {add["path"].split("/")[0] for add in of_kind(tmp_path / "c", 2, "add")}
    assert added == {"p=__HIVE_DEFAULT_PARTITION__", "p=z"}
    # Nothing is new.
    again = source.clone(tmp_path / "c", mode="replace")
    assert (again.metrics.kept_files, again.metrics.copied_files, again.metrics.removed_files) == (3, 0, 0)
    assert ids(again.table) == [1, 5, 8]


def test_interrupted_deep_clone_goes_on(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    lost = next((tmp_path / "s").glob("p=é*/*.parquet"))
    moved = tmp_path / "moved"
    lost.rename(moved)
    with pytest.raises(lb.StoreError, match="not found") as caught:
        source.clone(tmp_path / "c")
    assert lost.name in str(caught.value)
    assert not lb.exists(tmp_path / "c")
    there = len([name for name in files(tmp_path / "c") if name.endswith(".parquet")])
    moved.rename(lost)
    result = source.clone(tmp_path / "c")
    assert (result.metrics.resumed_files, result.metrics.copied_files) == (there, 3 - there)
    assert ids(result.table) == [1, 3, 4, 5]


def test_file_of_another_size_is_not_overwritten(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    name = next(name for name in files(tmp_path / "s") if name.endswith(".parquet"))
    (tmp_path / "c" / name).parent.mkdir(parents=True)
    (tmp_path / "c" / name).write_bytes(b"mine")
    size = (tmp_path / "s" / name).stat().st_size
    with pytest.raises(lb.InvalidInputError) as caught:
        source.clone(tmp_path / "c")
    assert str(caught.value).endswith(
        f"this file has 4 bytes, and the clone would put another file of {size} bytes here: delete the file, or choose "
        "another target"
    )
    assert (tmp_path / "c" / name).read_bytes() == b"mine"


def test_file_of_wrong_size_in_source_stops_clone(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    name = next(name for name in files(tmp_path / "s") if name.endswith(".parquet"))
    with (tmp_path / "s" / name).open("ab") as file:
        file.write(b"x")
    with pytest.raises(lb.CorruptTableError, match=r"it has \d+ bytes, but the log of its table says \d+"):
        source.clone(tmp_path / "c")
    assert not lb.exists(tmp_path / "c")


@pytest.mark.parametrize("shallow", [True, False])
def test_clone_replaces_another_table(tmp_path: Path, shallow: bool) -> None:
    """Both tables have a file of the same name and size."""
    for name, value in (("s", 1), ("c", 2)):
        lb.write(tmp_path / name, pa.table({"id": [value]}))
        [file] = (tmp_path / name).glob("*.parquet")
        file.rename(tmp_path / name / "data.parquet")
        log = tmp_path / name / "_delta_log" / f"{0:020}.json"
        log.write_text(log.read_text().replace(file.name, "data.parquet"))
        for crc in (tmp_path / name / "_delta_log").glob("*.crc"):
            crc.unlink()
    result = lb.Table(tmp_path / "s").clone(tmp_path / "c", shallow=shallow, mode="replace")
    assert (ids(result.table), result.metrics.removed_files, result.metrics.kept_files) == ([1], 1, 0)
    assert ids(lb.Table(tmp_path / "c", version=0)) == [2]
    again = lb.Table(tmp_path / "s").clone(tmp_path / "c", shallow=shallow, mode="replace")
    assert (ids(again.table), again.metrics.kept_files) == ([1], 1)


def test_target_in_source_is_refused(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    (tmp_path / "link").symlink_to(tmp_path / "s")
    own = "a table cannot be cloned to its own location: choose another target"
    inside = (
        "the target lies in the folder of the source, where a vacuum of the source would delete its files: choose another target"
    )
    outside = (
        "the source lies in the folder of the target, where a vacuum of the target would delete its files: choose another target"
    )
    cases = [("s", own), ("link", own), ("s/sub", inside), ("link/sub", inside), (".", outside)]
    for shallow in (True, False):
        for target, message in cases:
            with pytest.raises(lb.InvalidInputError) as caught:
                source.clone(tmp_path / target, shallow=shallow, mode="replace")
            assert str(caught.value).endswith(f": {message}"), target
    assert ids(source.clone(tmp_path / "s2").table) == [1, 3, 4, 5]


def test_clone_of_a_clone_names_first_source(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    first = source.clone(tmp_path / "c1", shallow=True).table
    first = first.append(pa.table({"id": [6], "p": ["n"]})).table
    second = first.clone(tmp_path / "c2", shallow=True).table
    roots = {add["path"].removeprefix(f"file:{tmp_path}/").split("/")[0] for add in of_kind(tmp_path / "c2", 0, "add")}
    assert roots == {"s", "c1"}
    assert ids(lb.Table(second.uri)) == [1, 3, 4, 5, 6]
    deep = lb.Table(second.uri).clone(tmp_path / "c3").table
    shutil.rmtree(tmp_path / "s")
    assert ids(lb.Table(deep.uri)) == [1, 3, 4, 5, 6]


def test_vacuum_of_a_clone_keeps_its_source(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    names = files(tmp_path / "s")
    copy = source.clone(tmp_path / "c", shallow=True).table.delete("id < 4").table
    copy.optimize().table.vacuum(0, enforce_retention=False)
    assert files(tmp_path / "s") == names
    assert ids(lb.Table(tmp_path / "c")) == [4, 5]
    # The clone breaks if the source loses its files.
    source.overwrite(pa.table({"id": [0], "p": ["x"]})).table.vacuum(0, enforce_retention=False)
    with pytest.raises(lb.LakebedError, match=r"\.parquet"):
        lb.Table(tmp_path / "c", version=0).to_arrow()


def forged(target: Path, source: Path, record: list[dict[str, str]]) -> None:
    """Writes a table that names the files of another one, as a stranger would."""
    add = of_kind(source, 0, "add")[0]
    meta = of_kind(source, 0, "metaData")[0]
    meta["configuration"] = {"lakebed.clone.sources": json.dumps(record)}
    meta["id"] = "00000000-0000-0000-0000-000000000001"
    lines = [
        {"commitInfo": {"operation": "CLONE", "operationParameters": {"source": f"delta.`file:{source}`"}}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": meta},
        {"add": {**add, "path": f"file://{source}/{add['path']}"}},
    ]
    (target / "_delta_log").mkdir(parents=True)
    (target / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, lines)))


def test_stranger_cannot_make_us_read_a_table(tmp_path: Path) -> None:
    """The record must have the id of the source, which only its readers know."""
    source = lb.write(tmp_path / "secret", pa.table({"id": [42]})).table
    url, known = f"file://{tmp_path}/secret", source.detail().id
    records = {
        "none": [],
        "guessed": [{"url": url, "id": "00000000-0000-0000-0000-000000000002"}],
        "empty": [{"url": url, "id": ""}],
        "above": [{"url": f"file://{tmp_path}", "id": known}],
        "elsewhere": [{"url": "http://127.0.0.1:9/secret", "id": known}],
    }
    for name, record in records.items():
        forged(tmp_path / name, tmp_path / "secret", record)
        with pytest.raises(lb.InvalidInputError, match=r"this file lies outside the table .* allow absolute paths"):
            lb.Table(tmp_path / name).to_arrow()
        assert ids(lb.Table(tmp_path / name, absolute_paths=True)) == [42]
    forged(tmp_path / "known", tmp_path / "secret", [{"url": url, "id": known}])
    assert ids(lb.Table(tmp_path / "known")) == [42]
    # Files beside the source are never followed.
    lb.write(tmp_path / "other", pa.table({"id": [43]}))
    forged(tmp_path / "beside", tmp_path / "other", [{"url": url, "id": known}])
    with pytest.raises(lb.InvalidInputError, match="this file lies outside the table"):
        lb.Table(tmp_path / "beside").to_arrow()
    # A clone names no file that its source may not read.
    with pytest.raises(lb.InvalidInputError, match="this file lies outside the table"):
        lb.Table(tmp_path / "guessed").clone(tmp_path / "laundered", shallow=True)


def test_link_in_a_source_is_not_followed(tmp_path: Path) -> None:
    source = lb.write(tmp_path / "s", pa.table({"id": [1]})).table
    copy = source.clone(tmp_path / "c", shallow=True).table
    [file] = (tmp_path / "s").glob("*.parquet")
    file.rename(tmp_path / "outside")
    file.symlink_to(tmp_path / "outside")
    with pytest.raises(lb.InvalidInputError, match="a symbolic link leads"):
        lb.Table(copy.uri).to_arrow()


def test_clone_across_stores(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    deep = source.clone("memory://clones/deep").table
    assert ids(lb.Table("memory://clones/deep")) == ids(deep) == [1, 3, 4, 5]
    shallow = source.clone("memory://clones/shallow", shallow=True).table
    assert ids(shallow) == [1, 3, 4, 5]
    # Another store is followed only if the caller says so.
    with pytest.raises(lb.InvalidInputError, match="this file lies outside the table"):
        lb.Table("memory://clones/shallow").to_arrow()
    assert ids(lb.Table("memory://clones/shallow", absolute_paths=True)) == [1, 3, 4, 5]
    back = shallow.clone(tmp_path / "back").table
    assert (ids(back), len(files(tmp_path / "back"))) == ([1, 3, 4, 5], 4)
    assert ids(deep.clone("memory://clones/again").table) == [1, 3, 4, 5]


def test_properties_of_a_clone(tmp_path: Path) -> None:
    source = made(tmp_path / "s")
    copy = source.clone(tmp_path / "c", properties={"delta.appendOnly": True, "user.key": "z"}).table
    assert (copy.properties["delta.appendOnly"], copy.properties["user.key"]) == ("true", "z")
    with pytest.raises(lb.InvalidInputError, match=r"the table is append-only .* a clone cannot replace it"):
        source.clone(tmp_path / "c", mode="replace")
    with pytest.raises(lb.InvalidInputError, match="its column mapping mode is none, and a clone cannot change it to name"):
        source.clone(tmp_path / "d", properties={"delta.columnMapping.mode": "name"})
    with pytest.raises(lb.InvalidInputError, match=r"there is no property delta\.nonsense"):
        source.clone(tmp_path / "d", properties={"delta.nonsense": 1})
    assert not (tmp_path / "d").exists()
    for wrong in ({"shallow": "yes"}, {"mode": 1}, {"nonsense": 1}, {"progress": 3}):
        with pytest.raises(TypeError):
            source.clone(tmp_path / "d", **wrong)
    with pytest.raises(lb.InvalidInputError, match="mode"):
        source.clone(tmp_path / "d", mode="append")  # type: ignore[arg-type]


def test_clone_has_new_row_ids(tmp_path: Path) -> None:
    source = lb.write(tmp_path / "s", pa.table({"id": [1, 2, 3]}), properties={"delta.enableRowTracking": True}).table
    source = source.update({"id": "id + 10"}, where="id = 1").table
    for shallow in (True, False):
        copy = source.clone(tmp_path / f"c{shallow}", shallow=shallow).table
        found = copy.scan(columns=["id", "_metadata.row_id", "_metadata.row_commit_version"]).to_arrow()
        assert sorted(found["_metadata.row_id"].to_pylist()) == [0, 1, 2]
        assert set(found["_metadata.row_commit_version"].to_pylist()) == {0}
        more = copy.append(pa.table({"id": [9]})).table
        assert more.scan(columns=["_metadata.row_id"], where="id = 9").to_arrow()["_metadata.row_id"].to_pylist() == [3]


def test_clone_tells_its_progress(tmp_path: Path) -> None:
    source, seen = made(tmp_path / "s"), []
    source.clone(tmp_path / "c", progress=seen.append)
    assert (seen[0].done_files, seen[-1].done_files, seen[-1].total_files) == (0, 3, 3)
    assert seen[-1].done_bytes == seen[-1].total_bytes == source.detail().size_bytes


def test_forked_child_reads_a_clone(tmp_path: Path) -> None:
    copy = made(tmp_path / "s").clone(tmp_path / "c", shallow=True).table
    assert copy.count() == 4
    child = os.fork()
    if child == 0:
        os._exit(0 if ids(copy) == [1, 3, 4, 5] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_clone_on_s3_is_copied_there(s3: S3, tmp_path: Path) -> None:
    source = lb.write(s3.uri("clone-source"), pa.table({"id": [1, 2, 3]}), storage_options=s3.options).table
    deep = source.clone(s3.uri("clone-deep")).table
    assert ids(lb.Table(deep.uri, storage_options=s3.options)) == [1, 2, 3]
    shallow = source.clone(s3.uri("clone-shallow"), shallow=True).table
    assert ids(lb.Table(shallow.uri, storage_options=s3.options)) == [1, 2, 3]
    local = source.clone(tmp_path / "local").table
    assert ids(lb.Table(tmp_path / "local")) == [1, 2, 3]
    assert ids(local.clone(s3.uri("clone-back"), storage_options=s3.options).table) == [1, 2, 3]


# --- beside Delta Spark -------------------------------------------------------------------------


#: Delta Spark also copies the version in which the source enabled in-commit timestamps, which is no
#: version of the clone: every commit of the clone has such a timestamp.
OF_ONE_ENGINE = ("lakebed.", "delta.inCommitTimestampEnablement")


def comparable(path: Path, source: Path, version: int) -> dict[str, Any]:
    """Returns a commit without the parts that are random or that only one engine writes."""
    [info] = of_kind(path, version, "commitInfo")
    [meta] = of_kind(path, version, "metaData")
    hidden = {key: value for key, value in meta["configuration"].items() if "materialized" in key}
    assert len(set(hidden.values())) == len(hidden)
    parameters = {key: value for key, value in info["operationParameters"].items() if key != "isShallow"}
    adds = []
    for add in of_kind(path, version, "add"):
        add["stats"] = json.loads(add["stats"])
        adds.append(add)
    first = min((add["baseRowId"] for add in adds if "baseRowId" in add), default=None)
    for add in adds:
        add.pop("baseRowId", None)
    protocol = of_kind(path, version, "protocol")
    return {
        "operation": (info["operation"], parameters, info["operationMetrics"]),
        "configuration": {
            key: value for key, value in meta["configuration"].items() if key not in hidden and not key.startswith(OF_ONE_ENGINE)
        },
        "hidden": sorted(hidden),
        "table": {key: value for key, value in meta.items() if key not in ("id", "configuration")},
        "adds": sorted(adds, key=lambda add: str(add["path"])),
        "first": first,
        "protocol": [
            {key: sorted(value) if isinstance(value, list) else value for key, value in one.items()} for one in protocol
        ],
        "domains": {
            one["domain"]: {key: value for key, value in json.loads(one["configuration"]).items() if key != "domainName"}
            for one in of_kind(path, version, "domainMetadata")
        },
    }


SOURCES = {
    "features": "CREATE TABLE {t} (id BIGINT, p STRING, g BIGINT GENERATED ALWAYS AS (id + 1)) USING delta PARTITIONED BY (p) COMMENT 'x'"
    " TBLPROPERTIES ('delta.enableDeletionVectors'='true','delta.enableRowTracking'='true','delta.enableChangeDataFeed'='true',"
    "'delta.enableInCommitTimestamps'='true','user.x'='y'); INSERT INTO {t} (id, p) VALUES (1, 'a b%c'), (2, 'é=/x'), (3, NULL);"
    "INSERT INTO {t} (id, p) SELECT id, 'a b%c' FROM RANGE(10, 100, 1, 1); DELETE FROM {t} WHERE id BETWEEN 50 AND 60",
    "mapped": "CREATE TABLE {t} (id BIGINT, `a b` STRING) USING delta CLUSTER BY (id) TBLPROPERTIES ('delta.columnMapping.mode'='name');"
    "INSERT INTO {t} VALUES (1, 'x'); INSERT INTO {t} VALUES (2, 'y')",
    "identity": "CREATE TABLE {t} (id BIGINT GENERATED ALWAYS AS IDENTITY, v STRING) USING delta; INSERT INTO {t} (v) VALUES ('x'), ('y')",
    "plain": "CREATE TABLE {t} (id BIGINT) USING delta; INSERT INTO {t} VALUES (1), (2)",
    "late timestamps": "CREATE TABLE {t} (id BIGINT) USING delta; INSERT INTO {t} VALUES (1);"
    "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps'='true'); INSERT INTO {t} VALUES (2)",
}


@pytest.mark.spark
@pytest.mark.parametrize("name", SOURCES)
def test_shallow_clone_is_that_of_delta_spark(spark: Any, tmp_path: Path, name: str) -> None:
    source, theirs, ours = tmp_path / "s o%urce", tmp_path / "theirs", tmp_path / "ours"
    for statement in SOURCES[name].split(";"):
        spark.sql(statement.format(t=f"delta.`{source}`"))
    spark.sql(f"CREATE TABLE delta.`{theirs}` SHALLOW CLONE delta.`{source}`")
    lb.Table(source).clone(ours, shallow=True)
    assert comparable(ours, source, 0) == comparable(theirs, source, 0)
    expected = sorted(map(tuple, spark.read.format("delta").load(str(source)).collect()), key=str)
    for clone in (ours, theirs):
        assert sorted(map(tuple, spark.read.format("delta").load(str(clone)).collect()), key=str) == expected
        found = lb.Table(clone, absolute_paths=clone == theirs).to_arrow()
        assert sorted(zip(*found.to_pydict().values(), strict=True), key=str) == expected
    # Both go on with the clone that lakebed made.
    spark.sql(f"DELETE FROM delta.`{ours}` WHERE id = 1")
    spark.sql(f"DESCRIBE HISTORY delta.`{ours}`").collect()
    table = lb.Table(ours)
    assert table.count() == len(expected) - 1
    deep = table.clone(tmp_path / "deep").table
    assert spark.read.format("delta").load(deep.uri.removeprefix("file://")).count() == len(expected) - 1
    table.delete("id = 2")
    assert spark.read.format("delta").load(str(ours)).count() == len(expected) - 2


@pytest.mark.spark
def test_replacing_clone_is_that_of_delta_spark(spark: Any, tmp_path: Path) -> None:
    source, theirs, ours = tmp_path / "source", tmp_path / "theirs", tmp_path / "ours"
    for statement in SOURCES["features"].split(";"):
        spark.sql(statement.format(t=f"delta.`{source}`"))
    for target in (theirs, ours):
        spark.sql(f"CREATE TABLE delta.`{target}` SHALLOW CLONE delta.`{source}` VERSION AS OF 1")
        spark.sql(f"DELETE FROM delta.`{target}`")
    spark.sql(f"CREATE OR REPLACE TABLE delta.`{theirs}` SHALLOW CLONE delta.`{source}`")
    lb.Table(source).clone(ours, shallow=True, mode="replace")
    # Delta Spark writes the protocol even if it did not change.
    assert {**comparable(ours, source, 2), "protocol": []} == {**comparable(theirs, source, 2), "protocol": []}
    assert spark.read.format("delta").load(str(ours)).count() == spark.read.format("delta").load(str(source)).count()


@pytest.mark.interop
def test_other_engines_read_clones(tmp_path: Path) -> None:
    source = lb.write(tmp_path / "s o%urce", pa.table({"id": [1, 2, 3], "p": ["a b", "é", None]}), partition_by=["p"]).table
    for shallow in (True, False):
        copy = tmp_path / f"copy {shallow}"
        source.clone(copy, shallow=shallow)
        if not shallow:
            # deltalake 1.6.6 and DuckDB 1.5.5 look for absolute paths below the root of the table.
            assert sorted(row["id"] for row in read.with_duckdb(str(copy))) == [1, 2, 3]
            assert sorted(DeltaTable(copy).to_pyarrow_table()["id"].to_pylist()) == [1, 2, 3]
