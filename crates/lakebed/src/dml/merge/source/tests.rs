use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{Int32Type, TimestampNanosecondType};
use arrow_array::{
    Array, DictionaryArray, Int32Array, Int64Array, LargeStringArray, NullArray, PrimitiveArray, StringArray, StringViewArray,
    StructArray,
};
use arrow_schema::DataType as ArrowType;
use arrow_select::concat::concat_batches;
use lakebed_core::schema::{DataType, PrimitiveType};
use proptest::prelude::*;

use super::*;
use crate::ErrorKind;

const PLENTY: u64 = 1 << 30;

async fn read(batches: Vec<RecordBatch>, most_bytes: u64) -> Result<Source> {
    let schema = batches[0].schema();
    let data = RecordBatchStream::from_batches(schema, batches);
    Source::read(data, OnLossy::Error, most_bytes).await
}

async fn chunks(source: &Source) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for number in 0..source.chunk_count() {
        chunks.push(source.chunk(number).await.unwrap());
    }
    chunks
}

async fn check_no_chunk(source: &Source, number: usize) {
    let error = source.chunk(number).await.map(|_| ()).unwrap_err();
    assert_eq!(error.message(), format!("a source has no chunk {number}"));
}

fn numbers(numbers: std::ops::Range<i64>) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
    RecordBatch::try_from_iter([("n", column)]).unwrap()
}

/// Returns columns of many types. The values of a row do not depend on the length of the batch.
fn mixed(rows: std::ops::Range<usize>) -> RecordBatch {
    let number: Int32Array = rows.clone().map(|row| (row % 7 != 0).then_some(row as i32)).collect();
    let text: StringArray = rows.clone().map(|row| (row % 5 != 0).then(|| "t".repeat(row % 11))).collect();
    let (mut list, mut map) =
        (ListBuilder::new(StringBuilder::new()), MapBuilder::new(None, StringBuilder::new(), StringBuilder::new()));
    for row in rows.clone() {
        (0..row % 4).for_each(|item| list.values().append_value(format!("{row}/{item}")));
        list.append(row % 3 != 0);
        (0..row % 2).for_each(|_| (map.keys().append_value("k"), map.values().append_null()).1);
        map.append(true).unwrap();
    }
    let number: ArrayRef = Arc::new(number);
    let fields = StructArray::from(vec![(Arc::new(Field::new("f", ArrowType::Int32, true)), Arc::clone(&number))]);
    let columns: [(&str, ArrayRef); 6] = [
        ("number", number),
        ("text", Arc::new(text)),
        ("list", Arc::new(list.finish())),
        ("map", Arc::new(map.finish())),
        ("struct", Arc::new(fields)),
        ("nothing", Arc::new(NullArray::new(rows.len()))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

#[tokio::test]
async fn what_fits_is_one_chunk_in_memory() {
    let source = read(vec![numbers(0..3), numbers(3..3), numbers(3..7)], PLENTY).await.unwrap();
    assert_eq!((source.rows(), source.chunk_count(), source.spilled_bytes()), (7, 1, 0));
    assert_eq!(source._reserved.bytes(), 7 * 8);
    let (first, again) = (source.chunk(0).await.unwrap(), source.chunk(0).await.unwrap());
    assert_eq!(first.rows.column(0), numbers(0..7).column(0));
    let place = |chunk: &Chunk| chunk.rows.column(0).to_data().buffers()[0].as_ptr();
    assert_eq!(place(&first), place(&again));
    check_no_chunk(&source, 1).await;
}

#[tokio::test]
async fn large_source_spills_and_reads_back() {
    let batches = (0..10).map(|batch| mixed(batch * 500..batch * 500 + 500)).collect();
    let source = read(batches, 30_000).await.unwrap();
    assert!(source.spilled_bytes() > 100_000);
    assert!(source._reserved.bytes() == 0);
    assert_eq!((source.rows(), source.schema().fields.len()), (5_000, 6));
    for _ in 0..2 {
        let chunks = chunks(&source).await;
        assert!(chunks.iter().all(|chunk| chunk.rows.columns().iter().map(array_bytes).sum::<u64>() <= 30_000));
        let most = 30_000 - 30_000 / PIECES;
        assert!(
            chunks.iter().rev().skip(1).all(|chunk| chunk.rows.columns().iter().map(array_bytes).sum::<u64>() > most - 1_000)
        );
        let rows = concat_batches(source.arrow_schema(), chunks.iter().map(|chunk| &chunk.rows)).unwrap();
        let whole = read(vec![mixed(0..5_000)], PLENTY).await.unwrap().chunk(0).await.unwrap();
        assert_eq!(rows, whole.rows);
    }
    check_no_chunk(&source, source.chunk_count()).await;
}

#[tokio::test]
async fn one_large_batch_is_cut() {
    let source = read(vec![numbers(0..10_000)], 8_000).await.unwrap();
    assert!((11..=13).contains(&source.chunk_count()), "{}", source.chunk_count());
    let wide = RecordBatch::try_from_iter([("t", Arc::new(StringArray::from(vec!["x".repeat(9_000); 3])) as ArrayRef)]).unwrap();
    let source = read(vec![wide], 8_000).await.unwrap();
    assert_eq!((source.rows(), source.chunk_count()), (3, 3));
}

#[tokio::test]
async fn no_rows_are_no_chunks() {
    let source = read(vec![numbers(0..0)], 0).await.unwrap();
    assert_eq!((source.rows(), source.chunk_count(), source.spilled_bytes()), (0, 0, 0));
    assert_eq!(source.schema().fields[0].name, "n");
}

#[tokio::test]
async fn values_become_those_of_deltas_types() {
    let words: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let times = PrimitiveArray::<TimestampNanosecondType>::from(vec![1_000, 2_000, 3_000]);
    let columns: [(&str, ArrayRef); 5] = [
        ("word", Arc::new(words)),
        ("view", Arc::new(StringViewArray::from(vec!["x", "y", "z"]))),
        ("large", Arc::new(LargeStringArray::from(vec!["x", "y", "z"]))),
        ("time", Arc::new(times)),
        ("count", Arc::new(arrow_array::UInt32Array::from(vec![1, 2, u32::MAX]))),
    ];
    let source = read(vec![RecordBatch::try_from_iter(columns).unwrap()], PLENTY).await.unwrap();
    let chunk = source.chunk(0).await.unwrap();
    assert_eq!(&chunk.rows.schema(), source.arrow_schema());
    let types: Vec<&DataType> = source.schema().fields.iter().map(|field| &field.data_type).collect();
    let of = |primitive: PrimitiveType| DataType::Primitive(primitive);
    let text = of(PrimitiveType::String);
    assert_eq!(types, [&text, &text, &text, &of(PrimitiveType::TimestampNtz), &of(PrimitiveType::Long)]);
    assert_eq!(chunk.rows.column(0).as_ref(), &StringArray::from(vec!["a", "b", "a"]) as &dyn Array);
    assert_eq!(chunk.rows.column(4).as_ref(), &Int64Array::from(vec![1, 2, i64::from(u32::MAX)]) as &dyn Array);
    let lossy: ArrayRef = Arc::new(PrimitiveArray::<TimestampNanosecondType>::from(vec![1_001]));
    let lossy = RecordBatch::try_from_iter([("time", lossy)]).unwrap();
    let error = read(vec![lossy.clone()], PLENTY).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::SchemaMismatch);
    let data = RecordBatchStream::from_batches(lossy.schema(), vec![lossy]);
    assert!(Source::read(data, OnLossy::Truncate, PLENTY).await.is_ok());
}

#[tokio::test]
async fn duplicate_source_column_is_refused() {
    let column = numbers(0..1).column(0).clone();
    let error =
        read(vec![RecordBatch::try_from_iter([("a", column.clone()), ("A", column)]).unwrap()], PLENTY).await.unwrap_err();
    let expected = "the source of the merge: column A appears more than once (names that differ only in case are the same)";
    assert_eq!((error.to_string().as_str(), error.kind()), (expected, &ErrorKind::SchemaMismatch));
}

#[tokio::test]
async fn rows_without_columns_are_counted() {
    let empty = Arc::new(Schema::empty());
    let source = read(vec![with_rows(&empty, vec![], 3).unwrap(), with_rows(&empty, vec![], 4).unwrap()], 10).await.unwrap();
    assert_eq!((source.rows(), source.chunk_count(), source.chunk(0).await.unwrap().rows.num_rows()), (7, 1, 7));
}

#[tokio::test]
async fn unwritable_spill_folder_is_store_error() {
    let data = RecordBatchStream::from_batches(numbers(0..1).schema(), vec![numbers(0..1_000)]);
    let error = Source::read_over("/no/such/folder".into(), data, OnLossy::Error, 100).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Store { .. }), "{error}");
}

#[test]
fn sliced_list_counts_its_elements_only() {
    let whole = mixed(0..1_000);
    for (column, field) in whole.columns().iter().zip(whole.schema().fields()) {
        let parts: u64 = (0..10).map(|part| array_bytes(&column.slice(part * 100, 100))).sum();
        let all = array_bytes(column);
        assert!(parts >= all && parts <= all + all / 20 + 200, "{}: {parts} {all}", field.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn rows_come_back_as_they_were(lengths in prop::collection::vec(0_usize..300, 1..6), most_bytes in 100_u64..40_000) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut batches = Vec::new();
            let mut rows = 0;
            for length in lengths {
                batches.push(mixed(rows..rows + length));
                rows += length;
            }
            let source = read(batches, most_bytes).await.unwrap();
            let chunks = chunks(&source).await;
            let found = concat_batches(source.arrow_schema(), chunks.iter().map(|chunk| &chunk.rows)).unwrap();
            assert_eq!((source.rows(), found.num_rows()), (rows as u64, rows));
            assert_eq!(source.spilled_bytes() > 0, chunks.len() > 1 || found.columns().iter().map(array_bytes).sum::<u64>() > most_bytes);
            for (column, expected) in found.columns().iter().zip(mixed(0..rows).columns()) {
                let expected = arrow_cast::cast(expected, column.data_type()).unwrap();
                assert_eq!(column, &expected);
            }
        });
    }
}
