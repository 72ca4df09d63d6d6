//! Compares the service of a store with the service that a URL names.

use crate::store::url::location::Service;

impl Service {
    /// Returns whether a URL of the service `named` means this service. A URL without an account
    /// means the account in the options.
    pub(in crate::store) fn is_meant_by(&self, named: &Self) -> bool {
        match (self, named) {
            (Self::Azure { container: own, .. }, Self::Azure { account: None, container }) => own == container,
            (own, named) => own == named,
        }
    }
}
