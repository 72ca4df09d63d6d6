//! Plain web servers, which can only be read.

pub(super) mod connect;
pub(super) mod options;
pub(super) mod url;
