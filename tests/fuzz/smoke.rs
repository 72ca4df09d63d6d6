//! Every fuzz target on its seeds and on some thousand mutations of them. `LAKEBED_FUZZ_RUNS` sets how many.

#[path = "src/lib.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};

use targets::mutate::Mutator;
use targets::seeds;

const RUNS: u64 = 4_000;

fn smoke(target: fn(&[u8]), seeds: &[Vec<u8>]) {
    let runs = std::env::var("LAKEBED_FUZZ_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let mutated = (0..runs).map(|run| Mutator::new(run).mutate(seeds));
    for bytes in seeds.iter().cloned().chain(mutated) {
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            panic!("failed on b\"{}\"", bytes.escape_ascii());
        }
    }
}

#[test]
fn commit_line() {
    smoke(targets::commit_line, &seeds::commit_lines());
}

#[test]
fn checkpoint_row() {
    smoke(targets::checkpoint_row, &seeds::checkpoint_rows());
}

#[test]
fn deletion_vector() {
    smoke(targets::deletion_vector, &seeds::deletion_vectors());
}

#[test]
fn schema_json() {
    smoke(targets::schema_json, &seeds::schemas());
}

#[test]
fn last_checkpoint() {
    smoke(targets::last_checkpoint, &seeds::last_checkpoints());
}

#[test]
fn checksum() {
    smoke(targets::checksum, &seeds::checksums());
}

#[test]
fn stats_json() {
    smoke(targets::stats_json, &seeds::statistics());
}

#[test]
fn partition_value() {
    smoke(targets::partition_value, &seeds::partition_values());
}

#[test]
fn file_path() {
    smoke(targets::file_path, &seeds::file_paths());
}
