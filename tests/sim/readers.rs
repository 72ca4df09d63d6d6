//! Seeded histories of tables with checkpoints, log compactions, cleanups and damage, compared with
//! a model of the files at each version.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Int64Array, RecordBatch, StringArray};
use lakebed::{ErrorKind, Snapshot};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{VECTOR_FILE, add, remove, text, vector, with_vector};
use rand::rngs::SmallRng;
use rand::seq::IteratorRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use super::seeds;

/// A logical file: its path, and the number of rows that its deletion vector deletes (0 without
/// one). This number distinguishes deletion vectors here.
type File = (String, i64);

/// The state of the table as the test computes it, without lakebed.
#[derive(Default)]
struct Model {
    /// The live files of each version.
    versions: Vec<BTreeSet<File>>,
    /// The actions of each version.
    actions: Vec<Vec<Value>>,
    /// The versions of undamaged checkpoints.
    checkpoints: BTreeSet<u64>,
    /// The versions without a commit, because it was deleted.
    deleted: BTreeSet<u64>,
}

impl Model {
    /// Returns whether a version can be rebuilt from the commits alone, or from a checkpoint and
    /// the commits above it.
    fn can_rebuild(&self, version: u64) -> bool {
        let starts =
            self.checkpoints.iter().filter(|checkpoint| **checkpoint <= version).map(|checkpoint| checkpoint + 1).chain([0]);
        starts.into_iter().any(|start| (start..=version).all(|commit| !self.deleted.contains(&commit)))
    }
}

/// Returns the `add` or the `remove` of a file.
fn file_action(make: fn(&str) -> Value, (path, deleted): &File) -> Value {
    let action = make(path);
    if *deleted == 0 {
        return action;
    }
    let mut vector = vector("u", VECTOR_FILE, *deleted);
    vector["cardinality"] = json!(deleted);
    with_vector(action, vector)
}

/// Returns one random commit: it adds files, removes files and replaces deletion vectors.
fn random_commit(random: &mut SmallRng, live: &mut BTreeSet<File>, next_file: &mut u32) -> Vec<Value> {
    let mut actions = Vec::new();
    let mut touched = BTreeSet::new();
    for _ in 0..random.random_range(0..4) {
        let old = live.iter().filter(|file| !touched.contains(&file.0)).choose(random).cloned();
        match (random.random_range(0..3), old) {
            (0, Some(file)) => {
                live.remove(&file);
                touched.insert(file.0.clone());
                actions.push(file_action(remove, &file));
            }
            (1, Some(file)) => {
                let swapped = (file.0.clone(), file.1 + 1);
                touched.insert(file.0.clone());
                actions.push(file_action(remove, &file));
                actions.push(file_action(add, &swapped));
                live.remove(&file);
                live.insert(swapped);
            }
            _ => {
                *next_file += 1;
                let file = (format!("part-{next_file}.parquet"), 0);
                actions.push(file_action(add, &file));
                touched.insert(file.0.clone());
                live.insert(file);
            }
        }
    }
    actions
}

async fn files(snapshot: &Snapshot) -> lakebed::Result<BTreeSet<File>> {
    let batches = snapshot.scan().files().await?.collect_all().await?;
    let mut found = BTreeSet::new();
    for batch in &batches {
        let column = |name: &str| batch.column_by_name(name).unwrap().as_any();
        let paths = column("path").downcast_ref::<StringArray>().unwrap();
        let deleted = column("deleted_records").downcast_ref::<Int64Array>().unwrap();
        for row in 0..batch.num_rows() {
            assert!(found.insert((paths.value(row).to_owned(), deleted.value(row))), "a file came twice");
        }
    }
    assert_eq!(found.len(), batches.iter().map(RecordBatch::num_rows).sum::<usize>());
    Ok(found)
}

/// Returns the reconciled actions of versions `from..=to`, with every remove.
fn compaction(model: &Model, from: u64, to: u64) -> Vec<Value> {
    let mut newest: BTreeMap<String, Value> = BTreeMap::new();
    for version in from..=to {
        for action in &model.actions[version as usize] {
            let (_, body) = action.as_object().unwrap().iter().next().unwrap();
            newest.insert(format!("{}{}", body["path"], body.get("deletionVector").unwrap_or(&Value::Null)), action.clone());
        }
    }
    newest.into_values().collect()
}

struct World {
    random: SmallRng,
    builder: TableBuilder,
    model: Model,
    next_file: u32,
}

impl World {
    async fn commit(&mut self) {
        let mut live = self.model.versions.last().cloned().unwrap_or_default();
        let actions = random_commit(&mut self.random, &mut live, &mut self.next_file);
        self.builder.commit(&actions).await;
        self.model.versions.push(live);
        self.model.actions.push(actions);
    }

    fn latest(&self) -> u64 {
        self.model.versions.len() as u64 - 1
    }

    async fn checkpoint(&mut self) {
        let version = self.random.random_range(0..=self.latest());
        let rows: Vec<Value> = self.model.versions[version as usize].iter().map(|file| file_action(add, file)).collect();
        self.builder.checkpoint(version, &rows).await;
        self.model.checkpoints.insert(version);
        if self.random.random_bool(0.7) {
            self.builder.hint(version).await;
        }
    }

    async fn compact(&mut self) {
        let from = self.random.random_range(0..=self.latest());
        let to = self.random.random_range(from..=self.latest());
        // Version 0 also sets protocol and metadata, which a compaction would have to keep.
        if from > 0 && to > from {
            let lines = compaction(&self.model, from, to);
            self.builder.put_log(&format!("{from:020}.{to:020}.compacted.json"), text(&lines)).await;
        }
    }

    /// Deletes commits below a checkpoint, as a cleanup does.
    async fn clean_up(&mut self) {
        let Some(&checkpoint) = self.model.checkpoints.iter().choose(&mut self.random) else { return };
        for version in 0..checkpoint {
            if self.model.deleted.insert(version) {
                self.builder.delete_log(&format!("{version:020}.json")).await;
            }
        }
    }

    async fn damage(&mut self) {
        match self.random.random_range(0..5) {
            0 => self.builder.put_log("_last_checkpoint", b"{\"version\":".to_vec()).await,
            1 => {
                let version = self.random.random_range(0..=self.latest() + 3);
                self.builder.hint(version).await;
            }
            2 => self.builder.put_log(".hidden.json", b"x".to_vec()).await,
            3 => {
                let version = self.random.random_range(0..=self.latest());
                self.builder.put_log(&format!("{version:020}.crc"), b"{}".to_vec()).await;
            }
            _ => {
                let Some(&version) = self.model.checkpoints.iter().choose(&mut self.random) else { return };
                let length = self.random.random_range(0..200);
                self.builder.put_log(&format!("{version:020}.checkpoint.parquet"), vec![b'P'; length]).await;
                self.model.checkpoints.remove(&version);
            }
        }
    }

    async fn check(&self, version: u64) {
        let outcome = match self.builder.table().snapshot_at(version).await {
            Ok(snapshot) => files(&snapshot).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(found) => assert_eq!(found, self.model.versions[version as usize], "version {version}"),
            Err(error) => {
                assert!(!self.model.can_rebuild(version), "version {version} can be rebuilt, but: {error}");
                assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Store { .. }), "version {version}: {error}");
            }
        }
    }
}

async fn run(seed: u64) {
    let random = SmallRng::seed_from_u64(seed);
    let mut world = World { random, builder: TableBuilder::new(), model: Model::default(), next_file: 0 };
    world.commit().await;
    let mut follower = world.builder.table().snapshot().await.unwrap();
    for _ in 0..world.random.random_range(1..30) {
        match world.random.random_range(0..10) {
            0 => world.checkpoint().await,
            1 => world.compact().await,
            2 => world.clean_up().await,
            3 => world.damage().await,
            _ => world.commit().await,
        }
        if world.random.random_bool(0.3) && world.model.can_rebuild(world.latest()) {
            // A reader that refreshes its snapshot, sometimes with loaded files and sometimes
            // without.
            follower = follower.refresh().await.unwrap();
            assert_eq!(follower.version(), world.latest());
            if world.random.random_bool(0.5) {
                assert_eq!(files(&follower).await.unwrap(), world.model.versions[world.latest() as usize], "the follower");
            }
        }
    }
    for version in 0..=world.latest() {
        world.check(version).await;
    }
}

#[test]
fn damaged_logs_read_as_modelled_or_fail() {
    seeds::check_each("readers::damaged_logs_read_as_modelled_or_fail", 150, |seed| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(run(seed));
        Ok(())
    });
}
