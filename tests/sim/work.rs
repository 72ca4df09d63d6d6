//! The changes that writers make, and their meaning: the rows of the table after a change, computed
//! from the rows before it.

use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use lakebed::dml::write::WriteOptions;
use lakebed::table_transaction::TransactionOptions;
use lakebed::transaction::Application;
use lakebed::{Result, Snapshot, Table};
use lakebed_tests::deeds::{Deed, Model, Verb};
use rand::Rng;
use rand::rngs::SmallRng;

use super::plan::Shape;

/// A row. No two written rows are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) writer: i64,
    pub(crate) number: i64,
    pub(crate) part: char,
}

/// One change of a writer.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// The id of the change. The commit contains it, so that it can be found, unless the change may
    /// share a commit.
    pub(crate) id: String,
    pub(crate) deed: Deed<Parts>,
    /// A second deed, which a transaction does together with the first one.
    pub(crate) then: Option<Deed<Parts>>,
    /// The transaction identifier of this change: an application and a number. With it the change
    /// is made once, however often it is tried.
    pub(crate) application: Option<(String, i64)>,
    /// Whether the change may share a version. Its commit has no user metadata then.
    pub(crate) may_share: bool,
    /// Whether a change of rows in place is retried after a conflict with another writer.
    pub(crate) retries: bool,
}

/// A predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Part(char),
    Writer(i64),
    /// The rows with an odd number. No statistics can prove where they are.
    Odd,
}

/// An assignment that moves a row to this part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MoveTo(char);

/// The table of the simulation.
#[derive(Debug, Clone)]
pub(crate) struct Parts;

impl Model for Parts {
    type Row = Row;
    type Where = Which;
    type Set = MoveTo;

    const KEYS: &'static [&'static str] = &["writer", "number"];
    const CLUSTER_BY: &'static [&'static str] = &["number", "writer"];

    fn batch(rows: &[Row]) -> RecordBatch {
        let longs = |of: fn(&Row) -> i64| Arc::new(rows.iter().map(of).collect::<Int64Array>()) as Arc<dyn Array>;
        let parts: StringArray = rows.iter().map(|row| Some(row.part.to_string())).collect();
        let columns = [("writer", longs(|row| row.writer)), ("number", longs(|row| row.number)), ("part", Arc::new(parts) as _)];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    }

    fn has_same_keys(one: &Row, other: &Row) -> bool {
        (one.writer, one.number) == (other.writer, other.number)
    }

    fn is_same_partition(one: &Row, other: &Row) -> bool {
        one.part == other.part
    }

    fn holds(which: Which, row: &Row) -> bool {
        match which {
            Which::Part(part) => row.part == part,
            Which::Writer(writer) => row.writer == writer,
            Which::Odd => row.number % 2 == 1,
        }
    }

    fn where_text(which: Which) -> String {
        match which {
            Which::Part(part) => format!("part = '{part}'"),
            Which::Writer(writer) => format!("writer = {writer}"),
            Which::Odd => "number % 2 = 1".to_owned(),
        }
    }

    fn assign(MoveTo(part): MoveTo, row: &mut Row) {
        row.part = part;
    }

    fn set_text(MoveTo(part): MoveTo) -> (&'static str, String) {
        ("part", format!("'{part}'"))
    }
}

const PARTS: [char; 2] = ['a', 'b'];

impl Work {
    pub(crate) fn random(random: &mut SmallRng, writer: i64, number: i64) -> Self {
        let deed = random_deed(random, writer, number, 0);
        let mut work = Self {
            id: format!("{writer}.{number}"),
            deed,
            then: None,
            application: None,
            may_share: false,
            retries: random.random_bool(0.5),
        };
        if !stands_alone(&work.deed) && random.random_bool(0.25) {
            let then = random_deed(random, writer, number, 5);
            // A transaction is not repeated after a conflict.
            work.retries &= stands_alone(&then);
            work.then = Some(then).filter(|then| !stands_alone(then));
        }
        work
    }

    /// Returns a change that goes back to the first version of a founded table.
    pub(crate) fn restoring(random: &mut SmallRng, writer: i64, number: i64) -> Self {
        let deed = Deed { verb: Verb::Restore(0), rows: Self::founding().deed.rows };
        Self { deed, then: None, application: None, ..Self::random(random, writer, number) }
    }

    /// Returns whether each attempt of this change adds the same rows, or does nothing if a
    /// transaction identifier is known. Other changes have no identifier.
    pub(crate) fn takes_application(&self) -> bool {
        self.then.is_some() || !(self.deed.verb.keeps_rows() || matches!(self.deed.verb, Verb::Restore(_) | Verb::Erase(_)))
    }

    /// Returns whether this change needs an existing table.
    pub(crate) fn needs_table(&self) -> bool {
        let verb = self.deed.verb;
        self.then.is_some() || verb.is_change() || verb.keeps_rows() || matches!(verb, Verb::Restore(_) | Verb::Erase(_))
    }

    /// Returns the deeds of this change, in their order.
    pub(crate) fn deeds(&self) -> impl Iterator<Item = &Deed<Parts>> {
        std::iter::once(&self.deed).chain(&self.then)
    }

    /// Returns whether this change may be refused because another one changed the definition of the
    /// table. The others are made again.
    pub(crate) fn minds_definition(&self) -> bool {
        let is_made_again = match self.deed.verb {
            Verb::Append | Verb::Compact | Verb::Cluster | Verb::Erase(_) | Verb::Restore(_) | Verb::SetProperty(_) => true,
            Verb::Delete(_) | Verb::Update(..) | Verb::Upsert => self.retries,
            Verb::Overwrite | Verb::ReplaceWhere(_) | Verb::ReplacePartitions => false,
        };
        self.then.is_some() || !is_made_again
    }

    /// Returns an append that may share a version.
    pub(crate) fn sharing(random: &mut SmallRng, writer: i64, number: i64) -> Self {
        let part = PARTS[random.random_range(0..PARTS.len())];
        let rows = (0..random.random_range(1..4)).map(|row| Row { writer, number: number * 10 + row, part }).collect();
        Self { deed: Deed { verb: Verb::Append, rows }, then: None, may_share: true, ..Self::random(random, writer, number) }
    }

    /// Returns the change that creates a table.
    pub(crate) fn founding() -> Self {
        let rows = PARTS.map(|part| Row { writer: 0, number: 0, part }).to_vec();
        Self {
            id: "0.0".to_owned(),
            deed: Deed { verb: Verb::Append, rows },
            then: None,
            application: None,
            may_share: false,
            retries: false,
        }
    }

    /// Returns the rows of the table after this change.
    pub(crate) fn apply(&self, before: &[Row], shape: &Shape) -> Vec<Row> {
        let one = |deed: &Deed<Parts>, before: &[Row]| {
            // Without partition columns, the whole table is one partition.
            if deed.verb == Verb::ReplacePartitions && !shape.is_partitioned {
                let deed = Deed::<Parts> { verb: Verb::Overwrite, rows: deed.rows.clone() };
                return deed.apply(before);
            }
            deed.apply(before)
        };
        let after = one(&self.deed, before);
        self.then.as_ref().map_or_else(|| after.clone(), |then| one(then, &after))
    }

    fn application(&self) -> Option<Application> {
        self.application.clone().map(|(id, version)| Application::new(id, version))
    }

    /// Returns whether this change may be refused because another one added or removed a file with
    /// these rows. It may be if the file can hold replaced rows by the bounds of its columns.
    pub(crate) fn minds(&self, file: &[Row], shape: &Shape) -> bool {
        self.deeds().any(|deed| self.deed_minds(deed, file, shape))
    }

    fn deed_minds(&self, deed: &Deed<Parts>, file: &[Row], shape: &Shape) -> bool {
        let spans_part = |part: char| file.iter().any(|row| row.part <= part) && file.iter().any(|row| row.part >= part);
        let spans_writer = |own: i64| file.iter().any(|row| row.writer <= own) && file.iter().any(|row| row.writer >= own);
        let spans_number = |own: i64| file.iter().any(|row| row.number <= own) && file.iter().any(|row| row.number >= own);
        let rows = &deed.rows;
        match deed.verb {
            // These changes ignore the changes of others.
            Verb::Append | Verb::Compact | Verb::Cluster | Verb::SetProperty(_) => false,
            // These changes are always retried.
            Verb::Erase(_) | Verb::Restore(_) => false,
            // These changes are retried instead.
            verb if verb.is_change() && self.retries => false,
            Verb::Delete(which) | Verb::Update(which, _) | Verb::ReplaceWhere(which) => match which {
                Which::Part(part) => spans_part(part),
                Which::Writer(own) => spans_writer(own),
                Which::Odd => true,
            },
            Verb::Upsert => rows.iter().any(|new| spans_writer(new.writer)) && rows.iter().any(|new| spans_number(new.number)),
            Verb::Overwrite => true,
            Verb::ReplacePartitions => !shape.is_partitioned || rows.iter().any(|new| spans_part(new.part)),
        }
    }

    /// Makes the change with lakebed. Returns the version, whether it is new, and the table then.
    pub(crate) async fn run(&self, table: &Table, shape: &Shape) -> Result<(u64, bool, Option<Snapshot>)> {
        let options = WriteOptions {
            partition_by: shape.is_partitioned.then(|| vec!["part".to_owned()]),
            properties: shape.properties.clone(),
            txn: self.application(),
            user_metadata: (!self.may_share).then(|| self.id.clone()),
            ..WriteOptions::default()
        };
        if let Some(then) = &self.then {
            return self.run_together(table, then).await;
        }
        let done = self.deed.run(table, options, self.retries).await?;
        Ok((done.version, done.committed, done.snapshot))
    }

    /// Makes both deeds in one transaction.
    async fn run_together(&self, table: &Table, then: &Deed<Parts>) -> Result<(u64, bool, Option<Snapshot>)> {
        let options =
            TransactionOptions { txn: self.application(), user_metadata: Some(self.id.clone()), ..TransactionOptions::default() };
        let Some(transaction) = table.transaction().options(options).begin().await? else {
            let snapshot = table.snapshot().await?;
            return Ok((snapshot.version(), false, Some(snapshot)));
        };
        for deed in [&self.deed, then] {
            if let Err(error) = deed.run(transaction.table(), WriteOptions::default(), false).await {
                transaction.rollback().await?;
                return Err(error);
            }
        }
        let outcome = transaction.commit().await?;
        Ok((outcome.version, outcome.committed, outcome.snapshot))
    }
}

/// Returns whether no transaction can contain the deed.
fn stands_alone(deed: &Deed<Parts>) -> bool {
    matches!(deed.verb, Verb::Compact | Verb::Cluster | Verb::Erase(_))
}

/// Returns a random deed. Its new rows have numbers from `from` on.
fn random_deed(random: &mut SmallRng, writer: i64, number: i64, from: i64) -> Deed<Parts> {
    let part = PARTS[random.random_range(0..PARTS.len())];
    let which = [Which::Part(part), Which::Writer(writer), Which::Writer(random.random_range(0..4)), Which::Odd];
    let which = which[random.random_range(0..which.len())];
    let verb = match random.random_range(0..21) {
        0..6 => Verb::Append,
        6 => Verb::Overwrite,
        7 | 8 => Verb::ReplaceWhere(Which::Part(part)),
        9 => Verb::ReplaceWhere(Which::Writer(writer)),
        10 => Verb::ReplacePartitions,
        11 => Verb::Delete(which),
        12 if random.random_bool(0.5) => Verb::Erase(which),
        12 => Verb::Delete(which),
        13 => Verb::Update(which, MoveTo(PARTS[random.random_range(0..PARTS.len())])),
        14..18 if random.random_bool(0.4) => Verb::Cluster,
        14..18 => Verb::Compact,
        18 => Verb::SetProperty(writer * 1000 + number),
        _ => Verb::Upsert,
    };
    let is_mixed = random.random_bool(0.3) && !matches!(verb, Verb::ReplaceWhere(Which::Part(_)));
    let part_of = |row: usize| if is_mixed { PARTS[row % 2] } else { part };
    let count = random.random_range(1..4);
    let mut rows: Vec<Row> =
        (0..count).map(|row| Row { writer, number: number * 10 + from + row as i64, part: part_of(row) }).collect();
    if !verb.brings_rows() {
        rows.clear();
    }
    // A row that the work before may already have written.
    if verb == Verb::Upsert {
        rows.push(Row { writer, number: (number - 1) * 10, part });
    }
    Deed { verb, rows }
}

/// Returns the rows of batches with all three columns, sorted.
pub(crate) fn rows_of(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let long = |name: &str| batch.column_by_name(name).unwrap().as_any().downcast_ref::<Int64Array>().unwrap();
        let parts = batch.column_by_name("part").unwrap().as_any().downcast_ref::<StringArray>().unwrap();
        let part = |row: usize| parts.value(row).chars().next().unwrap();
        rows.extend((0..batch.num_rows()).map(|row| Row {
            writer: long("writer").value(row),
            number: long("number").value(row),
            part: part(row),
        }));
    }
    rows.sort();
    rows
}
