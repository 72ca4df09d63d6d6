//! Which URLs mean an account of Azure.

use crate::store::url::location::Service;

impl Service {
    /// Whether a URL of the service `named` means this one. A URL that does not name Azure's account means the one that the options name.
    pub(in crate::store) fn is_meant_by(&self, named: &Self) -> bool {
        match (self, named) {
            (Self::Azure { container: own, .. }, Self::Azure { account: None, container }) => own == container,
            (own, named) => own == named,
        }
    }
}
