"""The table features that deltalake names."""

from __future__ import annotations

from enum import Enum

__all__ = ["TableFeatures", "feature_name"]


class TableFeatures(Enum):
    """Features that :meth:`TableAlterer.add_feature` enables."""

    ColumnMapping = "ColumnMapping"
    DeletionVectors = "DeletionVectors"
    TimestampNanos = "TimestampNanos"
    TimestampWithoutTimezone = "TimestampWithoutTimezone"
    V2Checkpoint = "V2Checkpoint"
    AppendOnly = "AppendOnly"
    Invariants = "Invariants"
    CheckConstraints = "CheckConstraints"
    ChangeDataFeed = "ChangeDataFeed"
    GeneratedColumns = "GeneratedColumns"
    IdentityColumns = "IdentityColumns"
    RowTracking = "RowTracking"
    DomainMetadata = "DomainMetadata"
    IcebergCompatV1 = "IcebergCompatV1"
    VariantType = "VariantType"
    VariantTypePreview = "VariantTypePreview"


#: Names in the protocol that differ from the enum's name in more than the first letter.
_NAMES = {"TimestampWithoutTimezone": "timestampNtz", "VariantTypePreview": "variantType-preview"}


def feature_name(feature: TableFeatures) -> str:
    """Returns the name of the feature in the protocol."""
    if not isinstance(feature, TableFeatures):
        raise TypeError(f"{feature!r} is of type {type(feature).__name__}: it must be one of TableFeatures")
    name = feature.value
    return _NAMES.get(name, name[0].lower() + name[1:])
