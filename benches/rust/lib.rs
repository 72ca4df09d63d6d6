//! The shared parts of the benches: generated logs, and the tables that `benches/python` generates.

use std::fmt::Write;
use std::path::PathBuf;

use lakebed::{Snapshot, Table};
use tokio::runtime::Runtime;

/// Returns the statistics of file `number`: three columns with their bounds.
pub fn statistics(number: u64) -> String {
    let (from, to) = (number * 1000, number * 1000 + 999);
    format!(
        r#"{{"numRecords":1000,"minValues":{{"id":{from},"name":"name-{from:08}","amount":{from}.25}},"maxValues":{{"id":{to},"name":"name-{to:08}","amount":{to}.75}},"nullCount":{{"id":0,"name":3,"amount":17}}}}"#
    )
}

/// Returns a commit that adds this many files.
pub fn commit(files: u64) -> String {
    let mut text = String::from("{\"commitInfo\":{\"timestamp\":1700000000000,\"operation\":\"WRITE\"}}\n");
    for number in 0..files {
        let stats = serde_json::to_string(&statistics(number)).expect("text is JSON");
        writeln!(
            text,
            r#"{{"add":{{"path":"day=2026-01-01/part-{number:05}-6f0c9a3e-5f2c-4a77-9f3a-0d8f2b7c1a55.c000.snappy.parquet","partitionValues":{{"day":"2026-01-01"}},"size":{},"modificationTime":1700000000000,"dataChange":true,"stats":{stats}}}}}"#,
            100_000 + number
        )
        .expect("a string takes text");
    }
    text
}

/// Returns the path of a table that `python -m benches.python.tables` or `… .lineitem` made; None
/// if it does not exist.
pub fn generated(name: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("LAKEBED_CACHE").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/lakebed")))?;
    let table = cache.join("bench").join(name);
    table.is_dir().then_some(table)
}

/// Returns a runtime, and the snapshot of a generated table.
pub fn opened(name: &str) -> Option<(Runtime, Snapshot)> {
    let path = generated(name)?;
    let runtime = Runtime::new().expect("a runtime starts");
    let snapshot = runtime.block_on(open(&path));
    Some((runtime, snapshot))
}

/// Returns the newest snapshot of a table on disk.
pub async fn open(path: &std::path::Path) -> Snapshot {
    let table = Table::at(path.to_string_lossy()).open().await.expect("the table opens");
    table.snapshot().await.expect("it has a snapshot")
}
