//! The error type of all crates. It is opaque, and has a kind that lets callers decide what to do.
//!
//! A message contains the problem, its place (a table, file or line) and, if the caller can do
//! something, advice. Read [`ErrorKind`] first.

use std::error::Error as StdError;
use std::fmt;

/// The Parquet decoder's message for a column of a batch that is larger than Arrow's offsets allow.
const OVERFLOW: &str = "index overflow decoding byte array";

/// `Result` with lakebed's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error. Callers see only its [`kind`](Error::kind) and its message.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of error on which callers act differently.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no Delta table at this location.
    TableNotFound,
    /// There is a Delta table at a location where none may exist.
    TableExists,
    /// The version or timestamp is outside the range that the log can still reconstruct.
    VersionNotFound,
    /// The table needs features that lakebed does not have.
    UnsupportedFeature {
        /// The features by their protocol names.
        features: Vec<String>,
    },
    /// A file of the table does not follow the protocol.
    Corrupt {
        /// The object with the damage, as far as it is known.
        path: String,
    },
    /// The data does not have the table's schema.
    SchemaMismatch,
    /// A predicate or expression cannot be understood.
    Predicate,
    /// A store refused a request, failed, or could not be reached.
    Store {
        /// The object or prefix of the request.
        object: String,
        /// Whether the same call may succeed later.
        retryable: bool,
        /// Whether the store reported that the object does not exist.
        not_found: bool,
    },
    /// Rows break a rule of the table: a CHECK constraint, NOT NULL, an invariant.
    ConstraintViolation,
    /// Another writer committed first, and its commit conflicts with this one.
    CommitConflict {
        /// The kind of the conflict.
        kind: ConflictKind,
        /// The version of the other writer's commit.
        winner_version: u64,
        /// Whether the same operation may succeed if it is retried on the newest version.
        retryable: bool,
    },
    /// It is unknown whether a commit was written. Its files must stay. The id identifies the
    /// commit if it appears in the log.
    CommitUnknown {
        /// `commitInfo.txnId` of the commit.
        txn_id: String,
    },
    /// The memory budget is too small.
    ResourceExhausted,
    /// An argument of the caller is not valid.
    InvalidInput,
    /// There is a bug in lakebed.
    Internal,
}

/// The kind of conflict between two concurrent commits. The names are Delta Spark's, without the
/// suffix "Exception".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConflictKind {
    /// The winner changed the protocol.
    ProtocolChanged,
    /// The winner changed the metadata.
    MetadataChanged,
    /// The winner added files that the loser should have read.
    ConcurrentAppend,
    /// The winner removed files that the loser read.
    ConcurrentDeleteRead,
    /// Both removed the same file.
    ConcurrentDeleteDelete,
    /// Both set the same transaction identifier of an application, or the same metadata domain.
    ConcurrentTransaction,
    /// The version is taken, and the losing commit cannot be moved to a later version.
    ConcurrentWrite,
}

impl ConflictKind {
    /// Returns the name as Delta Spark spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ProtocolChanged => "ProtocolChanged",
            Self::MetadataChanged => "MetadataChanged",
            Self::ConcurrentAppend => "ConcurrentAppend",
            Self::ConcurrentDeleteRead => "ConcurrentDeleteRead",
            Self::ConcurrentDeleteDelete => "ConcurrentDeleteDelete",
            Self::ConcurrentTransaction => "ConcurrentTransaction",
            Self::ConcurrentWrite => "ConcurrentWrite",
        }
    }
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Error {
    /// Creates an error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), source: None }))
    }

    /// Adds the cause of the error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Prefixes the message with the place where the error happened.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        self.0.message = format!("{place}: {}", self.0.message);
        self
    }

    /// Creates the error for a file of the table that breaks the protocol.
    pub fn corrupt(path: impl Into<String>, message: impl fmt::Display) -> Self {
        let path = path.into();
        let message = format!("{path}: {message}");
        Self::new(ErrorKind::Corrupt { path }, message)
    }

    /// Creates the error for a table that needs these features.
    pub fn unsupported(features: Vec<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::UnsupportedFeature { features }, message)
    }

    /// Creates the error for an argument that is not valid.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Creates the error for a predicate or expression that cannot be understood.
    pub fn predicate(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Predicate, message)
    }

    /// Creates the error for data that does not have the table's schema.
    pub fn schema_mismatch(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::SchemaMismatch, message)
    }

    /// Creates the error for a bug in lakebed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Creates the error for a string or binary column that would exceed 2 GiB in one batch. The
    /// remedy is to read fewer rows at a time.
    pub fn batch_too_large(what: impl fmt::Display) -> Self {
        Self::internal(format!("{OVERFLOW}: {what}"))
    }

    /// Returns whether the error is that of [`batch_too_large`](Self::batch_too_large). It may also
    /// come from the Parquet decoder.
    pub fn is_batch_too_large(&self) -> bool {
        self.to_string().contains(OVERFLOW)
    }

    /// Returns the kind, which callers use to decide what to do.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the message without its causes.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns whether a store reported that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Store { not_found: true, .. })
    }

    /// Creates the error for an object that was replaced by another of the same name while it was
    /// read. Reading may succeed if the object is opened again.
    pub fn replaced(object: impl Into<String>) -> Self {
        let object = object.into();
        let message = format!("{object}: it was replaced by another object of this name while it was read");
        Self::new(ErrorKind::Store { object, retryable: true, not_found: true }, message)
    }

    /// Returns whether the error is that of [`replaced`](Self::replaced). Other missing objects
    /// stay missing on a retry.
    pub fn is_replaced(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Store { retryable: true, not_found: true, .. })
    }

    /// Turns an error about corrupt data into one about the caller's argument. In this case the
    /// caller passed the data, and only the caller can correct it.
    #[must_use]
    pub fn of_caller(mut self) -> Self {
        if self.is_corrupt() {
            self.0.kind = ErrorKind::InvalidInput;
        }
        self
    }

    /// Returns whether the bytes of the table are corrupt. In this case another source of the same
    /// facts may be used.
    pub fn is_corrupt(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Corrupt { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !self.0.message.contains(&text) {
                write!(f, ": {text}")?;
            }
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as &(dyn StdError + 'static))
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Error::internal("an Arrow operation failed").with_source(error)
    }
}
