//! Options for writing a Parquet file.

use arrow_array::RecordBatch;
use lakebed_core::Result;
use lakebed_core::stats::{COMPLETE, COMPLETE_TAG};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use super::bounds;
use super::dictionary::without_dictionary;
use crate::at::At;
use crate::parquet::complete_stats::LAKEBED;

/// The way in which a file is written.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteOptions {
    /// The compression of pages.
    pub codec: Codec,
    /// The largest number of rows in a row group.
    pub row_group_rows: usize,
    /// The approximate size of a row group in bytes.
    pub row_group_bytes: usize,
    /// Columns with Bloom filters, as paths of field names.
    pub bloom_columns: Vec<Vec<String>>,
    /// Columns without a dictionary, as paths of field names.
    pub plain_columns: Vec<Vec<String>>,
    /// Whether data pages have the second version of the format.
    pub second_pages: bool,
}

/// The level of gzip if none is given.
pub const USUAL_GZIP: u32 = 6;

/// The compression of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// No compression.
    Uncompressed,
    /// Fast compression.
    #[default]
    Snappy,
    /// Small files. The level is from 1 to 22.
    Zstd(i32),
    /// Small files, slowly. The level is from 0 to 9, and [`USUAL_GZIP`] if none is given.
    Gzip(u32),
    /// Fast compression.
    Lz4,
}

impl Codec {
    /// Returns the codec with this name, spelled as in properties and in any case: `zstd` or
    /// `zstd(3)`.
    pub fn parse(name: &str) -> Option<Self> {
        let lower = name.trim().to_ascii_lowercase();
        Some(match lower.as_str() {
            "none" | "uncompressed" => Self::Uncompressed,
            "snappy" => Self::Snappy,
            "zstd" => Self::Zstd(1),
            "gzip" => Self::Gzip(USUAL_GZIP),
            "lz4" | "lz4_raw" | "lz4raw" => Self::Lz4,
            _ => {
                let (name, level) = lower.strip_suffix(')')?.split_once('(')?;
                let level: u8 = level.trim().parse().ok()?;
                return match name {
                    "zstd" => (1..=22).contains(&level).then_some(Self::Zstd(level.into())),
                    "gzip" => (level <= 9).then_some(Self::Gzip(level.into())),
                    _ => None,
                };
            }
        })
    }

    /// Returns the name by which [`Self::parse`] finds the codec.
    pub fn name(self) -> String {
        match self {
            Self::Uncompressed => "none".to_owned(),
            Self::Snappy => "snappy".to_owned(),
            Self::Zstd(level) => format!("zstd({level})"),
            Self::Gzip(USUAL_GZIP) => "gzip".to_owned(),
            Self::Gzip(level) => format!("gzip({level})"),
            Self::Lz4 => "lz4".to_owned(),
        }
    }

    /// Returns the part of a file name before `.parquet`.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Uncompressed => "",
            Self::Snappy => ".snappy",
            Self::Zstd(_) => ".zstd",
            Self::Gzip(_) => ".gz",
            Self::Lz4 => ".lz4raw",
        }
    }

    fn compression(self) -> Result<Compression> {
        Ok(match self {
            Self::Uncompressed => Compression::UNCOMPRESSED,
            Self::Snappy => Compression::SNAPPY,
            Self::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).at("the level of zstd")?),
            Self::Gzip(level) => Compression::GZIP(GzipLevel::try_new(level).at("the level of gzip")?),
            Self::Lz4 => Compression::LZ4_RAW,
        })
    }
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            codec: Codec::default(),
            row_group_rows: 1 << 20,
            row_group_bytes: 128 << 20,
            bloom_columns: Vec::new(),
            plain_columns: Vec::new(),
            second_pages: false,
        }
    }
}

impl WriteOptions {
    /// Returns these options, adapted to rows from which `sample` was taken. Columns that gain
    /// nothing from a dictionary get none.
    pub fn suited_to(mut self, sample: &RecordBatch, rows: usize) -> Self {
        self.plain_columns = without_dictionary(sample, rows, self.row_group_rows);
        self
    }

    pub(super) fn properties(&self) -> Result<WriterProperties> {
        let version = if self.second_pages { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
        let mut properties = WriterProperties::builder()
            .set_compression(self.codec.compression()?)
            .set_writer_version(version)
            .set_max_row_group_row_count(Some(self.row_group_rows))
            // The bounds are shortened when the chunk ends.
            .set_statistics_truncate_length(Some(bounds::MOST_BYTES))
            .set_column_index_truncate_length(Some(bounds::MOST_BYTES))
            .set_created_by(format!("{LAKEBED}{}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![KeyValue::new(COMPLETE_TAG.to_owned(), COMPLETE.to_owned())]));
        for column in &self.bloom_columns {
            properties = properties.set_column_bloom_filter_enabled(ColumnPath::new(column.clone()), true);
        }
        for column in &self.plain_columns {
            properties = properties.set_column_dictionary_enabled(ColumnPath::new(column.clone()), false);
        }
        Ok(properties.build())
    }
}
