//! What is known about files, and the state of a proof. Read [`Prover`] first.

use arrow_schema::{DataType, Schema};
use datafusion_expr::{Expr, Operator, lit};

use super::facts::Facts;
use super::generated::Generated;
use crate::evaluate::tree::join_conditions;

/// Which statistics there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatisticsSource {
    /// None: only partition values are looked at.
    None,
    /// Those of the log: no bounds of booleans and bytes.
    Log,
    /// Those of a file's footer, in the form of the log's.
    Footer,
}

impl StatisticsSource {
    /// Whether columns of a type have bounds.
    pub(super) fn hold_bounds_of(self, data_type: &DataType) -> bool {
        use DataType::{Binary, Boolean, Date32, Timestamp, Utf8};
        let of_log = data_type.is_numeric() || matches!(data_type, Date32 | Timestamp(_, _) | Utf8);
        match self {
            Self::None => false,
            Self::Log => of_log,
            // Bytes are compared unsigned, as Spark does it: bounds that were made otherwise count as unknown.
            Self::Footer => of_log || matches!(data_type, Boolean | Binary),
        }
    }
}

/// What there is to know.
#[derive(Clone, Copy)]
pub(crate) struct Knowledge<'a> {
    /// The columns, as the filter was bound to them.
    pub(crate) schema: &'a Schema,
    /// The partition columns by their names in the schema.
    pub(crate) partitions: &'a [String],
    pub(crate) generated: &'a [Generated],
    pub(crate) statistics: StatisticsSource,
}

/// Turns conditions on rows into conditions on facts.
pub(crate) struct Prover<'a> {
    pub(super) knowledge: Knowledge<'a>,
    /// The facts asked for so far.
    pub(super) facts: Facts,
    /// Values that are not NaN in any row that matters, because other conditions say so.
    pub(super) never_nan: Vec<Expr>,
    notes: Vec<String>,
    inexact: bool,
}

/// `None` means perhaps.
pub(super) type Answer = Option<Expr>;

/// All must be possible.
pub(super) fn all(answers: impl IntoIterator<Item = Answer>) -> Answer {
    let known: Vec<Expr> = answers.into_iter().flatten().collect();
    if known.is_empty() { None } else { Some(join_conditions(Operator::And, known)) }
}

/// One must be possible.
pub(super) fn any(answers: impl IntoIterator<Item = Answer>) -> Answer {
    answers.into_iter().collect::<Option<Vec<_>>>().map(|known| join_conditions(Operator::Or, known))
}

pub(super) fn never() -> Answer {
    Some(lit(false))
}

impl<'a> Prover<'a> {
    pub(crate) fn new(knowledge: Knowledge<'a>, never_nan: Vec<Expr>) -> Prover<'a> {
        Prover { knowledge, facts: Facts::default(), never_nan, notes: Vec::new(), inexact: false }
    }

    /// The facts asked for, and why conditions could not be decided, if any could not.
    pub(crate) fn finish(self) -> (Facts, Vec<String>) {
        (self.facts, self.notes)
    }

    pub(super) fn note(&mut self, reason: String) {
        self.inexact();
        if !self.notes.contains(&reason) {
            self.notes.push(reason);
        }
    }

    /// Says that a file may be kept although its facts, looked at more closely, would rule it out.
    pub(super) fn inexact(&mut self) {
        self.inexact = true;
    }

    pub(super) fn is_inexact(&self) -> bool {
        self.inexact
    }

    /// The type of a column or field.
    pub(super) fn type_of(&self, path: &[String]) -> Option<DataType> {
        let (first, fields) = path.split_first()?;
        let mut data_type = self.knowledge.schema.field_with_name(first).ok()?.data_type();
        for name in fields {
            let DataType::Struct(fields) = data_type else { return None };
            data_type = fields.iter().find(|field| field.name() == name)?.data_type();
        }
        Some(data_type.clone())
    }

    pub(super) fn is_partition(&self, path: &[String]) -> bool {
        matches!(path, [name] if self.knowledge.partitions.contains(name))
    }

    pub(super) fn unknown(&mut self, what: &str) -> Answer {
        self.note(format!("{what} is not understood"));
        None
    }
}
