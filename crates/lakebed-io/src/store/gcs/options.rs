//! The options of Google Cloud Storage.

use object_store::gcp::GoogleConfigKey;

use crate::store::options::Key;
use crate::store::options::secrecy::{Secrecy, of_client};

impl Key for GoogleConfigKey {
    const ENV_PREFIX: &'static str = "GOOGLE_";
    const ENV_ALIAS: Option<(&'static str, &'static str)> = Some(("SERVICE_ACCOUNT", "google_service_account"));
    fn names_identity(self) -> bool {
        matches!(self, Self::ServiceAccount | Self::ServiceAccountKey | Self::ApplicationCredentials | Self::SkipSignature)
    }
    fn shadowed_by(self) -> &'static [Self] {
        &[]
    }
}

/// Returns the secrecy of an option.
pub(in crate::store) fn of_gcs(key: GoogleConfigKey) -> Secrecy {
    use GoogleConfigKey as K;
    match key {
        K::Bucket => Secrecy::Plain,
        K::BaseUrl => Secrecy::Address,
        K::SkipSignature | K::ServiceAccount | K::ApplicationCredentials => Secrecy::Identity,
        K::ServiceAccountKey => Secrecy::SecretOfIdentity,
        K::Client(key) => of_client(key),
        _ => Secrecy::Unknown,
    }
}
