//! How long statistics of 6 million rows take: `cargo test -p lakebed-core --lib speed -- --ignored --nocapture`.

use std::time::Instant;

use super::*;

const ROWS: usize = 6_000_000;
const BATCH: usize = 8_192;
/// Different ones, so that no processor learns them by heart.
const BATCHES: usize = 4;

/// Numbers that look random, the same each time.
fn numbers(rows: usize, below: u64) -> impl Iterator<Item = u64> {
    let mut state = 7_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    })
    .take(rows)
}

fn words(words: &[&str]) -> ArrayRef {
    array(StringArray::from_iter_values(numbers(BATCH * BATCHES, words.len() as u64).map(|word| words[word as usize])))
}

fn longs(below: u64) -> ArrayRef {
    array(Int64Array::from_iter_values(numbers(BATCH * BATCHES, below).map(|number| number as i64)))
}

fn money(below: u64) -> ArrayRef {
    array(decimals(numbers(BATCH * BATCHES, below).map(i128::from).collect(), 15, 2))
}

fn days() -> ArrayRef {
    array(Date32Array::from_iter_values(numbers(BATCH * BATCHES, 2_526).map(|day| 8_036 + day as i32)))
}

/// The 16 columns of TPC-H's lineitem.
fn lineitem() -> Vec<(&'static str, ArrayRef)> {
    let pool = "carefully final deposits wake furiously against the quickly ironic theodolites, pending requests haggle slyly ";
    let comments = numbers(BATCH * BATCHES, 60 * 33).map(|number| &pool[number as usize % 60..][..10 + number as usize % 33]);
    vec![
        ("orderkey", longs(6_000_000)),
        ("partkey", longs(200_000)),
        ("suppkey", longs(10_000)),
        ("linenumber", array(Int32Array::from_iter_values(numbers(BATCH * BATCHES, 7).map(|number| number as i32)))),
        ("quantity", money(5_000)),
        ("extendedprice", money(10_000_000)),
        ("discount", money(11)),
        ("tax", money(9)),
        ("returnflag", words(&["A", "N", "R"])),
        ("linestatus", words(&["F", "O"])),
        ("shipdate", days()),
        ("commitdate", days()),
        ("receiptdate", days()),
        ("shipinstruct", words(&["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"])),
        ("shipmode", words(&["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"])),
        ("comment", array(StringArray::from_iter_values(comments))),
    ]
}

/// The same column with every tenth value null.
fn with_nulls(column: &ArrayRef) -> ArrayRef {
    let nulls: NullBuffer = numbers(column.len(), 10).map(|number| number > 0).collect::<Vec<_>>().into();
    arrow_array::make_array(column.to_data().into_builder().nulls(Some(nulls)).build().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn measure(name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = batch(columns);
    let plan = plan(&batch, ("other", ""));
    let best = (0..5).map(|_| {
        let start = Instant::now();
        let mut collector = StatsCollector::new(Arc::clone(&plan));
        for part in 0..ROWS / BATCH {
            collector.update(&batch.slice(part % BATCHES * BATCH, BATCH)).unwrap();
        }
        assert!(!collector.finish().json.is_empty());
        start.elapsed()
    });
    println!("{name:<28}{:>8.1} ms", best.min().unwrap().as_secs_f64() * 1e3);
}

#[test]
#[ignore = "measures"]
fn six_million_rows_of_lineitem() {
    measure("all 16 columns", lineitem());
    measure("all, a tenth of them null", lineitem().into_iter().map(|(name, column)| (name, with_nulls(&column))).collect());
    for (name, column) in lineitem() {
        measure(name, vec![(name, Arc::clone(&column))]);
        measure(&format!("{name}, nulls"), vec![(name, with_nulls(&column))]);
    }
    measure(
        "doubles",
        vec![("d", array(Float64Array::from_iter_values(numbers(BATCH * BATCHES, 1 << 40).map(|number| number as f64))))],
    );
    measure("decimal(38,2)", vec![("d", array(decimals(numbers(BATCH * BATCHES, 1 << 40).map(i128::from).collect(), 38, 2)))]);
    let names = numbers(BATCH * BATCHES, 150_000).map(|number| format!("Customer#{number:09}"));
    measure("customer names", vec![("s", array(StringArray::from_iter_values(names)))]);
    measure("ascending longs", vec![("l", array(Int64Array::from_iter_values(0..(BATCH * BATCHES) as i64)))]);
}

/// The same column as a dictionary. With a value that no row has, all keys of every batch are looked at.
fn as_dictionary(column: &ArrayRef, is_whole: bool) -> ArrayRef {
    let whole = cast(column, &DataType::Dictionary(DataType::Int32.into(), column.data_type().clone().into())).unwrap();
    let whole = whole.as_dictionary::<Int32Type>();
    let one_more = arrow_select::concat::concat(&[whole.values(), &whole.values().slice(0, 1)]).unwrap();
    array(whole.with_values(if is_whole { Arc::clone(whole.values()) } else { one_more }))
}

#[test]
#[ignore = "measures"]
fn six_million_rows_of_dictionaries() {
    let names = |below| {
        array(StringArray::from_iter_values(numbers(BATCH * BATCHES, below).map(|number| format!("Customer#{number:09}"))))
    };
    for (name, column) in [
        ("11 decimals", money(11)),
        ("2526 dates", days()),
        ("10_000 longs", longs(10_000)),
        ("6_000_000 longs", longs(6_000_000)),
        ("7 words", words(&["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"])),
        ("10_000 names", names(10_000)),
        ("150_000 names", names(150_000)),
    ] {
        measure(&format!("{name}, plain"), vec![("c", Arc::clone(&column))]);
        measure(&format!("{name}, all used"), vec![("c", as_dictionary(&column, true))]);
        measure(name, vec![("c", as_dictionary(&column, false))]);
        measure(&format!("{name}, nulls"), vec![("c", as_dictionary(&with_nulls(&column), false))]);
    }
}
