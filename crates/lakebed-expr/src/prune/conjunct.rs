//! Compiles a conjunct of a filter to conditions on facts. Read [`ConjunctCompiler::conjunct`]
//! first.

use arrow_schema::SchemaRef;
use lakebed_core::{Error, Result};

use super::condition::Condition;
use super::facts::{Fact, Facts};
use super::generated::Generated;
use super::prover::{FactSources, Prover, StatisticsSource};
use crate::evaluate::properties::may_fail;
use crate::evaluate::tree::{columns_of, replace_columns};
use crate::filter::Conjunct;

/// A conjunct as conditions on facts.
#[derive(Debug)]
pub(super) struct PreparedConjunct {
    pub(super) text: String,
    /// Whether partition values alone decide the conjunct, so that it need not be evaluated on
    /// rows.
    pub(super) exact: bool,
    pub(super) may_fail: bool,
    pub(super) by_partitions: Option<Condition>,
    pub(super) by_statistics: Option<Condition>,
    pub(super) used: SkippedBy,
}

/// How a conjunct of a filter skips files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkippedBy {
    /// It skips by the values of these partition columns.
    Partitions(Vec<String>),
    /// It skips by the statistics of these columns, and perhaps by partition values as well.
    Statistics {
        /// The columns.
        names: Vec<String>,
        /// Whether some of the bounds count only if they hold for NaN.
        asks_of_nan: bool,
    },
    /// It skips no files, for this reason.
    Nothing(String),
}

/// The inputs for compiling conjuncts.
pub(super) struct ConjunctCompiler<'a> {
    pub(super) schema: &'a SchemaRef,
    pub(super) partitions: &'a [String],
    pub(super) generated: &'a [Generated],
    pub(super) statistics: StatisticsSource,
}

impl ConjunctCompiler<'_> {
    pub(super) fn conjunct(&self, conjunct: &Conjunct, never_nan: &[datafusion_expr::Expr]) -> Result<PreparedConjunct> {
        let text = conjunct.text.as_str().to_owned();
        let may_fail = may_fail(&conjunct.expr);
        let columns = columns_of(&conjunct.expr);
        let about_partitions = |path: &Vec<String>| matches!(path.as_slice(), [name] if self.partitions.contains(name));
        if !columns.is_empty() && columns.iter().all(about_partitions) {
            let names = columns.into_iter().flatten().collect();
            let by_partitions = Some(self.exactly(conjunct)?);
            return Ok(PreparedConjunct {
                text,
                exact: true,
                may_fail,
                by_partitions,
                by_statistics: None,
                used: SkippedBy::Partitions(names),
            });
        }
        let (by_partitions, _) = self.proof(conjunct, never_nan, StatisticsSource::None)?;
        let (by_statistics, reason) = self.proof(conjunct, never_nan, self.statistics)?;
        let used = match (&by_partitions, &by_statistics) {
            (_, Some(condition)) if condition.facts.asked().any(is_statistic) => SkippedBy::Statistics {
                names: statistics_of(condition),
                asks_of_nan: condition.facts.asked().any(|fact| matches!(fact, Fact::BoundsNan(_))),
            },
            (Some(condition), _) => SkippedBy::Partitions(partitions_of(condition, self.generated)),
            _ => SkippedBy::Nothing(reason),
        };
        Ok(PreparedConjunct { text, exact: false, may_fail, by_partitions, by_statistics, used })
    }

    /// Compiles a conjunct on partition columns alone unchanged, because their values are facts.
    fn exactly(&self, conjunct: &Conjunct) -> Result<Condition> {
        let mut facts = Facts::default();
        let expr = replace_columns(&conjunct.expr, |name| {
            let data_type = self.schema.field_with_name(name).ok()?.data_type();
            Some(facts.column(Fact::Partition(name.to_string()), data_type))
        });
        // Null is no match here, while it keeps the file if a fact is not known.
        let expr = datafusion_expr::Expr::IsTrue(Box::new(expr));
        Condition::compile(Some(expr), facts, conjunct.text.as_str())?.ok_or_else(|| Error::internal("a condition is missing"))
    }

    fn proof(
        &self,
        conjunct: &Conjunct,
        never_nan: &[datafusion_expr::Expr],
        statistics: StatisticsSource,
    ) -> Result<(Option<Condition>, String)> {
        let sources = FactSources { schema: self.schema, partitions: self.partitions, generated: self.generated, statistics };
        let mut prover = Prover::new(sources, never_nan.to_vec());
        let found = prover.may_match(&conjunct.expr);
        let (facts, notes) = prover.finish();
        Ok((Condition::compile(found, facts, conjunct.text.as_str())?, notes.join("; ")))
    }
}

fn is_statistic(fact: &Fact) -> bool {
    matches!(fact, Fact::Minimum(_) | Fact::Maximum(_) | Fact::NullCount(_))
}

fn statistics_of(condition: &Condition) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for fact in condition.facts.asked() {
        if let Fact::Minimum(path) | Fact::Maximum(path) | Fact::NullCount(path) = fact
            && !names.contains(&path.join("."))
        {
            names.push(path.join("."));
        }
    }
    names
}

fn partitions_of(condition: &Condition, generated: &[Generated]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for fact in condition.facts.asked() {
        let more = match fact {
            Fact::Partition(name) => vec![name.clone()],
            Fact::GeneratedLow(number) | Fact::GeneratedHigh(number) => {
                generated.get(*number).map_or(vec![], |generated| generated.columns().to_vec())
            }
            _ => vec![],
        };
        names.extend(more.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    names
}
