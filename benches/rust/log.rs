//! The log without a store: commits, statistics, deletion vectors.

use arrow_array::StringArray;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use lakebed_benches::{commit, statistics};
use lakebed_core::action::json::{self, CommitLines};
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::replay::{Layer, Layers};
use lakebed_core::schema::PrimitiveType;
use lakebed_core::stats::{StatColumn, StatKind, from_json};

const FILES: u64 = 10_000;
const ROWS: u64 = 1_000_000;

fn main() {
    divan::main();
}

/// Parses every action to a value.
#[divan::bench]
fn parse_commit(bencher: Bencher) {
    let text = commit(FILES);
    bencher.counter(BytesCount::of_str(&text)).bench(|| json::parse_commit(text.as_bytes(), "commit"));
}

/// Parses actions directly to columns, as opening a table does.
#[divan::bench]
fn replay_commit(bencher: Bencher) {
    let text = commit(FILES);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        Layer::fold([CommitLines::whole(text.as_bytes(), "commit")]).map(|layer| Layers::new(layer).visible_files().count())
    });
}

/// Parses the bounds of one column out of three.
#[divan::bench]
fn statistics_of_one_column(bencher: Bencher) {
    let texts = StringArray::from_iter_values((0..FILES).map(statistics));
    let of = |kind| StatColumn { kind, path: vec!["id".into()], data_type: PrimitiveType::Long };
    let wanted = [of(StatKind::Min), of(StatKind::Max)];
    bencher.counter(BytesCount::new(texts.value_data().len())).bench(|| from_json(&texts, &wanted));
}

/// Parses a deletion vector in which one row of ten is deleted.
#[divan::bench]
fn parse_deletion_vector(bencher: Bencher) {
    let vector: DeletionVector = (0..ROWS).step_by(10).collect();
    let bytes = vector.serialize().expect("a vector can be written");
    bencher.counter(ItemsCount::new(ROWS)).bench(|| DeletionVector::parse(&bytes));
}

/// Computes the ranges of the remaining rows.
#[divan::bench]
fn kept_ranges(bencher: Bencher) {
    let vector: DeletionVector = (0..ROWS).step_by(10).collect();
    bencher.counter(ItemsCount::new(ROWS)).bench(|| vector.kept_ranges(0..ROWS));
}
