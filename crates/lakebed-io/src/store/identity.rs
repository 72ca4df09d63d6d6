//! Decides whether two stores are the same, so that work through one of them may be done through
//! the other.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use object_store::ObjectStore;
use object_store::path::Path;

use super::Store;
use super::credentials::CredentialSource;

/// The location of a store and the options to reach it. It contains secrets, so it must only be
/// compared.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct StoreIdentity {
    url: String,
    root: Path,
    options: Vec<(String, String)>,
    /// Two credential sources may return the credentials of two users.
    credentials: Option<Same<dyn CredentialSource>>,
    /// An implementation that the caller passed may reach any location, independent of its URL.
    given: Option<Same<dyn ObjectStore>>,
}

/// Equals another value only if both point to the same [`Arc`]. The [`Arc`] may be dropped, but
/// while this weak reference exists its address is not used again.
struct Same<T: ?Sized>(Weak<T>);

impl Store {
    /// Returns the identity of the store. Opened stores have the same identity if they reach the
    /// same location with the same options. Stores around a passed implementation have the same
    /// identity if they share its [`Arc`].
    pub fn identity(&self) -> StoreIdentity {
        let options = &self.0.options;
        let mut given: Vec<(String, String)> =
            options.options.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        given.sort();
        StoreIdentity {
            url: self.url().to_owned(),
            root: self.root().clone(),
            options: given,
            credentials: options.credentials.as_ref().map(Same::of),
            given: self.0.connection.is_given.then(|| Same::of(self.object_store())),
        }
    }
}

impl<T: ?Sized> Same<T> {
    fn of(held: &Arc<T>) -> Self {
        Self(Arc::downgrade(held))
    }

    fn address(&self) -> *const () {
        self.0.as_ptr().cast()
    }
}

impl<T: ?Sized> Clone for Same<T> {
    fn clone(&self) -> Self {
        Self(Weak::clone(&self.0))
    }
}

impl<T: ?Sized> PartialEq for Same<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl<T: ?Sized> Eq for Same<T> {}

impl<T: ?Sized> Hash for Same<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

#[cfg(test)]
mod tests;
