"""Decodes the variant encoding (Parquet's Variant specification) into plain nested values that can
be compared.

`decode` takes the two binary values and returns the value with its kind. It decodes only as much as
a comparison needs. All exact numbers have one kind, whatever their stored width, because a writer
that shreds may store 5 as an int or as a decimal.
"""

from __future__ import annotations

import itertools
import struct
from decimal import Decimal
from typing import Any

_SIZED = {3: "<b", 4: "<h", 5: "<i", 6: "<q"}
_MICROS = {12: "timestamp", 13: "timestamp_ntz", 17: "time", 18: "timestamp_nanos", 19: "timestamp_ntz_nanos"}
_DECIMAL_BYTES = {8: 4, 9: 8, 10: 16}


def decode(metadata: bytes, value: bytes) -> list[Any]:
    """Returns the variant as `[kind, content]`. Objects have sorted `[key, variant]` pairs."""
    return _value(value, _keys(metadata))


def _keys(metadata: bytes) -> list[str]:
    width = (metadata[0] >> 6) + 1
    count = _uint(metadata, 1, width)
    start = 1 + width
    offsets = [_uint(metadata, start + i * width, width) for i in range(count + 1)]
    text = start + (count + 1) * width
    return [metadata[text + a : text + b].decode() for a, b in itertools.pairwise(offsets)]


def _value(data: bytes, keys: list[str]) -> list[Any]:
    kind, header = data[0] & 3, data[0] >> 2
    if kind == 0:
        return _primitive(header, data[1:])
    if kind == 1:
        return ["string", data[1 : 1 + header].decode()]
    is_object = kind == 2
    offset_width = (header & 3) + 1
    id_width = (header >> 2 & 3) + 1 if is_object else 0
    is_large = header >> (4 if is_object else 2) & 1
    count = _uint(data, 1, 4 if is_large else 1)
    ids = 1 + (4 if is_large else 1)
    offsets = ids + count * id_width
    values = offsets + (count + 1) * offset_width
    found = [_value(data[values + _uint(data, offsets + i * offset_width, offset_width) :], keys) for i in range(count)]
    if not is_object:
        return ["array", found]
    names = [keys[_uint(data, ids + i * id_width, id_width)] for i in range(count)]
    return ["object", sorted([name, item] for name, item in zip(names, found, strict=True))]


def _primitive(kind: int, data: bytes) -> list[Any]:
    if kind in (0, 1, 2):
        return [("null", "true", "false")[kind]]
    if kind in _SIZED:
        form = _SIZED[kind]
        return ["number", str(struct.unpack_from(form, data)[0])]
    if kind in _DECIMAL_BYTES:
        unscaled = int.from_bytes(data[1 : 1 + _DECIMAL_BYTES[kind]], "little", signed=True)
        sign, digits, _ = Decimal(unscaled).as_tuple()
        exact = Decimal((sign, digits, -data[0]))
        text = format(exact, "f")
        return ["number", text.rstrip("0").rstrip(".") if "." in text else text]
    if kind == 7:
        return ["double", repr(struct.unpack_from("<d", data)[0])]
    if kind == 14:
        return ["float", repr(struct.unpack_from("<f", data)[0])]
    if kind == 11:
        return ["date", struct.unpack_from("<i", data)[0]]
    if kind in _MICROS:
        return [_MICROS[kind], struct.unpack_from("<q", data)[0]]
    if kind in (15, 16):
        content = data[4 : 4 + _uint(data, 0, 4)]
        return ["binary", content.hex()] if kind == 15 else ["string", content.decode()]
    if kind == 20:
        return ["uuid", data[:16].hex()]
    raise ValueError(f"variant: unknown primitive type {kind}")


def _uint(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")
