//! What a table must be like before readers of Iceberg may be promised that they can read it.

use lakebed_core::feature::supported_features;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::PrimitiveType;
use lakebed_core::schema::widen::{steps, type_changes};

use super::draft::{ChangeDraft, RowCheck};
use super::place::shown;
use crate::{Error, Result};

/// The way to files that readers of Iceberg can read.
const REMEDY: &str = "write the rows to a new table with this property";

impl ChangeDraft {
    /// PROTOCOL "Writer Requirements for IcebergCompatV1" and "… V2": checks whether a table and its files
    /// meet the requirements of such a property when it is set. `check_iceberg` checks the definition.
    pub(super) fn check_newly_iceberg(&mut self, before: &TableProperties, after: &TableProperties) -> Result<()> {
        let is_first = after.iceberg_compat_v1 && !before.iceberg_compat_v1;
        let is_second = after.iceberg_compat_v2 && !before.iceberg_compat_v2;
        let property = match (is_first, is_second) {
            (true, _) => "property delta.enableIcebergCompatV1",
            (_, true) => "property delta.enableIcebergCompatV2",
            _ => return Ok(()),
        };
        if is_first && supported_features(&self.protocol).contains(&"deletionVectors") {
            return Err(Error::invalid_input(format!(
                "{property}: the table has the table feature deletionVectors; drop that feature first"
            )));
        }
        for (path, field) in type_changes(&self.schema) {
            if let Some((from, to)) = steps(&field).into_iter().find(|(from, to)| !is_widening_of_iceberg(*from, *to)) {
                return Err(Error::invalid_input(format!(
                    "{property}: column {} was changed from {from} to {to}, and Iceberg does not know this change; drop the table \
                     feature typeWidening first, which rewrites the files",
                    shown(&path)
                )));
            }
        }
        if is_second {
            // Elements, keys and values have ids in the files, and partition columns are there, too.
            self.checks.push(RowCheck::NoFiles(format!(
                "{property}: the table has data files that were not written for readers of Iceberg; {REMEDY}"
            )));
        } else if !before.iceberg_compat_v2 {
            if !self.metadata.partition_columns.is_empty() {
                self.checks.push(RowCheck::NoFiles(format!(
                    "{property}: the table has data files without its partition columns, which readers of Iceberg need; {REMEDY}"
                )));
            }
            self.checks.push(RowCheck::CountedFiles { what: property.to_owned() });
        }
        Ok(())
    }
}

/// PROTOCOL "Type Widening": returns whether Iceberg knows a change of a type, too.
pub(super) fn is_widening_of_iceberg(from: PrimitiveType, to: PrimitiveType) -> bool {
    use PrimitiveType as P;
    match (from, to) {
        (P::Byte | P::Short, P::Short | P::Integer | P::Long) | (P::Integer, P::Long) | (P::Float, P::Double) => true,
        (P::Decimal { scale, .. }, P::Decimal { scale: finer, .. }) => scale == finer,
        _ => false,
    }
}
