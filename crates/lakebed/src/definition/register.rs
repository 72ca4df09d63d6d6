//! The one place where the changes of a definition are added to a transaction.

use lakebed_core::action::{DomainMetadata, Metadata};
use lakebed_core::property::TableProperties;
use lakebed_io::env::Env;
use lakebed_io::store::Store;

use super::iceberg::check_same_partitioning;
use super::value::Definition;
use crate::clustering::CLUSTERING_DOMAIN;
use crate::tags::take_over_kept_versions;
use crate::transaction::{CommitSettings, Transaction};
use crate::{Result, Snapshot};

impl Definition {
    /// Begins a transaction that creates the table.
    pub(crate) fn begin(&self, store: Store, env: Env, settings: CommitSettings) -> Result<Transaction> {
        let mut transaction = Transaction::create(store, env, self.protocol.clone(), self.metadata.clone(), settings)?;
        self.set_domains(&mut transaction);
        Ok(transaction)
    }

    /// Registers the changes of a table that exists. `counted` is the metadata with the new high
    /// water marks of identity columns. Other writers may ignore a change that consists only of
    /// these marks.
    pub(crate) async fn register(
        &self,
        counted: Option<Metadata>,
        transaction: &mut Transaction,
        snapshot: &Snapshot,
    ) -> Result<()> {
        if self.changes_protocol {
            transaction.set_protocol(self.protocol.clone());
        }
        if let Some(counted) = counted {
            transaction.set_metadata(counted);
            if !self.changes_metadata {
                transaction.mark_identity_only();
            }
        } else if self.changes_metadata {
            transaction.set_metadata(self.metadata.clone());
        }
        if self.is_replaced {
            end_clustering(self, transaction, snapshot).await?;
        }
        self.set_domains(transaction);
        Ok(())
    }

    /// Registers a new definition that replaces a table. The table keeps its id, its tags and
    /// all features that it has.
    pub(crate) async fn register_in_place_of(&self, transaction: &mut Transaction, snapshot: &Snapshot) -> Result<()> {
        let mut metadata = Metadata { id: snapshot.metadata().id.clone(), ..self.metadata.clone() };
        let properties = TableProperties::parse(&metadata.configuration)?;
        check_same_partitioning(&properties, &snapshot.metadata().partition_columns, &metadata.partition_columns)?;
        take_over_kept_versions(&mut metadata, snapshot.metadata());
        transaction.set_metadata(metadata);
        transaction.raise_protocol(&self.protocol)?;
        end_clustering(self, transaction, snapshot).await?;
        self.set_domains(transaction);
        Ok(())
    }

    fn set_domains(&self, transaction: &mut Transaction) {
        self.domains.iter().for_each(|domain| transaction.set_domain(domain.clone()));
    }
}

/// Removes the domain of the clustering columns if the table was clustered and is no longer
/// clustered.
async fn end_clustering(new: &Definition, transaction: &mut Transaction, snapshot: &Snapshot) -> Result<()> {
    if let (Some(before), true) = (snapshot.domain_metadata(CLUSTERING_DOMAIN).await?, new.domains.is_empty()) {
        transaction.set_domain(DomainMetadata { removed: true, ..before });
    }
    Ok(())
}
