//! Credentials for Google Cloud Storage.

use lakebed_core::error::Result;
use object_store::gcp::GcpCredential;

use crate::store::credentials::{Credentials, lacks};

pub(in crate::store) fn for_gcs(credentials: &Credentials) -> Result<GcpCredential> {
    const NAMES: [&str; 5] = ["token", "bearer_token", "google_token", "google_bearer_token", "access_token"];
    credentials
        .options
        .iter()
        .find(|(name, _)| NAMES.contains(&name.trim().to_ascii_lowercase().as_str()))
        .map(|(_, token)| GcpCredential { bearer: token.clone() })
        .ok_or_else(|| lacks("GCS", "token", credentials))
}
