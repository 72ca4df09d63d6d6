//! Statistics of written rows: the columns of TPC-H's lineitem, and dictionary columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray, make_array,
};
use divan::Bencher;
use divan::counter::ItemsCount;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::stats::{StatsCollector, StatsPlan};

const BATCH: usize = 8_192;
/// The batches differ, so that the branch predictor does not learn the values of one batch.
const BATCHES: usize = 4;
const ROWS: usize = 983_040;

fn main() {
    divan::main();
}

/// Returns pseudo-random numbers, the same each time.
fn numbers(below: u64) -> impl Iterator<Item = u64> {
    let mut state = 7_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    })
    .take(BATCH * BATCHES)
}

fn words(words: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(numbers(words.len() as u64).map(|word| words[word as usize])))
}

fn longs(below: u64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(numbers(below).map(|number| number as i64)))
}

fn money(below: u64, precision: u8) -> ArrayRef {
    let values = Decimal128Array::from_iter_values(numbers(below).map(i128::from));
    Arc::new(values.with_precision_and_scale(precision, 2).expect("the values fit"))
}

fn days() -> ArrayRef {
    Arc::new(Date32Array::from_iter_values(numbers(2_526).map(|day| 8_036 + day as i32)))
}

fn customers(below: u64) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(numbers(below).map(|number| format!("Customer#{number:09}"))))
}

fn comments() -> ArrayRef {
    let pool = "carefully final deposits wake furiously against the quickly ironic theodolites, pending requests haggle slyly ";
    let comments = numbers(60 * 33).map(|number| &pool[number as usize % 60..][..10 + number as usize % 33]);
    Arc::new(StringArray::from_iter_values(comments))
}

const COLUMNS: [&str; 16] = [
    "orderkey",
    "partkey",
    "suppkey",
    "linenumber",
    "quantity",
    "extendedprice",
    "discount",
    "tax",
    "returnflag",
    "linestatus",
    "shipdate",
    "commitdate",
    "receiptdate",
    "shipinstruct",
    "shipmode",
    "comment",
];

/// Returns a column of lineitem.
fn lineitem(name: &str) -> ArrayRef {
    match name {
        "orderkey" => longs(6_000_000),
        "partkey" => longs(200_000),
        "suppkey" => longs(10_000),
        "linenumber" => Arc::new(Int32Array::from_iter_values(numbers(7).map(|number| number as i32))),
        "quantity" => money(5_000, 15),
        "extendedprice" => money(10_000_000, 15),
        "discount" => money(11, 15),
        "tax" => money(9, 15),
        "returnflag" => words(&["A", "N", "R"]),
        "linestatus" => words(&["F", "O"]),
        "shipdate" | "commitdate" | "receiptdate" => days(),
        "shipinstruct" => words(&["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]),
        "shipmode" => words(&["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]),
        _ => comments(),
    }
}

/// Returns the same column with every tenth value null.
fn with_nulls(column: &ArrayRef) -> ArrayRef {
    let valid: Vec<bool> = numbers(10).map(|number| number > 0).collect();
    let data = column.to_data().into_builder().nulls(Some(valid.into())).build();
    make_array(data.expect("as many flags as values"))
}

/// Returns a dictionary of this many strings. If not all of its values are used, the collector
/// checks all keys of every batch.
fn dictionary(values: usize, is_whole: bool) -> ArrayRef {
    let keys = Int32Array::from_iter_values(numbers(values as u64).map(|key| key as i32));
    let count = if is_whole { values } else { values + 1 };
    let texts = StringArray::from_iter_values((0..count).map(|number| format!("Customer#{number:09}")));
    let array = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts)).expect("each key has a value");
    Arc::new(array)
}

fn measure(bencher: Bencher, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
    let batch = batch.expect("columns of one length");
    let schema = schema_from_arrow(batch.schema_ref()).expect("types that Delta has");
    let properties = TableProperties::parse(&HashMap::new()).expect("no properties");
    let plan = Arc::new(StatsPlan::new(&schema, MappingMode::None, &[], &properties, &[]).expect("a plan"));
    bencher.counter(ItemsCount::new(ROWS)).bench(|| {
        let mut collector = StatsCollector::new(Arc::clone(&plan));
        for part in 0..ROWS / BATCH {
            collector.update(&batch.slice(part % BATCHES * BATCH, BATCH)).expect("a batch of the plan's columns");
        }
        collector.finish().json
    });
}

#[divan::bench]
fn all_columns(bencher: Bencher) {
    measure(bencher, COLUMNS.map(|name| (name, lineitem(name))).to_vec());
}

#[divan::bench]
fn all_columns_with_nulls(bencher: Bencher) {
    measure(bencher, COLUMNS.map(|name| (name, with_nulls(&lineitem(name)))).to_vec());
}

#[divan::bench(args = COLUMNS)]
fn column(bencher: Bencher, name: &str) {
    measure(bencher, vec![(name, lineitem(name))]);
}

#[divan::bench]
fn wide_decimals(bencher: Bencher) {
    measure(bencher, vec![("d", money(1 << 40, 38))]);
}

#[divan::bench]
fn ascending_longs(bencher: Bencher) {
    measure(bencher, vec![("l", Arc::new(Int64Array::from_iter_values(0..(BATCH * BATCHES) as i64)))]);
}

#[divan::bench]
fn customer_names(bencher: Bencher) {
    measure(bencher, vec![("s", customers(150_000))]);
}

#[divan::bench(args = [7, 10_000, 150_000])]
fn dictionary_with_all_values_used(bencher: Bencher, values: usize) {
    measure(bencher, vec![("s", dictionary(values, true))]);
}

#[divan::bench(args = [7, 10_000, 150_000])]
fn dictionary_with_an_unused_value(bencher: Bencher, values: usize) {
    measure(bencher, vec![("s", dictionary(values, false))]);
}
