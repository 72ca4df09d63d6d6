//! Connects to Google Cloud Storage.

use std::sync::Arc;

use lakebed_core::error::{Error, Result};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

use super::credentials::for_gcs;
use crate::store::connection::{ConnectError, ConnectRequest, Connection, USER_AGENT, client_value, elsewhere};
use crate::store::credentials::Refreshing;
use crate::store::options::Settings;

/// The domain at which Google runs GCS.
const GOOGLE: [&str; 1] = ["googleapis.com"];

impl ConnectRequest<'_> {
    pub(in crate::store) fn gcs(&self, bucket: &str) -> Result<Connection, ConnectError> {
        use GoogleConfigKey as K;
        let found = self.settings::<K>()?;
        let endpoint = gcs_address(&found).and_then(|address| elsewhere(&address, &GOOGLE));
        // The message of serde about a broken key may quote a part of the key.
        if let Some(key) = found.get(&K::ServiceAccountKey)
            && !serde_json::from_str::<serde_json::Value>(key).is_ok_and(|key| key.is_object())
        {
            return Err(Error::invalid_input(
                "storage option google_service_account_key is not the JSON text of a service account's key",
            )
            .into());
        }
        let mut builder = GoogleCloudStorageBuilder::new().with_config(K::Client(ClientConfigKey::UserAgent), USER_AGENT);
        for (key, value) in found {
            let value = if let K::Client(client) = key { client_value(client, value)? } else { value };
            builder = builder.with_config(key, value);
        }
        builder = builder.with_bucket_name(bucket).with_retry(self.retry.clone());
        if let Some(source) = &self.with.credentials {
            builder = builder.with_credentials(Arc::new(Refreshing::new(Arc::clone(source), self.with.env.clone(), for_gcs)));
        }
        Ok(Connection { endpoint, ..self.paged(Arc::new(builder.build()?)) })
    }
}

/// Returns the address of GCS in the options or in the key of a service account.
fn gcs_address(found: &Settings<GoogleConfigKey>) -> Option<String> {
    let of_key = || {
        let key: serde_json::Value = serde_json::from_str(found.get(&GoogleConfigKey::ServiceAccountKey)?).ok()?;
        Some(key.get("gcs_base_url")?.as_str()?.to_owned())
    };
    found.get(&GoogleConfigKey::BaseUrl).cloned().or_else(of_key)
}
