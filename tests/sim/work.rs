//! What writers do, and what it means: the rows that a table has afterwards, worked out from those before.

use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use lakebed::dml::ChangeOptions;
use lakebed::dml::merge::{Action, Clause, MergeSource, When};
use lakebed::optimize::{Layout, OptimizeOptions};
use lakebed::transaction::Application;
use lakebed::write::{WriteMode, WriteOptions};
use lakebed::{RecordBatchStream, Result, Snapshot, Table};
use rand::Rng;
use rand::rngs::SmallRng;

use super::plan::Shape;

/// A row. No two that are written are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) writer: i64,
    pub(crate) number: i64,
    pub(crate) part: char,
}

/// One change that somebody wants to make.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// Stands in the commit, so that it can be found there, unless it may share one.
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) rows: Vec<Row>,
    /// An application, and its number of this change: however often it is tried, it is made once.
    pub(crate) application: Option<(String, i64)>,
    /// Its commit has no words of its own, so that it may share a version.
    pub(crate) may_share: bool,
    /// If it changes rows where they are, whether that is done again when somebody else was faster.
    pub(crate) retries: bool,
}

/// Which rows make way for the new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Append,
    Overwrite,
    /// Those of a part.
    ReplacePart(char),
    /// Those of a writer.
    ReplaceWriter(i64),
    /// Those of the partitions into which new ones come.
    Dynamic,
    /// These rows are deleted.
    Delete(Which),
    /// These rows come to another part.
    Move(Which, char),
    /// Rows with the same writer and number get the part of the new ones, which are inserted where there are none.
    Upsert,
    /// Files are put together, or their rows brought into another order: no row changes.
    Optimize {
        clusters: bool,
    },
}

/// Rows that are changed where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Part(char),
    Writer(i64),
    /// Those with an odd number: no statistics tell where they are.
    Odd,
}

impl Which {
    fn holds(self, row: &Row) -> bool {
        match self {
            Self::Part(part) => row.part == part,
            Self::Writer(writer) => row.writer == writer,
            Self::Odd => row.number % 2 == 1,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Part(part) => format!("part = '{part}'"),
            Self::Writer(writer) => format!("writer = {writer}"),
            Self::Odd => "number % 2 = 1".to_owned(),
        }
    }
}

const PARTS: [char; 2] = ['a', 'b'];

impl Work {
    pub(crate) fn random(random: &mut SmallRng, writer: i64, number: i64) -> Self {
        let part = PARTS[random.random_range(0..PARTS.len())];
        let which = [Which::Part(part), Which::Writer(writer), Which::Writer(random.random_range(0..4)), Which::Odd];
        let which = which[random.random_range(0..which.len())];
        let kind = match random.random_range(0..20) {
            0..6 => Kind::Append,
            6 => Kind::Overwrite,
            7 | 8 => Kind::ReplacePart(part),
            9 => Kind::ReplaceWriter(writer),
            10 => Kind::Dynamic,
            11 | 12 => Kind::Delete(which),
            13 => Kind::Move(which, PARTS[random.random_range(0..PARTS.len())]),
            14..18 => Kind::Optimize { clusters: random.random_bool(0.4) },
            _ => Kind::Upsert,
        };
        let is_mixed = random.random_bool(0.3) && !matches!(kind, Kind::ReplacePart(_));
        let part_of = |row: usize| if is_mixed { PARTS[row % 2] } else { part };
        let count = random.random_range(1..4);
        let mut rows: Vec<Row> =
            (0..count).map(|row| Row { writer, number: number * 10 + row as i64, part: part_of(row) }).collect();
        match kind {
            Kind::Delete(_) | Kind::Move(..) | Kind::Optimize { .. } => rows.clear(),
            // One that may be there already, of the work before.
            Kind::Upsert => rows.push(Row { writer, number: (number - 1) * 10, part }),
            _ => {}
        }
        Self {
            id: format!("{writer}.{number}"),
            kind,
            rows,
            application: None,
            may_share: false,
            retries: random.random_bool(0.5),
        }
    }

    /// An append that may share a version.
    pub(crate) fn sharing(random: &mut SmallRng, writer: i64, number: i64) -> Self {
        let part = PARTS[random.random_range(0..PARTS.len())];
        let rows = (0..random.random_range(1..4)).map(|row| Row { writer, number: number * 10 + row, part }).collect();
        Self { kind: Kind::Append, rows, may_share: true, ..Self::random(random, writer, number) }
    }

    /// The one that makes a table.
    pub(crate) fn founding() -> Self {
        let rows = PARTS.map(|part| Row { writer: 0, number: 0, part }).to_vec();
        Self { id: "0.0".to_owned(), kind: Kind::Append, rows, application: None, may_share: false, retries: false }
    }

    /// The rows of the table after this change.
    pub(crate) fn apply(&self, before: &[Row], shape: &Shape) -> Vec<Row> {
        let stay = before.iter().filter(|row| !self.replaces(row, shape));
        let mut after: Vec<Row> = stay.chain(&self.rows).copied().collect();
        if let Kind::Move(which, part) = self.kind {
            after.iter_mut().filter(|row| which.holds(row)).for_each(|row| row.part = part);
        }
        after.sort();
        after
    }

    fn application(&self) -> Option<Application> {
        self.application.clone().map(|(id, version)| Application::new(id, version))
    }

    /// Whether it changes rows where they are.
    pub(crate) fn is_change(&self) -> bool {
        matches!(self.kind, Kind::Delete(_) | Kind::Move(..) | Kind::Upsert)
    }

    /// Whether it changes no row.
    pub(crate) fn is_layout(&self) -> bool {
        matches!(self.kind, Kind::Optimize { .. })
    }

    fn replaces(&self, row: &Row, shape: &Shape) -> bool {
        match self.kind {
            Kind::Append | Kind::Move(..) | Kind::Optimize { .. } => false,
            Kind::Delete(which) => which.holds(row),
            Kind::Upsert => self.rows.iter().any(|new| (new.writer, new.number) == (row.writer, row.number)),
            Kind::Overwrite => true,
            Kind::ReplacePart(part) => row.part == part,
            Kind::ReplaceWriter(writer) => row.writer == writer,
            Kind::Dynamic => !shape.is_partitioned || self.rows.iter().any(|new| new.part == row.part),
        }
    }

    /// Whether this change may be refused because another one added or removed a file with these rows: if by the bounds of their columns
    /// the file may hold rows that make way.
    pub(crate) fn minds(&self, file: &[Row], shape: &Shape) -> bool {
        let spans_part = |part: char| file.iter().any(|row| row.part <= part) && file.iter().any(|row| row.part >= part);
        let spans_writer = |own: i64| file.iter().any(|row| row.writer <= own) && file.iter().any(|row| row.writer >= own);
        let spans_number = |own: i64| file.iter().any(|row| row.number <= own) && file.iter().any(|row| row.number >= own);
        match self.kind {
            // What others changed is left to them.
            Kind::Append | Kind::Optimize { .. } => false,
            // Done again instead.
            _ if self.is_change() && self.retries => false,
            Kind::Delete(Which::Part(part)) | Kind::Move(Which::Part(part), _) => spans_part(part),
            Kind::Delete(Which::Writer(own)) | Kind::Move(Which::Writer(own), _) => spans_writer(own),
            Kind::Delete(Which::Odd) | Kind::Move(Which::Odd, _) => true,
            Kind::Upsert => {
                self.rows.iter().any(|new| spans_writer(new.writer)) && self.rows.iter().any(|new| spans_number(new.number))
            }
            Kind::Overwrite => true,
            Kind::ReplacePart(part) => spans_part(part),
            Kind::ReplaceWriter(own) => spans_writer(own),
            Kind::Dynamic => !shape.is_partitioned || self.rows.iter().any(|new| spans_part(new.part)),
        }
    }

    /// The change in lakebed's terms: the version, whether it is new, and the table then.
    pub(crate) async fn run(&self, table: &Table, shape: &Shape) -> Result<(u64, bool, Option<Snapshot>)> {
        let changed = match self.kind {
            Kind::Delete(which) => table.delete().filter(which.text()).options(self.change_options()).run().await?,
            Kind::Move(which, part) => {
                let update = table.update().set("part", format!("'{part}'")).filter(which.text());
                update.options(self.change_options()).run().await?
            }
            Kind::Upsert => {
                let source = MergeSource::read(self.data()).await?;
                let merge = table.merge(&source, "target.writer = source.writer AND target.number = source.number");
                let clause = |when, action| Clause { when, condition: None, action };
                let merge =
                    merge.when(clause(When::Matched, Action::UpdateAll)).when(clause(When::NotMatched, Action::InsertAll));
                merge.options(self.change_options()).run().await?
            }
            Kind::Optimize { clusters } => {
                let outcome = table.optimize().options(self.optimize_options(clusters)).run().await?;
                return Ok((outcome.version, outcome.commits > 0, outcome.snapshot));
            }
            _ => {
                let written = table.write(self.data()).options(self.options(shape)).run().await?;
                return Ok((written.version, written.is_committed, written.snapshot));
            }
        };
        Ok((changed.version, changed.is_committed, changed.snapshot))
    }

    fn change_options(&self) -> ChangeOptions {
        ChangeOptions {
            application: self.application(),
            user_metadata: Some(self.id.clone()),
            retries: self.retries,
            ..ChangeOptions::default()
        }
    }

    fn optimize_options(&self, clusters: bool) -> OptimizeOptions {
        let columns = || vec!["number".to_owned(), "writer".to_owned()];
        OptimizeOptions {
            layout: if clusters { Layout::Cluster(columns()) } else { Layout::OfTable },
            user_metadata: Some(self.id.clone()),
            ..OptimizeOptions::default()
        }
    }

    fn options(&self, shape: &Shape) -> WriteOptions {
        let replace_where = match self.kind {
            Kind::ReplacePart(part) => Some(Which::Part(part).text()),
            Kind::ReplaceWriter(writer) => Some(Which::Writer(writer).text()),
            _ => None,
        };
        WriteOptions {
            mode: if self.kind == Kind::Append { WriteMode::Append } else { WriteMode::Overwrite },
            replace_where,
            dynamic_partitions: self.kind == Kind::Dynamic,
            partition_by: shape.is_partitioned.then(|| vec!["part".to_owned()]),
            properties: shape.properties.clone(),
            application: self.application(),
            user_metadata: (!self.may_share).then(|| self.id.clone()),
            ..WriteOptions::default()
        }
    }

    /// The new rows.
    pub(crate) fn data(&self) -> RecordBatchStream {
        let longs = |of: fn(&Row) -> i64| Arc::new(self.rows.iter().map(of).collect::<Int64Array>()) as Arc<dyn Array>;
        let parts: StringArray = self.rows.iter().map(|row| Some(row.part.to_string())).collect();
        let columns = [("writer", longs(|row| row.writer)), ("number", longs(|row| row.number)), ("part", Arc::new(parts) as _)];
        let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
        RecordBatchStream::from_batches(batch.schema(), vec![batch])
    }
}

/// The rows of batches with all three columns, sorted.
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
