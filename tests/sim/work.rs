//! What writers do, and what it means: the rows that a table has afterwards, worked out from those before.

use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use lakebed::RecordBatchStream;
use lakebed::write::{WriteMode, WriteOptions};
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
}

const PARTS: [char; 2] = ['a', 'b'];

impl Work {
    pub(crate) fn random(random: &mut SmallRng, writer: i64, number: i64, shape: &Shape) -> Self {
        let part = PARTS[random.random_range(0..PARTS.len())];
        let kind = match random.random_range(0..10) {
            0..5 => Kind::Append,
            5 => Kind::Overwrite,
            6 | 7 if shape.is_partitioned || !shape.has_row_ids => Kind::ReplacePart(part),
            8 if !shape.has_row_ids => Kind::ReplaceWriter(writer),
            9 => Kind::Dynamic,
            _ => Kind::Append,
        };
        let is_mixed = random.random_bool(0.3) && !matches!(kind, Kind::ReplacePart(_));
        let part_of = |row: usize| if is_mixed { PARTS[row % 2] } else { part };
        let count = random.random_range(1..4);
        let rows = (0..count).map(|row| Row { writer, number: number * 10 + row as i64, part: part_of(row) }).collect();
        Self { id: format!("{writer}.{number}"), kind, rows, application: None, may_share: false }
    }

    /// An append that may share a version.
    pub(crate) fn sharing(random: &mut SmallRng, writer: i64, number: i64, shape: &Shape) -> Self {
        Self { kind: Kind::Append, may_share: true, ..Self::random(random, writer, number, shape) }
    }

    /// The one that makes a table.
    pub(crate) fn founding() -> Self {
        let rows = PARTS.map(|part| Row { writer: 0, number: 0, part }).to_vec();
        Self { id: "0.0".to_owned(), kind: Kind::Append, rows, application: None, may_share: false }
    }

    /// The rows of the table after this change.
    pub(crate) fn apply(&self, before: &[Row], shape: &Shape) -> Vec<Row> {
        let stay = before.iter().filter(|row| !self.replaces(row, shape));
        let mut after: Vec<Row> = stay.chain(&self.rows).copied().collect();
        after.sort();
        after
    }

    fn replaces(&self, row: &Row, shape: &Shape) -> bool {
        match self.kind {
            Kind::Append => false,
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
        match self.kind {
            Kind::Append => false,
            Kind::Overwrite => true,
            Kind::ReplacePart(part) => spans_part(part),
            Kind::ReplaceWriter(own) => file.iter().any(|row| row.writer <= own) && file.iter().any(|row| row.writer >= own),
            Kind::Dynamic => !shape.is_partitioned || self.rows.iter().any(|new| spans_part(new.part)),
        }
    }

    /// The change in lakebed's terms.
    pub(crate) fn options(&self, shape: &Shape) -> WriteOptions {
        let replace_where = match self.kind {
            Kind::ReplacePart(part) => Some(format!("part = '{part}'")),
            Kind::ReplaceWriter(writer) => Some(format!("writer = {writer}")),
            Kind::Append | Kind::Overwrite | Kind::Dynamic => None,
        };
        WriteOptions {
            mode: if self.kind == Kind::Append { WriteMode::Append } else { WriteMode::Overwrite },
            replace_where,
            dynamic_partitions: self.kind == Kind::Dynamic,
            partition_by: shape.is_partitioned.then(|| vec!["part".to_owned()]),
            properties: shape.properties.clone(),
            application: self.application.clone(),
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
