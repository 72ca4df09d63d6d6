"""The types of a Delta schema, as deltalake names them, with their forms in JSON and Arrow."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Self

__all__ = ["ArrayType", "DataType", "Field", "MapType", "PrimitiveType", "Schema", "StructType", "VariantType"]

_PRIMITIVES = (
    "string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date", "timestamp",
    "timestamp_ntz", "void",
)  # fmt: skip
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


class _Described:
    """What types, fields and schemas share: they are equal if their JSON is."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    #: The word for it in messages.
    _what: ClassVar[str]

    def _value(self) -> Any:
        """Returns the value that its JSON describes."""
        raise NotImplementedError

    def _arrow(self) -> Any:
        """Returns the equal object of pyarrow."""
        raise NotImplementedError

    @classmethod
    def _of(cls, found: Any) -> Any:
        """Returns the object that a value of JSON describes."""
        return data_type(found)

    def to_json(self) -> str:
        """Returns the JSON of the Delta log."""
        return json.dumps(self._value(), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def _parse(cls, text: str) -> Self:
        return cls._checked(cls._of(_parsed(text)))

    @classmethod
    def _checked(cls, found: Any) -> Self:
        if not isinstance(found, cls):
            raise TypeError(f"Type is not {cls._what}")
        return found

    def __arrow_c_schema__(self) -> object:
        """Arrow's PyCapsule interface."""
        found: Any = self._arrow()
        return found.__arrow_c_schema__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Described) and self._value() == other._value()

    def __str__(self) -> str:
        return repr(self)


class _Typed(_Described):
    """A data type."""

    #: Its name in the log.
    type: str

    def to_arrow(self) -> pa.DataType:
        """Returns the type of pyarrow."""
        return self._arrow()  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, type_json: str) -> Self:
        """Reads the JSON of the Delta log."""
        return cls._parse(type_json)

    @classmethod
    def from_arrow(cls, data_type: Any) -> Self:
        """Returns the type of Delta for any object with ``__arrow_c_schema__``."""
        from lakebed.deltalake import arrow_types

        return cls._checked(arrow_types.from_type(arrow_types.imported(data_type).type))

    def _arrow(self) -> Any:
        from lakebed.deltalake import arrow_types

        return arrow_types.to_type(self)


class PrimitiveType(_Typed):
    """A type without parts, such as ``"long"`` or ``"decimal(10,2)"``."""

    _what = "primitive"

    def __init__(self, data_type: str) -> None:
        found = _DECIMAL.fullmatch(data_type)
        if found is not None:
            precision, scale = int(found[1]), int(found[2])
            if not 1 <= precision <= 38 or scale > precision:
                raise ValueError(
                    f"invalid type string: {data_type}: the precision is 1 to 38, and the scale is at most the precision"
                )
            data_type = f"decimal({precision},{scale})"
        elif data_type not in _PRIMITIVES:
            raise ValueError(f"invalid type string: {data_type}")
        self.type = data_type

    def _value(self) -> Any:
        return self.type

    def __repr__(self) -> str:
        return f'PrimitiveType("{self.type}")'


class VariantType(_Typed):
    """Semi-structured values."""

    _what = "a variant"
    type = "variant"

    def _value(self) -> Any:
        return self.type

    def __repr__(self) -> str:
        return "VariantType()"


class ArrayType(_Typed):
    """A list of elements of one type."""

    _what = "an array"
    type = "array"

    def __init__(self, element_type: Any, contains_null: bool = True) -> None:
        self.element_type: DataType = data_type(element_type)
        self.contains_null = contains_null

    def _value(self) -> Any:
        return {"type": "array", "elementType": self.element_type._value(), "containsNull": self.contains_null}

    def __repr__(self) -> str:
        return f"ArrayType({self.element_type!r}, contains_null={self.contains_null})"


class MapType(_Typed):
    """A map from keys of one type to values of one type."""

    _what = "a map"
    type = "map"

    def __init__(self, key_type: Any, value_type: Any, value_contains_null: bool = True) -> None:
        self.key_type: DataType = data_type(key_type)
        self.value_type: DataType = data_type(value_type)
        self.value_contains_null = value_contains_null

    def _value(self) -> Any:
        types = {"keyType": self.key_type._value(), "valueType": self.value_type._value()}
        return {"type": "map", **types, "valueContainsNull": self.value_contains_null}

    def __repr__(self) -> str:
        return f"MapType({self.key_type!r}, {self.value_type!r}, value_contains_null={self.value_contains_null})"


class Field(_Described):
    """A column, or a field of a struct. ``type`` may be the name of a primitive type."""

    _what = "a field"

    def __init__(self, name: str, type: Any, nullable: bool = True, metadata: Mapping[str, Any] | None = None) -> None:
        if metadata is not None and not isinstance(metadata, Mapping):
            raise ValueError(f"metadata={metadata!r}: it must be a mapping of strings to values of JSON")
        self.name = name
        self.type: DataType = data_type(type)
        self.nullable = nullable
        self.metadata: dict[str, Any] = {key: _note(value) for key, value in (metadata or {}).items()}

    @classmethod
    def _of(cls, found: Any) -> Any:
        return field(found)

    def _value(self) -> Any:
        facts = {"nullable": self.nullable, "metadata": self.metadata}
        return {"name": self.name, "type": self.type._value(), **facts}

    def to_arrow(self) -> pa.Field[Any]:
        """Returns the field of pyarrow. Metadata that is not text is left out."""
        return self._arrow()  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, field_json: str) -> Self:
        """Reads the JSON of the Delta log."""
        return cls._parse(field_json)

    @classmethod
    def from_arrow(cls, field: Any) -> Field:
        """Returns the field for any object with ``__arrow_c_schema__``."""
        from lakebed.deltalake import arrow_types

        return arrow_types.from_field(arrow_types.imported(field))

    def _arrow(self) -> Any:
        from lakebed.deltalake import arrow_types

        return arrow_types.to_field(self)

    def __repr__(self) -> str:
        notes = f", metadata={self.metadata}" if self.metadata else ""
        return f"Field({self.name}, {self.type!r}, nullable={self.nullable}{notes})"


class StructType(_Typed):
    """A type with named fields."""

    _what = "a struct"
    type = "struct"

    def __init__(self, fields: Sequence[Field]) -> None:
        for one in fields:
            if not isinstance(one, Field):
                raise TypeError(f"{one!r} is of type {type(one).__name__}: it must be a Field")
        self.fields = list(fields)

    def _value(self) -> Any:
        return {"type": "struct", "fields": [one._value() for one in self.fields]}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fields!r})"


class Schema(StructType):
    """The columns of a table. It is equal to a :class:`StructType` with the same fields."""

    @classmethod
    def _of(cls, found: Any) -> Any:
        return cls(cls._struct(found).fields)

    @staticmethod
    def _struct(found: Any) -> StructType:
        return StructType._checked(data_type(found))

    @property
    def invariants(self) -> list[tuple[str, str]]:
        """The invariants of the columns, as pairs of a column and an SQL predicate."""
        return list(_invariants(self, ""))

    def to_arrow(self, as_large_types: bool = False) -> pa.Schema:  # type: ignore[override]
        """Returns the schema of pyarrow.

        ``as_large_types`` selects the types with offsets of 64 bits for strings, binaries and
        lists.
        """
        from lakebed.deltalake import arrow_types

        return arrow_types.to_schema(self, as_large_types)

    @classmethod
    def from_json(cls, schema_json: str) -> Self:
        """Reads the JSON of the Delta log."""
        return cls._parse(schema_json)

    @classmethod
    def from_arrow(cls, data_type: Any) -> Self:
        """Returns the schema for any object with ``__arrow_c_schema__``."""
        from lakebed.deltalake import arrow_types

        if not hasattr(data_type, "__arrow_c_schema__"):
            raise ValueError(f"{data_type!r} is not an object with __arrow_c_schema__")
        return cls(arrow_types.from_schema(data_type))

    def _arrow(self) -> Any:
        return self.to_arrow()


DataType = PrimitiveType | MapType | StructType | ArrayType | VariantType


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(str(error)) from None


def _note(value: Any) -> Any:
    """Returns a value of a field's metadata. The log keeps lists and mappings as their JSON."""
    return json.dumps(value, separators=(",", ":")) if isinstance(value, (list, dict)) else value


def data_type(found: Any) -> DataType:
    """Returns the type that a value of JSON describes. A type is returned as it is."""
    if isinstance(found, (PrimitiveType, MapType, StructType, ArrayType, VariantType)):
        return found
    if found == "variant":
        return VariantType()
    if isinstance(found, str):
        return PrimitiveType(found)
    kind = found.get("type") if isinstance(found, dict) else None
    try:
        if kind == "struct":
            return StructType([field(one) for one in found["fields"]])
        if kind == "array":
            return ArrayType(found["elementType"], found["containsNull"])
        if kind == "map":
            return MapType(found["keyType"], found["valueType"], found["valueContainsNull"])
    except KeyError as error:
        raise ValueError(f"the type {kind} has no {error.args[0]}: {found!r}") from None
    raise ValueError(f"Invalid data type: {found!r}")


def field(found: Any) -> Field:
    """Returns the field that a value of JSON describes."""
    if not isinstance(found, dict) or not {"name", "type", "nullable"} <= found.keys():
        raise ValueError(f"{found!r} does not describe a field: it needs name, type and nullable")
    return Field(found["name"], found["type"], nullable=found["nullable"], metadata=found.get("metadata"))


def _invariants(struct: StructType, path: str) -> Any:
    for one in struct.fields:
        place = f"{path}.{one.name}" if path else one.name
        if (text := one.metadata.get("delta.invariants")) is not None:
            yield place, _parsed(text)["expression"]["expression"]
        if isinstance(one.type, StructType):
            yield from _invariants(one.type, place)
