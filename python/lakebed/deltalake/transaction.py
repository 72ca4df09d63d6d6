"""The properties of a commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lakebed.deltalake import unsupported
from lakebed.deltalake.exceptions import UnsupportedFeatureError

__all__ = [
    "AddAction",
    "CommitProperties",
    "PostCommitHookProperties",
    "RemoveAction",
    "Transaction",
    "commit_options",
    "create_table_with_add_actions",
    "custom_metadata",
]


@dataclass
class Transaction:
    """An application and its number of a commit. lakebed notes the time itself."""

    app_id: str
    version: int
    last_updated: int | None = None

    def __repr__(self) -> str:
        return f"Transaction(app_id={self.app_id}, version={self.version}, last_updated={self.last_updated})"


@dataclass
class AddAction:
    """A data file that a commit adds."""

    path: str
    size: int
    partition_values: Mapping[str, str | None]
    modification_time: int
    data_change: bool
    stats: str


@dataclass
class RemoveAction:
    """A data file that a commit removes."""

    path: str
    data_change: bool
    deletion_timestamp: int
    size: int | None = None
    partition_values: Mapping[str, str | None] | None = None

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"RemoveAction({facts})"


@dataclass
class PostCommitHookProperties:
    """What follows a commit. In lakebed, properties of the table decide that."""

    create_checkpoint: bool = True
    cleanup_expired_logs: bool | None = None


@dataclass
class CommitProperties:
    """The properties of a commit.

    - ``custom_metadata``: values of JSON. lakebed keeps them as the commit's ``userMetadata``.
    - ``max_commit_retries``: lakebed retries for a time, so only 0 has a meaning: no retry.
    - ``app_transactions``: at most one. A commit that the table knows already is not repeated.
    """

    custom_metadata: dict[str, Any] | None = None
    max_commit_retries: int | None = None
    app_transactions: list[Transaction] | None = None


def commit_options(
    what: str, commit: CommitProperties | None, hooks: PostCommitHookProperties | None, *, takes_txn: bool = True
) -> dict[str, Any]:
    """Returns the options of lakebed that are not None."""
    if hooks is not None:
        _check_hooks(what, hooks)
    if commit is None:
        return {}
    if not isinstance(commit, CommitProperties):
        raise TypeError(f"commit_properties is of type {type(commit).__name__}: it must be a CommitProperties")
    options: dict[str, Any] = {
        "user_metadata": _user_metadata(commit.custom_metadata),
        "txn": _txn(what, commit.app_transactions, takes_txn),
    }
    if commit.max_commit_retries == 0:
        options["timeout"] = 0
    elif commit.max_commit_retries is not None:
        unsupported.ignored(
            what, "lakebed retries a commit for a time, not a number of times", max_commit_retries=commit.max_commit_retries
        )
    return {name: value for name, value in options.items() if value is not None}


def _check_hooks(what: str, hooks: PostCommitHookProperties) -> None:
    if not isinstance(hooks, PostCommitHookProperties):
        raise TypeError(f"post_commithook_properties is of type {type(hooks).__name__}: it must be a PostCommitHookProperties")
    if not hooks.create_checkpoint:
        unsupported.ignored(what, "delta.checkpointInterval says when lakebed writes a checkpoint", create_checkpoint=False)
    if hooks.cleanup_expired_logs is not None:
        why = "set the table's property delta.enableExpiredLogCleanup to this value instead"
        unsupported.refused(what, why, cleanup_expired_logs=hooks.cleanup_expired_logs)


def _user_metadata(found: Mapping[str, Any] | None) -> str | None:
    """Returns custom metadata as one text. A single ``userMetadata`` is that text."""
    if found is None:
        return None
    if not isinstance(found, Mapping):
        raise ValueError(f"CommitProperties.custom_metadata is of type {type(found).__name__}: it must be a mapping")
    for key, value in found.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            kind = type(error).__name__
            raise ValueError(
                f"CommitProperties.custom_metadata value for {key!r} must be JSON-serializable: {kind}: {error}"
            ) from None
    if found.keys() == {"userMetadata"} and isinstance(found["userMetadata"], str):
        return found["userMetadata"]
    return json.dumps(found)


def custom_metadata(commit_info: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the custom metadata of a commit, as entries of its ``commitInfo``."""
    try:
        found = json.loads(commit_info.get("userMetadata") or "")
    except ValueError:
        return {}
    return {key: value for key, value in found.items() if key not in commit_info} if isinstance(found, dict) else {}


def _txn(what: str, found: list[Transaction] | None, takes_txn: bool) -> tuple[str, int] | None:
    if not found:
        return None
    if not takes_txn:
        raise UnsupportedFeatureError(f"{what}: app_transactions: lakebed identifies only commits that change rows")
    if len(found) > 1:
        raise UnsupportedFeatureError(f"{what}: app_transactions has {len(found)} entries: a commit of lakebed has one at most")
    return found[0].app_id, found[0].version


def create_table_with_add_actions(
    table_uri: str,
    schema: Any,
    add_actions: list[AddAction],
    mode: Literal["error", "append", "overwrite", "ignore"] = "error",
    partition_by: list[str] | str | None = None,
    name: str | None = None,
    description: str | None = None,
    configuration: Mapping[str, str | None] | None = None,
    storage_options: dict[str, str] | None = None,
    *args: Any,
    commit_properties: CommitProperties | None = None,
    post_commithook_properties: PostCommitHookProperties | None = None,
) -> None:
    """Is not available: lakebed commits only files that it wrote or converted itself."""
    raise UnsupportedFeatureError(
        "create_table_with_add_actions: lakebed commits only files that it wrote itself: use write_deltalake or convert_to_deltalake"
    )
