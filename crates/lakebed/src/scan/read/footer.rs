//! What the footer of a data file says about the columns of the table, in the form that the log
//! uses for files.
//!
//! Begin with [`FooterReader::open`], and then call [`FooterReader::facts`].

use arrow_array::{Array, ArrayRef, BooleanArray};
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::StructType;
use lakebed_core::stats::{StatColumn, StatKind};
use lakebed_io::parquet::{PageIndex, ParquetFile};
use lakebed_io::store::Store;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::RowGroupMetaData;

use super::footer_statistics::of_all_row_groups;
use super::schema_adapter::FileColumns;
use super::table_layout::TableLayout;
use crate::scan::file_location::FileLocation;
use crate::{Result, Snapshot};

/// Opens the file that this row of a batch describes, and reads its footer.
pub(crate) async fn open_file(store: &Store, batch: &FileBatch, row: usize) -> Result<ParquetFile> {
    FileLocation::of(store, batch, row)?.open(PageIndex::Skip).await
}

/// Reads the footers of a table's data files.
pub(crate) struct FooterReader {
    store: Store,
    layout: TableLayout,
    /// The columns that data files have, with logical names.
    columns: StructType,
    statistics: Vec<StatColumn>,
}

impl FooterReader {
    /// Prepares to read these statistics. Their paths are physical names.
    pub(crate) fn new(snapshot: &Snapshot, statistics: Vec<StatColumn>) -> Result<Self> {
        let layout = TableLayout::of(&snapshot.scan().spec())?;
        let is_stored = |name: &str| layout.partition_position(name).is_none();
        let fields = snapshot.schema().fields.iter().filter(|field| is_stored(&field.name)).cloned().collect();
        Ok(Self { store: snapshot.store().clone(), columns: StructType { fields }, layout, statistics })
    }

    /// Opens a file, given its path as the log spells it and its size.
    pub(crate) async fn open(&self, path: &str, size: Option<u64>) -> Result<ParquetFile> {
        FileLocation::new(&self.store, path, size)?.open(PageIndex::Skip).await
    }

    /// Returns the statistics, each with one value for each row group. A value is null if it is
    /// unknown or only an estimate. It is an error if the columns do not fit the table.
    pub(crate) fn facts(&self, file: &ParquetFile) -> Result<Vec<ArrayRef>> {
        let columns = FileColumns::new(file, self.layout.mapping_mode, &[], false)?;
        columns.adapter(&self.columns)?;
        let found = of_all_row_groups(file, &columns, &self.layout.physical_schema, &self.statistics)?;
        let known = self.statistics.iter().zip(found);
        known.map(|(statistic, values)| self.exact(file, &columns, statistic, values)).collect()
    }

    /// Replaces bounds of strings that may be cut off by null.
    fn exact(&self, file: &ParquetFile, columns: &FileColumns, statistic: &StatColumn, values: ArrayRef) -> Result<ArrayRef> {
        if !matches!(statistic.kind, StatKind::Min | StatKind::Max) || values.null_count() == values.len() {
            return Ok(values);
        }
        let Some((leaf, _)) = columns.leaf_of(&self.layout.physical_schema, &statistic.path) else { return Ok(values) };
        let may_be_cut = |group: &RowGroupMetaData| {
            let column = group.columns().get(leaf)?;
            let known = column.statistics()?;
            let is_exact = if statistic.kind == StatKind::Min { known.min_is_exact() } else { known.max_is_exact() };
            Some(column.column_type() == PhysicalType::BYTE_ARRAY && !is_exact)
        };
        let cut: BooleanArray =
            file.metadata().row_groups().iter().map(|group| Some(may_be_cut(group).unwrap_or(true))).collect();
        Ok(arrow_select::nullif::nullif(&values, &cut)?)
    }
}
