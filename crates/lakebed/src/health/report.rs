//! The result: measures with judgements.

use serde::Serialize;

/// Whether something should be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// Nothing needs to be done.
    Ok,
    /// It costs little now, and may cost more later.
    Watch,
    /// The remedy is worth its cost.
    Act,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasureKind {
    /// The share of files that combining small files would save.
    SmallFiles,
    /// How many times as large as the median partition the largest one is.
    PartitionSkew,
    /// The share of rows that deletion vectors hide.
    DeletedRows,
    /// The share of files that lack statistics of the table's settings.
    MissingStatistics,
    /// The number of files that a lookup of one value of a clustering column reads, as a share of
    /// all files.
    Clustering,
    /// The same for another column with bounds.
    ColumnOverlap,
    /// The size of the removed files that a vacuum may delete, as a share of the version's size.
    Tombstones,
    /// The number of table features that the version does not use.
    UnusedFeatures,
    /// The number of table features that few engines can read.
    RareFeatures,
    /// The number of commits above the newest checkpoint.
    CommitsSinceCheckpoint,
    /// The number of files in the log.
    LogFiles,
    /// The number of versions that the log can rebuild.
    Versions,
}

/// One measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HealthMeasure {
    /// What is measured.
    pub kind: MeasureKind,
    /// The column, if the measure is of one.
    pub column: Option<String>,
    /// The number. Shares are between 0 and 1.
    pub value: f64,
    /// Whether something should be done.
    pub judgement: Judgement,
    /// The measure in words.
    pub detail: String,
    /// The call that mends it, as Python spells it.
    pub remedy: Option<String>,
    /// The bytes that the remedy reads and writes again, and the number of their files.
    pub cost_bytes: u64,
    /// The number of these files.
    pub cost_files: u64,
    /// About how many files fewer there are then.
    pub saved_files: u64,
    /// About how many bytes fewer the newest version has then. For tombstones, it is the folder that
    /// has fewer files and bytes.
    pub saved_bytes: u64,
}

/// The health of a version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Health {
    /// The version.
    pub version: u64,
    /// The number of data files.
    pub files: u64,
    /// Their size.
    pub size_bytes: u64,
    /// The number of rows, if the log gives it for all files.
    pub rows: Option<u64>,
    /// The number of partitions. It is 1 for a table without partition columns.
    pub partitions: u64,
    /// The measures.
    pub measures: Vec<HealthMeasure>,
}

impl HealthMeasure {
    pub(super) fn new(kind: MeasureKind, value: f64, judgement: Judgement, detail: String) -> Self {
        Self {
            kind,
            column: None,
            value,
            judgement,
            detail,
            remedy: None,
            cost_bytes: 0,
            cost_files: 0,
            saved_files: 0,
            saved_bytes: 0,
        }
    }

    /// Names the call that mends it, if something should be done.
    #[must_use]
    pub(super) fn mended_by(mut self, remedy: &str) -> Self {
        if self.judgement != Judgement::Ok {
            self.remedy = Some(remedy.to_owned());
        }
        self
    }

    #[must_use]
    pub(super) fn costs(mut self, files: u64, bytes: u64) -> Self {
        (self.cost_files, self.cost_bytes) = (files, bytes);
        self
    }

    #[must_use]
    pub(super) fn saves(mut self, files: u64, bytes: u64) -> Self {
        (self.saved_files, self.saved_bytes) = (files, bytes);
        self
    }
}

impl Health {
    /// Returns the worst judgement.
    pub fn judgement(&self) -> Judgement {
        self.measures.iter().map(|measure| measure.judgement).max().unwrap_or(Judgement::Ok)
    }
}
