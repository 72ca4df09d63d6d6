"""The exceptions of lakebed.

Every error is a :class:`LakebedError`, and also the standard kind where Python has the word, so that ``except FileNotFoundError``
works for somebody who has never heard of lakebed. Messages say what went wrong, where, and what to do; they never hold secrets.
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
    """What all errors of lakebed are."""


class TableNotFoundError(LakebedError, FileNotFoundError):
    """There is no Delta table at this place."""


class TableExistsError(LakebedError, FileExistsError):
    """There is a Delta table at a place where none may be."""


class VersionNotFoundError(LakebedError, LookupError):
    """The version or timestamp lies outside what the log can still reconstruct."""


class UnsupportedFeatureError(LakebedError, NotImplementedError):
    """The table needs features that lakebed does not have."""

    #: The features, by the names that the protocol gives them.
    features: list[str]

    def __init__(self, message: str, *, features: list[str] | None = None) -> None:
        super().__init__(message)
        self.features = features or []


class CorruptTableError(LakebedError, ValueError):
    """A file of the table is not what the protocol asks for."""

    #: The file at fault, as far as it is known.
    path: str

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class SchemaMismatchError(LakebedError, ValueError):
    """Data and schema do not fit."""


class ConstraintViolationError(LakebedError, ValueError):
    """Rows break a rule of the table: a CHECK constraint, NOT NULL, an invariant."""


class CommitConflictError(LakebedError):
    """Another writer's commit came first, and this one does not agree with it."""

    #: In what they do not agree: ``ProtocolChanged``, ``MetadataChanged``, ``ConcurrentAppend``, ``ConcurrentDeleteRead``,
    #: ``ConcurrentDeleteDelete``, ``ConcurrentTransaction`` or ``ConcurrentWrite``.
    kind: str
    #: The version that came first.
    winner_version: int
    #: Whether the same operation, begun again on the newest version, may succeed.
    retryable: bool

    def __init__(self, message: str, *, kind: str = "", winner_version: int = -1, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.winner_version = winner_version
        self.retryable = retryable


class CommitUnknownError(LakebedError):
    """Nobody could say whether the commit was written: neither the store's answer to it nor the log itself could be had.

    Look for ``txn_id`` among the ``commitInfo`` of the newest versions before doing it again.
    """

    #: The ``txnId`` of the commit.
    txn_id: str

    def __init__(self, message: str, *, txn_id: str = "") -> None:
        super().__init__(message)
        self.txn_id = txn_id


class PredicateError(LakebedError, ValueError):
    """A filter cannot be understood: its syntax, a column, a type."""


class StoreError(LakebedError, OSError):
    """A store refused, failed or could not be reached."""

    #: The object or prefix that was asked for.
    object: str
    #: Whether the same call may succeed later.
    retryable: bool

    def __init__(self, message: str, *, object: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.object = object
        self.retryable = retryable


class ResourceExhaustedError(LakebedError, MemoryError):
    """The memory budget does not suffice."""


class InvalidInputError(LakebedError, ValueError):
    """An argument that makes no sense."""
