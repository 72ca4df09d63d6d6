//! Plain web servers, which can only be read.

pub(super) mod connect;
pub(super) mod options;
mod ranges;
mod read_only;
pub(super) mod url;
