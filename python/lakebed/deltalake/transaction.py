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
    """What follows a commit.

    - ``create_checkpoint``: False writes no checkpoint, also if one is due.
    - ``cleanup_expired_logs``: whether log files that are out of date are deleted after a
      checkpoint. None leaves it to ``delta.enableExpiredLogCleanup``.
    """

    create_checkpoint: bool = True
    cleanup_expired_logs: bool | None = None


@dataclass
class CommitProperties:
    """The properties of a commit.

    - ``custom_metadata``: values of JSON, which become entries of the commit's ``commitInfo``.
    - ``max_commit_retries``: lakebed retries for a time, so only 0 has a meaning: no retry.
    - ``app_transactions``: applications and their numbers of the commit. A commit that the table
      knows already is not repeated.
    """

    custom_metadata: dict[str, Any] | None = None
    max_commit_retries: int | None = None
    app_transactions: list[Transaction] | None = None


def commit_options(
    what: str, commit: CommitProperties | None, hooks: PostCommitHookProperties | None, *, takes_txn: bool = True
) -> dict[str, Any]:
    """Returns the options of lakebed that are not None."""
    after = {} if hooks is None else _upkeep(hooks)
    if commit is None:
        return after
    if not isinstance(commit, CommitProperties):
        raise TypeError(f"commit_properties is of type {type(commit).__name__}: it must be a CommitProperties")
    text, entries = _entries(commit.custom_metadata)
    options: dict[str, Any] = {
        **after,
        "user_metadata": text,
        "commit_info": entries,
        "txn": _txn(what, commit.app_transactions, takes_txn),
    }
    if commit.max_commit_retries == 0:
        options["timeout"] = 0
    elif commit.max_commit_retries is not None:
        unsupported.ignored(
            what, "lakebed retries a commit for a time, not a number of times", max_commit_retries=commit.max_commit_retries
        )
    return {name: value for name, value in options.items() if value is not None}


def _upkeep(hooks: PostCommitHookProperties) -> dict[str, Any]:
    if not isinstance(hooks, PostCommitHookProperties):
        raise TypeError(f"post_commithook_properties is of type {type(hooks).__name__}: it must be a PostCommitHookProperties")
    found = {"checkpoint": None if hooks.create_checkpoint else False, "clean_up_log": hooks.cleanup_expired_logs}
    given = {name: value for name, value in found.items() if value is not None}
    return {"upkeep": given} if given else {}


def _entries(found: Mapping[str, Any] | None) -> tuple[str | None, dict[str, Any] | None]:
    """Returns the text ``userMetadata`` and the other entries of custom metadata."""
    if found is None:
        return None, None
    if not isinstance(found, Mapping):
        raise ValueError(f"CommitProperties.custom_metadata is of type {type(found).__name__}: it must be a mapping")
    for key, value in found.items():
        if not isinstance(key, str):
            raise ValueError(f"CommitProperties.custom_metadata has the key {key!r}: keys must be strings")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            kind = type(error).__name__
            raise ValueError(
                f"CommitProperties.custom_metadata value for {key!r} must be JSON-serializable: {kind}: {error}"
            ) from None
    entries = dict(found)
    text = entries.pop("userMetadata", None)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"CommitProperties.custom_metadata: userMetadata={text!r}: it must be a string")
    return text, entries or None


def _txn(what: str, found: list[Transaction] | None, takes_txn: bool) -> list[tuple[str, int]] | None:
    if not found:
        return None
    if not takes_txn:
        raise UnsupportedFeatureError(f"{what}: app_transactions: lakebed identifies only commits that change rows")
    return [(one.app_id, one.version) for one in found]


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
