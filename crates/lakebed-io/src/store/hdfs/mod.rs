//! HDFS.

pub(super) mod connect;
pub(super) mod options;
mod rename;
pub(super) mod url;
