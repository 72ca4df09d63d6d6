use arrow_array::Array;
use arrow_array::cast::AsArray;
use serde_json::json;

use super::*;
use crate::commit::tests::*;
use crate::log::files::column;

mod metadata;
mod other_actions;
mod rows;

/// The changes and the read set of a transaction.
#[derive(Debug, Clone, Default)]
struct Wish {
    draft: Draft,
    reads: Reads,
    asks: Vec<Asks>,
    isolation: IsolationLevel,
}

/// A predicate of a read: rows of one partition, or of all, with ids in a range.
#[derive(Debug, Clone, Copy)]
struct Asks {
    p: Option<&'static str>,
    ids: (i64, i64),
}

const ALL_IDS: (i64, i64) = (i64::MIN, i64::MAX);

impl Asks {
    /// Compares the partition values and the statistics of files with the predicate, as the filter
    /// of a scan does.
    fn may_match(&self, files: &FileBatch) -> bool {
        let partitions = files.partition_texts("p").unwrap();
        let stats = files.column(column::STATS).unwrap().as_string::<i32>();
        (0..files.len()).any(|row| {
            let stats: Value = serde_json::from_str(stats.value(row)).unwrap();
            let bound = |which: &str| stats[which]["id"].as_i64().unwrap();
            let in_partition = self.p.is_none_or(|p| partitions.is_valid(row) && partitions.value(row) == p);
            in_partition && bound("minValues") <= self.ids.1 && bound("maxValues") >= self.ids.0
        })
    }
}

impl Wish {
    fn reads(mut self, read: &[Value]) -> Self {
        self.reads.files(&files(read)).unwrap();
        self
    }

    fn asks(mut self, p: Option<&'static str>, ids: (i64, i64)) -> Self {
        self.reads.by_predicate();
        self.asks.push(Asks { p, ids });
        self
    }

    fn reads_all(mut self) -> Self {
        self.reads.whole_table();
        self
    }

    fn adds(mut self, files: &[Value]) -> Self {
        self.draft.adds.extend(files.iter().map(to_add));
        self
    }

    fn removes(mut self, files: &[Value]) -> Self {
        self.draft.removes.push(removal(files, true));
        self
    }

    fn under(self, isolation: IsolationLevel) -> Self {
        Self { isolation, ..self }
    }

    fn check(&self, base: &Base, actions: &[Value]) -> Result<Vec<String>> {
        let isolation = self.draft.isolation(self.isolation);
        let pending = PendingTransaction { draft: &self.draft, reads: &self.reads, isolation, table: TABLE };
        let may_match = |found: &[FileBatch]| Ok(self.asks.iter().any(|asks| found.iter().any(|files| asks.may_match(files))));
        check(pending, base, &winner(5, actions), may_match)
    }

    /// Returns `ok`, the kind of the conflict, or the files with deletion vectors that must be
    /// joined.
    fn outcome(&self, base: &Base, actions: &[Value]) -> String {
        match self.check(base, actions) {
            Ok(joined) if joined.is_empty() => "ok".to_owned(),
            Ok(joined) => format!("join {}", joined.join(" ")),
            Err(error) => match error.kind() {
                ErrorKind::CommitConflict { kind, winner_version: 5, retryable: true } => {
                    kind.name().trim_start_matches("Concurrent").trim_end_matches("Changed").to_owned()
                }
                other => panic!("{other:?}"),
            },
        }
    }
}

fn said(operation: &str) -> Value {
    json!({"commitInfo": {"operation": operation}})
}

fn blind() -> Value {
    json!({"commitInfo": {"operation": "WRITE", "isBlindAppend": true}})
}

fn c() -> Value {
    add_ids("c", "2", 0..=9)
}

fn d() -> Value {
    add_ids("d", "2", 10..=19)
}
