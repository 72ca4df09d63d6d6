//! HDFS.

pub(super) mod connect;
pub(super) mod options;
pub(super) mod url;
