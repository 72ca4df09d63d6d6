//! An Iceberg table as the source of a conversion. Its data files stay as they are. The Delta table
//! finds their columns by Iceberg's field ids, so renamed, moved and dropped columns read right.
//!
//! Begin with [`read_iceberg`]. `metadata_file` finds the current metadata, and `metadata` parses
//! it. `manifests` lists the data files, with `avro`. `columns` and `partitions` translate the
//! schema and the partitioning, `file_ids` checks each file against the schema, and
//! `physical_names` chooses names.
//!
//! Tables with deleted rows in delete files, and data files that are not Parquet, are refused.

mod avro;
mod columns;
mod file_ids;
mod location;
mod manifests;
mod metadata;
mod metadata_file;
mod partitions;
mod physical_names;

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::property::TableProperties;
use lakebed_core::schema::{StructType, mapping};
use lakebed_io::parquet::ParquetFile;
use object_store::path::Path;

use self::columns::columns_of;
use self::file_ids::FileIds;
use self::location::Location;
use self::manifests::{DataFile, read_data_files};
use self::metadata::{PartitionSpec, TableMetadata};
pub(super) use self::metadata_file::{find_metadata_file, is_metadata_file};
use self::partitions::Partitions;
use self::physical_names::FileNames;
use super::file_schemas::{TYPE_WIDENING, widen_to};
use super::footers::read_footers;
use super::listing::ListedFile;
use super::outcome::SourceFormat;
use super::source::{Request, Source};
use crate::definition::{Definition, NewTable};
use crate::{Error, Result};

/// The beginnings of the names of properties with a meaning for Delta or lakebed.
const FOLLOWED: [&str; 2] = ["delta.", "lakebed."];

/// The number of files whose sizes are requested at the same time.
const AT_ONCE: usize = 64;

/// Reads the current snapshot of an Iceberg table, and the footers of its data files.
pub(super) async fn read_iceberg(request: &Request<'_>, metadata: &Path) -> Result<Source> {
    let store = request.store;
    let name = store.describe(metadata);
    let table = TableMetadata::parse(&name, &store.get(metadata).await?)?;
    let schema = columns_of(&table.schema).map_err(|error| error.within(&name))?;
    let location = Location::new(&table.location, store);
    let found = match &table.manifest_list {
        Some(list) => read_data_files(store, &location, list).await?,
        None => Vec::new(),
    };
    let specs = specs_of(&table, &found).map_err(|error| error.within(&name))?;
    let partitions = Partitions::of(&specs, &schema);
    let files = list_data_files(request, &found).await?;
    let footers = read_footers(request, &files, "restore the file").await?;
    let checked = check_files(&table, &schema, &partitions, &found, &footers)?;
    let found_by_id = checked.found_by_id.clone();
    let definition = define(request, &table, &partitions, checked)?;
    let columns = lakebed_core::schema::parse(&definition.metadata.schema_string)?;
    let values = found.iter().map(|file| {
        let values = partitions.values(table.spec(file.spec)?, &file.partition, &columns);
        values.map_err(|error| error.within(&file.name))
    });
    let partitions = values.collect::<Result<Vec<_>>>()?;
    Ok(Source { format: SourceFormat::Iceberg, definition, files, footers, partitions, found_by_id })
}

/// Returns the specs of the files, by their ids, or that of new files if there are none.
fn specs_of<'a>(table: &'a TableMetadata, files: &[DataFile]) -> Result<Vec<&'a PartitionSpec>> {
    let mut ids: BTreeSet<i32> = files.iter().map(|file| file.spec).collect();
    if ids.is_empty() {
        ids.insert(table.default_spec);
    }
    ids.into_iter().map(|id| table.spec(id)).collect()
}

async fn list_data_files(request: &Request<'_>, files: &[DataFile]) -> Result<Vec<ListedFile>> {
    let store = request.store;
    let finding = files.iter().map(|file| async move {
        let path = store.path_of(&file.name)?;
        let found = store.head(&path).await?;
        if found.size != file.size {
            let message = format!("it has {} bytes, and the Iceberg table says {}", found.size, file.size);
            return Err(Error::corrupt(store.describe(&path), message));
        }
        Ok(ListedFile { name: file.name.clone(), size: found.size, modified_ms: found.last_modified.timestamp_millis(), path })
    });
    // The collection makes the futures owned, so that they may be polled in any order.
    stream::iter(finding.collect::<Vec<_>>()).buffered(AT_ONCE).try_collect().await
}

/// The columns of the table, after a look into all files.
struct CheckedColumns {
    /// The columns with ids, physical names and changes of types.
    columns: StructType,
    is_widened: bool,
    /// The highest id of a column in the table or in a file.
    max_column_id: i64,
    found_by_id: Vec<String>,
}

fn check_files(
    table: &TableMetadata,
    schema: &StructType,
    partitions: &Partitions,
    files: &[DataFile],
    footers: &[ParquetFile],
) -> Result<CheckedColumns> {
    let mut columns = schema.clone();
    let mut names = FileNames::default();
    let mut max_column_id = table.last_column_id;
    for (file, footer) in files.iter().zip(footers) {
        check_rows(file, footer)?;
        let arrow = footer.arrow_schema()?;
        let found = FileIds::of(&arrow, schema).and_then(|found| {
            found.check_has(&partitions.needed_in_file(table.spec(file.spec)?))?;
            found.check_required(schema, &partitions.names())?;
            widen_to(&mut columns, &found.columns)?;
            Ok(found)
        });
        let found = found.map_err(|error| error.within(footer.name()))?;
        names.add(arrow.fields());
        max_column_id = max_column_id.max(found.ids.into_iter().max().map_or(0, i64::from));
    }
    let is_widened = columns != *schema;
    let found_by_id = names.give_to(&mut columns);
    Ok(CheckedColumns { columns, is_widened, max_column_id, found_by_id })
}

fn check_rows(file: &DataFile, footer: &ParquetFile) -> Result<()> {
    if footer.num_rows() == file.rows {
        return Ok(());
    }
    let message = format!("it has {} rows, and the Iceberg table says {}", footer.num_rows(), file.rows);
    Err(Error::corrupt(footer.name(), message))
}

fn define(request: &Request<'_>, table: &TableMetadata, partitions: &Partitions, checked: CheckedColumns) -> Result<Definition> {
    let url = request.store.url();
    let mut properties = request.options.properties.clone();
    let given = properties.iter().find(|(name, _)| name.eq_ignore_ascii_case(mapping::MODE));
    if let Some((name, mode)) = given.filter(|(_, mode)| !mode.eq_ignore_ascii_case("id")) {
        return Err(Error::invalid_input(format!(
            "{url}: {name} cannot be {mode}: the columns of an Iceberg table are found by their ids, so leave it out"
        )));
    }
    if given.is_none() {
        properties.insert(mapping::MODE.to_owned(), "id".to_owned());
    }
    if checked.is_widened {
        properties.entry(TYPE_WIDENING.to_owned()).or_insert_with(|| "true".to_owned());
    }
    // The table is untrusted, so it sets nothing that Delta or lakebed would follow.
    let is_followed = |name: &str| FOLLOWED.iter().any(|prefix| name.to_ascii_lowercase().starts_with(prefix));
    for (name, value) in table.properties.iter().filter(|(name, _)| !is_followed(name)) {
        properties.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let new = NewTable {
        schema: checked.columns,
        partition_by: partitions.names(),
        properties,
        name: request.options.name.clone(),
        description: request.options.description.clone(),
        ..NewTable::default()
    };
    let mut definition = new.define(url, request.env)?;
    let properties = TableProperties::parse(&definition.metadata.configuration)?;
    if properties.iceberg_compat_v1 || properties.iceberg_compat_v2 || properties.iceberg_compat_v3 {
        return Err(Error::invalid_input(format!(
            "{url}: a table that comes from Iceberg cannot be made compatible with Iceberg by the conversion: leave out \
             delta.enableIcebergCompat"
        )));
    }
    // The files may still have columns that the table dropped. A new column must not get their ids.
    let highest = properties.column_mapping_max_column_id.unwrap_or(0).max(checked.max_column_id);
    definition.metadata.configuration.insert(mapping::MAX_COLUMN_ID.to_owned(), Some(highest.to_string()));
    Ok(definition)
}
