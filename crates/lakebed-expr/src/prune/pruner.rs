//! Decides from facts about files which of them a filter needs. Read [`Pruner`] first.

use std::sync::Arc;

use arrow_arith::boolean::and;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter;
use lakebed_core::schema::char_varchar::pad_upper_bounds;
use lakebed_core::schema::mapping::{MappingMode, physical_name};
use lakebed_core::schema::{DataType, PrimitiveType, StructType};
use lakebed_core::stats::StatColumn;
use lakebed_core::{Error, Result};

use super::condition::Condition;
use super::conjunct::{ConjunctCompiler, PreparedConjunct, SkippedBy};
use super::fact_source::{Guarantee, guarantee, stat_column};
use super::facts::Fact;
use super::generated::Generated;
use super::never_nan::never_nan;
use super::prover::StatisticsSource;
use crate::evaluate::compile::evaluation_error;
use crate::evaluate::condition::true_or_null_rows;
use crate::evaluate::nested::field_index;
use crate::filter::Filter;

/// Decides from the log alone which files a filter needs.
///
/// Read the data that [`partition_columns`](Self::partition_columns) and
/// [`statistics`](Self::statistics) return. Then call either [`prune`](Self::prune), or
/// [`prune_partitions`](Self::prune_partitions) and, for the remaining files,
/// [`prune_stats`](Self::prune_stats).
#[derive(Debug)]
pub struct Pruner {
    conjuncts: Vec<PreparedConjunct>,
    generated: Vec<Generated>,
    /// The partition columns whose values the filter needs.
    partitions: Vec<PartitionColumn>,
    /// The facts behind `statistics`, in the same order.
    statistic_facts: Vec<Fact>,
    statistics: Vec<StatColumn>,
    /// For each statistic, the length in characters to which its strings are padded when they are
    /// read.
    padded_lengths: Vec<Option<u32>>,
    /// The guarantees that the statistics need to prove something, and the facts that they become.
    guarantees: Vec<(Fact, Guarantee)>,
}

/// A partition column that a filter needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionColumn {
    /// The column's logical name.
    pub name: String,
    /// The column's physical name, as in the log.
    pub physical: String,
    /// The column's type.
    pub data_type: PrimitiveType,
}

/// Facts about some files, one value for each file.
#[derive(Debug, Clone, Copy)]
pub struct FileFacts<'a> {
    /// The number of files.
    pub files: usize,
    /// The values of [`Pruner::partition_columns`], with the types of the columns.
    pub partitions: &'a [ArrayRef],
    /// The arrays of [`Pruner::statistics`]. They are valid for files with deletion vectors and
    /// loose bounds, too: bounds stay bounds, and of the null counts only zero and "all" are used,
    /// which hold in any case.
    pub stats: &'a [ArrayRef],
    /// For each of [`Pruner::guarantees`], the files for which it holds.
    pub guaranteed: &'a [BooleanArray],
}

/// The files that are left, and the counts of the files that were skipped.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneResult {
    /// For each file, whether it may hold rows that match.
    pub keep: BooleanArray,
    /// The number of files that partition values skipped.
    pub by_partition: usize,
    /// The number of further files that statistics skipped.
    pub by_stats: usize,
    /// The effect of each conjunct, in the order of [`Pruner::conjuncts`].
    pub by_conjunct: Vec<ConjunctCounts>,
}

/// The effect of one conjunct on some files. A file is skipped by the first conjunct that can skip
/// it: by partition values, then by statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConjunctCounts {
    /// The files that the conjunct skipped by partition values.
    pub by_partition: usize,
    /// The files that the conjunct skipped by statistics.
    pub by_stats: usize,
    /// The files that lack statistics for the conjunct, among those that all conjuncts left.
    pub undecided: usize,
}

impl PartitionColumn {
    fn of(schema: &StructType, name: &str, mode: MappingMode) -> Option<Self> {
        let field = schema.field(name)?;
        let DataType::Primitive(data_type) = field.data_type else { return None };
        Some(Self { name: name.to_owned(), physical: physical_name(field, mode).to_owned(), data_type })
    }
}

impl Pruner {
    /// Creates a pruner for a table's schema, its partition columns by their logical names, and its
    /// column mapping.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](lakebed_core::ErrorKind::Internal) if a condition cannot be compiled.
    pub fn new(filter: &Filter, schema: &StructType, partition_columns: &[String], mode: MappingMode) -> Result<Pruner> {
        Self::by(StatisticsSource::Log, filter, schema, partition_columns, mode)
    }

    /// Creates a pruner for parts of files, whose statistics are in the footers.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_footers(filter: &Filter, schema: &StructType, partition_columns: &[String], mode: MappingMode) -> Result<Pruner> {
        Self::by(StatisticsSource::Footer, filter, schema, partition_columns, mode)
    }

    fn by(
        statistics: StatisticsSource,
        filter: &Filter,
        schema: &StructType,
        partition_columns: &[String],
        mode: MappingMode,
    ) -> Result<Pruner> {
        let partitions = as_spelled(filter.schema(), partition_columns);
        let generated = Generated::of_table(schema, &partitions, filter.schema());
        let prepare = ConjunctCompiler { schema: filter.schema(), partitions: &partitions, generated: &generated, statistics };
        let never_nan = never_nan(filter.expr(), true);
        let conjuncts = filter.conjuncts();
        let conjuncts = conjuncts.iter().map(|conjunct| prepare.conjunct(conjunct, &never_nan)).collect::<Result<Vec<_>>>()?;
        let mut pruner = Pruner {
            conjuncts,
            generated,
            partitions: vec![],
            statistic_facts: vec![],
            statistics: vec![],
            padded_lengths: vec![],
            guarantees: vec![],
        };
        pruner.collect_wanted(&partitions, schema, mode);
        Ok(pruner)
    }

    /// Lists the data that the conditions need. Statistics that no column of the schema has are
    /// never known.
    fn collect_wanted(&mut self, partitions: &[String], schema: &StructType, mode: MappingMode) {
        let conditions =
            || self.conjuncts.iter().flat_map(|conjunct| conjunct.by_partitions.iter().chain(&conjunct.by_statistics));
        let asked: Vec<Fact> = conditions().flat_map(|condition| condition.facts.asked()).cloned().collect();
        let needs = |name: &String| {
            asked.iter().any(|fact| match fact {
                Fact::Partition(column) => column == name,
                Fact::GeneratedLow(number) | Fact::GeneratedHigh(number) => {
                    self.generated.get(*number).is_some_and(|generated| generated.columns().contains(name))
                }
                _ => false,
            })
        };
        let needed =
            partitions.iter().filter(|name| needs(name)).filter_map(|name| PartitionColumn::of(schema, name, mode)).collect();
        for fact in asked {
            let guarantee = guarantee(&fact, schema, mode).filter(|_| !self.guarantees.iter().any(|(other, _)| *other == fact));
            self.guarantees.extend(guarantee.map(|guarantee| (fact.clone(), guarantee)));
            if let Some((column, length)) = stat_column(&fact, schema, mode).filter(|_| !self.statistic_facts.contains(&fact)) {
                self.statistic_facts.push(fact);
                self.statistics.push(column);
                self.padded_lengths.push(length);
            }
        }
        self.partitions = needed;
    }

    /// Returns the partition columns whose values the pruner needs.
    pub fn partition_columns(&self) -> &[PartitionColumn] {
        &self.partitions
    }

    /// Returns the statistics that the pruner needs.
    pub fn statistics(&self) -> &[StatColumn] {
        &self.statistics
    }

    /// Returns the guarantees about statistics that the pruner needs to know.
    pub fn guarantees(&self) -> impl ExactSizeIterator<Item = &Guarantee> {
        self.guarantees.iter().map(|(_, guarantee)| guarantee)
    }

    /// Returns the conjuncts of the filter, and how each of them skips files.
    pub fn conjuncts(&self) -> impl Iterator<Item = (&str, &SkippedBy)> {
        self.conjuncts.iter().map(|conjunct| (conjunct.text.as_str(), &conjunct.used))
    }

    /// Returns whether partition values alone decide the filter, so that every row of a kept file
    /// matches.
    pub fn is_exact_on_partitions(&self) -> bool {
        self.conjuncts.iter().all(|conjunct| conjunct.exact)
    }

    /// Returns whether partition values alone decide the filter, and some of them may make it fail.
    pub fn may_fail_on_partitions(&self) -> bool {
        self.is_exact_on_partitions() && self.conjuncts.iter().any(|conjunct| conjunct.may_fail)
    }

    /// Returns for each file of the table whether its partition values allow matching rows.
    ///
    /// # Errors
    /// Fails if the arrays are not the requested ones, or if the filter fails on values and no
    /// later step evaluates it on rows.
    pub fn prune_partitions(&self, files: usize, partitions: &[ArrayRef]) -> Result<BooleanArray> {
        let known = FileFacts { files, partitions, stats: &[], guaranteed: &[] };
        self.first_to_skip(&known, true, |conjunct| conjunct.by_partitions.as_ref()).map(|(keep, _)| keep)
    }

    /// Prunes files that the table may no longer have. The filter cannot fail on these files.
    ///
    /// # Errors
    /// Fails if the arrays are not the requested ones.
    pub fn prune_candidates(&self, files: usize, partitions: &[ArrayRef]) -> Result<BooleanArray> {
        let known = FileFacts { files, partitions, stats: &[], guaranteed: &[] };
        self.first_to_skip(&known, false, |conjunct| conjunct.by_partitions.as_ref()).map(|(keep, _)| keep)
    }

    /// Returns for each file whether its statistics allow matching rows. The files are those that
    /// partition values left.
    ///
    /// # Errors
    /// Fails if the arrays are not the requested ones.
    pub fn prune_stats(&self, known: &FileFacts<'_>) -> Result<BooleanArray> {
        self.first_to_skip(known, false, |conjunct| conjunct.by_statistics.as_ref()).map(|(keep, _)| keep)
    }

    /// Prunes by partition values and statistics. Counts the files that each conjunct skipped and
    /// the files that it could not decide.
    ///
    /// # Errors
    /// Fails if the arrays are not the requested ones.
    pub fn prune(&self, known: &FileFacts<'_>) -> Result<PruneResult> {
        let (by_partition, counts) = self.first_to_skip(known, true, |conjunct| conjunct.by_partitions.as_ref())?;
        let mut by_conjunct: Vec<ConjunctCounts> =
            counts.into_iter().map(|by_partition| ConjunctCounts { by_partition, ..ConjunctCounts::default() }).collect();
        let mut keep = by_partition.clone();
        for (conjunct, counts) in self.conjuncts.iter().zip(&mut by_conjunct) {
            if let Some(condition) = &conjunct.by_statistics {
                let left = and(&keep, &self.run(condition, known)?)?;
                counts.by_stats = keep.true_count() - left.true_count();
                keep = left;
            }
        }
        for (conjunct, counts) in self.conjuncts.iter().zip(&mut by_conjunct) {
            if let Some(condition) = &conjunct.by_statistics {
                let undecided = condition.undecided(known.files, |fact| self.fact(fact, known))?;
                counts.undecided = and(&keep, &undecided)?.true_count();
            }
        }
        Ok(PruneResult {
            by_partition: known.files - by_partition.true_count(),
            by_stats: by_partition.true_count() - keep.true_count(),
            keep,
            by_conjunct,
        })
    }

    /// Applies one condition of each conjunct, and counts the files that each conjunct is the first
    /// to skip. With `decides`, a failing condition is an error if no later step evaluates it on
    /// rows.
    fn first_to_skip<'p>(
        &'p self,
        known: &FileFacts<'_>,
        decides: bool,
        condition: impl Fn(&'p PreparedConjunct) -> Option<&'p Condition>,
    ) -> Result<(BooleanArray, Vec<usize>)> {
        let mut keep = BooleanArray::from(vec![true; known.files]);
        let mut counts = Vec::with_capacity(self.conjuncts.len());
        for conjunct in &self.conjuncts {
            let before = keep.true_count();
            if let Some(condition) = condition(conjunct) {
                let found = match decides && self.is_exact_on_partitions() {
                    true => self.decide(&conjunct.text, condition, known, &keep)?,
                    false => self.run(condition, known)?,
                };
                keep = and(&keep, &found)?;
            }
            counts.push(before - keep.true_count());
        }
        Ok((keep, counts))
    }

    /// Returns which files match, if no later step evaluates the condition on rows. If the
    /// condition fails on a file that earlier conditions left, the scan fails, as it would on the
    /// rows.
    fn decide(&self, text: &str, condition: &Condition, known: &FileFacts<'_>, left: &BooleanArray) -> Result<BooleanArray> {
        self.check(known)?;
        let test = |known: &FileFacts<'_>| {
            let facts = condition.facts.batch(known.files, |fact| self.fact(fact, known))?;
            Ok::<_, Error>(true_or_null_rows(condition.run.as_ref(), &facts))
        };
        if let Ok(found) = test(known)? {
            return Ok(found);
        }
        let partitions: Vec<ArrayRef> = known.partitions.iter().map(|values| Ok(filter(values, left)?)).collect::<Result<_>>()?;
        let known = FileFacts { files: left.true_count(), partitions: &partitions, stats: &[], guaranteed: &[] };
        let found = test(&known)?.map_err(|error| evaluation_error(text, &error))?;
        let mut found = found.iter();
        Ok(left.iter().map(|left| Some(left == Some(true) && found.next().flatten() == Some(true))).collect())
    }

    fn run(&self, condition: &Condition, known: &FileFacts<'_>) -> Result<BooleanArray> {
        self.check(known)?;
        condition.run(known.files, |fact| self.fact(fact, known))
    }

    fn check(&self, known: &FileFacts<'_>) -> Result<()> {
        if known.partitions.len() == self.partitions.len() {
            return Ok(());
        }
        Err(Error::internal(format!("{} partition columns instead of {:?}", known.partitions.len(), self.partitions)))
    }

    /// Returns the values of a fact, if they are known.
    fn fact(&self, fact: &Fact, known: &FileFacts<'_>) -> Option<ArrayRef> {
        let partition = |name: &String| {
            let index = self.partitions.iter().position(|other| other.name == *name)?;
            known.partitions.get(index).cloned()
        };
        match fact {
            Fact::Partition(name) => partition(name),
            Fact::GeneratedLow(number) | Fact::GeneratedHigh(number) => {
                let generated = self.generated.get(*number)?;
                let columns = generated.columns().iter().map(partition).collect::<Option<Vec<_>>>()?;
                let (low, high) = generated.bounds(&columns)?;
                Some(if matches!(fact, Fact::GeneratedLow(_)) { low } else { high })
            }
            Fact::BoundsNan(_) | Fact::CountsNullStructs(_) => {
                let index = self.guarantees.iter().position(|(other, _)| other == fact)?;
                known.guaranteed.get(index).map(|guaranteed| Arc::new(guaranteed.clone()) as ArrayRef)
            }
            statistic => {
                let index = self.statistic_facts.iter().position(|other| other == statistic)?;
                let stored = known.stats.get(index)?;
                match (statistic, self.padded_lengths.get(index)?, stored.as_string_opt::<i32>()) {
                    (Fact::Maximum(_), Some(length), Some(bounds)) => Some(Arc::new(pad_upper_bounds(bounds, *length))),
                    (Fact::Maximum(_), Some(_), None) => None,
                    _ => Some(stored.clone()),
                }
            }
        }
    }
}

/// Returns partition columns as the schema spells them.
fn as_spelled(schema: &SchemaRef, names: &[String]) -> Vec<String> {
    let spelled = |name: &String| {
        let index = field_index(schema.fields(), name);
        index.and_then(|index| schema.fields().get(index)).map_or(name.clone(), |field| field.name().clone())
    };
    names.iter().map(spelled).collect()
}
