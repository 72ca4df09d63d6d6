//! Computes the sizes of pieces and batches from the metadata of a file.

use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::file::metadata::ColumnChunkMetaData;

use super::context::ReadContext;
use super::file::ParquetContent;

/// The approximate size of a batch. It is small enough for caches and large enough for consumers.
const BATCH_BYTES: u64 = 16 << 20;
pub(super) const MOST_BATCH_ROWS: u64 = 65_536;
/// The approximate size of a piece. It keeps a core busy without holding much memory.
const PIECE_BYTES: u64 = 96 << 20;
/// The least number of rows of a piece when a file is cut so that each core has a part.
const FEWEST_PIECE_ROWS: u64 = 65_536;

/// The sizes into which a row group is cut.
pub(super) struct PieceSize {
    /// The number of rows of a piece.
    pub(super) rows: u64,
    /// The size of a decoded row.
    pub(super) bytes_per_row: u64,
    /// The number of rows of a batch.
    pub(super) batch_rows: u64,
    /// The bytes that are fetched for the columns of a row group, for each row.
    pub(super) fetched_per_row: u64,
}

impl PieceSize {
    /// Returns the sizes for a row group of a file of which `total` rows are read.
    pub(super) fn of(context: &ReadContext, stored: &ParquetContent, group: usize, total: u64) -> Self {
        let group = stored.file.metadata().row_groups().get(group);
        let rows = group.map_or(1, |group| group.num_rows().unsigned_abs()).max(1);
        let leaves = || stored.all.leaves().iter();
        let chunks =
            || group.into_iter().flat_map(|group| leaves().filter_map(|leaf| Some((*leaf, group.columns().get(*leaf)?))));
        let bytes = |(leaf, chunk)| decoded_bytes(chunk, stored.all.padded_length(leaf));
        let bytes_per_row = chunks().map(bytes).sum::<u64>().div_ceil(rows).max(1);
        let fetched_per_row = chunks().map(|(_, chunk)| chunk.compressed_size().unsigned_abs()).sum::<u64>().div_ceil(rows);
        let resources = &context.resources;
        let batch_rows = resources.batch_rows.map_or((BATCH_BYTES / bytes_per_row).clamp(1, MOST_BATCH_ROWS), |rows| rows as u64);
        let share = resources.memory.limit_bytes() / (resources.lanes() as u64 + 1);
        let ahead =
            resources.ahead_bytes.filter(|_| stored.file.is_local()).map_or(u64::MAX, |bytes| bytes / resources.lanes() as u64);
        let by_memory = PIECE_BYTES.min(share).min(ahead) / bytes_per_row;
        // A single file is cut so that each core has a part of it.
        let by_cores = if resources.has_few_files {
            total.div_ceil(resources.cores.count() as u64).max(FEWEST_PIECE_ROWS)
        } else {
            u64::MAX
        };
        Self { rows: by_memory.min(by_cores).max(batch_rows), bytes_per_row, batch_rows, fetched_per_row }
    }
}

/// Returns how much memory the values of a column chunk need, as far as its metadata says. Each
/// string has at least `length` characters.
fn decoded_bytes(chunk: &ColumnChunkMetaData, length: u32) -> u64 {
    let values = chunk.num_values().unsigned_abs();
    let encoded = chunk.uncompressed_size().unsigned_abs();
    match chunk.column_type() {
        PhysicalType::BOOLEAN => values.div_ceil(8),
        PhysicalType::INT32 | PhysicalType::FLOAT => values.saturating_mul(if is_decimal(chunk) { 16 } else { 4 }),
        PhysicalType::INT64 | PhysicalType::DOUBLE => values.saturating_mul(if is_decimal(chunk) { 16 } else { 8 }),
        PhysicalType::INT96 => values.saturating_mul(12),
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            let length = chunk.column_descr().type_length().unsigned_abs();
            values.saturating_mul(u64::from(length.max(16)))
        }
        PhysicalType::BYTE_ARRAY => {
            // If the writer did not store the size of the strings, a dictionary hides it.
            let text = chunk
                .unencoded_byte_array_data_bytes()
                .map(i64::unsigned_abs)
                .unwrap_or_else(|| encoded.max(values.saturating_mul(12)));
            text.max(values.saturating_mul(length.into())).saturating_add(values.saturating_mul(4))
        }
    }
}

fn is_decimal(chunk: &ColumnChunkMetaData) -> bool {
    chunk.column_descr().converted_type() == ConvertedType::DECIMAL
}
