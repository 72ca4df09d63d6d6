//! The rows of all actions except file actions.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray, StructArray};
use arrow_schema::{DataType, Field};

use super::action_rows::ActionRows;
use super::columns;
use crate::action::{Action, CheckpointMetadata, DomainMetadata, Metadata, Protocol, SetTransaction, Sidecar};
use crate::{Error, Result};

/// Returns the rows of these actions by kind. `commitInfo`, `cdc` and file actions are refused.
pub(super) fn other_rows(actions: &[Action]) -> Result<Vec<ActionRows>> {
    let mut kinds = ActionsByKind::default();
    for action in actions {
        match action {
            Action::Protocol(found) => kinds.protocols.push(found),
            Action::Metadata(found) => kinds.metadata.push(found),
            Action::SetTransaction(found) => kinds.transactions.push(found),
            Action::DomainMetadata(found) => kinds.domains.push(found),
            Action::CheckpointMetadata(found) => kinds.checkpoints.push(found),
            Action::Sidecar(found) => kinds.sidecars.push(found),
            Action::Add(_) | Action::Remove(_) | Action::Cdc(_) | Action::CommitInfo(_) => {
                return Err(Error::internal("an action that has no row of its own in a checkpoint"));
            }
        }
    }
    kinds.rows()
}

#[derive(Default)]
struct ActionsByKind<'a> {
    protocols: Vec<&'a Protocol>,
    metadata: Vec<&'a Metadata>,
    transactions: Vec<&'a SetTransaction>,
    domains: Vec<&'a DomainMetadata>,
    checkpoints: Vec<&'a CheckpointMetadata>,
    sidecars: Vec<&'a Sidecar>,
}

impl ActionsByKind<'_> {
    fn rows(&self) -> Result<Vec<ActionRows>> {
        let v2 = columns::v2_only();
        let [checkpoint, sidecar] = v2.as_slice() else { return Err(Error::internal("the columns of V2 checkpoints")) };
        let found = [
            (&columns::protocol(), self.protocol_columns()?),
            (&columns::metadata(), self.metadata_columns()?),
            (&columns::transaction(), self.transaction_columns()),
            (&columns::domain(), self.domain_columns()),
            (checkpoint, self.checkpoint_columns()?),
            (sidecar, self.sidecar_columns()?),
        ];
        let rows = found
            .into_iter()
            .map(|(field, columns)| Ok(ActionRows { column: field.name().clone(), array: struct_of(field, columns)? }));
        Ok(rows.collect::<Result<Vec<_>>>()?.into_iter().filter(|rows| !rows.is_empty()).collect())
    }

    fn protocol_columns(&self) -> Result<Vec<ArrayRef>> {
        let found = &self.protocols;
        Ok(vec![
            Arc::new(Int32Array::from_iter_values(found.iter().map(|protocol| protocol.min_reader_version))),
            Arc::new(Int32Array::from_iter_values(found.iter().map(|protocol| protocol.min_writer_version))),
            lists(found.iter().map(|protocol| protocol.reader_features.as_deref())),
            lists(found.iter().map(|protocol| protocol.writer_features.as_deref())),
        ])
    }

    fn metadata_columns(&self) -> Result<Vec<ArrayRef>> {
        let found = &self.metadata;
        let metadata = columns::metadata();
        let DataType::Struct(fields) = metadata.data_type() else {
            return Err(Error::internal("metaData is not a struct array"));
        };
        let (_, format) = fields.find("format").ok_or_else(|| Error::internal("metaData without format"))?;
        let format = struct_of(
            format,
            vec![
                texts(found.iter().map(|metadata| Some(metadata.format.provider.as_str()))),
                maps(found.iter().map(|metadata| Some(&metadata.format.options)))?,
            ],
        )?;
        Ok(vec![
            texts(found.iter().map(|metadata| Some(metadata.id.as_str()))),
            texts(found.iter().map(|metadata| metadata.name.as_deref())),
            texts(found.iter().map(|metadata| metadata.description.as_deref())),
            Arc::new(format),
            texts(found.iter().map(|metadata| Some(metadata.schema_string.as_str()))),
            lists(found.iter().map(|metadata| Some(metadata.partition_columns.as_slice()))),
            maps(found.iter().map(|metadata| Some(&metadata.configuration)))?,
            longs(found.iter().map(|metadata| metadata.created_time)),
        ])
    }

    fn transaction_columns(&self) -> Vec<ArrayRef> {
        let found = &self.transactions;
        vec![
            texts(found.iter().map(|txn| Some(txn.app_id.as_str()))),
            longs(found.iter().map(|txn| Some(txn.version))),
            longs(found.iter().map(|txn| txn.last_updated)),
        ]
    }

    fn domain_columns(&self) -> Vec<ArrayRef> {
        let found = &self.domains;
        vec![
            texts(found.iter().map(|domain| Some(domain.domain.as_str()))),
            texts(found.iter().map(|domain| Some(domain.configuration.as_str()))),
            Arc::new(found.iter().map(|domain| Some(domain.removed)).collect::<BooleanArray>()),
        ]
    }

    fn checkpoint_columns(&self) -> Result<Vec<ArrayRef>> {
        let found = &self.checkpoints;
        Ok(vec![
            longs(found.iter().map(|checkpoint| Some(checkpoint.version))),
            maps(found.iter().map(|checkpoint| checkpoint.tags.as_ref()))?,
        ])
    }

    fn sidecar_columns(&self) -> Result<Vec<ArrayRef>> {
        let found = &self.sidecars;
        Ok(vec![
            texts(found.iter().map(|sidecar| Some(sidecar.path.as_str()))),
            longs(found.iter().map(|sidecar| Some(sidecar.size_in_bytes))),
            longs(found.iter().map(|sidecar| Some(sidecar.modification_time))),
            maps(found.iter().map(|sidecar| sidecar.tags.as_ref()))?,
        ])
    }
}

fn struct_of(field: &Field, columns: Vec<ArrayRef>) -> Result<StructArray> {
    match field.data_type() {
        DataType::Struct(fields) => Ok(StructArray::try_new(fields.clone(), columns, None)?),
        _ => Err(Error::internal(format!("column {} is not a struct array", field.name()))),
    }
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn longs(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

fn lists<'a>(values: impl Iterator<Item = Option<&'a [String]>>) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new()).with_field(columns::text("element"));
    for value in values {
        value.into_iter().flatten().for_each(|text| builder.values().append_value(text));
        builder.append(value.is_some());
    }
    Arc::new(builder.finish())
}

/// Builds an array of maps. The maps are sorted by key, so the same state gives the same bytes.
fn maps<'a>(values: impl Iterator<Item = Option<&'a HashMap<String, Option<String>>>>) -> Result<ArrayRef> {
    let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for value in values {
        let mut entries: Vec<_> = value.into_iter().flatten().collect();
        entries.sort_unstable();
        for (key, text) in entries {
            builder.keys().append_value(key);
            builder.values().append_option(text.as_deref());
        }
        builder.append(value.is_some())?;
    }
    Ok(Arc::new(builder.finish()))
}
