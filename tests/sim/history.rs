//! The history of a table, read from its log without lakebed: the JSON lines of its commits in
//! order, and the rows of its Parquet files.

use std::collections::BTreeMap;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use roaring::RoaringTreemap;
use serde_json::Value;
use uuid::Uuid;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray};

use lakebed_tests::deeds::PROPERTY;

use super::actors::ROOT;
use super::objects::Objects;
use super::work::Row;

/// A version, and the commit that made it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Version {
    /// `userMetadata` of the commit, which names the change. None if there may be several changes.
    pub(crate) id: Option<String>,
    /// The operation of the commit, such as `VACUUM START`.
    pub(crate) operation: String,
    pub(crate) txn_id: String,
    pub(crate) in_commit_timestamp: Option<i64>,
    pub(crate) applications: Vec<(String, i64)>,
    /// The first row ids of new files, and the number of ids that they take.
    pub(crate) row_ids: Vec<(i64, i64)>,
    /// The number of files that no version before had.
    pub(crate) new_files: usize,
    /// Whether the commit has the definition of the table.
    pub(crate) defines: bool,
    /// The property that changes of the definition set.
    pub(crate) property: Option<String>,
    /// The rows of added files, and of removed files.
    pub(crate) added: Vec<Vec<Row>>,
    pub(crate) removed: Vec<Vec<Row>>,
    /// The rows of change data files, with the kind of their change.
    changed: Vec<(String, Row)>,
    /// The data files of the table.
    pub(crate) files: BTreeMap<String, Vec<Row>>,
    /// All files that versions until this one had, with their first row ids.
    known: BTreeMap<String, Option<i64>>,
    /// The other files that the commit names: change data files and deletion vectors.
    others: Vec<String>,
    /// The rows of the table, sorted.
    pub(crate) rows: Vec<Row>,
}

/// Reads all versions, from the first one on.
pub(crate) fn read(objects: &Objects) -> Result<Vec<Version>, String> {
    let mut versions: Vec<Version> = Vec::new();
    for (path, bytes) in objects.commits() {
        let expected = format!("{ROOT}/_delta_log/{:020}.json", versions.len());
        if *path != expected {
            return Err(format!("{path} is there, but not {expected}"));
        }
        let mut version = Version::default();
        if let Some(Version { files, known, property, .. }) = versions.last() {
            (version.files, version.known, version.property) = (files.clone(), known.clone(), property.clone());
        }
        let text = String::from_utf8_lossy(bytes);
        let actions: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        let mut actions = actions.map_err(|error| format!("{path}: {error}"))?;
        // The order of actions has no meaning. A file with another deletion vector is removed and added.
        actions.sort_by_key(|action| action.get("add").is_some());
        for action in &actions {
            version.take(action, objects).map_err(|problem| format!("{path}: {problem}"))?;
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
            self.operation = text(info, "operation")?;
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
        } else if let Some(metadata) = action.get("metaData") {
            self.defines = true;
            self.property = metadata["configuration"][PROPERTY].as_str().map(str::to_owned);
        } else if let Some(cdc) = action.get("cdc") {
            let path = text(cdc, "path")?;
            let rows = read_file(cdc, &path, objects)?;
            let kinds = read_texts(&path, "_change_type", objects)?;
            self.changed.extend(kinds.into_iter().zip(rows));
            self.others.push(path);
        }
        Ok(())
    }

    /// Returns the files of the table, and the other files that the commit names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys().chain(&self.others)
    }

    /// Applies the change data files to the rows before. Returns the rows, sorted; none if there
    /// are no such files.
    pub(crate) fn told_by_changes(&self, before: &[Row]) -> Option<Vec<Row>> {
        if self.changed.is_empty() {
            return None;
        }
        let mut rows = before.to_vec();
        for (kind, row) in &self.changed {
            if matches!(kind.as_str(), "delete" | "update_preimage") {
                // A change of a row that did not exist counts as one row too many.
                match rows.iter().position(|known| known == row) {
                    Some(place) => drop(rows.remove(place)),
                    None => rows.push(*row),
                }
            }
        }
        rows.extend(
            self.changed.iter().filter(|(kind, _)| matches!(kind.as_str(), "insert" | "update_postimage")).map(|(_, row)| *row),
        );
        rows.sort();
        Some(rows)
    }

    fn add(&mut self, add: &Value, objects: &Objects) -> Result<(), String> {
        let path = text(add, "path")?;
        let mut rows = read_file(add, &path, objects)?;
        let first = add["baseRowId"].as_i64();
        match self.known.insert(path.clone(), first) {
            None => {
                self.new_files += 1;
                self.row_ids.extend(first.map(|first| (first, rows.len() as i64)));
            }
            Some(before) if before != first => {
                return Err(format!("{path} has row ids from {first:?} on, had from {before:?} on"));
            }
            Some(_) => {}
        }
        if let Some(vector) = add.get("deletionVector") {
            let deleted = self.read_vector(vector, objects)?;
            let kept = rows.into_iter().enumerate().filter(|(row, _)| !deleted.contains(*row as u64));
            rows = kept.map(|(_, row)| row).collect();
        }
        self.added.push(rows.clone());
        match self.files.insert(path.clone(), rows) {
            Some(_) => Err(format!("{path} is added, but was there")),
            None => Ok(()),
        }
    }

    /// PROTOCOL "Deletion Vector File Storage Format".
    fn read_vector(&mut self, vector: &Value, objects: &Objects) -> Result<RoaringTreemap, String> {
        let path = format!("deletion_vector_{}.bin", uuid_of(&text(vector, "pathOrInlineDv")?));
        let bytes = objects.bytes_ever(&format!("{ROOT}/{path}")).ok_or_else(|| format!("{path} is not in the store"))?;
        let offset = long(vector, "offset")? as usize;
        let size = i32::from_be_bytes(bytes[offset..offset + 4].try_into().unwrap()) as usize;
        let data = &bytes[offset + 4..offset + 4 + size];
        assert_eq!(i32::from_le_bytes(data[..4].try_into().unwrap()), 1_681_511_377, "{path}");
        let rows = RoaringTreemap::deserialize_from(&data[4..]).map_err(|error| format!("{path}: {error}"))?;
        assert_eq!(rows.len() as i64, long(vector, "cardinality")?, "{path}");
        self.others.push(path);
        Ok(rows)
    }
}

/// Returns the UUID of twenty digits in base 85.
fn uuid_of(digits: &str) -> Uuid {
    const DIGITS: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    let number = |part: &[u8]| {
        part.iter().fold(0_u32, |sum, digit| sum.wrapping_mul(85) + DIGITS.find(char::from(*digit)).unwrap() as u32)
    };
    let bytes: Vec<u8> = digits.as_bytes().chunks(5).flat_map(|part| number(part).to_be_bytes()).collect();
    Uuid::from_slice(&bytes).unwrap()
}

fn read_texts(path: &str, column: &str, objects: &Objects) -> Result<Vec<String>, String> {
    let mut texts = Vec::new();
    for batch in batches(path, objects)? {
        let column = batch.column_by_name(column).and_then(|column| column.as_any().downcast_ref::<StringArray>());
        let column = column.ok_or_else(|| format!("{path} does not say what happened to its rows"))?;
        texts.extend(column.iter().flatten().map(str::to_owned));
    }
    Ok(texts)
}

fn batches(path: &str, objects: &Objects) -> Result<Vec<RecordBatch>, String> {
    let bytes =
        objects.bytes_ever(&format!("{ROOT}/{path}")).ok_or_else(|| format!("{path} is added, but is not in the store"))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).and_then(ParquetRecordBatchReaderBuilder::build);
    let reader = reader.map_err(|error| format!("{path}: {error}"))?;
    reader.collect::<Result<_, _>>().map_err(|error| format!("{path}: {error}"))
}

fn read_file(add: &Value, path: &str, objects: &Objects) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for batch in batches(path, objects)? {
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
