//! Local files.

pub(super) mod file_path;
pub(super) mod files;
pub(super) mod hidden_file;
pub(super) mod read_at;
pub(super) mod rules;
pub(super) mod url;
pub(super) mod within;
mod write;
