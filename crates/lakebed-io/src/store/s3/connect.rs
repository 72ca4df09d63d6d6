//! Connects to S3, and to services that speak its protocol.

use std::sync::Arc;

use lakebed_core::error::Result;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::ClientConfigKey;

use super::credentials::for_s3;
use crate::store::abilities::Listing;
use crate::store::connection::{ConnectError, ConnectRequest, Connection, USER_AGENT, check_encrypted, client_value, elsewhere};
use crate::store::credentials::Refreshing;

/// The domains at which AWS runs S3.
const AWS: [&str; 3] = ["amazonaws.com", "amazonaws.com.cn", "api.aws"];

impl ConnectRequest<'_> {
    pub(in crate::store) fn s3(&self, bucket: &str) -> Result<Connection, ConnectError> {
        use AmazonS3ConfigKey as K;
        let found = self.settings::<K>()?;
        check_encrypted(&found, &[K::Endpoint, K::S3Endpoint], K::Client(ClientConfigKey::AllowHttp))?;
        let endpoint = [K::S3Endpoint, K::Endpoint].iter().find_map(|key| elsewhere(found.get(key)?, &AWS));
        let mut builder = AmazonS3Builder::new().with_config(K::Client(ClientConfigKey::UserAgent), USER_AGENT);
        for (key, value) in found {
            let value = if let K::Client(client) = key { client_value(client, value)? } else { value };
            builder = builder.with_config(key, value);
        }
        builder = builder.with_bucket_name(bucket).with_retry(self.retry.clone());
        if let Some(source) = &self.with.credentials {
            builder = builder.with_credentials(Arc::new(Refreshing::new(Arc::clone(source), self.with.env.clone(), for_s3)));
        }
        // The directory buckets of S3 Express list in no order and cannot begin at a name.
        let listing = if bucket.ends_with("--x-s3") { Listing::Whole } else { Listing::Ordered };
        Ok(Connection { endpoint, listing, ..self.paged(Arc::new(builder.build()?)) })
    }
}
