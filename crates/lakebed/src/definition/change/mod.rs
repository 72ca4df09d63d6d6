//! Changes of the definition of a table: columns, constraints, properties, features and clustering.
//!
//! An [`AlterChange`] is a value. [`changed`] applies a list of them to a [`Definition`] and returns
//! the new definition with the conditions that the rows of the table must meet. It reads nothing, so
//! it works on every version, also on one that is not committed yet. `alter` checks the rows and
//! commits.

mod value;
mod place;
mod draft;
mod statistics;
mod dependents;
mod columns;
mod iceberg;
mod types;
mod constraints;
mod properties;
mod clustering;

use lakebed_core::commit::info::Operation;
use lakebed_core::feature::upgrade::used_features;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::parse;
use lakebed_io::env::Env;

pub use self::value::{AlterChange, ColumnType, Identity, NewColumn, Position};

pub(crate) use self::draft::RowCheck;
use self::draft::{ChangeDraft, operation_of};
use super::columns::check_columns;
use super::complete::{add_row_tracking_columns, with_mapping};
use super::iceberg::check_iceberg;
use super::value::Definition;
use crate::Result;
use crate::clustering::clustering_domain;

/// A definition with its changes applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChangedDefinition {
    pub(crate) definition: Definition,
    /// The conditions that the rows of the table must meet.
    pub(crate) checks: Vec<RowCheck>,
    /// The operation for the history.
    pub(crate) operation: Operation,
    /// Whether every file needs row ids before the definition is committed.
    pub(crate) needs_row_ids: bool,
}

/// Applies changes one after the other. Each sees the definition that the changes before it made.
pub(crate) fn changed(base: &Definition, changes: &[AlterChange], env: &Env) -> Result<ChangedDefinition> {
    let mut draft = ChangeDraft {
        schema: parse(&base.metadata.schema_string)?,
        metadata: base.metadata.clone(),
        protocol: base.protocol.clone(),
        clustering: base.clustering.clone(),
        changes_clustering: false,
        features: std::collections::BTreeSet::new(),
        checks: Vec::new(),
        history: Vec::new(),
    };
    changes.iter().try_for_each(|change| draft.apply(change))?;
    complete(base, draft, env).map_err(crate::Error::of_caller)
}

impl ChangeDraft {
    fn apply(&mut self, change: &AlterChange) -> Result<()> {
        match change {
            AlterChange::AddColumns { columns } => self.add_columns(columns),
            AlterChange::RenameColumn { column, name } => self.rename_column(column, name),
            AlterChange::DropColumns { columns } => self.drop_columns(columns),
            AlterChange::MoveColumn { column, position } => self.move_column(column, position),
            AlterChange::ChangeType { column, data_type } => self.change_type(column, data_type),
            AlterChange::SetNullable { column, nullable } => self.set_nullable(column, *nullable),
            AlterChange::SetDefault { column, default } => self.set_default(column, default.as_deref()),
            AlterChange::SetComment { column, comment } => self.set_comment(column, comment.as_deref()),
            AlterChange::SetColumnMetadata { column, metadata } => self.set_column_metadata(column, metadata),
            AlterChange::ClusterBy { columns } => self.cluster_by(columns),
            AlterChange::AddConstraint { name, condition } => self.add_constraint(name, condition),
            AlterChange::DropConstraint { name, if_exists } => self.drop_constraint(name, *if_exists),
            AlterChange::SetProperties { properties } => self.set_properties(properties),
            AlterChange::UnsetProperties { names, if_exists } => self.unset_properties(names, *if_exists),
            AlterChange::SetName { name } => {
                self.set_name(name.as_deref());
                Ok(())
            }
            AlterChange::SetDescription { description } => {
                self.set_description(description.as_deref());
                Ok(())
            }
            AlterChange::AddFeature { name } => self.add_feature(name),
        }
    }
}

/// Checks the definition as a whole, and adds what lakebed maintains by itself.
fn complete(base: &Definition, draft: ChangeDraft, env: &Env) -> Result<ChangedDefinition> {
    let before = TableProperties::parse(&base.metadata.configuration)?;
    let ChangeDraft { schema, mut metadata, .. } = draft;
    let properties = TableProperties::parse(&metadata.configuration)?;
    let changes_schema = schema != parse(&base.metadata.schema_string)?;
    if changes_schema || properties.change_data_feed != before.change_data_feed {
        check_columns(&schema, &properties)?;
    }
    check_iceberg(&schema, &properties)?;
    // Iceberg V2 needs ids for elements, keys and values, too.
    if changes_schema || (properties.iceberg_compat_v2 && !before.iceberg_compat_v2) {
        let schema = with_mapping(&schema, &properties, &mut metadata.configuration, env);
        metadata.schema_string = schema.to_json();
        // A schema that cannot be parsed again must not become the schema of a table.
        parse(&metadata.schema_string)?;
    }
    add_row_tracking_columns(&properties, &mut metadata.configuration, env);
    let used = used_features(&schema, &properties, !draft.clustering.is_empty());
    let mut definition = Definition { metadata, clustering: draft.clustering, ..base.clone() };
    definition.raise_protocol(used.into_iter().map(str::to_owned).chain(draft.features))?;
    if draft.changes_clustering {
        definition = definition.clustered_by_paths()?;
    }
    definition.changes_metadata = base.changes_metadata || definition.metadata != base.metadata;
    Ok(ChangedDefinition {
        definition,
        checks: draft.checks,
        operation: operation_of(draft.history),
        needs_row_ids: properties.row_tracking && !before.row_tracking,
    })
}

impl Definition {
    /// Adds the domain of the clustering columns, and the features of clustered tables.
    fn clustered_by_paths(mut self) -> Result<Self> {
        self.raise_protocol(["clustering", "domainMetadata"].map(str::to_owned))?;
        self.domains = vec![clustering_domain(&self.clustering)];
        Ok(self)
    }
}
