"""lakebed on a real S3 store: many writers at once with good and bad networks, each operation once,
and refused requests.

lakebed, deltalake and DuckDB read the results back. The log is also read from the disk of the
store.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import duck
import lakebed as lb
import writers
from stores import weather
from stores.gateway import S3
from stores.relay import Fault, Relay
from stores.weather import DISTURBANCES, Proxy, Toxic

SEED = 20_261_121
IDS = pa.schema([("id", pa.int64())])

Row = dict[str, Any]


@pytest.fixture
def proxy(s3: S3, tmp_path: Path) -> Iterator[Proxy]:
    with weather.run(tmp_path, s3.port, SEED) as proxy:
        yield proxy


# --- many writers -------------------------------------------------------------------------


def test_sixty_four_writers_append_two_thousand_times(s3: S3) -> None:
    uri = s3.uri("calm")
    lb.create(uri, IDS, storage_options=s3.options)
    outcome = writers.append_at_once(uri, s3.options)
    writers.check_each_append_is_there_once(outcome, uri, s3.folder / "calm" / "_delta_log", s3.options)


def test_many_writers_append_through_storms(s3: S3, proxy: Proxy) -> None:
    uri = s3.uri("storm")
    lb.create(uri, IDS, storage_options=s3.options)
    with proxy.stormy(SEED) as seen:
        outcome = writers.append_at_once(uri, s3.through(proxy.port).options)
    assert set(seen) == set(DISTURBANCES)
    # Some writes succeeded although their answers were lost. The store refused each second attempt,
    # and no file was written twice.
    assert [key for key in s3.refused("storm") if key.endswith(".parquet") and "/_" not in key]
    assert not [key for key, times in s3.stored("storm").items() if key.endswith(".parquet") and "/_" not in key and times > 1]
    writers.check_each_append_is_there_once(outcome, uri, s3.folder / "storm" / "_delta_log", s3.options)


# --- one disturbance ----------------------------------------------------------------------

#: Each disturbance affects every connection, and none lets an append through.
TROUBLES: dict[str, Toxic] = {
    "requests cut": ("limit_data", "upstream", {"bytes": 100}),
    "requests reset": ("reset_peer", "upstream", {"timeout": 0}),
    "answers cut in their head": ("limit_data", "downstream", {"bytes": 20}),
    "refusals cut in their body": ("limit_data", "downstream", {"bytes": 450}),
    "listings cut in their body": ("limit_data", "downstream", {"bytes": 1_500}),
    "answers reset": ("reset_peer", "downstream", {"timeout": 0}),
    "answers lost": ("timeout", "downstream", {"timeout": 100}),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_append_outlives_a_second_of_trouble(s3: S3, proxy: Proxy, trouble: str) -> None:
    name = trouble.replace(" ", "-")
    lb.write(s3.uri(name), pa.table({"id": [1]}), storage_options=s3.options)
    with ThreadPoolExecutor(1) as pool:
        with proxy.suffers(TROUBLES[trouble]):
            through = s3.through(proxy.port).options
            append = pool.submit(lb.write, s3.uri(name), pa.table({"id": [2]}), storage_options=through)
            time.sleep(1)
            assert commits(s3, name) == [0]
        assert append.result().version == 1
    assert commits(s3, name) == [0, 1]
    check(s3, name, [{"id": 1}, {"id": 2}])


@pytest.mark.parametrize("fault", ["unheard", "unanswered", "reset", "cut"])
def test_an_append_outlives_any_one_spoilt_request(s3: S3, fault: Fault) -> None:
    refused = {}
    for at in itertools.count():
        # Each attempt uses a new table, so that it makes all requests of a first write.
        name = f"{fault}-{at}"
        lb.write(s3.uri(name), pa.table({"id": [1]}), storage_options=s3.options)
        with Relay(s3.port, fault, at).run() as relay:
            try:
                lb.write(s3.uri(name), pa.table({"id": [2]}), storage_options=s3.through(relay.port).options)
            except lb.LakebedError as error:
                refused[relay.spoilt] = str(error)
                assert commits(s3, name) == [0]
                continue
        assert commits(s3, name) == [0, 1]
        assert sorted(lb.Table(s3.uri(name), storage_options=s3.options).to_arrow()["id"].to_pylist()) == [1, 2]
        if relay.spoilt is None:
            break
    # The requests look for the table, list its log, write the rows, test whether the store keeps
    # put-if-absent, and commit.
    assert at > 10
    assert refused == {}


# --- each operation -----------------------------------------------------------------------


def check(s3: S3, name: str, expected: list[Row]) -> None:
    """Checks the rows that every engine reads, in any order."""
    uri, options = s3.uri(name), s3.options
    assert ordered(lb.Table(uri, storage_options=options).to_arrow().to_pylist()) == ordered(expected)
    assert ordered(pa.table(DeltaTable(uri, storage_options=options).to_pyarrow_table()).to_pylist()) == ordered(expected)
    assert ordered(read_with_duckdb(uri, options)) == ordered(expected)


def commits(s3: S3, name: str) -> list[int]:
    """Returns the versions that the store has."""
    return sorted(int(file.stem) for file in (s3.folder / name / "_delta_log").glob("*.json"))


def ordered(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["id"])


def read_with_duckdb(uri: str, options: dict[str, str]) -> list[Row]:
    with duck.connect("httpfs") as connection:
        connection.execute(
            f"""CREATE SECRET (TYPE s3, KEY_ID '{options["aws_access_key_id"]}', SECRET '{options["aws_secret_access_key"]}',
            REGION '{options["aws_region"]}', ENDPOINT '{options["aws_endpoint"].removeprefix("http://")}', USE_SSL false, URL_STYLE 'path')"""
        )
        found: list[Row] = connection.execute(f"FROM delta_scan('{uri}')").to_arrow_table().to_pylist()
        return found


def test_rows_are_appended_and_overwritten(s3: S3) -> None:
    uri, options = s3.uri("rows"), s3.options
    lb.create(uri, pa.schema([("id", pa.int64()), ("city", pa.string())]), storage_options=options)
    check(s3, "rows", [])
    lb.write(uri, pa.table({"id": [1, 2], "city": ["Lima", None]}), storage_options=options)
    lb.Table(uri, storage_options=options).append(pa.table({"id": [3], "city": ["Oslo"]}))
    check(s3, "rows", [{"id": 1, "city": "Lima"}, {"id": 2, "city": None}, {"id": 3, "city": "Oslo"}])
    lb.write(
        uri, pa.table({"id": [4], "city": ["Rome"]}), mode="overwrite", where="id = 1 OR city = 'Rome'", storage_options=options
    )
    check(s3, "rows", [{"id": 2, "city": None}, {"id": 3, "city": "Oslo"}, {"id": 4, "city": "Rome"}])
    lb.write(uri, pa.table({"id": [5], "city": ["Bern"]}), mode="overwrite", storage_options=options)
    check(s3, "rows", [{"id": 5, "city": "Bern"}])
    assert commits(s3, "rows") == [0, 1, 2, 3, 4]


def test_partitions_are_written_and_replaced(s3: S3) -> None:
    uri, options = s3.uri("partitions"), s3.options
    odd = "São/x y%é=&?+#"
    rows = pa.table({"id": [1, 2, 3, 4], "city": ["Lima", odd, None, "Lima"]})
    lb.write(uri, rows, partition_by="city", storage_options=options)
    check(
        s3,
        "partitions",
        [{"id": 1, "city": "Lima"}, {"id": 2, "city": odd}, {"id": 3, "city": None}, {"id": 4, "city": "Lima"}],
    )
    files = lb.Table(uri, storage_options=options).scan(where=f"city = '{odd}'").files()
    assert files.num_rows == 1
    lb.write(uri, pa.table({"id": [5], "city": ["Lima"]}), mode="overwrite", where="city = 'Lima'", storage_options=options)
    lb.write(uri, pa.table({"id": [6], "city": [odd]}), mode="overwrite", partitions="dynamic", storage_options=options)
    check(s3, "partitions", [{"id": 3, "city": None}, {"id": 5, "city": "Lima"}, {"id": 6, "city": odd}])


def test_columns_are_merged(s3: S3) -> None:
    uri, options = s3.uri("columns"), s3.options
    lb.write(uri, pa.table({"id": [1]}), storage_options=options)
    with pytest.raises(lb.SchemaMismatchError):
        lb.write(uri, pa.table({"id": [2], "rush": [True]}), storage_options=options)
    lb.write(uri, pa.table({"id": [2], "rush": [True]}), schema_mode="merge", storage_options=options)
    check(s3, "columns", [{"id": 1, "rush": None}, {"id": 2, "rush": True}])
    assert commits(s3, "columns") == [0, 1]


def test_an_application_writes_once(s3: S3) -> None:
    uri, options = s3.uri("once"), s3.options
    lb.create(uri, IDS, storage_options=options)
    first = lb.write(uri, pa.table({"id": [1]}), txn=("job", 7), storage_options=options)
    again = lb.write(uri, pa.table({"id": [1]}), txn=("job", 7), storage_options=options)
    earlier = lb.write(uri, pa.table({"id": [2]}), txn=("job", 6), storage_options=options)
    later = lb.write(uri, pa.table({"id": [3]}), txn=("job", 8), storage_options=options)
    assert [(done.version, done.committed) for done in (first, again, earlier, later)] == [
        (1, True),
        (1, False),
        (1, False),
        (2, True),
    ]
    check(s3, "once", [{"id": 1}, {"id": 3}])


def test_a_checkpoint_stands_for_the_commits_before(s3: S3) -> None:
    uri, options, log = s3.uri("checkpoint"), s3.options, s3.folder / "checkpoint" / "_delta_log"
    for number in range(3):
        lb.write(uri, pa.table({"id": [number]}), storage_options=options)
    lb.write(uri, pa.table({"id": [10]}), mode="overwrite", where="id = 1 OR id = 10", storage_options=options)
    written = lb.Table(uri, storage_options=options).checkpoint()
    assert (written.version, written.num_files, written.num_tombstones) == (3, 3, 1)
    lb.write(uri, pa.table({"id": [11]}), storage_options=options)
    # The next read uses the checkpoint, because the commits before it are deleted.
    for version in range(4):
        (log / f"{version:020}.json").unlink()
    check(s3, "checkpoint", [{"id": 0}, {"id": 2}, {"id": 10}, {"id": 11}])


def test_the_past_can_be_read(s3: S3) -> None:
    uri, options = s3.uri("past"), s3.options
    lb.create(uri, IDS, storage_options=options)
    lb.write(uri, pa.table({"id": [1, 2]}), user_metadata="first", storage_options=options)
    lb.write(uri, pa.table({"id": [3]}), mode="overwrite", where="id > 1", storage_options=options)
    lb.write(uri, pa.table({"id": [4]}), mode="overwrite", storage_options=options)
    table = lb.Table(uri, storage_options=options)
    for version, ids in ([0, []], [1, [1, 2]], [2, [1, 3]], [3, [4]]):
        then = lb.Table(uri, version=version, storage_options=options)
        assert sorted(then.to_arrow()["id"].to_pylist()) == ids
        old = DeltaTable(uri, version=version, storage_options=options).to_pyarrow_table()
        assert sorted(pa.table(old)["id"].to_pylist()) == ids
        # The timestamp of a commit opens exactly its version.
        moment = next(entry.timestamp for entry in table.history() if entry.version == version)
        assert lb.Table(uri, timestamp=moment, storage_options=options).version == version
    told = [(entry.version, entry.operation, entry.parameters.get("mode"), entry.user_metadata) for entry in table.history()]
    assert told == [
        (3, "WRITE", "Overwrite", None),
        (2, "WRITE", "Overwrite", None),
        (1, "WRITE", "Append", "first"),
        (0, "CREATE TABLE", None, None),
    ]


# --- refused operations -------------------------------------------------------------------


ATTEMPTS: dict[str, Callable[[str, dict[str, str]], object]] = {
    "create": lambda uri, options: lb.create(uri, IDS, storage_options=options),
    "append": lambda uri, options: lb.write(uri, pa.table({"id": [1]}), storage_options=options),
    "overwrite": lambda uri, options: lb.write(uri, pa.table({"id": [1]}), mode="overwrite", storage_options=options),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("aws_secret_access_key", "the store denies access: check the permissions of the credentials in use"),
        # This server returns "not found" where S3 returns "forbidden". lakebed must not take it for
        # a missing table.
        ("aws_access_key_id", "No user exists with the provided access key ID"),
    ],
    ids=["secret", "key"],
)
def test_wrong_credentials_write_nothing(
    s3: S3, attempt: Callable[[str, dict[str, str]], object], option: str, said: str
) -> None:
    lb.create(s3.uri("mine"), IDS, mode="ignore", storage_options=s3.options)
    before = everything(s3)
    for uri in (s3.uri("mine"), s3.uri("nobodys")):
        with pytest.raises(lb.StoreError) as caught:
            attempt(uri, {**s3.options, option: "mistyped"})
        assert str(caught.value).startswith(uri)
        assert said in str(caught.value)
        assert "mistyped" not in str(caught.value)
        assert caught.value.retryable is False
    assert everything(s3) == before


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_missing_bucket_is_not_created(s3: S3, attempt: Callable[[str, dict[str, str]], object]) -> None:
    before = everything(s3)
    with pytest.raises(lb.StoreError, match=r"^s3://nowhere/t.*NoSuchBucket") as caught:
        attempt("s3://nowhere/t", s3.options)
    assert caught.value.retryable is False
    assert everything(s3) == before


def everything(s3: S3) -> set[Path]:
    """Returns all files of the server, in this bucket and beside it."""
    return set(s3.folder.parent.rglob("*"))
