//! The history of a table, read from its log without lakebed: JSON lines one after the other, and the rows of Parquet files.

use std::collections::BTreeMap;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use arrow_array::{Array, Int64Array, StringArray};

use super::actors::ROOT;
use super::objects::Objects;
use super::work::Row;

/// A version, and the commit that made it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Version {
    /// `userMetadata` of the commit: whose change it is. None if it may be that of several.
    pub(crate) id: Option<String>,
    pub(crate) txn_id: String,
    pub(crate) in_commit_timestamp: Option<i64>,
    pub(crate) applications: Vec<(String, i64)>,
    /// First row ids of new files, and how many they take.
    pub(crate) row_ids: Vec<(i64, i64)>,
    /// The rows of files that came, and of those that went.
    pub(crate) added: Vec<Vec<Row>>,
    pub(crate) removed: Vec<Vec<Row>>,
    /// Files of the table.
    pub(crate) files: BTreeMap<String, Vec<Row>>,
    /// Rows of the table, sorted.
    pub(crate) rows: Vec<Row>,
}

/// All versions, from the first one on.
pub(crate) fn read(objects: &Objects) -> Result<Vec<Version>, String> {
    let mut versions: Vec<Version> = Vec::new();
    for (path, bytes) in objects.commits() {
        let expected = format!("{ROOT}/_delta_log/{:020}.json", versions.len());
        if *path != expected {
            return Err(format!("{path} is there, but not {expected}"));
        }
        let files = versions.last().map(|version| version.files.clone()).unwrap_or_default();
        let mut version = Version { files, ..Version::default() };
        for line in String::from_utf8_lossy(bytes).lines() {
            let action: Value = serde_json::from_str(line).map_err(|error| format!("{path}: {error}"))?;
            version.take(&action, objects).map_err(|problem| format!("{path}: {problem}"))?;
        }
        version.rows = version.files.values().flatten().copied().collect();
        version.rows.sort();
        versions.push(version);
    }
    Ok(versions)
}

impl Version {
    fn take(&mut self, action: &Value, objects: &Objects) -> Result<(), String> {
        if let Some(info) = action.get("commitInfo") {
            self.id = info["userMetadata"].as_str().map(str::to_owned);
            self.txn_id = text(info, "txnId")?;
            self.in_commit_timestamp = info["inCommitTimestamp"].as_i64();
        } else if let Some(txn) = action.get("txn") {
            self.applications.push((text(txn, "appId")?, long(txn, "version")?));
        } else if let Some(add) = action.get("add") {
            self.add(add, objects)?;
        } else if let Some(remove) = action.get("remove") {
            let path = text(remove, "path")?;
            let rows = self.files.remove(&path).ok_or_else(|| format!("{path} is removed, but was not there"))?;
            self.removed.push(rows);
        }
        Ok(())
    }

    fn add(&mut self, add: &Value, objects: &Objects) -> Result<(), String> {
        let path = text(add, "path")?;
        let rows = read_file(add, &path, objects)?;
        if let Some(first) = add["baseRowId"].as_i64() {
            self.row_ids.push((first, rows.len() as i64));
        }
        self.added.push(rows.clone());
        match self.files.insert(path.clone(), rows) {
            Some(_) => Err(format!("{path} is added, but was there")),
            None => Ok(()),
        }
    }
}

fn read_file(add: &Value, path: &str, objects: &Objects) -> Result<Vec<Row>, String> {
    let bytes = objects.bytes(&format!("{ROOT}/{path}")).ok_or_else(|| format!("{path} is added, but is not in the store"))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).and_then(ParquetRecordBatchReaderBuilder::build);
    let mut rows = Vec::new();
    for batch in reader.map_err(|error| format!("{path}: {error}"))? {
        let batch = batch.map_err(|error| format!("{path}: {error}"))?;
        let long =
            |name: &str| batch.column_by_name(name).and_then(|column| column.as_any().downcast_ref::<Int64Array>()).unwrap();
        let stored = batch.column_by_name("part").and_then(|column| column.as_any().downcast_ref::<StringArray>());
        let part = |row: usize| match stored {
            Some(parts) => parts.value(row).to_owned(),
            None => add["partitionValues"]["part"].as_str().unwrap_or("?").to_owned(),
        };
        rows.extend((0..batch.num_rows()).map(|row| Row {
            writer: long("writer").value(row),
            number: long("number").value(row),
            part: part(row).chars().next().unwrap_or('?'),
        }));
    }
    Ok(rows)
}

fn text(action: &Value, key: &str) -> Result<String, String> {
    action[key].as_str().map(str::to_owned).ok_or_else(|| format!("no {key} in {action}"))
}

fn long(action: &Value, key: &str) -> Result<i64, String> {
    action[key].as_i64().ok_or_else(|| format!("no {key} in {action}"))
}
