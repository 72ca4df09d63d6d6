"""The exceptions of lakebed.

Every error is a :class:`LakebedError`. If Python has a standard exception for the case, the error
is an instance of it, too, so ``except FileNotFoundError`` works without lakebed's names. A message
names the failure, the location and a remedy. Messages never contain secrets.
"""

from __future__ import annotations

__all__ = [
    "CommitConflictError",
    "CommitUnknownError",
    "ConstraintViolationError",
    "CorruptTableError",
    "InvalidInputError",
    "LakebedError",
    "PredicateError",
    "ResourceExhaustedError",
    "SchemaMismatchError",
    "StoreError",
    "TableExistsError",
    "TableNotFoundError",
    "UnsupportedFeatureError",
    "VersionNotFoundError",
]


class LakebedError(Exception):
    """The base class of all errors of lakebed."""


class TableNotFoundError(LakebedError, FileNotFoundError):
    """There is no Delta table at this location."""


class TableExistsError(LakebedError, FileExistsError):
    """A Delta table exists at a location that must have none."""


class VersionNotFoundError(LakebedError, LookupError):
    """The log cannot reconstruct this version, or a version of this timestamp."""


class UnsupportedFeatureError(LakebedError, NotImplementedError):
    """The table needs features that lakebed does not have."""

    #: The names of the features in the protocol.
    features: list[str]

    def __init__(self, message: str, *, features: list[str] | None = None) -> None:
        super().__init__(message)
        self.features = features or []


class CorruptTableError(LakebedError, ValueError):
    """A file of the table violates the protocol."""

    #: The damaged file, if it is known.
    path: str

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class SchemaMismatchError(LakebedError, ValueError):
    """The data does not fit the schema."""


class ConstraintViolationError(LakebedError, ValueError):
    """Rows violate a rule of the table: a CHECK constraint, NOT NULL, an invariant."""


class CommitConflictError(LakebedError):
    """Another writer committed first, and this commit conflicts with that one."""

    #: The kind of the conflict: ``ProtocolChanged``, ``MetadataChanged``, ``ConcurrentAppend``,
    #: ``ConcurrentDeleteRead``, ``ConcurrentDeleteDelete``, ``ConcurrentTransaction`` or
    #: ``ConcurrentWrite``.
    kind: str
    #: The version of the other writer's commit.
    winner_version: int
    #: Whether a retry of the operation on the newest version may succeed.
    retryable: bool

    def __init__(self, message: str, *, kind: str = "", winner_version: int = -1, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.winner_version = winner_version
        self.retryable = retryable


class CommitUnknownError(LakebedError):
    """It is unknown whether the commit was written. The store's answer was lost, and the log could
    not be read.

    Look for ``txn_id`` in the ``commitInfo`` of the newest versions before you retry.
    """

    #: The ``txnId`` of the commit.
    txn_id: str

    def __init__(self, message: str, *, txn_id: str = "") -> None:
        super().__init__(message)
        self.txn_id = txn_id


class PredicateError(LakebedError, ValueError):
    """A predicate is invalid: its syntax, a column or a type."""


class StoreError(LakebedError, OSError):
    """A store refused a request, failed, or could not be reached."""

    #: The object or prefix of the request.
    object: str
    #: Whether the same call may succeed later.
    retryable: bool

    def __init__(self, message: str, *, object: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.object = object
        self.retryable = retryable


class ResourceExhaustedError(LakebedError, MemoryError):
    """The memory budget is too small for the operation."""


class InvalidInputError(LakebedError, ValueError):
    """An argument is invalid."""
