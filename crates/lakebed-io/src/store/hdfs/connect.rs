//! Connects to HDFS.

use std::collections::HashMap;
use std::sync::Arc;

use lakebed_core::error::Result;

use super::options::HADOOP_PREFIXES;
use crate::store::abilities::Listing;
use crate::store::connection::{ConnectError, ConnectRequest, Connection};

impl ConnectRequest<'_> {
    pub(in crate::store) fn hdfs(&self, url: &str) -> Result<Connection, ConnectError> {
        self.refuse_credentials("HDFS")?;
        let config: HashMap<&str, &str> = self
            .with
            .options
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| HADOOP_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
            .collect();
        let store = hdfs_native_object_store::HdfsObjectStoreBuilder::new().with_url(url).with_config(config).build()?;
        Ok(Connection { listing: Listing::Whole, ..self.plain(Arc::new(store)) })
    }
}
