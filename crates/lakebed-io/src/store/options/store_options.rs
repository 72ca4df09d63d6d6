//! The options by which a store is reached.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::env::Env;
use crate::store::credentials::CredentialSource;

/// The options by which a store is reached.
#[derive(Clone, Default)]
pub struct StoreOptions {
    /// The storage options, in the spelling of object_store or deltalake and in any case. An
    /// unknown key is an error.
    pub options: HashMap<String, String>,
    /// The source of credentials that expire. They replace the credentials of options and
    /// environment.
    pub credentials: Option<Arc<dyn CredentialSource>>,
    /// Whether paths in the log may lead out of the table's root, as in shallow clones.
    pub allow_absolute_paths: bool,
    /// The clock that decides when credentials expire.
    pub env: Env,
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: std::collections::BTreeSet<_> = self.options.keys().collect();
        f.debug_struct("StoreOptions")
            .field("options", &names)
            .field("credentials", &self.credentials.is_some())
            .field("allow_absolute_paths", &self.allow_absolute_paths)
            .finish_non_exhaustive()
    }
}
