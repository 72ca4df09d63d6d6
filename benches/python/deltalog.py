"""Writes Delta logs without an engine: commits, checkpoints, checksums, hints.

The checkpoint has the columns and the Parquet form of Delta Spark 4.4: unordered rows, all action
columns, statistics both as JSON and as typed columns, INT96 timestamps, snappy, 20,000-row pages
with page indexes, and row groups of about 128 MB. With `json_only` it has the form of the
checkpoints of deltalake 1.6: JSON statistics only, uncompressed, row groups of 2^20 rows.
`tables.py` decides the content of the rows. Read `write_checkpoint` first.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MAP = pa.map_(pa.string(), pa.string())
TEXTS = pa.list_(pa.field("element", pa.string()))
TYPES = {
    "long": pa.int64(),
    "integer": pa.int32(),
    "string": pa.string(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us"),
    "date": pa.date32(),
}
DV = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
        ("maxRowIndex", pa.int64()),
    ]
)
TXN = pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])
REMOVE = pa.struct(
    [
        ("path", pa.string()),
        ("deletionTimestamp", pa.int64()),
        ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()),
        ("partitionValues", MAP),
        ("size", pa.int64()),
        ("deletionVector", DV),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
    ]
)
METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", MAP)])),
        ("schemaString", pa.string()),
        ("partitionColumns", TEXTS),
        ("configuration", MAP),
        ("createdTime", pa.int64()),
    ]
)
PROTOCOL = pa.struct(
    [("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()), ("readerFeatures", TEXTS), ("writerFeatures", TEXTS)]
)
DOMAIN = pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())])

ROWS_PER_PAGE = 20_000
SPARK_ROWS_PER_GROUP = 600_000  # The number of these rows in 128 MB.
DELTALAKE_ROWS_PER_GROUP = 1 << 20
# Spark's writer drops a dictionary that does not make the first page smaller. It keeps a dictionary
# only for these columns.
DICTIONARY = (
    "partitionValues.key_value",
    "partitionValues_parsed",
    "numRecords",
    "nullCount",
    "minValues.ship",
    "maxValues.ship",
)


@dataclass(frozen=True)
class TableShape:
    """The schema of a bench table: data columns with statistics and at most one partition column."""

    columns: dict[str, str]
    partition: tuple[str, str] | None = None
    features: tuple[str, ...] = ()

    @property
    def protocol(self) -> dict[str, Any]:
        """The protocol action."""
        if self.features:
            return {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": list(self.features),
                "writerFeatures": list(self.features),
            }
        return {"minReaderVersion": 1, "minWriterVersion": 2}

    @property
    def metadata(self) -> dict[str, Any]:
        """The metaData action."""
        every = self.columns | (dict([self.partition]) if self.partition else {})
        fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in every.items()]
        return {
            "id": "6d1b2a7e-5f0c-4c59-9a55-3f1d6f0a7c11",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": compact({"type": "struct", "fields": fields}),
            "partitionColumns": [self.partition[0]] if self.partition else [],
            "configuration": {},
            "createdTime": 1_577_836_800_000,
        }

    def add_type(self, json_only: bool) -> pa.StructType:
        """The type of a checkpoint's `add` column."""
        fields: list[Any] = [
            ("path", pa.string()),
            ("partitionValues", MAP),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("tags", MAP),
            ("deletionVector", DV),
            ("baseRowId", pa.int64()),
            ("defaultRowCommitVersion", pa.int64()),
            ("clusteringProvider", pa.string()),
            ("stats", pa.string()),
        ]
        if not json_only:
            bounds = pa.struct([(n, TYPES[t]) for n, t in self.columns.items()])
            nulls = pa.struct([(n, pa.int64()) for n in self.columns])
            if self.partition:
                fields.append(("partitionValues_parsed", pa.struct([(self.partition[0], TYPES[self.partition[1]])])))
            fields.append(
                (
                    "stats_parsed",
                    pa.struct([("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", nulls)]),
                )
            )
        return pa.struct(fields)


def compact(value: Any) -> str:
    """Returns JSON without spaces, as in the log."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def commit_path(table: Path, version: int) -> Path:
    """Returns the path of a version's commit."""
    return table / "_delta_log" / f"{version:020}.json"


def write_commit(table: Path, version: int, actions: list[dict[str, Any]]) -> None:
    """Writes one commit. A commitInfo comes before the actions."""
    info = {
        "commitInfo": {
            "timestamp": 1_600_000_000_000 + version * 60_000,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append"},
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
            "engineInfo": "lakebed-bench",
        }
    }
    path = commit_path(table, version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(compact(a) + "\n" for a in [info, *actions]))


def add_struct(files: pa.Table, shape: TableShape, json_only: bool) -> pa.StructArray:
    """Returns the `add` column of a checkpoint from the flat columns of `tables.make_files`."""
    count, kind = len(files), shape.add_type(json_only)

    def flat(name: str) -> pa.Array:
        return files[name].combine_chunks()

    def bounds(side: str) -> pa.StructArray:
        return pa.StructArray.from_arrays([flat(f"{side}.{n}") for n in shape.columns], names=list(shape.columns))

    offsets = pa.array(range(count + 1), pa.int32())
    columns: dict[str, pa.Array] = {n: flat(n) for n in ("path", "size", "modificationTime", "stats")}
    columns["dataChange"] = pa.repeat(False, count)
    if shape.partition:
        name = shape.partition[0]
        columns["partitionValues"] = pa.MapArray.from_arrays(offsets, pa.repeat(name, count), flat("partition"))
        columns["partitionValues_parsed"] = pa.StructArray.from_arrays([flat("partition_parsed")], names=[name])
    zeros = pa.StructArray.from_arrays(
        [pa.repeat(pa.scalar(0, pa.int64()), count) for _ in shape.columns], names=list(shape.columns)
    )
    columns["stats_parsed"] = pa.StructArray.from_arrays(
        [flat("numRecords"), bounds("min"), bounds("max"), zeros], names=["numRecords", "minValues", "maxValues", "nullCount"]
    )
    arrays = [columns.get(f.name, pa.nulls(0)).cast(f.type) if f.name in columns else pa.nulls(count, f.type) for f in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def write_checkpoint(
    table: Path, version: int, files: pa.Table, removes: list[dict[str, Any]], shape: TableShape, json_only: bool
) -> None:
    """Writes the checkpoint of `version` and its hint: the live `files`, tombstones, one txn,
    protocol, metadata.
    """
    schema = pa.schema(
        [
            ("txn", TXN),
            ("add", shape.add_type(json_only)),
            ("remove", REMOVE),
            ("metaData", METADATA),
            ("protocol", PROTOCOL),
            ("domainMetadata", DOMAIN),
        ]
    )
    adds = [add_struct(files, shape, json_only) if f.name == "add" else pa.nulls(len(files), f.type) for f in schema]
    metadata = shape.metadata | {"configuration": [], "format": {"provider": "parquet", "options": []}}
    rest = [{"remove": r | {"partitionValues": list(r["partitionValues"].items())}} for r in removes]
    rest += [{"txn": {"appId": "stream", "version": 7}}, {"protocol": shape.protocol}, {"metaData": metadata}]
    rows = pa.concat_tables([pa.Table.from_arrays(adds, schema=schema), pa.Table.from_pylist(rest, schema=schema)])
    path = table / "_delta_log" / f"{version:020}.checkpoint.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pages: dict[str, Any] = {
        "write_page_index": True,
        "max_rows_per_page": ROWS_PER_PAGE,
        "data_page_size": 1 << 20,
        "store_schema": False,
    }
    if json_only:
        pq.write_table(rows, path, compression="none", row_group_size=DELTALAKE_ROWS_PER_GROUP, **pages)
    else:
        writer = pq.ParquetFile(_schema_only(schema)).schema
        names = [writer.column(i).path for i in range(len(writer.names))]
        pq.write_table(
            rows,
            path,
            compression="snappy",
            row_group_size=SPARK_ROWS_PER_GROUP,
            use_deprecated_int96_timestamps=True,
            use_dictionary=[n for n in names if any(d in n for d in DICTIONARY)],
            **pages,
        )
    hint = {"version": version, "size": len(rows), "sizeInBytes": path.stat().st_size, "numOfAddFiles": len(files)}
    (path.parent / "_last_checkpoint").write_text(compact(hint))


def write_checksum(table: Path, version: int, files: int, size_bytes: int, shape: TableShape) -> None:
    """Writes the version checksum, as Delta Spark writes one for each commit."""
    text = compact(
        {
            "txnId": "3a8959b3-282a-4878-8b05-f020a8cbf675",
            "tableSizeBytes": size_bytes,
            "numFiles": files,
            "numMetadata": 1,
            "numProtocol": 1,
            "setTransactions": [{"appId": "stream", "version": 7}],
            "domainMetadata": [],
            "metadata": shape.metadata,
            "protocol": shape.protocol,
        }
    )
    commit_path(table, version).with_suffix(".crc").write_text(text)


def _schema_only(schema: pa.Schema) -> pa.BufferReader:
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink, store_schema=False)
    return pa.BufferReader(sink.getvalue())
