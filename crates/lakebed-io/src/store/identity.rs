//! Whether two stores are one, so that what is done through one of them may be done through the other.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use object_store::ObjectStore;
use object_store::path::Path;

use super::Store;
use super::credentials::CredentialSource;

/// Where a store leads, and by which options. Holds secrets: it is for comparing only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct StoreIdentity {
    url: String,
    root: Path,
    options: Vec<(String, String)>,
    /// Two callables may give credentials of two people.
    credentials: Option<Same<dyn CredentialSource>>,
    /// An implementation that was given may lead anywhere, whatever its URL.
    given: Option<Same<dyn ObjectStore>>,
}

/// What an [`Arc`] holds, which equals nothing but itself. It may go, but while this is there nothing else comes to its address.
struct Same<T: ?Sized>(Weak<T>);

impl Store {
    /// What is the same for stores that reach the same place in the same way. Stores that were given are the same around one [`Arc`].
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
