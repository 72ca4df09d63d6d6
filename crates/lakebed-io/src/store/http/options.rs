//! The options of plain web servers.

use object_store::ClientConfigKey;

use crate::store::options::Key;

/// Plain web servers take only the options of the HTTP client, and no environment variables.
impl Key for ClientConfigKey {
    const ENV_PREFIX: &'static str = "";
    fn names_identity(self) -> bool {
        false
    }
    fn shadowed_by(self) -> &'static [Self] {
        &[]
    }
}
