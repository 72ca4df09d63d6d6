//! Tables that readers of other formats can read too: of Apache Iceberg, and of symlink manifests.

use lakebed_core::property::TableProperties;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::{DataType, PrimitiveType, StructType};

use crate::{Error, Result};

/// PROTOCOL "Iceberg Compatibility": refuses a table that readers of Iceberg could not read. Also
/// refuses symlink manifests of files with deleted rows, as Delta Spark does.
pub(super) fn check_iceberg(schema: &StructType, properties: &TableProperties) -> Result<()> {
    if properties.symlink_manifest && properties.deletion_vectors {
        return Err(Error::invalid_input(
            "delta.compatibility.symlinkFormatManifest.enabled: deletion vectors cannot be enabled at the same time, because \
             readers of manifests would return the deleted rows",
        ));
    }
    let version = match (properties.iceberg_compat_v1, properties.iceberg_compat_v2) {
        (false, false) => return Ok(()),
        (true, true) => {
            return Err(Error::invalid_input("a table can be compatible with only one version of the Iceberg format: V1 or V2"));
        }
        (true, false) => "delta.enableIcebergCompatV1",
        (false, true) => "delta.enableIcebergCompatV2",
    };
    let refuse = |why: &str| Err(Error::invalid_input(format!("{version}: {why}")));
    if properties.column_mapping_mode == MappingMode::None {
        return refuse("set delta.columnMapping.mode to name or id as well");
    }
    if properties.deletion_vectors {
        return refuse("deletion vectors cannot be enabled at the same time");
    }
    let allows = |data_type: &DataType| iceberg_allows(data_type, properties.iceberg_compat_v1);
    match schema.fields.iter().find(|field| !allows(&field.data_type)) {
        Some(field) => refuse(&format!("column {} has a type that this version does not allow", field.name)),
        None => Ok(()),
    }
}

/// PROTOCOL "Writer Requirements for IcebergCompatV1" and "... V2": refuses to replace a partitioned table
/// by one with other partition columns.
pub(super) fn check_same_partitioning(properties: &TableProperties, before: &[String], after: &[String]) -> Result<()> {
    let is_compatible = properties.iceberg_compat_v1 || properties.iceberg_compat_v2;
    if !is_compatible || before.is_empty() || before == after {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "a table that readers of Iceberg can read keeps its partition columns: it is partitioned by {before:?} and cannot be \
         partitioned by {after:?}; write the rows to a new table"
    )))
}

fn iceberg_allows(data_type: &DataType, is_first_version: bool) -> bool {
    match data_type {
        DataType::Primitive(primitive) => !matches!(
            primitive,
            PrimitiveType::Void | PrimitiveType::Variant | PrimitiveType::YearMonthInterval | PrimitiveType::DayTimeInterval
        ),
        DataType::Struct(fields) => fields.fields.iter().all(|field| iceberg_allows(&field.data_type, is_first_version)),
        DataType::Array(array) => !is_first_version && iceberg_allows(&array.element, is_first_version),
        DataType::Map(map) => {
            !is_first_version && iceberg_allows(&map.key, is_first_version) && iceberg_allows(&map.value, is_first_version)
        }
    }
}
