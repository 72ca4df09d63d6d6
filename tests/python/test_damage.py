"""Damaged tables. Each one either returns the right rows with a warning, or raises an error that
names the damaged file.

Hints, checkpoints, compactions and checksums can be replaced, so reading continues without them and
logs one warning. Commits, data files and deletion vectors cannot be replaced, so reading stops and
names the file. Each case damages a copy of a table of the corpus.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lakebed as lb
from corpus import canon
from corpus.oracle import Oracle
from damage import Action, Broken, cut, empty, flip, garble, lengthen_footer, zero_middle


@dataclass(frozen=True)
class Rows:
    """The read returns the rows of the undamaged table, and the number of logged warnings is one of
    these.
    """

    warnings: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Fails:
    """A read fails with this error, and the message matches this regular expression."""

    error: type[Exception]
    match: str


WARNED = Rows((1,))
QUIET = Rows((0,))
EITHER = Rows((0, 1))


@dataclass(frozen=True)
class Damage:
    table: str
    breaks: Callable[[Broken], object]
    outcome: Rows | Fails


_DAMAGES: dict[str, Damage] = {}


def damage(table: str, outcome: Rows | Fails) -> Callable[[Callable[[Broken], object]], Callable[[Broken], object]]:
    def register(breaks: Callable[[Broken], object]) -> Callable[[Broken], object]:
        add(breaks.__name__, table, outcome, breaks)
        return breaks

    return register


def add(name: str, table: str, outcome: Rows | Fails, breaks: Callable[[Broken], object]) -> None:
    assert name not in _DAMAGES, name
    _DAMAGES[name] = Damage(table, breaks, outcome)


# ---- the hint ------------------------------------------------------------------------------------

HINTED = "checkpoint_every_second_commit"  # checkpoints at 2, 4, 6, 8, 10; all commits are there


@damage(HINTED, QUIET)
def hint_missing(table: Broken) -> None:
    (table.log / "_last_checkpoint").unlink()


@damage(HINTED, QUIET)
def hint_of_an_older_checkpoint(table: Broken) -> None:
    table.put_hint({"version": 4, "size": 7})


def _add_hint(name: str, outcome: Rows, content: Callable[[Action], bytes | str | Action]) -> None:
    add(f"hint_{name}", HINTED, outcome, lambda table: table.put_hint(content(table.hint())))


_add_hint("empty", WARNED, lambda hint: b"")
_add_hint("torn", WARNED, lambda hint: b'{"version":10,"siz')
_add_hint("of_noise", WARNED, lambda hint: bytes(range(256)))
_add_hint("that_is_no_object", WARNED, lambda hint: "[10]")
_add_hint("without_version", WARNED, lambda hint: '{"size": 10}')
_add_hint("of_a_version_that_is_text", WARNED, lambda hint: '{"version": "ten"}')
_add_hint("of_a_negative_version", WARNED, lambda hint: '{"version": -1}')
_add_hint("of_a_version_beyond_all_numbers", WARNED, lambda hint: '{"version": 99999999999999999999999}')
_add_hint("of_a_version_to_come", WARNED, lambda hint: {"version": 99, "size": 3})
_add_hint("of_a_version_without_checkpoint", EITHER, lambda hint: {"version": 9, "size": 3})
_add_hint("with_wrong_parts", EITHER, lambda hint: {"version": hint["version"], "size": hint["size"], "parts": 7})
_add_hint(
    "with_wrong_sizes", EITHER, lambda hint: {"version": hint["version"], "size": 1, "sizeInBytes": 1, "numOfAddFiles": 1000}
)
_add_hint("with_wrong_checksum", WARNED, lambda hint: {**hint, "checksum": "0" * 32})


# ---- checkpoints ---------------------------------------------------------------------------------

CLASSIC_ALONE = "classic_checkpoint_with_json"  # the commits before the checkpoint are gone
PARTS = "several_kinds_of_checkpoint"  # one version with a classic and a multi-part checkpoint; all commits are there
PARTS_ALONE = "multi_part_checkpoint"
V2 = "v2_checkpoint_with_all_commits"  # JSON on top, several sidecars
V2_ALONE = "v2_checkpoint_in_json_with_many_sidecars"

_BREAKS: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": empty,
    "cut": cut,
    "of_noise": garble,
    "with_zeros": zero_middle,
    "with_an_endless_footer": lengthen_footer,
}

for _name, _break in _BREAKS.items():
    add(f"checkpoint_{_name}", HINTED, WARNED, lambda table, b=_break: b(table.checkpoints()[-1]))
    add(
        f"checkpoint_{_name}_without_hint",
        HINTED,
        QUIET if _name == "missing" else EITHER if _name == "empty" else WARNED,
        lambda table, b=_break: (b(table.checkpoints()[-1]), (table.log / "_last_checkpoint").unlink()),
    )
    if _name != "missing":
        add(
            f"only_checkpoint_{_name}",
            CLASSIC_ALONE,
            Fails(lb.CorruptTableError, r"checkpoint|0{19}0\.json"),
            lambda table, b=_break: b(table.checkpoints()[-1]),
        )
    add(f"part_{_name}", PARTS, WARNED, lambda table, b=_break: (_classic(table).unlink(), b(_fullest(table))))
    add(f"sidecar_{_name}", V2, WARNED, lambda table, b=_break: b(table.sidecars()[-1]))
    add(
        f"only_sidecar_{_name}",
        V2_ALONE,
        Fails(lb.LakebedError, r"_sidecars/"),
        lambda table, b=_break: b(table.sidecars()[-1]),
    )


def _classic(table: Broken) -> Path:
    (found,) = (path for path in table.checkpoints() if path.name.count(".") == 2)
    return found


def _fullest(table: Broken) -> Path:
    """Returns the largest part. A reader may not need a smaller part, which can have no file of the
    table.
    """
    return max(table.checkpoints(), key=lambda path: path.stat().st_size)


@damage(HINTED, WARNED)
def all_checkpoints_cut(table: Broken) -> None:
    for checkpoint in table.checkpoints():
        cut(checkpoint)


@damage(HINTED, WARNED)
def two_newest_checkpoints_empty(table: Broken) -> None:
    for checkpoint in table.checkpoints()[-2:]:
        empty(checkpoint)


@damage(HINTED, WARNED)
def checkpoint_that_is_a_data_file(table: Broken) -> None:
    shutil.copy(table.data_files()[0], table.checkpoints()[-1])


@damage(PARTS, EITHER)
def classic_checkpoint_cut_beside_parts(table: Broken) -> None:
    cut(_classic(table))


@damage(PARTS_ALONE, Fails(lb.CorruptTableError, r"checkpoint|0{19}0\.json"))
def only_parts_incomplete(table: Broken) -> None:
    table.checkpoints()[0].unlink()


def _top(table: Broken) -> Path:
    return table.checkpoints()[-1]


@damage(V2, WARNED)
def v2_top_torn(table: Broken) -> None:
    _top(table).write_bytes(_top(table).read_bytes()[:-20])


@damage(V2, WARNED)
def v2_top_without_checkpoint_metadata(table: Broken) -> None:
    lines = _top(table).read_text().splitlines()
    _top(table).write_text("\n".join(line for line in lines if "checkpointMetadata" not in line))


@damage(V2, QUIET)
def v2_top_with_blank_lines(table: Broken) -> None:
    _top(table).write_text(_top(table).read_text().replace("\n", "\r\n\r\n"))


@damage("log_compactions", EITHER)
def compaction_torn(table: Broken) -> None:
    cut(sorted(table.log.glob("0*.compacted.json"))[0])


@damage(HINTED, EITHER)
def version_checksum_torn(table: Broken) -> None:
    cut(table.log / f"{10:020}.crc")


@damage(HINTED, EITHER)
def version_checksum_of_noise(table: Broken) -> None:
    garble(table.log / f"{10:020}.crc")


def _add_checksum(name: str, outcome: Rows, change: Callable[[Action], object]) -> None:
    def breaks(table: Broken) -> None:
        path = table.log / f"{10:020}.crc"
        content = json.loads(path.read_bytes())
        change(content)
        path.write_text(json.dumps(content))

    add(f"version_checksum_{name}", HINTED, outcome, breaks)


_add_checksum("with_wrong_counts", WARNED, lambda crc: crc.update(numFiles=999, tableSizeBytes=1))
_add_checksum("of_an_unknown_reader_version", WARNED, lambda crc: crc["protocol"].update(minReaderVersion=9))
_add_checksum("of_an_unreadable_schema", WARNED, lambda crc: crc["metadata"].update(schemaString="{}"))
_add_checksum("of_another_table", WARNED, lambda crc: crc["metadata"].update(id="another"))
_add_checksum("with_another_property", WARNED, lambda crc: crc["metadata"].update(configuration={"delta.appendOnly": "true"}))


# ---- commits -------------------------------------------------------------------------------------

PLAIN = "columns_added"  # versions 0 to 3, no checkpoint


@damage(PLAIN, Fails(lb.CorruptTableError, r"\b1\b|0{19}1"))
def gap_in_the_commits(table: Broken) -> None:
    table.commit(1).unlink()


@damage(PLAIN, Fails(lb.CorruptTableError, r"\b0\b|0{20}"))
def first_commit_missing(table: Broken) -> None:
    table.commit(0).unlink()


@damage(HINTED, Fails(lb.CorruptTableError, r"\b7\b|0{19}7"))
def gap_after_the_checkpoint(table: Broken) -> None:
    for checkpoint in table.checkpoints()[-2:]:
        checkpoint.unlink()
    table.commit(7).unlink()


@damage(HINTED, QUIET)
def gap_before_the_checkpoint(table: Broken) -> None:
    table.commit(7).unlink()


@damage(PLAIN, Fails(lb.CorruptTableError, r"0{19}3\.json"))
def commit_torn(table: Broken) -> None:
    table.commit(3).write_bytes(table.commit(3).read_bytes()[:-30])


@damage(PLAIN, Fails(lb.CorruptTableError, r"0{19}2\.json"))
def commit_of_noise(table: Broken) -> None:
    garble(table.commit(2))


for _content in (b"", b"\n", b" \r\n\n"):
    for _version in (1, 3):
        for _has_checksums in (True, False):

            def _break(
                table: Broken, content: bytes = _content, version: int = _version, has_checksums: bool = _has_checksums
            ) -> None:
                table.commit(version).write_bytes(content)
                if not has_checksums:
                    table.forget_checksums()

            _kind = {b"": "of_no_bytes", b"\n": "of_a_newline"}.get(_content, "of_blanks")
            _where = f"{_kind}_at_{_version}_{'with' if _has_checksums else 'without'}_checksums"
            add(f"commit_{_where}", PLAIN, Fails(lb.CorruptTableError, rf"0{{19}}{_version}\.json: it holds no action"), _break)


@damage(HINTED, QUIET)
def commit_of_no_bytes_below_a_checkpoint(table: Broken) -> None:
    empty(table.commit(7))


@damage(PLAIN, QUIET)
def commit_with_crlf_and_blank_lines(table: Broken) -> None:
    content = table.commit(3).read_text()
    table.commit(3).write_bytes(("\r\n" + content.replace("\n", "\r\n \t\r\n\r\n")).encode())


@damage(PLAIN, QUIET)
def commit_without_its_last_newline(table: Broken) -> None:
    table.commit(3).write_text(table.commit(3).read_text().rstrip("\n"))


@damage(PLAIN, QUIET)
def unknown_actions_and_fields(table: Broken) -> None:
    table.edit(lambda kind, content: content.update({"fromTheFuture": {"a": [1, None]}}))
    table.add_line({"actionOfTheFuture": {"path": "x"}}, 3)
    table.add_line({}, 3)


@damage(PLAIN, Fails(lb.CorruptTableError, r"0{20}\.json"))
def add_without_a_path(table: Broken) -> None:
    table.edit(lambda kind, content: content.pop("path") if kind == "add" else None, 0)


@damage(PLAIN, Fails(lb.CorruptTableError, r"(?i)protocol"))
def no_protocol(table: Broken) -> None:
    _drop_action(table, "protocol")


@damage(PLAIN, Fails(lb.CorruptTableError, r"(?i)metadata"))
def no_metadata(table: Broken) -> None:
    _drop_action(table, "metaData")


def _drop_action(table: Broken, kind: str) -> None:
    for version in range(4):
        lines = table.commit(version).read_text().splitlines(keepends=True)
        table.commit(version).write_text("".join(line for line in lines if not line.startswith(f'{{"{kind}"')))
    table.forget_checksums()


@damage(PLAIN, Fails(lb.CorruptTableError, "schema"))
def schema_torn(table: Broken) -> None:
    table.edit(lambda kind, content: content.update(schemaString=content["schemaString"][:-5]) if kind == "metaData" else None)


@damage(PLAIN, Fails(lb.LakebedError, "hologram"))
def schema_of_an_unknown_type(table: Broken) -> None:
    table.edit(
        lambda kind, content: (
            content.update(schemaString=content["schemaString"].replace('"integer"', '"hologram"'))
            if kind == "metaData"
            else None
        )
    )


# ---- other files in the log ----------------------------------------------------------------------


@damage(PLAIN, QUIET)
def foreign_files_in_the_log(table: Broken) -> None:
    content = table.commit(0).read_bytes()
    for name in (
        ".00000000000000000004.json.crc",
        ".00000000000000000004.json",
        "00000000000000000004.json.tmp",
        "00000000000000000004.json.1a2b.tmp",
        ".00000000000000000004.json.5f4d.tmp",
        "_00000000000000000004.json",
        "00000000000000000004.json~",
        "0000000000000000004x.json",
        "00000000000000000004.crc",
        "00000000000000000004.compacted.json",
        "00000000000000000003.checkpoint.parquet.tmp",
        "00000000000000000003.checkpoint.parquet.crc",
        "00000000000000000003.checkpoint.1.parquet.part",
        "_last_vacuum_info",
        "_last_checkpoint.tmp",
        "README",
        "notes from 100%25.txt",
    ):
        (table.log / name).write_bytes(content)


@damage(PLAIN, QUIET)
def folders_in_the_log(table: Broken) -> None:
    for folder in ("_staged_commits", "_commits", "backup", ".tmp", "_sidecars", "00000000000000000004.json.d"):
        (table.log / folder).mkdir(exist_ok=True)
        shutil.copy(table.commit(0), table.log / folder / f"{4:020}.json")
        shutil.copy(table.commit(0), table.log / folder / f"{4:020}.0a1b2c3d-0000-4000-8000-000000000000.json")


@damage(HINTED, QUIET)
def wrong_hadoop_checksums(table: Broken) -> None:
    for checksum in table.log.glob(".*.crc"):
        garble(checksum)


@damage(PLAIN, QUIET)
def foreign_files_beside_the_data(table: Broken) -> None:
    data = table.data_files()[0]
    for name in ("part-99999-orphan.snappy.parquet", "_temporary.parquet", ".hidden.parquet", "deletion_vector_orphan.bin"):
        shutil.copy(data, table.root / name)


# ---- data files ----------------------------------------------------------------------------------

for _name, _break in _BREAKS.items():

    def _break_data(table: Broken, b: Callable[[Path], object] = _break) -> None:
        b(table.data_files()[0])

    add(f"data_file_{_name}", "statistics_of_two_columns", Fails(lb.LakebedError, r"part-0.*\.parquet"), _break_data)


@damage("statistics_of_two_columns", Fails(lb.LakebedError, r"part-0.*\.parquet"))
def data_file_grown(table: Broken) -> None:
    with table.data_files()[0].open("ab") as file:
        file.write(b"more than the log speaks of")


@damage(PLAIN, QUIET)
def statistics_that_are_no_json(table: Broken) -> None:
    table.edit(lambda kind, content: content.update(stats="{torn") if kind == "add" else None)


@damage(PLAIN, QUIET)
def statistics_of_other_types(table: Broken) -> None:
    wrong = '{"numRecords":1,"minValues":{"a":"x","c":7,"b":{}},"maxValues":{"a":[],"c":null,"b":true},"nullCount":{"a":"none"}}'
    table.edit(lambda kind, content: content.update(stats=wrong) if kind == "add" else None)


@damage("several_columns_out_of_order", Fails(lb.CorruptTableError, "(?i)partition"))
def partition_value_that_is_no_number(table: Broken) -> None:
    table.edit(lambda kind, content: content["partitionValues"].update(a="one") if kind == "add" else None)


# ---- deletion vectors ----------------------------------------------------------------------------

VECTORS = "several_vectors_in_one_file"
_VECTOR_FILE = r"deletion_vector_[0-9a-f-]+\.bin"


def _add_vector(name: str, breaks: Callable[[Path], object]) -> None:
    add(f"vector_file_{name}", VECTORS, Fails(lb.LakebedError, _VECTOR_FILE), lambda table: breaks(table.vector_file()))


_add_vector("missing", Path.unlink)
_add_vector("empty", empty)
_add_vector("cut", cut)
_add_vector("of_noise", garble)
_add_vector("with_another_size", lambda path: flip(path, 3))
_add_vector("with_another_magic_number", lambda path: flip(path, 5))
_add_vector("with_a_flipped_bit", lambda path: flip(path, 25))
_add_vector("with_another_crc", lambda path: flip(path, path.stat().st_size - 1))


def _add_descriptor(name: str, **fields: Any) -> None:
    """Changes the descriptors of the latest commit that has deletion vectors. A callable gets the
    old value.
    """

    def breaks(table: Broken) -> None:
        def change(kind: str, content: Action) -> None:
            vector = content.get("deletionVector")
            if kind == "add" and vector:
                vector.update({key: value(vector[key]) if callable(value) else value for key, value in fields.items()})

        table.edit(change, 3)

    add(f"vector_{name}", VECTORS, Fails(lb.LakebedError, r"(?i)deletion.vector|outside|0{19}3\.json"), breaks)


_add_descriptor("of_another_cardinality", cardinality=lambda old: old + 1)
_add_descriptor("of_another_size", sizeInBytes=lambda old: old + 4)
_add_descriptor("of_a_negative_size", sizeInBytes=-1)
_add_descriptor("of_an_enormous_size", sizeInBytes=2**31 - 1)
_add_descriptor("beyond_the_file", offset=1_000_000)
_add_descriptor("of_an_unknown_kind", storageType="x")
_add_descriptor("with_a_bad_name", pathOrInlineDv="not base 85 \u00e4")
_add_descriptor("inline_of_noise", storageType="i", pathOrInlineDv="00000" * 8, offset=None)
_add_descriptor("outside_of_the_table", storageType="p", pathOrInlineDv="file:///etc/hostname")


# ---- the protocol and paths ----------------------------------------------------------------------


def _add_protocol(name: str, outcome: Rows | Fails, **fields: Any) -> None:
    def change(kind: str, content: Action) -> None:
        if kind == "protocol":
            content.clear()
            content.update(fields)

    add(f"protocol_{name}", PLAIN, outcome, lambda table: table.edit(change))


_V3 = {"minReaderVersion": 3, "minWriterVersion": 7}
_add_protocol("of_reader_version_4", Fails(lb.UnsupportedFeatureError, "4"), minReaderVersion=4, minWriterVersion=7)
_add_protocol("of_writer_version_99", QUIET, minReaderVersion=1, minWriterVersion=99)
_add_protocol("with_an_unknown_writer_feature", QUIET, **_V3, readerFeatures=[], writerFeatures=["aWriterFeature"])
_add_protocol("of_reader_version_2", QUIET, minReaderVersion=2, minWriterVersion=5)
_add_protocol(
    "with_unknown_reader_features",
    Fails(lb.UnsupportedFeatureError, "firstUnknown.*secondUnknown"),
    **_V3,
    readerFeatures=["deletionVectors", "firstUnknown", "secondUnknown"],
    writerFeatures=["deletionVectors", "firstUnknown", "secondUnknown"],
)


def _add_path(name: str, path: str) -> None:
    """Replaces the path of the first file. lakebed refuses the path before it reads data."""
    add(
        f"path_{name}",
        PLAIN,
        Fails(lb.LakebedError, "outside the table|out of the table"),
        lambda table: table.edit(lambda kind, content: content.update(path=path) if kind == "add" else None, 0),
    )


_add_path("up", "../secret.parquet")
_add_path("up_and_down", "a/../../secret.parquet")
_add_path("up_encoded", "%2e%2e/secret.parquet")
_add_path("up_with_an_encoded_slash", "..%2Fsecret.parquet")
_add_path("absolute", "/etc/secret.parquet")
_add_path("absolute_uri", "file:///etc/secret.parquet")
_add_path("absolute_uri_of_another_store", "s3://bucket/secret.parquet")


# ---- the test ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", _DAMAGES)
def test_damage(name: str, tmp_path: Path, corpus_by_name: dict[str, Oracle], caplog: pytest.LogCaptureFixture) -> None:
    case = _DAMAGES[name]
    oracle = corpus_by_name[case.table]
    table = Broken(oracle, tmp_path)
    case.breaks(table)
    caplog.set_level(logging.WARNING, logger="lakebed")
    if isinstance(case.outcome, Fails):
        with pytest.raises(case.outcome.error) as failure:
            lb.Table(table.root).to_arrow()
        assert isinstance(failure.value, lb.LakebedError)
        assert re.search(case.outcome.match, str(failure.value)), str(failure.value)
        return
    opened = lb.Table(table.root)
    assert opened.version == oracle.latest
    assert canon.rows(opened.to_arrow()) == oracle.rows(oracle.latest)
    warnings = [record.getMessage() for record in caplog.records if record.name.startswith("lakebed")]
    assert len(warnings) in case.outcome.warnings, warnings
    rows = oracle.rows(oracle.latest)
    for condition, positions in list(oracle.conditions(oracle.latest).items())[:4]:
        assert canon.rows(opened.to_arrow(where=condition)) == [rows[i] for i in positions], condition


def test_a_table_without_a_log(tmp_path: Path) -> None:
    with pytest.raises(lb.TableNotFoundError, match=re.escape(tmp_path.name)):
        lb.Table(tmp_path)
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(lb.TableNotFoundError, match=re.escape(tmp_path.name)):
        lb.Table(tmp_path)
    with pytest.raises(lb.TableNotFoundError, match="nowhere"):
        lb.Table(tmp_path / "nowhere")


def test_empty_commit_fails_open(tmp_path: Path) -> None:
    """This holds also if the checksum makes reading the commit unnecessary, and for a handle that
    was opened before.
    """
    path = tmp_path / "t"
    older = lb.write(path, [{"id": 1}]).table
    lb.write(path, [{"id": 2}])
    newest = path / "_delta_log" / f"{1:020}.json"
    assert newest.with_suffix(".crc").exists()
    newest.write_bytes(b"")
    for open_it in (
        lambda: lb.Table(path),
        older.refresh,
        lambda: lb.write(path, [{"id": 3}]),
        lambda: older.append([{"id": 3}]),
    ):
        with pytest.raises(lb.CorruptTableError, match=r"0{19}1\.json: it holds no action") as caught:
            open_it()
        assert caught.value.path.endswith(newest.name)
    assert lb.Table(path, version=0).to_arrow().to_pylist() == [{"id": 1}]


@pytest.mark.spark
def test_delta_spark_ignores_empty_commit(tmp_path: Path, spark: Any) -> None:
    """docs/why.md describes this. If Delta Spark changes it, lakebed's behaviour must be decided
    again.
    """
    path = tmp_path / "t"
    for row in (1, 2, 3):
        lb.write(path, [{"id": row}])
    (path / "_delta_log" / f"{1:020}.json").write_bytes(b"")
    read = spark.read.format("delta").load(str(path))
    assert sorted(row.id for row in read.collect()) == [1, 3]


def test_older_versions_around_a_gap(tmp_path: Path, corpus_by_name: dict[str, Oracle]) -> None:
    """A missing commit makes only the versions unreadable that need it."""
    oracle = corpus_by_name[HINTED]
    table = Broken(oracle, tmp_path)
    table.commit(7).unlink()
    assert lb.Table(table.root, version=8).version == 8
    assert lb.Table(table.root, version=6).version == 6
    with pytest.raises(lb.LakebedError, match=r"\b7\b|0{19}7"):
        lb.Table(table.root, version=7)


def test_wrong_checksum_warns_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t"
    for number in range(2):
        lb.write(path, [{"id": number}])
    commit = path / "_delta_log" / f"{1:020}.json"
    commit.write_text("".join(line for line in commit.read_text().splitlines(keepends=True) if not line.startswith('{"add"')))
    caplog.set_level(logging.WARNING, logger="lakebed")
    table = lb.Table(path)
    assert (table.count(), table.detail().num_files, table.files().num_rows) == (1, 1, 1)
    [warning] = [record.getMessage() for record in caplog.records if record.name.startswith("lakebed")]
    assert f"{1:020}.crc contradicts the log: it has 2 files" in warning
    # The checksum of the next version is not computed from a wrong checksum.
    newer = table.append([{"id": 3}]).table
    assert not (path / "_delta_log" / f"{2:020}.crc").exists()
    assert (newer.count(), newer.detail().num_files) == (2, 2)
