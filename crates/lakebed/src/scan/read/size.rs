//! How large pieces and batches are to be, judged by a file's metadata.

use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::file::metadata::ColumnChunkMetaData;

use super::file::Stored;
use super::job::Job;

/// A batch of about this size is small enough for caches and large enough for its takers.
const BATCH_BYTES: u64 = 16 << 20;
pub(super) const MOST_BATCH_ROWS: u64 = 65_536;
/// A piece of about this size keeps a core busy without holding much memory.
const PIECE_BYTES: u64 = 96 << 20;
/// Fewer rows are not worth a piece of their own.
const FEWEST_PIECE_ROWS: u64 = 65_536;

/// How to cut a row group.
pub(super) struct PieceSize {
    /// Of a piece.
    pub(super) rows: u64,
    /// When decoded.
    pub(super) bytes_per_row: u64,
    /// Of a batch.
    pub(super) batch_rows: u64,
    /// What fetching the row group's columns takes, for each row.
    pub(super) fetched_per_row: u64,
}

impl PieceSize {
    /// For a row group of a file of which `total` rows are to be read.
    pub(super) fn of(job: &Job, stored: &Stored, group: usize, total: u64) -> Self {
        let group = stored.file.metadata().row_groups().get(group);
        let rows = group.map_or(1, |group| group.num_rows().unsigned_abs()).max(1);
        let leaves = || stored.all.leaves().iter();
        let chunks =
            || group.into_iter().flat_map(|group| leaves().filter_map(|leaf| Some((*leaf, group.columns().get(*leaf)?))));
        let bytes = |(leaf, chunk)| decoded_bytes(chunk, stored.all.padded_length(leaf));
        let bytes_per_row = chunks().map(bytes).sum::<u64>().div_ceil(rows).max(1);
        let fetched_per_row = chunks().map(|(_, chunk)| chunk.compressed_size().unsigned_abs()).sum::<u64>().div_ceil(rows);
        let batch_rows = job.batch_rows().map_or((BATCH_BYTES / bytes_per_row).clamp(1, MOST_BATCH_ROWS), |rows| rows as u64);
        let share = job.memory().limit_bytes() / (job.lanes() as u64 + 1);
        let ahead = job.ahead_bytes().filter(|_| stored.file.is_local()).map_or(u64::MAX, |bytes| bytes / job.lanes() as u64);
        let by_memory = PIECE_BYTES.min(share).min(ahead) / bytes_per_row;
        // A single file is cut so that each core has a part of it.
        let by_cores =
            if job.has_few_files() { total.div_ceil(job.cores().count() as u64).max(FEWEST_PIECE_ROWS) } else { u64::MAX };
        Self { rows: by_memory.min(by_cores).max(batch_rows), bytes_per_row, batch_rows, fetched_per_row }
    }
}

/// What the values of a column chunk take in memory, as far as its metadata tells; texts have so
/// many characters at least.
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
            // Without the writer's word on it, a dictionary hides how much text there is.
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
