//! The requests to a store: objects are read, listed, written and deleted.
//!
//! Each file adds methods to [`Store`](super::Store). `retry` repeats requests.

pub(super) mod chunks;
mod copy;
pub(super) mod delete;
pub(super) mod folder;
mod get;
mod list;
mod list_recursive;
mod list_tree;
pub(super) mod object_version;
mod put;
mod read;
mod readahead;
mod retry;
pub(super) mod upload;
pub(super) mod windows;
