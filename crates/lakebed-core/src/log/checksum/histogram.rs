//! The number of files by size, and the number of files by deleted rows.

use serde_json::{Value, json};

/// The lower bounds of the bins in Delta Spark's histograms: 0 and powers of two from 8 KiB on,
/// followed by the MiB below. Spark compares its own histogram with the one that it reads, and
/// fails if their bins differ.
const FROM_KIB: [i64; 8] = [0, 8, 16, 32, 64, 128, 256, 512];
const FROM_MIB: [i64; 87] = [
    1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 124, 128, 132, 136, 140, 144, 160,
    176, 192, 208, 224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 400, 416, 432, 448, 464, 480, 496, 512, 528, 544, 560,
    576, 640, 704, 768, 832, 896, 960, 1024, 1088, 1152, 1216, 1280, 1344, 1408, 1536, 1664, 1792, 1920, 2048, 2304, 2560, 2816,
    3072, 3328, 3584, 3840, 4096, 8192, 16384, 32768, 65536, 131_072, 262_144,
];

/// Counts and sums of files by size. PROTOCOL "File Size Histogram Schema".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSizeHistogram {
    /// The lower bound of each bin, ascending from 0.
    pub sorted_bin_boundaries: Vec<i64>,
    /// The number of files in each bin.
    pub file_counts: Vec<i64>,
    /// The total size of the files in each bin.
    pub total_bytes: Vec<i64>,
}

impl Default for FileSizeHistogram {
    fn default() -> Self {
        let small = FROM_KIB.iter().map(|kib| kib << 10);
        let boundaries: Vec<i64> = small.chain(FROM_MIB.iter().map(|mib| mib << 20)).collect();
        let zeros = vec![0; boundaries.len()];
        Self { sorted_bin_boundaries: boundaries, file_counts: zeros.clone(), total_bytes: zeros }
    }
}

impl FileSizeHistogram {
    /// Returns `None` if the histogram contradicts itself.
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let longs = |key: &str| value.get(key)?.as_array()?.iter().map(Value::as_i64).collect::<Option<Vec<i64>>>();
        let found = Self {
            sorted_bin_boundaries: longs("sortedBinBoundaries")?,
            file_counts: longs("fileCounts")?,
            total_bytes: longs("totalBytes")?,
        };
        let bins = found.sorted_bin_boundaries.len();
        let sorted = found.sorted_bin_boundaries.is_sorted() && found.sorted_bin_boundaries.first() == Some(&0);
        (sorted && found.file_counts.len() == bins && found.total_bytes.len() == bins).then_some(found)
    }

    pub(super) fn to_value(&self) -> Value {
        json!({
            "sortedBinBoundaries": self.sorted_bin_boundaries,
            "fileCounts": self.file_counts,
            "totalBytes": self.total_bytes,
        })
    }

    /// Adds `files` files of this size. The number may be negative.
    pub(super) fn count(&mut self, size: i64, files: i64) {
        let Some(bin) = self.sorted_bin_boundaries.partition_point(|from| *from <= size).checked_sub(1) else { return };
        if let (Some(count), Some(bytes)) = (self.file_counts.get_mut(bin), self.total_bytes.get_mut(bin)) {
            *count += files;
            *bytes += files * size;
        }
    }

    /// Adds a histogram with the same bins.
    pub(super) fn merge(&mut self, other: &Self) {
        add_up(&mut self.file_counts, &other.file_counts);
        add_up(&mut self.total_bytes, &other.total_bytes);
    }

    pub(super) fn is_possible(&self) -> bool {
        self.file_counts.iter().chain(&self.total_bytes).all(|count| *count >= 0)
    }
}

/// The number of files by the number of rows that deletion vectors delete. PROTOCOL "Deleted Record
/// Counts Histogram Schema".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeletedRecordCounts(pub [i64; 10]);

impl DeletedRecordCounts {
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let counts = value.get("deletedRecordCounts")?.as_array()?.iter().map(Value::as_i64).collect::<Option<Vec<i64>>>()?;
        counts.try_into().ok().map(Self)
    }

    pub(super) fn to_value(self) -> Value {
        json!({ "deletedRecordCounts": self.0 })
    }

    /// Adds `files` files with this number of deleted rows. The number may be negative.
    pub(super) fn count(&mut self, deleted: i64, files: i64) {
        // The bins are 0, numbers of one digit, numbers of two digits and so on. The last bin
        // begins at the end of 32 bits.
        let bin = match deleted {
            i64::MIN..=0 => 0,
            deleted if deleted >= i64::from(i32::MAX) => 9,
            deleted => (deleted.ilog10() as usize + 1).min(8),
        };
        if let Some(count) = self.0.get_mut(bin) {
            *count += files;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        add_up(&mut self.0, &other.0);
    }

    pub(super) fn is_possible(&self) -> bool {
        self.0.iter().all(|count| *count >= 0)
    }
}

fn add_up(sums: &mut [i64], more: &[i64]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}
