//! Storage options: their keys, the values that the environment and the URL add, and the selection
//! of those that a service accepts.
//!
//! The keys are those of object_store and deltalake, in any case, with or without their prefix.
//! Options of the caller override those of the URL, and those of the URL override the environment.
//! If an option or a credential source supplies credentials, those of the environment are ignored,
//! so that two identities are never mixed. A key that no service knows is an error, because it is
//! nearly always a typing mistake. A key of another service is ignored, so that one set of options
//! works for several tables. Read [`settings`] first.

pub(super) mod known;
pub(super) mod own;
pub(super) mod secrecy;
mod store_options;
mod without_secrets;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::str::FromStr;

use lakebed_core::error::{Error, Result};

pub use store_options::StoreOptions;
pub use without_secrets::options_without_secrets;

/// The options of one service, by its own kind of key.
pub(crate) type Settings<K> = HashMap<K, String>;

/// The keys of a service, and the relations between them.
pub(crate) trait Key: FromStr + AsRef<str> + Eq + Hash + Copy + 'static {
    /// The prefix of the service's environment variables.
    const ENV_PREFIX: &'static str;
    /// An environment variable with another prefix, and the key that it sets.
    const ENV_ALIAS: Option<(&'static str, &'static str)> = None;
    /// Returns whether the key belongs to an identity.
    fn names_identity(self) -> bool;
    /// Returns the keys of the environment that would override this key although the caller set it.
    fn shadowed_by(self) -> &'static [Self];
}

/// Returns the options of a service, merged from `environment`, from the URL (`embedded`) and from
/// the caller's `options`.
///
/// If `own_identity` is true, credentials come from another source, and those of the environment
/// are ignored.
pub(crate) fn settings<K: Key>(
    environment: &[(String, String)],
    embedded: &[(&'static str, String)],
    options: &HashMap<String, String>,
    own_identity: bool,
) -> Result<Settings<K>> {
    let mut explicit = Settings::<K>::new();
    for (name, value) in embedded {
        if let Ok(key) = K::from_str(name) {
            explicit.insert(key, value.clone());
        }
    }
    let mut spelled = HashMap::<K, &str>::new();
    for (name, value) in options.iter().collect::<BTreeMap<_, _>>() {
        let Ok(key) = K::from_str(&name.trim().to_ascii_lowercase()) else { continue };
        if let Some(other) = spelled.insert(key, name)
            && explicit.get(&key) != Some(value)
        {
            return Err(Error::invalid_input(format!(
                "storage options {other} and {name} mean the same but have different values: keep one of them"
            )));
        }
        explicit.insert(key, value.clone());
    }
    let identified = own_identity || explicit.keys().any(|key| key.names_identity());
    let shadows = |key: K| explicit.keys().any(|set| set.shadowed_by().contains(&key));
    let mut all = Settings::new();
    for (name, value) in environment.iter().filter(|(_, value)| !value.is_empty()) {
        if let Some(key) = key_of_variable::<K>(name)
            && !(identified && key.names_identity())
            && !shadows(key)
        {
            all.insert(key, value.clone());
        }
    }
    all.extend(explicit);
    Ok(all)
}

fn key_of_variable<K: Key>(name: &str) -> Option<K> {
    if let Some((_, key)) = K::ENV_ALIAS.filter(|(alias, _)| *alias == name) {
        return K::from_str(key).ok();
    }
    (!K::ENV_PREFIX.is_empty() && name.starts_with(K::ENV_PREFIX)).then(|| K::from_str(&name.to_ascii_lowercase()).ok())?
}

/// Returns the environment variables with valid UTF-8, sorted.
pub(crate) fn environment() -> Vec<(String, String)> {
    let mut variables: Vec<_> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    variables.sort();
    variables
}

#[cfg(test)]
mod tests;
