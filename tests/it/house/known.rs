//! The circles among files that are left.

/// The circles that exist today. The test compares them exactly, so a change that dissolves a circle also removes it here. The list
/// may only become shorter.
pub const KNOWN_CIRCLES: &[&[&str]] = &[
    &[
        "lakebed/dml/merge/keys.rs",
        "lakebed/dml/merge/lossless.rs",
        "lakebed/dml/merge/mod.rs",
        "lakebed/dml/merge/plan.rs",
        "lakebed/dml/merge/probe.rs",
        "lakebed/dml/merge/run.rs",
    ],
    &[
        "lakebed/optimize/cluster/mod.rs",
        "lakebed/optimize/cluster/sample.rs",
        "lakebed/optimize/commit.rs",
        "lakebed/optimize/compact.rs",
        "lakebed/optimize/describe.rs",
        "lakebed/optimize/mod.rs",
        "lakebed/optimize/run.rs",
    ],
    &["lakebed/optimize/cube.rs", "lakebed/optimize/plan.rs"],
    &["lakebed/scan/plan/checkpoint.rs", "lakebed/scan/plan/footers.rs", "lakebed/scan/plan/mod.rs"],
    &[
        "lakebed/scan/read/bounds.rs",
        "lakebed/scan/read/condition.rs",
        "lakebed/scan/read/file.rs",
        "lakebed/scan/read/implied.rs",
        "lakebed/scan/read/job.rs",
        "lakebed/scan/read/mod.rs",
        "lakebed/scan/read/pack.rs",
        "lakebed/scan/read/piece.rs",
        "lakebed/scan/read/size.rs",
    ],
    &["lakebed/scan/read/fit.rs", "lakebed/scan/read/form.rs", "lakebed/scan/read/leaf.rs"],
    &["lakebed/scan/task.rs", "lakebed/scan/task/wire.rs"],
    &["lakebed/transaction/commit.rs", "lakebed/transaction/group.rs"],
    &["lakebed/transaction/mod.rs", "lakebed/transaction/vectors.rs"],
    &["lakebed/write/data_file.rs", "lakebed/write/partition.rs", "lakebed/write/place.rs"],
    &["lakebed/write/fit.rs", "lakebed/write/rules.rs"],
    &["lakebed/write/mod.rs", "lakebed/write/run.rs", "lakebed/write/target.rs"],
    &["lakebed/write/task.rs", "lakebed/write/task/wire.rs"],
    &[
        "lakebed-python/input.rs",
        "lakebed-python/input/import.rs",
        "lakebed-python/input/items.rs",
        "lakebed-python/input/stream.rs",
    ],
];
