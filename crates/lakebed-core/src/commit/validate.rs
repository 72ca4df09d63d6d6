//! The rules that every commit must follow. PROTOCOL "Actions", "Append-only Tables".

use std::collections::HashSet;

use super::base::Base;
use super::draft::Draft;
use super::reads::path_key;
use crate::log::files::{FileBatch, FileKey};
use crate::property::TableProperties;
use crate::schema::mapping::{MappingMode, physical_name};
use crate::{Error, Result, feature};

/// Refuses a draft that would break the table or the protocol on top of `base`. `table` is for
/// messages.
pub fn check(draft: &Draft, base: &Base, table: &str) -> Result<()> {
    let protocol = draft.protocol.as_ref().unwrap_or(&base.protocol);
    feature::check_write(protocol, table)?;
    let metadata = draft.metadata.as_ref().unwrap_or(&base.metadata);
    let properties = TableProperties::parse(&metadata.configuration)?;
    check_append_only(draft, &properties, table)?;
    check_paths(draft)?;
    check_once(draft.transactions.iter().map(|txn| txn.app_id.as_str()), "application")?;
    check_once(draft.domains.iter().map(|domain| domain.domain.as_str()), "domain")?;
    if draft.adds.is_empty() {
        return Ok(());
    }
    let schema = crate::schema::parse(&metadata.schema_string)?;
    let columns = physical_partition_columns(&schema, &metadata.partition_columns, properties.column_mapping_mode)?;
    for add in &draft.adds {
        let complete =
            add.partition_values.len() == columns.len() && columns.iter().all(|name| add.partition_values.contains_key(name));
        if !complete {
            let message =
                format!("{}: its partition values are not those of the table's partition columns {columns:?}", add.path);
            return Err(Error::internal(message));
        }
    }
    Ok(())
}

fn check_append_only(draft: &Draft, properties: &TableProperties, table: &str) -> Result<()> {
    let removes = draft.removes.iter().any(|removal| removal.data_change && !removal.files.is_empty());
    if properties.append_only && (removes || !draft.vectors.is_empty()) {
        let message = format!(
            "{table}: the table is append-only (delta.appendOnly is true), so no rows may be removed or changed; unset the property first"
        );
        return Err(Error::invalid_input(message));
    }
    Ok(())
}

/// Checks that there is at most one `add` and one `remove` per path, and both only with different
/// deletion vectors.
fn check_paths(draft: &Draft) -> Result<()> {
    let mut added = HashSet::new();
    let vectors = draft.vectors.iter().map(|change| change.before.path.as_str());
    for path in draft.adds.iter().map(|add| add.path.as_str()).chain(vectors) {
        if !added.insert(path_key(path)) {
            return Err(Error::internal(format!("{path}: added twice in one commit")));
        }
    }
    let mut removed: HashSet<FileKey> = HashSet::new();
    for path in draft.removed_paths()? {
        if !removed.insert(path_key(path)) {
            return Err(Error::internal(format!("{path}: removed twice in one commit")));
        }
    }
    // A file may come back with another deletion vector than the one that it is removed with.
    let mut restored: HashSet<FileKey> = HashSet::new();
    for path in paths_of(&draft.restored)? {
        if added.contains(&path_key(path)) || !restored.insert(path_key(path)) {
            return Err(Error::internal(format!("{path}: added twice in one commit")));
        }
    }
    let both = draft.adds.iter().find(|add| removed.contains(&path_key(&add.path)));
    match both {
        Some(add) => Err(Error::internal(format!("{}: removed and added in one commit", add.path))),
        None => Ok(()),
    }
}

fn paths_of(batches: &[FileBatch]) -> Result<Vec<&str>> {
    let mut paths = Vec::new();
    for files in batches {
        paths.extend(files.paths()?.iter().flatten());
    }
    Ok(paths)
}

fn check_once<'a>(names: impl Iterator<Item = &'a str>, what: &str) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::invalid_input(format!("{what} {name:?} is set twice in one commit")));
        }
    }
    Ok(())
}

fn physical_partition_columns(schema: &crate::schema::StructType, names: &[String], mode: MappingMode) -> Result<Vec<String>> {
    let physical = |name: &String| {
        let field =
            schema.field(name).ok_or_else(|| Error::internal(format!("partition column {name:?} is not in the schema")))?;
        Ok(physical_name(field, mode).to_owned())
    };
    names.iter().map(physical).collect()
}

#[cfg(test)]
mod tests;
