//! Files are skipped where they can be, and never where they must not be.

mod generated;
mod property;
mod rules;
mod sample;

use sample::Sample;

/// The files, counted from 0, that a filter leaves of a sample.
fn left(sample: &Sample, filter: &str) -> Vec<usize> {
    let keep = sample.prune(filter).keep;
    (0..keep.len()).filter(|file| keep.value(*file)).collect()
}
