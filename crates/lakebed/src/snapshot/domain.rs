//! Domain metadata: named configurations of a table.

use lakebed_core::action::{Action, DomainMetadata};
use lakebed_core::log::checkpoint::columns;

use super::Snapshot;
use crate::Result;

impl Snapshot {
    /// Returns the configuration of a domain, unless it was removed.
    pub async fn domain_metadata(&self, domain: &str) -> Result<Option<DomainMetadata>> {
        if let Some(domains) = self.checksum().and_then(|checksum| checksum.domain_metadata.as_ref()) {
            return Ok(domains.iter().find(|found| found.domain == domain && !found.removed).cloned());
        }
        let in_checkpoint = |action| match action {
            Action::DomainMetadata(found) if found.domain == domain => Some(found),
            _ => None,
        };
        let found = self.find(|layer| layer.domains.get(domain), columns::DOMAINS, in_checkpoint).await?;
        Ok(found.filter(|found| !found.removed))
    }
}
