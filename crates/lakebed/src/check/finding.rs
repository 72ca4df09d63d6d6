//! A contradiction in a table: its kind, its place, its meaning for users, and the call that
//! mends it.

use serde::Serialize;

use super::options::Level;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing is wrong, but something costs time.
    Notice,
    /// The newest version can be read with the right rows, but a spare part is broken, or an older
    /// version is lost.
    Warning,
    /// The newest version cannot be read as a whole, or some readers return wrong rows.
    Error,
}

/// Declares the kinds with their levels, severities, meanings and remedies.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident: $level:ident, $severity:ident, $meaning:expr, $remedy:expr;)+) => {
        /// What was found.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum FindingKind {
            $($(#[doc = $doc])+ $name,)+
        }

        impl FindingKind {
            /// All kinds, the shallowest level first.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the first level that finds it.
            pub fn level(self) -> Level {
                match self { $(Self::$name => Level::$level,)+ }
            }

            /// Returns how bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }

            /// Returns the meaning of the contradiction for users of the table.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)+ }
            }

            /// Returns the call that mends it, as Python spells it.
            pub fn remedy(self) -> Option<&'static str> {
                match self { $(Self::$name => $remedy,)+ }
            }
        }
    };
}

const REPAIR: Option<&str> = Some("table.repair(dry_run=False)");
const DROP_FILES: Option<&str> = Some("table.repair(dry_run=False, drop_missing_files=True)");
const TRUNCATE: Option<&str> = Some("lakebed.repair(uri, dry_run=False, truncate_log=True)");
// The caller must choose, so the call is incomplete: run as it is, it is an error that explains the choice.
const CHOOSE: Option<&str> = Some("table.repair(lost_deletion_vectors=...)");
const HISTORY: Option<&str> = Some("table.repair(dry_run=False, level=\"history\")");

const VECTOR_LOST: &str = "Reads that need the data file fail, because it is not known which of its rows are deleted. Restore the \
     deletion vector from a copy, or choose: its deleted rows come back, or all of its rows are lost.";

kinds! {
    /// A commit that the newest version needs does not exist.
    CommitMissing: Log, Error,
        "The newest version cannot be read. Restore the commit from a copy of the table; versions before it can still be read.",
        None;
    /// A commit that the newest version needs cannot be parsed.
    CommitUnreadable: Log, Error,
        "The newest version cannot be read. If no later commit is valid, the tail of the log can be cut: its changes are lost.",
        TRUNCATE;
    /// A commit that the newest version needs has two actions where one is allowed.
    CommitContradictory: Log, Error, "Engines may disagree about the state of the table, and so about its rows.", None;
    /// The protocol, the schema or a property is not valid.
    DefinitionInvalid: Log, Error, "The table cannot be opened.", None;
    /// The table uses a feature that lakebed does not support.
    FeatureUnsupported: Log, Error, "lakebed cannot read the table. Another engine may be able to.", None;
    /// A commit below the newest checkpoint does not exist, although older ones do.
    OldCommitMissing: Log, Warning,
        "The newest version can be read, but time travel and the change feed across this version fail.", None;
    /// A commit below the newest checkpoint is empty.
    OldCommitUnreadable: Log, Warning,
        "The newest version can be read, but time travel and the change feed across this version fail.", None;
    /// A part of a checkpoint is missing or empty.
    CheckpointIncomplete: Log, Warning,
        "Readers use an older checkpoint and more commits. Some engines fail instead.", REPAIR;
    /// `_last_checkpoint` cannot be parsed.
    HintUnreadable: Log, Warning, "Readers list the whole log to find the newest checkpoint.", REPAIR;
    /// `_last_checkpoint` names a checkpoint that does not exist, or describes it wrongly.
    HintWrong: Log, Warning, "Readers list the whole log to find the newest checkpoint. Some engines fail instead.", REPAIR;
    /// `_last_checkpoint` names an older checkpoint than the newest.
    HintOutdated: Log, Notice, "Readers list more files of the log than necessary.", REPAIR;

    /// The state of the newest version cannot be rebuilt.
    StateUnreadable: State, Error, "The newest version cannot be read.", None;
    /// A checkpoint cannot be read.
    CheckpointUnreadable: State, Warning,
        "Readers use an older checkpoint and more commits, as long as these exist. Some engines fail instead.", REPAIR;
    /// A checkpoint has another state than the commits.
    CheckpointWrong: State, Error, "Readers of this checkpoint return wrong rows, without an error.", REPAIR;
    /// The checksum of the newest version cannot be parsed.
    ChecksumUnreadable: State, Warning, "Readers and writers read more of the log. Nothing else is affected.", REPAIR;
    /// The checksum of the newest version contradicts the log, or a checksum has no version.
    ChecksumWrong: State, Warning, "Engines that trust the checksum may refuse the table, or open it wrongly.", REPAIR;
    /// A file action is not valid: its path, its size, a partition value, or a feature that it needs.
    FileEntryInvalid: State, Error, "Reads that need the file fail, and engines may disagree about its rows.", None;
    /// A log compaction cannot be read.
    CompactionUnreadable: State, Warning, "lakebed reads the commits instead. Some engines fail.", REPAIR;
    /// A log compaction adds other files than its commits.
    CompactionWrong: State, Error, "lakebed reads the commits instead. Engines that read the compaction return wrong rows.", REPAIR;
    /// The high-water mark of row ids is lower than the row ids of files.
    RowIdMarkWrong: State, Error, "The next rows get the row ids of existing rows.", REPAIR;
    /// The newest version has the same data file twice, with different deletion vectors.
    FileListedTwice: State, Error, "The rows of the file are returned twice.", None;

    /// A data file does not exist.
    DataFileMissing: Files, Error,
        "Reads that need the file fail. Restore it from a copy, or drop it from the table: its rows are lost.", DROP_FILES;
    /// A data file has another size than the log records.
    DataFileResized: Files, Error, "The file was changed or is torn. Reads that need it may fail.", None;
    /// A file of deletion vectors does not exist.
    DeletionVectorMissing: Files, Error, VECTOR_LOST, CHOOSE;
    /// A file of deletion vectors is too short.
    DeletionVectorTorn: Files, Error, VECTOR_LOST, CHOOSE;

    /// The footer of a data file cannot be read.
    FooterUnreadable: Footers, Error, "Reads that need the file fail. Restore it from a copy.", None;
    /// The log records another number of rows than the file has.
    RowCountWrong: Footers, Error, "Counts that come from the log are wrong.", REPAIR;
    /// The columns of a data file do not fit the table.
    FileSchemaWrong: Footers, Error, "Reads of these columns fail.", None;
    /// The statistics of a file are not valid JSON.
    StatisticsUnreadable: Footers, Warning, "Readers cannot skip the file. Some engines fail.", REPAIR;
    /// A bound in the log does not contain the values of the file.
    BoundsWrong: Footers, Error, "Queries with a predicate skip the file wrongly and lose rows, without an error.", REPAIR;
    /// The log records another number of nulls than the file has.
    NullCountWrong: Footers, Error, "Queries with IS NULL or IS NOT NULL skip the file wrongly and lose rows.", REPAIR;
    /// A deletion vector cannot be read, or contradicts the log or the file.
    DeletionVectorInvalid: Footers, Error, VECTOR_LOST, CHOOSE;

    /// Rows of a data file cannot be decoded.
    RowsUnreadable: Rows, Error, "Reads that need these rows fail. Restore the file from a copy.", None;
    /// The conditions of the table cannot be evaluated.
    ConditionsUnchecked: Rows, Notice, "Constraints and generated columns were not checked.", None;
    /// A row violates NOT NULL, a length, a CHECK constraint or an invariant.
    ConstraintViolated: Rows, Error, "Queries rely on the condition. Rewriting the row is refused.", None;
    /// A generated column has another value than its expression.
    GeneratedColumnWrong: Rows, Error, "Queries on the columns of the expression skip the file wrongly and lose rows.", None;
    /// Two rows have the same row id.
    RowIdsRepeated: Rows, Error, "Readers that identify rows by their ids mix up these rows.", None;

    /// Versions that the log should be able to rebuild cannot be rebuilt.
    VersionUnreadable: History, Warning, "Time travel to these versions fails.", None;
    /// A data file or deletion vector of a version within the retention period does not exist.
    OldFileMissing: History, Warning, "Time travel to versions before its removal fails. The newest version is not affected.", None;
    /// A change data file of a version within the retention period does not exist.
    ChangeFileMissing: History, Warning, "The change data feed of this version cannot be read.", None;
    /// A version has no in-commit timestamp, or one that is not later than that of the version before.
    CommitTimeWrong: History, Warning, "Time travel by timestamp fails, or finds another version.", None;
    /// No version names a file of deletion vectors, and it is older than the retention period.
    DeletionVectorOrphaned: History, Notice, "The file only takes space.", HISTORY;
}

/// A contradiction in a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was found.
    pub kind: FindingKind,
    /// The file: a name in the log, or a path as the log spells it.
    pub file: Option<String>,
    /// The version.
    pub version: Option<u64>,
    /// The column, by its logical name.
    pub column: Option<String>,
    /// The contradiction in words.
    pub message: String,
}

impl Finding {
    pub(crate) fn new(kind: FindingKind, message: impl Into<String>) -> Self {
        Self { kind, file: None, version: None, column: None, message: message.into() }
    }

    #[must_use]
    pub(crate) fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    #[must_use]
    pub(crate) fn version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }

    #[must_use]
    pub(crate) fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
}
