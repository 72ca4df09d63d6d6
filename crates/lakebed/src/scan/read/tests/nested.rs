use std::sync::Arc;

use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, MapArray, NullArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use parquet::data_type::Int32Type as ParquetInt32;

use lakebed_core::schema::{ArrayType, MapType, PrimitiveType};

use super::*;
use crate::kit::arrow::{longs, struct_column};

/// Returns lists with these numbers of elements. None is a null list.
fn lists(lengths: &[Option<usize>], values: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new("item", values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().map(|length| length.unwrap_or(0)));
    let nulls = NullBuffer::from(lengths.iter().map(Option::is_some).collect::<Vec<_>>());
    Arc::new(ListArray::new(field, offsets, values, Some(nulls)))
}

fn texts(values: Vec<&str>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

fn record(fields: Vec<StructField>) -> DataType {
    StructType { fields }.into()
}

fn array(element: impl Into<DataType>) -> DataType {
    ArrayType { element: element.into(), contains_null: true }.into()
}

fn field(name: &str, data_type: impl Into<DataType>) -> StructField {
    StructField::new(name, data_type, true)
}

#[tokio::test]
async fn struct_fields_are_reordered_widened_or_null() {
    let inner =
        record(vec![field("z", PrimitiveType::String), field("new", PrimitiveType::Date), field("x", PrimitiveType::Long)]);
    let mut table = Table::of("s", inner);
    let x: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let stored = struct_column(
        vec![("x", x), ("gone", texts(vec!["?", "?", "?"])), ("z", texts(vec!["a", "b", "c"]))],
        Some(vec![true, false, true]),
    );
    table.add(parquet(vec![("s", stored)])).await;
    assert_eq!(table.rows().await, ["{z: a, new: -, x: 1}", "-", "{z: c, new: -, x: 3}"]);
    assert_eq!(table.columns(&["s.x"]).rows().await, ["{x: 1}", "-", "{x: 3}"]);
}

#[tokio::test]
async fn struct_with_only_new_fields_keeps_nulls() {
    let mut table = Table::of("s", record(vec![field("new", PrimitiveType::Long)]));
    let old = struct_column(vec![("old", longs(&[Some(1), None, None]))], Some(vec![true, true, false]));
    table.add(parquet(vec![("s", old)])).await;
    assert_eq!(table.rows().await, ["{new: -}", "{new: -}", "-"]);
    // The same holds for structs inside lists.
    let mut table = Table::of("l", array(record(vec![field("new", PrimitiveType::Long)])));
    let old = struct_column(vec![("old", longs(&[Some(1), None]))], Some(vec![true, false]));
    table.add(parquet(vec![("l", lists(&[Some(2), None, Some(0)], old))])).await;
    assert_eq!(table.rows().await, ["[{new: -}, -]", "-", "[]"]);
}

/// Returns maps of one entry each. The decoder cannot decode the key or the value of a map alone.
fn maps(keys: Vec<&str>, values: ArrayRef) -> ArrayRef {
    let names = [("key".to_owned(), false), ("value".to_owned(), true)];
    let fields: Fields =
        names.iter().zip([ArrowType::Utf8, values.data_type().clone()]).map(|((n, null), t)| Field::new(n, t, *null)).collect();
    let offsets = OffsetBuffer::from_lengths(keys.iter().map(|_| 1));
    let entries = StructArray::new(fields.clone(), vec![texts(keys), values], None);
    let field = Arc::new(Field::new("key_value", ArrowType::Struct(fields), false));
    Arc::new(MapArray::new(field, offsets, entries, None, false))
}

#[tokio::test]
async fn struct_sharing_only_maps_keeps_nulls() {
    let inner = record(vec![field("new", PrimitiveType::Long)]);
    let mut table = Table::of("s", inner);
    let deep = struct_column(vec![("x", longs(&[Some(1), Some(2)])), ("m", maps(vec!["a", "b"], longs(&[None, Some(1)])))], None);
    for gone in [maps(vec!["a", "b"], longs(&[None, Some(1)])), maps(vec!["a", "b"], deep)] {
        table.add(parquet(vec![("s", struct_column(vec![("gone", gone)], Some(vec![true, false])))])).await;
    }
    assert_eq!(table.rows().await, ["{new: -}", "-", "{new: -}", "-"]);
}

#[tokio::test]
async fn column_without_type_is_null() {
    let mut table = Table::new(vec![field("l", array(PrimitiveType::Long)), field("x", PrimitiveType::String)]);
    let nothing: ArrayRef = Arc::new(NullArray::new(2));
    table.add(parquet(vec![("l", Arc::clone(&nothing)), ("x", nothing)])).await;
    assert_eq!(table.rows().await, ["-|-", "-|-"]);
}

#[tokio::test]
async fn deeply_nested_structs_are_adapted() {
    let element = record(vec![field("b", PrimitiveType::Long), field("new", PrimitiveType::String)]);
    let map = MapType { key: PrimitiveType::String.into(), value: array(element), value_contains_null: true };
    let mut table = Table::of("m", DataType::from(map));
    let structs = struct_column(vec![("a", texts(vec!["x", "y", "z"])), ("b", Arc::new(Int32Array::from(vec![1, 2, 3])))], None);
    let values = lists(&[Some(2), None, Some(1)], structs);
    let entries = struct_column(vec![("key", texts(vec!["k", "l", "n"])), ("value", values)], None);
    let entry_fields = Fields::from(vec![
        Field::new("key", ArrowType::Utf8, false),
        Field::new("value", entries.as_any().downcast_ref::<StructArray>().unwrap().column(1).data_type().clone(), true),
    ]);
    let entries =
        StructArray::new(entry_fields.clone(), entries.as_any().downcast_ref::<StructArray>().unwrap().columns().to_vec(), None);
    let entries_field = Arc::new(Field::new("entries", ArrowType::Struct(entry_fields), false));
    let nulls = NullBuffer::from(vec![true, false, true]);
    let stored = arrow_array::MapArray::new(entries_field, OffsetBuffer::from_lengths([2, 0, 1]), entries, Some(nulls), false);
    table.add(parquet(vec![("m", Arc::new(stored))])).await;
    let expected = ["{k: [{b: 1, new: -}, {b: 2, new: -}], l: -}", "-", "{n: [{b: 3, new: -}]}"];
    assert_eq!(table.rows().await, expected);
    let expected = ["{k: [{new: -}, {new: -}], l: -}", "-", "{n: [{new: -}]}"];
    assert_eq!(table.columns(&["m.value.element.new"]).rows().await, expected);
}

#[tokio::test]
async fn map_values_are_widened() {
    let map = MapType { key: PrimitiveType::String.into(), value: PrimitiveType::Double.into(), value_contains_null: true };
    let mut table = Table::of("m", DataType::from(map));
    let mut builder = MapBuilder::new(None, StringBuilder::new(), arrow_array::builder::Float32Builder::new());
    builder.keys().append_value("a");
    builder.values().append_value(1.5);
    builder.keys().append_value("b");
    builder.values().append_null();
    builder.append(true).unwrap();
    builder.append(false).unwrap();
    table.add(parquet(vec![("m", Arc::new(builder.finish()))])).await;
    assert_eq!(table.rows().await, ["{a: 1.5, b: -}", "-"]);
    let refused = MapType { key: PrimitiveType::Long.into(), value: PrimitiveType::Long.into(), value_contains_null: true };
    table.task.spec.schema.fields[0].data_type = refused.into();
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    builder.append(true).unwrap();
    table.add(parquet(vec![("m", Arc::new(builder.finish()))])).await;
    table.check_mismatch("memory://test/f0.parquet: column m.key: ", &[]).await;
}

#[tokio::test]
async fn lists_of_older_forms_are_read() {
    // The rows are [1, 2], null, [], [3].
    let (definition, repetition) = ([2, 2, 0, 1, 2], [0, 1, 0, 0, 0]);
    let two_levels = "message m { optional group l (LIST) { repeated int32 element; } }";
    let avro = "message m { optional group l (LIST) { repeated int32 array; } }";
    for message in [two_levels, avro] {
        let mut table = Table::of("l", array(PrimitiveType::Integer));
        table.add(leaf_file::<ParquetInt32>(message, &[1, 2, 3], Some(&definition), Some(&repetition))).await;
        assert_eq!(table.rows().await, ["[1, 2]", "-", "[]", "[3]"], "{message}");
    }
    // The list has three levels with other names, and a null element: [1, null], null, [].
    let hive = "message m { optional group l (LIST) { repeated group bag { optional int32 array_element; } } }";
    let mut table = Table::of("l", array(PrimitiveType::Long));
    table.add(leaf_file::<ParquetInt32>(hive, &[1], Some(&[3, 2, 0, 1]), Some(&[0, 1, 0, 0]))).await;
    assert_eq!(table.rows().await, ["[1, -]", "-", "[]"]);
    // A repeated group with the name `array` is itself the element.
    let avro_records = "message m { optional group l (LIST) { repeated group array { required int32 x; } } }";
    let mut table = Table::of("l", array(record(vec![field("x", PrimitiveType::Integer)])));
    table.add(leaf_file::<ParquetInt32>(avro_records, &[1, 2, 3], Some(&definition), Some(&repetition))).await;
    assert_eq!(table.rows().await, ["[{x: 1}, {x: 2}]", "-", "[]", "[{x: 3}]"]);
    // The column is not marked as a list at all: [1, 2], [].
    let bare = "message m { repeated int32 l; }";
    let mut table = Table::of("l", array(PrimitiveType::Integer));
    table.add(leaf_file::<ParquetInt32>(bare, &[1, 2], Some(&[1, 1, 0]), Some(&[0, 1, 0]))).await;
    assert_eq!(table.rows().await, ["[1, 2]", "[]"]);
}

#[tokio::test]
async fn struct_instead_of_list_is_refused() {
    let mut table = Table::of("o", record(vec![field("l", array(PrimitiveType::Long))]));
    let stored = struct_column(vec![("l", struct_column(vec![("x", longs(&[Some(1)]))], None))], None);
    table.add(parquet(vec![("o", stored)])).await;
    let error = table.error().await.to_string();
    assert!(error.contains("f0.parquet") && error.contains("column o.l") && error.contains("array"), "{error}");
}

#[tokio::test]
async fn null_in_required_nested_field_is_refused() {
    let inner = record(vec![StructField::new("x", PrimitiveType::Long, false)]);
    let mut table = Table::of("s", inner);
    // The null of a null struct does not count as a null of its field.
    table.add(parquet(vec![("s", struct_column(vec![("x", longs(&[Some(1), None]))], Some(vec![true, false])))])).await;
    assert_eq!(table.rows().await, ["{x: 1}", "-"]);
    table.add(parquet(vec![("s", struct_column(vec![("x", longs(&[None]))], None))])).await;
    assert_eq!(show(&table.batches().await.unwrap()), ["{x: 1}", "-", "{x: -}"]);
}
