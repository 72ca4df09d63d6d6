//! Runs every fuzz target on its seeds and on some thousand mutations of them. `LAKEBED_FUZZ_RUNS`
//! sets the number of mutations.

#[path = "src/lib.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lakebed_core::action::json;
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::checkpoint::{file_actions, other_actions};
use lakebed_core::log::{checksum::VersionChecksum, hint};
use lakebed_core::variant::unshred;
use lakebed_core::{path::FilePath, schema};
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

#[test]
fn variant() {
    smoke(targets::variant, &seeds::variants());
}

/// Mutations of a seed that the target refuses would find nothing.
#[test]
fn seeds_are_read() {
    fn text(seed: &[u8]) -> &str {
        std::str::from_utf8(seed).unwrap()
    }
    let refused = |seeds: Vec<Vec<u8>>, read: fn(&[u8]) -> bool| seeds.iter().filter(|seed| !read(seed)).count();
    assert_eq!(
        refused(seeds::commit_lines(), |line| json::parse_line(line).is_ok_and(|action| action.is_some())),
        1,
        "but the unknown one"
    );
    assert_eq!(
        refused(seeds::deletion_vectors(), |bytes| DeletionVector::parse(bytes).is_ok()),
        4,
        "but the framed one and the texts"
    );
    assert_eq!(refused(seeds::schemas(), |seed| schema::parse(text(seed)).is_ok()), 0);
    assert_eq!(refused(seeds::last_checkpoints(), |seed| hint::parse(seed).is_ok()), 0);
    assert_eq!(refused(seeds::checksums(), |seed| VersionChecksum::parse(seed, "crc").is_ok()), 1, "but the old one");
    assert_eq!(refused(seeds::file_paths(), |seed| FilePath::parse(text(seed)).is_ok()), 1, "but the one upwards");
    assert_eq!(refused(seeds::variants(), |seed| unshred(&targets::shredded(seed)).is_ok()), 0);
    let has_actions = |seed: &[u8]| {
        targets::checkpoint_batches(seed).iter().any(|batch| {
            let actions = [other_actions(batch, "checkpoint"), file_actions(batch, "checkpoint")].map(Result::unwrap);
            actions.concat().len() == batch.num_rows()
        })
    };
    assert_eq!(refused(seeds::checkpoint_rows(), has_actions), 7, "but those that no checkpoint has, twice and among all");
}
