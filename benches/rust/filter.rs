//! Filters: parsing a predicate, and evaluating it on the rows of a batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray};
use divan::Bencher;
use divan::counter::ItemsCount;
use lakebed_expr::{Options, parse_filter};

const ROWS: i32 = 8192;
const TEXTS: [&str; 5] = [
    "id = 4000",
    "price >= 10.50 AND price < 20 AND day >= DATE '1994-01-01'",
    "name LIKE 'name-00%'",
    "ratio BETWEEN 0.25 AND 0.75 OR id IN (1, 2, 3)",
    "upper(substring(name, 1, 4)) = 'NAME' AND year(day) = 1994",
];

fn main() {
    divan::main();
}

fn batch() -> RecordBatch {
    let price = Decimal128Array::from_iter_values((0..ROWS).map(i128::from));
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from_iter_values((0..ROWS).map(i64::from)))),
        ("price", Arc::new(price.with_precision_and_scale(15, 2).expect("fifteen digits are enough"))),
        ("day", Arc::new(Date32Array::from_iter_values((0..ROWS).map(|row| 8000 + row % 1500)))),
        ("name", Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("name-{row:06}"))))),
        ("ratio", Arc::new(Float64Array::from_iter_values((0..ROWS).map(|row| f64::from(row) / f64::from(ROWS))))),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

#[divan::bench(args = TEXTS)]
fn parse(bencher: Bencher, text: &str) {
    let schema = batch().schema();
    bencher.bench(|| parse_filter(text, &schema, &Options::default()));
}

#[divan::bench(args = TEXTS)]
fn evaluate(bencher: Bencher, text: &str) {
    let batch = batch();
    let filter = parse_filter(text, &batch.schema(), &Options::default()).expect("the text is a filter");
    bencher.counter(ItemsCount::new(batch.num_rows())).bench(|| filter.evaluate(&batch));
}
