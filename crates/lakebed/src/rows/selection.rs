//! The rows of a snapshot that a change selects. Read [`Selection`] first.

use std::sync::Arc;

use lakebed_core::schema::StructType;
use lakebed_expr::prune::Pruner;
use lakebed_expr::{Filter, Options, filter_schema, parse_filter};

use crate::transaction::{Partitions, ReadSet};
use crate::{Result, Snapshot};

/// The rows that a change selects.
#[derive(Debug)]
pub(crate) enum Selection {
    All,
    Matching(Matching),
    /// The rows of some partitions.
    Partitions(Partitions),
}

/// A predicate on the rows of a snapshot, with its pruner of files. The plan of the files and the
/// read set share the pruner.
#[derive(Debug, Clone)]
pub(crate) struct Matching {
    pub(crate) filter: Arc<Filter>,
    pub(crate) pruner: Arc<Pruner>,
}

/// Parses the predicate of the rows that a change selects.
pub(crate) fn parse_condition(table: &str, schema: &StructType, text: &str, now_ms: i64) -> Result<Arc<Filter>> {
    let options = Options { now_ms: Some(now_ms) };
    Ok(Arc::new(parse_filter(text, &filter_schema(schema)?, &options).map_err(|error| error.within(table))?))
}

impl Matching {
    pub(crate) fn new(snapshot: &Snapshot, filter: Arc<Filter>) -> Result<Self> {
        Ok(Self { pruner: snapshot.pruner(&filter)?, filter })
    }
}

impl Selection {
    /// Returns the read set of a search for the rows.
    pub(crate) fn read_set(&self) -> ReadSet {
        let mut read = ReadSet::default();
        match self {
            Self::All => read.all(),
            Self::Matching(matching) => read.matching(Arc::clone(&matching.pruner)),
            Self::Partitions(partitions) => read.partitions(partitions.clone()),
        }
        read
    }

    /// Returns the predicate, if there is one.
    pub(crate) fn matching(&self) -> Option<&Matching> {
        match self {
            Self::Matching(matching) => Some(matching),
            Self::All | Self::Partitions(_) => None,
        }
    }
}

/// No predicate selects all rows.
impl From<Option<Matching>> for Selection {
    fn from(matching: Option<Matching>) -> Self {
        matching.map_or(Self::All, Self::Matching)
    }
}
