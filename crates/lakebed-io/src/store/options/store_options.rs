//! How to reach a store.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::env::Env;
use crate::store::credentials::CredentialSource;

/// How to reach a store.
#[derive(Clone, Default)]
pub struct StoreOptions {
    /// Storage options, spelled as object_store or deltalake spell them, in any case. A key that is unknown is an error.
    pub options: HashMap<String, String>,
    /// Where credentials come from that expire; they replace those of options and environment.
    pub credentials: Option<Arc<dyn CredentialSource>>,
    /// Whether paths of the log may lead out of the table's root, as those of shallow clones do.
    pub allow_absolute_paths: bool,
    /// The clock by which credentials expire.
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
