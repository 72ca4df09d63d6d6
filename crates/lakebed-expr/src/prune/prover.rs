//! The facts that are available about files, and the state of a proof. Read [`Prover`] first.

use arrow_schema::{DataType, Schema};
use datafusion_expr::{Expr, Operator, lit};

use super::facts::Facts;
use super::generated::Generated;
use crate::evaluate::tree::join_conditions;

/// The origin of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatisticsSource {
    /// There are none, and only partition values are used.
    None,
    /// Statistics of the log, which have no bounds of booleans and binaries.
    Log,
    /// Statistics of a file's footer, in the form of the log's statistics.
    Footer,
}

impl StatisticsSource {
    /// Returns whether columns of a type have bounds.
    pub(super) fn hold_bounds_of(self, data_type: &DataType) -> bool {
        use DataType::{Binary, Boolean, Date32, Timestamp, Utf8};
        let of_log = data_type.is_numeric() || matches!(data_type, Date32 | Timestamp(_, _) | Utf8);
        match self {
            Self::None => false,
            Self::Log => of_log,
            // Binaries are compared unsigned, as in Spark. Bounds that were computed in another
            // order count as unknown.
            Self::Footer => of_log || matches!(data_type, Boolean | Binary),
        }
    }
}

/// The sources of facts about a table.
#[derive(Clone, Copy)]
pub(crate) struct FactSources<'a> {
    /// The columns to which the filter was bound.
    pub(crate) schema: &'a Schema,
    /// The partition columns by their names in the schema.
    pub(crate) partitions: &'a [String],
    pub(crate) generated: &'a [Generated],
    pub(crate) statistics: StatisticsSource,
}

/// Turns conditions on rows into conditions on facts.
pub(crate) struct Prover<'a> {
    pub(super) sources: FactSources<'a>,
    /// The facts requested so far.
    pub(super) facts: Facts,
    /// Values that are not NaN in any row that matters, because other conditions exclude it.
    pub(super) never_nan: Vec<Expr>,
    notes: Vec<String>,
    inexact: bool,
}

/// The condition on facts under which the answer is yes. `None` means perhaps.
pub(super) type Answer = Option<Expr>;

/// Combines answers that must all be possible.
pub(super) fn all(answers: impl IntoIterator<Item = Answer>) -> Answer {
    let known: Vec<Expr> = answers.into_iter().flatten().collect();
    if known.is_empty() { None } else { Some(join_conditions(Operator::And, known)) }
}

/// Combines answers of which one must be possible.
pub(super) fn any(answers: impl IntoIterator<Item = Answer>) -> Answer {
    answers.into_iter().collect::<Option<Vec<_>>>().map(|known| join_conditions(Operator::Or, known))
}

pub(super) fn never() -> Answer {
    Some(lit(false))
}

impl<'a> Prover<'a> {
    pub(crate) fn new(sources: FactSources<'a>, never_nan: Vec<Expr>) -> Prover<'a> {
        Prover { sources, facts: Facts::default(), never_nan, notes: Vec::new(), inexact: false }
    }

    /// Returns the requested facts, and the reasons why conditions could not be decided, if any.
    pub(crate) fn finish(self) -> (Facts, Vec<String>) {
        (self.facts, self.notes)
    }

    pub(super) fn note(&mut self, reason: String) {
        self.inexact();
        if !self.notes.contains(&reason) {
            self.notes.push(reason);
        }
    }

    /// Records that a file may be kept although a closer look at its facts would exclude it.
    pub(super) fn inexact(&mut self) {
        self.inexact = true;
    }

    pub(super) fn is_inexact(&self) -> bool {
        self.inexact
    }

    /// Returns the type of a column or field.
    pub(super) fn type_of(&self, path: &[String]) -> Option<DataType> {
        let (first, fields) = path.split_first()?;
        let mut data_type = self.sources.schema.field_with_name(first).ok()?.data_type();
        for name in fields {
            let DataType::Struct(fields) = data_type else { return None };
            data_type = fields.iter().find(|field| field.name() == name)?.data_type();
        }
        Some(data_type.clone())
    }

    pub(super) fn is_partition(&self, path: &[String]) -> bool {
        matches!(path, [name] if self.sources.partitions.contains(name))
    }

    pub(super) fn unknown(&mut self, what: &str) -> Answer {
        self.note(format!("{what} is not understood"));
        None
    }
}
