//! Partition values from the folders of files, such as `day=2024-01-01/city=a%2Fb`.

use std::collections::{BTreeMap, HashMap};

use lakebed_core::path::hive;
use lakebed_core::schema::{DataType, PrimitiveType, StructType};
use lakebed_core::value::Scalar;

use super::listing::ListedFile;
use crate::{Error, Result};

/// Returns the columns and values in the folders of a file. Null has its own name there.
fn folder_values(file: &ListedFile) -> Vec<(String, Option<String>)> {
    let folders = file.name.rsplit_once('/').map_or("", |(folders, _)| folders);
    let value = |text: &str| (text != hive::NULL_NAME && !text.is_empty()).then(|| hive::unescape_any(text).into_owned());
    let columns = folders.split('/').filter_map(|folder| folder.split_once('='));
    columns.map(|(name, text)| (hive::unescape_any(name).into_owned(), value(text))).collect()
}

/// Checks that the folders of all files have the partition columns, in this order. Returns the
/// values by file.
pub(super) fn partition_values(
    files: &[ListedFile],
    columns: &StructType,
    given: bool,
) -> Result<Vec<HashMap<String, Option<String>>>> {
    if !given {
        refuse_partitions(files)?;
    }
    files.iter().map(|file| values_of(file, columns)).collect()
}

fn values_of(file: &ListedFile, columns: &StructType) -> Result<HashMap<String, Option<String>>> {
    let found = folder_values(file);
    let fits = found.len() == columns.fields.len()
        && found.iter().zip(&columns.fields).all(|((name, _), field)| name.to_lowercase() == field.name.to_lowercase());
    if !fits {
        let names = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Error::invalid_input(format!(
            "{}: the folders of this file have the partition columns {}, but partition_schema has {}",
            file.name,
            names(found.iter().map(|(name, _)| name.as_str()).collect()),
            names(columns.fields.iter().map(|field| field.name.as_str()).collect()),
        )));
    }
    let mut values = HashMap::new();
    for ((_, text), field) in found.into_iter().zip(&columns.fields) {
        let DataType::Primitive(primitive) = field.data_type else {
            return Err(Error::invalid_input(format!("partition_schema: {} has a type that partitions cannot have", field.name)));
        };
        let value = Scalar::parse_partition(text.as_deref(), primitive).and_then(|value| value.to_partition());
        let value = value.map_err(|error| error.of_caller().within(format!("{}: partition column {}", file.name, field.name)))?;
        values.insert(field.name.clone(), value);
    }
    Ok(values)
}

/// Refuses folders of partitions without types for them. A guess could be wrong: `zip=01234` would
/// become a number.
fn refuse_partitions(files: &[ListedFile]) -> Result<()> {
    let mut types: BTreeMap<usize, (String, Option<PrimitiveType>)> = BTreeMap::new();
    let mut first = None;
    for file in files {
        for (place, (name, value)) in folder_values(file).into_iter().enumerate() {
            first.get_or_insert(&file.name);
            let known = types.entry(place).or_insert((name, None));
            let Some(value) = value else { continue };
            let guess = guess(&value);
            known.1 = Some(known.1.map_or(guess, |known| if known == guess { known } else { PrimitiveType::String }));
        }
    }
    let Some(first) = first else { return Ok(()) };
    let entry = |(name, guess): &(String, Option<PrimitiveType>)| {
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{name}\": \"{}\"", sql_name(guess.unwrap_or(PrimitiveType::String)))
    };
    let types: Vec<String> = types.values().map(entry).collect();
    Err(Error::invalid_input(format!(
        "{first}: the folders have partition columns, and their types are not known: pass partition_schema. By the names of the \
         folders it may be {{{}}}",
        types.join(", ")
    )))
}

fn guess(value: &str) -> PrimitiveType {
    let is = |primitive: PrimitiveType| {
        Scalar::parse_partition(Some(value), primitive)
            .and_then(|parsed| parsed.to_partition())
            .is_ok_and(|same| same.as_deref() == Some(value))
    };
    [PrimitiveType::Integer, PrimitiveType::Long, PrimitiveType::Date, PrimitiveType::Boolean]
        .into_iter()
        .find(|primitive| is(*primitive))
        .unwrap_or(PrimitiveType::String)
}

fn sql_name(primitive: PrimitiveType) -> &'static str {
    match primitive {
        PrimitiveType::Integer => "int",
        PrimitiveType::Long => "bigint",
        PrimitiveType::Date => "date",
        PrimitiveType::Boolean => "boolean",
        _ => "string",
    }
}
