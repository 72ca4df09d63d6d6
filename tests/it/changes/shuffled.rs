//! Random tables, read by streams with random limits, stops and restarts. No row is lost or
//! doubled.

use std::collections::BTreeMap;

use lakebed::changes::{Offset, ReadLimits};
use lakebed_tests::TableBuilder;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

use super::kit::{FEED, batch, file, follow, fruits, without};
use lakebed_tests::action::{remove_of, unchanged};

/// A table that changes, and the rows that a stream of it must have returned.
struct Model {
    builder: TableBuilder,
    random: SmallRng,
    /// The files of the table, with their rows and the positions of the deleted rows.
    live: Vec<(Value, Vec<String>, Vec<u64>)>,
    /// The added rows, in order.
    added: Vec<String>,
    names: u32,
}

impl Model {
    async fn new(seed: u64) -> Self {
        let builder = fruits(&[FEED]).await;
        Self { builder, random: SmallRng::seed_from_u64(seed), live: Vec::new(), added: Vec::new(), names: 0 }
    }

    async fn file(&mut self, rows: &[String]) -> Value {
        self.names += 1;
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        file(&self.builder, &format!("f{}", self.names), &rows).await
    }

    /// Adds some files of some rows each.
    async fn append(&mut self) {
        let mut actions = Vec::new();
        for _ in 0..self.random.random_range(0..4) {
            let count = self.random.random_range(1..4);
            let rows: Vec<String> = (0..count).map(|row| format!("{}-{row}/x", self.names)).collect();
            let add = self.file(&rows).await;
            self.added.extend(rows.clone());
            self.live.push((add.clone(), rows, Vec::new()));
            actions.push(add);
        }
        self.builder.commit(&actions).await;
    }

    /// Rewrites two files as one.
    async fn compact(&mut self) {
        if self.live.len() < 2 || self.live.iter().any(|(_, _, deleted)| !deleted.is_empty()) {
            return self.append().await;
        }
        let (one, two) = (self.live.remove(0), self.live.remove(0));
        let rows = [one.1, two.1].concat();
        let both = self.file(&rows).await;
        self.builder.commit(&[unchanged(remove_of(&one.0)), unchanged(both.clone()), unchanged(remove_of(&two.0))]).await;
        self.live.push((both, rows, Vec::new()));
    }

    /// Deletes a row with a deletion vector, or a whole file.
    async fn delete(&mut self) {
        if self.live.is_empty() {
            return self.append().await;
        }
        let at = self.random.random_range(0..self.live.len());
        let (old, rows, mut deleted) = self.live.remove(at);
        let row = self.random.random_range(0..rows.len() as u64);
        deleted.push(row);
        deleted.sort_unstable();
        deleted.dedup();
        if deleted.len() == rows.len() || self.random.random_bool(0.3) {
            self.builder.commit(&[remove_of(&old)]).await;
            return;
        }
        let plain = {
            let mut plain = old.clone();
            plain["add"].as_object_mut().unwrap().remove("deletionVector");
            plain
        };
        let new = without(&plain, deleted.iter().copied());
        if new != old {
            self.builder.commit(&[remove_of(&old), new.clone()]).await;
        }
        self.live.push((new, rows, deleted));
    }

    fn rows(&self) -> Vec<String> {
        let live = self.live.iter().flat_map(|(_, rows, deleted)| {
            (0..).zip(rows).filter(|(row, _)| !deleted.contains(row)).map(|(_, row)| row.clone()).collect::<Vec<_>>()
        });
        let mut rows: Vec<String> = live.collect();
        rows.sort();
        rows
    }

    fn limits(&mut self) -> ReadLimits {
        let some = |random: &mut SmallRng, most: u64| random.random_bool(0.6).then(|| random.random_range(1..most));
        ReadLimits { max_files: some(&mut self.random, 5), max_bytes: some(&mut self.random, 3000), until: None }
    }
}

/// Reads a few batches. Some of them are read twice, some of these by a new stream.
async fn read_on(model: &mut Model, options: &[(&str, &str)], start: &mut Option<Offset>, found: &mut Vec<String>) {
    let mut stream = follow(&model.builder, options).await.unwrap();
    for _ in 0..model.random.random_range(1..5) {
        let limits = model.limits();
        let end = stream.latest_offset(start.as_ref(), &limits).await.unwrap();
        if end == *start {
            return;
        }
        let end = end.unwrap();
        let rows = batch(&model.builder.store(), &stream, start.as_ref(), &end).await.unwrap();
        if model.random.random_bool(0.5) {
            stream = follow(&model.builder, options).await.unwrap();
            let again = batch(&model.builder.store(), &stream, start.as_ref(), &end).await.unwrap();
            // Without a start, only the end determines the version of the table.
            let sorted = |mut rows: Vec<String>| {
                rows.sort();
                rows
            };
            assert_eq!(sorted(again), sorted(rows.clone()), "{start:?} to {end}");
        }
        stream.commit(&end).await.unwrap();
        found.extend(rows);
        *start = Some(end);
    }
}

#[tokio::test]
async fn appended_rows_come_once_in_any_batches() {
    for seed in 0..25 {
        let mut model = Model::new(seed).await;
        model.append().await;
        let options: &[(&str, &str)] = if seed % 2 == 0 { &[] } else { &[("startingVersion", "0")] };
        let (mut start, mut found) = (None, Vec::new());
        for _ in 0..12 {
            if model.random.random_bool(0.7) {
                model.append().await
            } else {
                model.compact().await
            }
            read_on(&mut model, options, &mut start, &mut found).await;
        }
        for _ in 0..100 {
            read_on(&mut model, options, &mut start, &mut found).await;
        }
        let (mut found, mut added) = (found, model.added.clone());
        found.sort();
        added.sort();
        assert_eq!(found, added, "seed {seed}");
    }
}

#[tokio::test]
async fn changes_rebuild_table_in_any_batches() {
    for seed in 100..125 {
        let mut model = Model::new(seed).await;
        let options: &[(&str, &str)] =
            if seed % 2 == 0 { &[("readChangeFeed", "true")] } else { &[("readChangeFeed", "true"), ("startingVersion", "0")] };
        let (mut start, mut found) = (None, Vec::new());
        for _ in 0..15 {
            match model.random.random_range(0..4) {
                0 | 1 => model.append().await,
                2 => model.delete().await,
                _ => model.compact().await,
            }
            read_on(&mut model, options, &mut start, &mut found).await;
        }
        for _ in 0..100 {
            read_on(&mut model, options, &mut start, &mut found).await;
        }
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        for change in found {
            let parts: Vec<&str> = change.split('/').collect();
            let by = if parts[2] == "insert" { 1 } else { -1 };
            *counts.entry(format!("{}/{}", parts[0], parts[1])).or_default() += by;
        }
        assert!(counts.values().all(|count| (0..=1).contains(count)), "seed {seed}: {counts:?}");
        let left: Vec<String> = counts.into_iter().filter(|(_, count)| *count == 1).map(|(row, _)| row).collect();
        assert_eq!(left, model.rows(), "seed {seed}");
    }
}
