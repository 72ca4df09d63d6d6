//! URLs of HDFS.

use lakebed_core::error::Result;
use url::Url;

use crate::store::url::location::{Service, StoreLocation, decoded};

impl StoreLocation {
    pub(in crate::store) fn from_hdfs_url(url: &Url, text: &str) -> Result<Self> {
        let path = decoded(url.path(), text)?;
        let mut origin = url.clone();
        origin.set_path("");
        // Without a host in the URL, `fs.defaultFS` of Hadoop's configuration names it.
        Self::new(Service::Hdfs { url: origin.to_string() }, url.clone(), path, Vec::new())
    }
}
