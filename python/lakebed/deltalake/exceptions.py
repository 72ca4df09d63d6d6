"""The exceptions of deltalake.

Each one that the door raises is also the exception of lakebed for the same failure. So both
``except lakebed.deltalake.DeltaError`` and ``except lakebed.LakebedError`` catch it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lakebed import errors

__all__ = [
    "CommitFailedError",
    "DeltaError",
    "DeltaProtocolError",
    "SchemaMismatchError",
    "TableNotFoundError",
    "translated",
]


class DeltaError(Exception):
    """The base class of all errors of the door."""


class TableNotFoundError(DeltaError, errors.TableNotFoundError):
    """There is no Delta table at this location."""


class DeltaProtocolError(DeltaError):
    """The table or the rows violate the protocol, or the table needs a feature that is missing."""


class CommitFailedError(DeltaError):
    """A commit failed."""


class SchemaMismatchError(DeltaError, errors.SchemaMismatchError):
    """The data does not fit the schema."""


class CommitConflictError(CommitFailedError, errors.CommitConflictError):
    """Another writer committed first, and this commit conflicts with that one."""


class CommitUnknownError(CommitFailedError, errors.CommitUnknownError):
    """It is unknown whether the commit was written."""


class ConstraintViolationError(DeltaProtocolError, errors.ConstraintViolationError):
    """Rows violate a rule of the table."""


class CorruptTableError(DeltaProtocolError, errors.CorruptTableError):
    """A file of the table violates the protocol."""


class UnsupportedFeatureError(DeltaProtocolError, errors.UnsupportedFeatureError):
    """The table, or the call, needs something that lakebed does not have."""


class TableExistsError(DeltaError, errors.TableExistsError):
    """A Delta table exists at a location that must have none."""


class VersionNotFoundError(DeltaError, errors.VersionNotFoundError):
    """The log cannot reconstruct this version."""


class PredicateError(DeltaError, errors.PredicateError):
    """A predicate is invalid."""


class InvalidInputError(DeltaError, errors.InvalidInputError):
    """An argument is invalid."""


class StoreError(DeltaError, errors.StoreError):
    """A store refused a request, failed, or could not be reached."""


class ResourceExhaustedError(DeltaError, errors.ResourceExhaustedError):
    """The memory budget is too small for the operation."""


#: The exception of the door for each one of lakebed.
_OF_LAKEBED: dict[type[errors.LakebedError], type[DeltaError]] = {
    errors.CommitConflictError: CommitConflictError,
    errors.CommitUnknownError: CommitUnknownError,
    errors.ConstraintViolationError: ConstraintViolationError,
    errors.CorruptTableError: CorruptTableError,
    errors.InvalidInputError: InvalidInputError,
    errors.PredicateError: PredicateError,
    errors.ResourceExhaustedError: ResourceExhaustedError,
    errors.SchemaMismatchError: SchemaMismatchError,
    errors.StoreError: StoreError,
    errors.TableExistsError: TableExistsError,
    errors.TableNotFoundError: TableNotFoundError,
    errors.UnsupportedFeatureError: UnsupportedFeatureError,
    errors.VersionNotFoundError: VersionNotFoundError,
}


@contextmanager
def translated() -> Iterator[None]:
    """Raises the errors of lakebed as those of the door. It is a decorator, too."""
    try:
        yield
    except errors.LakebedError as error:
        kind = next((_OF_LAKEBED[one] for one in type(error).__mro__ if one in _OF_LAKEBED), None)
        if kind is None or isinstance(error, DeltaError):
            raise
        found = kind(*error.args)
        found.__dict__.update(error.__dict__)
        raise found.with_traceback(error.__traceback__) from error.__cause__
