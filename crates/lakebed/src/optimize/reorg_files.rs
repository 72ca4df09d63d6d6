//! The files that have to be rewritten before a table can do without a feature.

use arrow_array::BooleanArray;
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_core::schema::mapping::to_physical;
use lakebed_core::schema::widen::is_widening;
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};

use crate::scan::plan::{Plan, PlanOptions};
use crate::scan::read::footer::open_file;
use crate::{Result, Snapshot};

/// The number of footers that are read at a time.
const AT_ONCE: usize = 32;

/// The part of a shredded variant that has a type of its own. PROTOCOL "Variant Shredding".
const SHREDDED: &str = "typed_value";

/// The reason why files are rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reorg {
    /// Files with deletion vectors.
    DeletionVectors,
    /// Files with columns of types from before a type change.
    OldTypes,
    /// Files with shredded variants.
    ShreddedVariants,
    /// All files.
    Everything,
}

impl Reorg {
    /// Returns whether any file of a version has to be rewritten.
    pub(crate) async fn is_needed(self, snapshot: &Snapshot) -> Result<bool> {
        let mut files = Plan::new(snapshot, None, PlanOptions::default())?.files();
        while let Some(batch) = files.try_next().await? {
            if self.concerns(snapshot, &batch).await?.true_count() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns which of these files have to be rewritten.
    pub(super) async fn concerns(self, snapshot: &Snapshot, batch: &FileBatch) -> Result<BooleanArray> {
        match self {
            Self::DeletionVectors => batch.has_deletion_vector(),
            Self::Everything => Ok(BooleanArray::from(vec![true; batch.len()])),
            Self::OldTypes => by_footer(snapshot, batch, is_narrower).await,
            Self::ShreddedVariants => by_footer(snapshot, batch, is_shredded).await,
        }
    }
}

async fn by_footer(
    snapshot: &Snapshot,
    batch: &FileBatch,
    is_wanted: impl Fn(&DataType, PrimitiveType) -> bool,
) -> Result<BooleanArray> {
    let wanted = to_physical(snapshot.schema(), snapshot.mapping_mode());
    let opened: Vec<_> = (0..batch.len()).map(|row| open_file(snapshot.store(), batch, row)).collect();
    let mut files = stream::iter(opened).buffered(AT_ONCE);
    let mut found = Vec::with_capacity(batch.len());
    while let Some(file) = files.try_next().await? {
        let columns = file.arrow_schema().and_then(|schema| schema_from_arrow(&schema));
        // A file with types that are not known is rewritten.
        found.push(columns.map_or(true, |columns| any_of_struct(&columns, &wanted, &is_wanted)));
    }
    Ok(BooleanArray::from(found))
}

/// Returns whether a value has a narrower type in a file than in the table.
fn is_narrower(found: &DataType, wanted: PrimitiveType) -> bool {
    matches!(found, DataType::Primitive(found) if *found != wanted && is_widening(*found, wanted))
}

/// Returns whether a value is a variant of which parts have types of their own in a file.
fn is_shredded(found: &DataType, wanted: PrimitiveType) -> bool {
    wanted == PrimitiveType::Variant && matches!(found, DataType::Struct(parts) if parts.field(SHREDDED).is_some())
}

/// Returns whether any single value of the table's columns is wanted, given its type in a file.
fn any_of_struct(found: &StructType, wanted: &StructType, is_wanted: &impl Fn(&DataType, PrimitiveType) -> bool) -> bool {
    let of_field = |field: &StructField| {
        found.field(&field.name).is_some_and(|found| any_of_type(&found.data_type, &field.data_type, is_wanted))
    };
    wanted.fields.iter().any(of_field)
}

fn any_of_type(found: &DataType, wanted: &DataType, is_wanted: &impl Fn(&DataType, PrimitiveType) -> bool) -> bool {
    match (found, wanted) {
        (found, DataType::Primitive(wanted)) => is_wanted(found, *wanted),
        (DataType::Struct(found), DataType::Struct(wanted)) => any_of_struct(found, wanted, is_wanted),
        (DataType::Array(found), DataType::Array(wanted)) => any_of_type(&found.element, &wanted.element, is_wanted),
        (DataType::Map(found), DataType::Map(wanted)) => {
            any_of_type(&found.key, &wanted.key, is_wanted) || any_of_type(&found.value, &wanted.value, is_wanted)
        }
        _ => false,
    }
}
