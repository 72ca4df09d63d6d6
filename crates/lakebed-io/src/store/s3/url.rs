//! The web addresses of S3 and R2.

use lakebed_core::error::Result;
use object_store::path::Path;
use url::Url;

use crate::store::url::location::{Service, StoreLocation, refuse, split_first};

impl StoreLocation {
    /// Returns the location of a web address, if the host is one of S3 or R2.
    pub(in crate::store) fn from_s3_address(url: &Url, host: &str, path: &Path) -> Result<Option<Self>> {
        let labels: Vec<&str> = host.split('.').collect();
        let found = match labels.as_slice() {
            ["s3", region, "amazonaws", "com"] => {
                split_first(path).map(|(bucket, rest)| (bucket, rest, vec![("region", (*region).to_owned())]))
            }
            [bucket @ .., "s3", "amazonaws", "com"] if !bucket.is_empty() => {
                Some((bucket.join("."), path.clone(), vec![("virtual_hosted_style_request", "true".to_owned())]))
            }
            [bucket @ .., "s3", region, "amazonaws", "com"] if !bucket.is_empty() => Some((
                bucket.join("."),
                path.clone(),
                vec![("region", (*region).to_owned()), ("virtual_hosted_style_request", "true".to_owned())],
            )),
            [_, "r2", "cloudflarestorage", "com"] => split_first(path).map(|(bucket, rest)| {
                (bucket, rest, vec![("region", "auto".to_owned()), ("endpoint", format!("https://{host}"))])
            }),
            _ => None,
        };
        let Some((bucket, rest, embedded)) = found else { return Ok(None) };
        let shown = Url::parse(&format!("s3://{bucket}")).map_err(|error| refuse(url.as_str(), error))?;
        Self::new(Service::S3 { bucket }, shown, rest, embedded).map(Some)
    }
}
