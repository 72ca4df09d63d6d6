//! The source of a MERGE: the time to read its rows into memory and into a file.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use divan::Bencher;
use divan::counter::ItemsCount;
use lakebed::RecordBatchStream;
use lakebed::dml::merge::MergeSource;
use lakebed::runtime::memory::MemoryBudget;

const BATCH: i64 = 65_536;
const BATCHES: i64 = 60;

fn main() {
    divan::main();
}

fn batches() -> Vec<RecordBatch> {
    let batch = |number: i64| {
        let ids = number * BATCH..(number + 1) * BATCH;
        let names = StringArray::from_iter_values(ids.clone().map(|id| format!("customer-{id:09}")));
        let columns = [("id", Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef), ("name", Arc::new(names) as ArrayRef)];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    };
    (0..BATCHES).map(batch).collect()
}

/// Reads a source. `budget_mb` is the memory budget of the process in MB. The source fits into the
/// first budget, and spills with the second one.
#[divan::bench(args = [4_096, 64], sample_count = 10)]
fn read_source(bencher: Bencher, budget_mb: u64) {
    MemoryBudget::set_limit_bytes_of_process(budget_mb << 20);
    let (runtime, batches) = (tokio::runtime::Runtime::new().expect("a runtime starts"), batches());
    bencher.counter(ItemsCount::new((BATCH * BATCHES) as usize)).bench(|| {
        let stream = RecordBatchStream::from_batches(batches[0].schema(), batches.clone());
        runtime.block_on(MergeSource::read(stream)).map(|source| source.rows())
    });
}
