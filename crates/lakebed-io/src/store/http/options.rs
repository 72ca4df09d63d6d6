//! The options of plain web servers.

use object_store::ClientConfigKey;

use crate::store::options::Key;

/// Plain web servers have only the client's options, and no environment of their own.
impl Key for ClientConfigKey {
    const ENV_PREFIX: &'static str = "";
    fn names_identity(self) -> bool {
        false
    }
    fn shadowed_by(self) -> &'static [Self] {
        &[]
    }
}
