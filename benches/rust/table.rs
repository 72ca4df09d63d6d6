//! Whole tables on local disk. `benches/python` generates them. A table that was not generated is
//! left out.

use divan::Bencher;
use futures::TryStreamExt;
use lakebed::restore::RestoreOptions;
use lakebed::{Scan, Table};
use lakebed_benches::{generated, open, opened};

const LOGS: [&str; 3] = ["1m_adds_ckpt_10", "1m_adds_ckpt_10_json", "1k_commits"];
const Q6: &str =
    "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24";

fn main() {
    divan::main();
}

/// Opens a table with empty caches, up to its schema.
#[divan::bench(args = LOGS)]
fn open_table(bencher: Bencher, name: &str) {
    let Some(path) = generated(name) else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    bencher.bench(|| runtime.block_on(open(&path)).version());
}

/// Plans the files of one range of ids out of a thousand in an open table.
#[divan::bench(args = LOGS, sample_count = 20)]
fn plan_range(bencher: Bencher, name: &str) {
    let Some((runtime, snapshot)) = opened(name) else { return };
    let scan = snapshot.scan().filter("id BETWEEN 5000000 AND 5999999");
    bencher.bench(|| {
        runtime.block_on(async {
            let batches: Vec<_> = scan.files().await?.try_collect().await?;
            Ok::<usize, lakebed::Error>(batches.iter().map(|batch| batch.num_rows()).sum::<usize>())
        })
    });
}

/// Lists all files of an open table.
#[divan::bench(args = LOGS, sample_count = 10)]
fn list_files(bencher: Bencher, name: &str) {
    let Some((runtime, snapshot)) = opened(name) else { return };
    let scan = snapshot.scan();
    bencher.bench(|| {
        runtime.block_on(async {
            let batches: Vec<_> = scan.files().await?.try_collect().await?;
            Ok::<usize, lakebed::Error>(batches.iter().map(|batch| batch.num_rows()).sum::<usize>())
        })
    });
}

/// Finds the files of a restore to the version before the newest one. The data files do not exist.
#[divan::bench(args = LOGS, sample_count = 10)]
fn restore_dry_run(bencher: Bencher, name: &str) {
    let Some(path) = generated(name) else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let table = runtime.block_on(Table::at(path.to_string_lossy()).open()).expect("the table opens");
    let newest = runtime.block_on(table.snapshot()).expect("it has a snapshot").version();
    let options = RestoreOptions {
        version: Some(newest.saturating_sub(1)),
        dry_run: true,
        ignore_missing_files: true,
        ..RestoreOptions::default()
    };
    bencher.bench(|| runtime.block_on(table.restore().options(options.clone()).run()).map(|outcome| outcome.metrics));
}

/// Returns the number of rows that a scan returns.
async fn rows(scan: &Scan) -> lakebed::Result<usize> {
    scan.stream().await?.try_fold(0, async |rows, batch| Ok(rows + batch.num_rows())).await
}

#[divan::bench(args = ["lineitem", "lineitem_dv01", "lineitem_dv10"], sample_count = 20)]
fn q6(bencher: Bencher, name: &str) {
    let Some((runtime, snapshot)) = opened(name) else { return };
    let columns = ["l_extendedprice", "l_discount", "l_shipdate", "l_quantity"];
    let scan = snapshot.scan().select(columns).filter(Q6);
    bencher.bench(|| runtime.block_on(rows(&scan)));
}

#[divan::bench(args = ["lineitem", "lineitem_dv01", "lineitem_dv10"], sample_count = 5)]
fn read_all(bencher: Bencher, name: &str) {
    let Some((runtime, snapshot)) = opened(name) else { return };
    let scan = snapshot.scan();
    bencher.bench(|| runtime.block_on(rows(&scan)));
}
