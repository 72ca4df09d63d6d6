//! A folder of Parquet files as the source of a conversion.

use lakebed_core::property::TableProperties;
use lakebed_core::schema::mapping::{MappingMode, PHYSICAL_NAME};
use lakebed_core::schema::{StructField, StructType};

use super::file_schemas::{FileSchemas, MergedSchema, TYPE_WIDENING};
use super::footers::read_footers;
use super::listing::list_files;
use super::outcome::SourceFormat;
use super::partitions::partition_values;
use super::source::{Request, Source};
use crate::definition::{Definition, NewTable};
use crate::{Error, Result};

/// Reads the footers of all files below the folder.
pub(super) async fn read_folder(request: &Request<'_>, partition_columns: Option<&StructType>) -> Result<Source> {
    let url = request.store.url();
    let files = list_files(request.store).await.map_err(|error| error.within(url))?;
    if files.is_empty() {
        let message = "there is no Parquet file in this folder, so there is nothing to convert";
        return Err(Error::invalid_input(format!("{url}: {message}")));
    }
    let is_given = partition_columns.is_some();
    let partition_columns = partition_columns.cloned().unwrap_or_default();
    let partitions = partition_values(&files, &partition_columns, is_given).map_err(|error| error.within(url))?;
    let footers = read_footers(request, &files, "move it out of the folder, or give it a name that begins with _").await?;
    let mut schemas = FileSchemas::default();
    for (file, footer) in files.iter().zip(&footers) {
        schemas.add(&file.name, footer, &partition_columns).map_err(|error| error.within(url))?;
    }
    let merged = schemas.merged().map_err(|error| error.within(url))?;
    let definition = define(request, merged, &partition_columns)?;
    Ok(Source { format: SourceFormat::Parquet, definition, files, footers, partitions, found_by_id: Vec::new() })
}

fn define(request: &Request<'_>, merged: MergedSchema, partition_columns: &StructType) -> Result<Definition> {
    let url = request.store.url();
    let mut properties = request.options.properties.clone();
    if merged.is_widened {
        properties.entry(TYPE_WIDENING.to_owned()).or_insert_with(|| "true".to_owned());
    }
    let mut schema = merged.columns;
    schema.fields.extend(partition_columns.fields.iter().map(|field| StructField { nullable: true, ..field.clone() }));
    let table = NewTable {
        schema,
        partition_by: partition_columns.fields.iter().map(|field| field.name.clone()).collect(),
        properties,
        name: request.options.name.clone(),
        description: request.options.description.clone(),
        ..NewTable::default()
    };
    let mut definition = table.define(url, request.env)?;
    match TableProperties::parse(&definition.metadata.configuration)?.column_mapping_mode {
        MappingMode::None => {}
        MappingMode::Name => {
            // The files have the names of the columns.
            let mut schema = lakebed_core::schema::parse(&definition.metadata.schema_string)?;
            schema.each_field_mut(&mut name_physically);
            definition.metadata.schema_string = schema.to_json();
        }
        MappingMode::Id => {
            let message = "the files have no field ids of Delta, so delta.columnMapping.mode cannot be id: choose name";
            return Err(Error::invalid_input(format!("{url}: {message}")));
        }
    }
    Ok(definition)
}

/// Sets the name of a column in files to its name in the table, if it has one.
fn name_physically(field: &mut StructField) {
    if let Some(name) = field.metadata.get_mut(PHYSICAL_NAME) {
        *name = field.name.clone().into();
    }
}
