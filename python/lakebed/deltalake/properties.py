"""The properties of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from lakebed.deltalake import unsupported
from lakebed.deltalake.exceptions import UnsupportedFeatureError

__all__ = ["BloomFilterProperties", "ColumnProperties", "WriterProperties", "file_options"]

_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
#: The least, the greatest and the default level of the codecs that have levels.
_LEVELS = {"GZIP": (0, 10, 6), "BROTLI": (0, 11, 1), "ZSTD": (1, 22, 1)}

Encoding = Literal["PLAIN", "RLE", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"]


class _Properties:
    """Properties that are equal if their values are."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


class BloomFilterProperties(_Properties):
    """Whether a column gets a Bloom filter, its share of false positives and its distinct values."""

    def __init__(self, set_bloom_filter_enabled: bool | None, fpp: float | None = None, ndv: int | None = None) -> None:
        if fpp is not None and not 0 < fpp < 1:
            raise ValueError(f"fpp={fpp!r}: it must be between 0 and 1, exclusive")
        self.set_bloom_filter_enabled = set_bloom_filter_enabled
        self.fpp = fpp
        self.ndv = ndv

    def __str__(self) -> str:
        return f"set_bloom_filter_enabled: {self.set_bloom_filter_enabled}, fpp: {self.fpp}, ndv: {self.ndv}"


class ColumnProperties(_Properties):
    """The properties of a column in Parquet files."""

    def __init__(
        self,
        dictionary_enabled: bool | None = None,
        statistics_enabled: Literal["NONE", "CHUNK", "PAGE"] | None = None,
        bloom_filter_properties: BloomFilterProperties | None = None,
        encoding: Encoding | None = None,
    ) -> None:
        if dictionary_enabled and isinstance(encoding, str):
            raise ValueError("dictionary_enabled=True and encoding exclude each other: choose one")
        self.dictionary_enabled = dictionary_enabled
        self.statistics_enabled = statistics_enabled
        self.bloom_filter_properties = bloom_filter_properties
        self.encoding = encoding

    def __str__(self) -> str:
        return (
            f"dictionary_enabled: {self.dictionary_enabled}, statistics_enabled: {self.statistics_enabled}, "
            f"bloom_filter_properties: {self.bloom_filter_properties}, encoding: {self.encoding}"
        )


class WriterProperties(_Properties):
    """The properties of Parquet files.

    lakebed knows ``compression``, ``max_row_group_size`` and columns with Bloom filters. The others
    change the layout of files and no rows. They have no effect, with a warning.
    """

    def __init__(
        self,
        data_page_size_limit: int | None = None,
        dictionary_page_size_limit: int | None = None,
        data_page_row_count_limit: int | None = None,
        write_batch_size: int | None = None,
        max_row_group_size: int | None = None,
        compression: Literal["UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"] | None = None,
        compression_level: int | None = None,
        statistics_truncate_length: int | None = None,
        default_column_properties: ColumnProperties | None = None,
        column_properties: dict[str, ColumnProperties] | None = None,
    ) -> None:
        if compression is None and compression_level is not None:
            raise ValueError(f"compression_level={compression_level!r}: Providing a compression level needs compression, too")
        self.data_page_size_limit = data_page_size_limit
        self.dictionary_page_size_limit = dictionary_page_size_limit
        self.data_page_row_count_limit = data_page_row_count_limit
        self.write_batch_size = write_batch_size
        self.max_row_group_size = max_row_group_size
        self.compression = None if compression is None else _codec(compression, compression_level)
        self.statistics_truncate_length = statistics_truncate_length
        self.default_column_properties = default_column_properties
        self.column_properties = column_properties

    def __str__(self) -> str:
        columns = ", ".join(f"column '{name}': {value}" for name, value in (self.column_properties or {}).items())
        return (
            f"WriterProperties(data_page_size_limit: {self.data_page_size_limit}, "
            f"dictionary_page_size_limit: {self.dictionary_page_size_limit}, "
            f"data_page_row_count_limit: {self.data_page_row_count_limit}, write_batch_size: {self.write_batch_size}, "
            f"max_row_group_size: {self.max_row_group_size}, compression: {self.compression}, "
            f"statistics_truncate_length: {self.statistics_truncate_length},"
            f"default_column_properties: {self.default_column_properties}, column_properties: {columns or None})"
        )

    __repr__ = __str__


def _codec(compression: str, level: int | None) -> str:
    codec = compression.upper()
    if codec not in _CODECS:
        raise ValueError(f"{compression} is not a valid Compression. Valid values are: {list(_CODECS)}")
    if codec not in _LEVELS:
        return codec
    least, most, default = _LEVELS[codec]
    if level is not None and not least <= level <= most:
        raise ValueError(f"Compression level for {codec} should fall between {least}-{most}")
    return f"{codec}({default if level is None else level})"


def file_options(what: str, properties: WriterProperties | None) -> dict[str, Any]:
    """Returns the options of lakebed for data files."""
    if properties is None:
        return {}
    if not isinstance(properties, WriterProperties):
        raise TypeError(f"writer_properties is of type {type(properties).__name__}: it must be a WriterProperties")
    why = "lakebed decides on the layout of Parquet files by itself"
    for place, given in _of_layout(properties):
        unsupported.ignored(what + place, why, **given)
    options = {
        "compression": _compression(what, properties.compression),
        "row_group_rows": properties.max_row_group_size,
        "bloom_columns": _bloom_columns(what, properties),
    }
    return {name: value for name, value in options.items() if value is not None}


def _compression(what: str, codec: str | None) -> str | None:
    """Returns the codec as lakebed spells it."""
    if codec is None:
        return None
    name = codec.partition("(")[0]
    if name == "BROTLI" or codec == "GZIP(10)":
        raise UnsupportedFeatureError(
            f"{what}: compression {codec}: lakebed writes SNAPPY, ZSTD, GZIP with levels to 9, LZ4 and UNCOMPRESSED"
        )
    return {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}.get(codec, codec.lower())


def _of_layout(properties: WriterProperties) -> Iterator[tuple[str, dict[str, Any]]]:
    """Returns the properties that lakebed does not know, with the place of each."""
    names = (
        "data_page_size_limit",
        "dictionary_page_size_limit",
        "data_page_row_count_limit",
        "write_batch_size",
        "statistics_truncate_length",
    )
    yield "", {name: getattr(properties, name) for name in names}
    columns = {f": column {name}": column for name, column in (properties.column_properties or {}).items()}
    if properties.default_column_properties is not None:
        columns[": default_column_properties"] = properties.default_column_properties
    for place, column in columns.items():
        yield place, {name: getattr(column, name) for name in ("dictionary_enabled", "statistics_enabled", "encoding")}
        if (bloom := column.bloom_filter_properties) is not None:
            yield place, {"fpp": bloom.fpp, "ndv": bloom.ndv}


def _bloom_columns(what: str, properties: WriterProperties) -> list[str] | None:
    """Returns the columns with Bloom filters."""
    default = (
        None if properties.default_column_properties is None else properties.default_column_properties.bloom_filter_properties
    )
    if default is not None and default.set_bloom_filter_enabled:
        raise UnsupportedFeatureError(
            f"{what}: default_column_properties: name the columns with Bloom filters in column_properties instead"
        )
    blooms = {name: column.bloom_filter_properties for name, column in (properties.column_properties or {}).items()}
    return [name for name, bloom in blooms.items() if bloom is not None and bloom.set_bloom_filter_enabled] or None
