//! Statistics of the row groups of a file, as its footer has them.

use arrow_array::ArrayRef;
use lakebed_core::schema::StructType;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::stats::StatColumn;
use lakebed_io::parquet::ParquetFile;

use super::metadata_bounds::LoggedMetadata;
use super::parquet_statistics::{FileContext, ParquetStatistics};
use super::schema_adapter::FileColumns;
use crate::Result;

/// Returns for each statistic one value for each row group of the file, in the types of the table.
/// A value that the footer does not have, or that cannot be trusted, is null. `schema` has physical
/// names.
pub(crate) fn row_group_statistics(
    file: &ParquetFile,
    schema: &StructType,
    mode: MappingMode,
    statistics: &[StatColumn],
) -> Result<Vec<ArrayRef>> {
    of_all_row_groups(file, &FileColumns::new(file, mode, &[], false)?, schema, statistics)
}

/// Returns for each statistic one value for each row group of the file. `schema` has the names of the
/// file.
pub(super) fn of_all_row_groups(
    file: &ParquetFile,
    columns: &FileColumns,
    schema: &StructType,
    statistics: &[StatColumn],
) -> Result<Vec<ArrayRef>> {
    let logged = LoggedMetadata::default();
    let context = FileContext { schema, logged: &logged, exact: true };
    let groups: Vec<usize> = (0..file.metadata().num_row_groups()).collect();
    ParquetStatistics::new(file, columns, context, statistics).of_row_groups(&groups)
}

/// Returns whether the upper bounds of a column of floats in the footer hold for NaN, which is
/// greater than all numbers.
pub(crate) fn bounds_hold_for_nan(file: &ParquetFile, schema: &StructType, mode: MappingMode, path: &[String]) -> Result<bool> {
    let columns = FileColumns::new(file, mode, &[], false)?;
    Ok(columns.leaf_of(schema, path).is_some_and(|(leaf, _)| file.has_no_nan(leaf)))
}
