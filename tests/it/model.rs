//! Random logs and the resulting state, computed by the rules of action reconciliation one action
//! at a time.

use std::collections::BTreeMap;

use lakebed_tests::action::{VECTOR_FILE, add, remove_of, unchanged, vector, with, with_vector};
use rand::Rng;
use rand::rngs::SmallRng;
use serde_json::{Value, json};

/// A file: its path and its deletion vector.
type Key = (String, Option<i64>);

/// The state of a table.
#[derive(Clone)]
pub(crate) struct Model {
    files: BTreeMap<Key, Value>,
    tombstones: BTreeMap<Key, Value>,
    transactions: BTreeMap<String, Value>,
    domains: BTreeMap<String, Value>,
    /// Tombstones of this time or before have expired.
    expired_ms: i64,
    next: u64,
}

impl Model {
    pub(crate) fn new(expired_ms: i64) -> Self {
        Self {
            files: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            transactions: BTreeMap::new(),
            domains: BTreeMap::new(),
            expired_ms,
            next: 0,
        }
    }

    /// Returns the number of the table's files, and their bytes.
    pub(crate) fn files(&self) -> (u64, u64) {
        let size = |action: &Value| action["add"]["size"].as_u64().unwrap();
        (self.files.len() as u64, self.files.values().map(size).sum())
    }

    /// Returns the actions of a checkpoint except protocol and metadata.
    pub(crate) fn checkpoint(&self) -> Vec<Value> {
        let unexpired = |action: &&Value| action["remove"]["deletionTimestamp"].as_i64().unwrap_or(0) > self.expired_ms;
        let tombstones = self.tombstones.values().filter(unexpired).cloned().map(unchanged);
        let files = self.files.values().cloned().map(unchanged);
        let domains = self.domains.values().filter(|action| action["domainMetadata"]["removed"] == json!(false)).cloned();
        files.chain(tombstones).chain(self.transactions.values().cloned()).chain(domains).collect()
    }

    /// Returns the actions of one more commit. No two of them are about the same file.
    pub(crate) fn commit(&mut self, random: &mut SmallRng) -> Vec<Value> {
        let mut actions = Vec::new();
        let mut free: Vec<Key> = self.files.keys().cloned().collect();
        let mut gone: Vec<Key> = self.tombstones.keys().cloned().collect();
        for _ in 0..random.random_range(0..6) {
            match random.random_range(0..10) {
                0..4 => {
                    self.next += 1;
                    let vector = random.random_bool(0.3).then(|| random.random_range(0..3));
                    actions.push(self.add((format!("f{}", self.next), vector), random));
                }
                4..6 if !free.is_empty() => {
                    let key = free.swap_remove(random.random_range(0..free.len()));
                    actions.push(self.remove(key, random));
                }
                // A file gets another deletion vector.
                6 if !free.is_empty() => {
                    let key = free.swap_remove(random.random_range(0..free.len()));
                    let after = (key.0.clone(), Some(key.1.map_or(0, |vector| vector + 1)));
                    gone.retain(|gone| *gone != after);
                    if !self.files.contains_key(&after) {
                        actions.push(self.remove(key, random));
                        actions.push(self.add(after, random));
                    }
                }
                // A removed file is added again, as by a restore of a version.
                7 if !gone.is_empty() => {
                    let key = gone.swap_remove(random.random_range(0..gone.len()));
                    actions.push(self.add(key, random));
                }
                8 => {
                    let app = format!("app{}", random.random_range(0..4));
                    let action = json!({"txn": {"appId": app, "version": random.random_range(0..100), "lastUpdated": 7}});
                    self.transactions.insert(app, action.clone());
                    actions.retain(|other: &Value| other["txn"]["appId"] != action["txn"]["appId"]);
                    actions.push(action);
                }
                9 => {
                    let name = format!("domain{}", random.random_range(0..4));
                    let removed = random.random_bool(0.4);
                    let action = json!({"domainMetadata": {"domain": name, "configuration": "{}", "removed": removed}});
                    self.domains.insert(name, action.clone());
                    actions.retain(|other: &Value| other["domainMetadata"]["domain"] != action["domainMetadata"]["domain"]);
                    actions.push(action);
                }
                _ => {}
            }
        }
        actions
    }

    fn add(&mut self, key: Key, random: &mut SmallRng) -> Value {
        let fields = json!({
            "size": random.random_range(0..100_000),
            "modificationTime": random.random_range(0..1000),
            "dataChange": random.random_bool(0.5),
            "stats": format!("{{\"numRecords\":{}}}", random.random_range(0..100)),
            "tags": {"k": "v"},
        });
        let action = with_deleted(with(add(&key.0), fields), key.1);
        self.tombstones.remove(&key);
        self.files.insert(key, action.clone());
        action
    }

    fn remove(&mut self, key: Key, random: &mut SmallRng) -> Value {
        let was = self.files.remove(&key).unwrap();
        let age = random.random_range(-1..3);
        let action = with(remove_of(&was), json!({"deletionTimestamp": self.expired_ms + age, "dataChange": true}));
        self.tombstones.insert(key, action.clone());
        action
    }
}

/// Returns the action with the deletion vector of this number.
fn with_deleted(action: Value, number: Option<i64>) -> Value {
    let Some(number) = number else { return action };
    let mut vector = vector("u", VECTOR_FILE, number);
    vector["cardinality"] = json!(number + 1);
    with_vector(action, vector)
}
