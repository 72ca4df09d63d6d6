//! Tests of variants, whole and shredded.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, StructArray};
use arrow_schema::{DataType as ArrowType, Field};
use parquet_variant::{Variant, VariantBuilder, VariantBuilderExt};
use parquet_variant_compute::{VariantArray, VariantArrayBuilder, shred_variant};

use lakebed_core::schema::PrimitiveType;

use super::*;

/// Returns `{"a": 1, "b": "x"}`, 5, a JSON null, no value, and `{"a": "text"}`.
fn sample() -> VariantArray {
    let mut builder = VariantArrayBuilder::new(5);
    builder.new_object().with_field("a", 1_i64).with_field("b", "x").finish();
    builder.append_variant(Variant::from(5_i64));
    builder.append_variant(Variant::Null);
    builder.append_null();
    builder.new_object().with_field("a", "text").finish();
    builder.build()
}

/// Returns the parts of an array as they are stored. `value` comes first, as Spark writes them.
fn stored(variants: &VariantArray) -> ArrayRef {
    let inner = variants.inner();
    let mut names: Vec<&str> = inner.column_names();
    names.sort_by_key(|name| *name != "value");
    let columns = names.iter().map(|name| {
        let column = inner.column_by_name(name).unwrap();
        let column = match column.data_type() {
            ArrowType::BinaryView => arrow_cast::cast(column, &ArrowType::Binary).unwrap(),
            _ => Arc::clone(column),
        };
        (Arc::new(Field::new(*name, column.data_type().clone(), true)), column)
    });
    let (fields, columns): (Vec<_>, Vec<_>) = columns.unzip();
    Arc::new(StructArray::new(fields.into(), columns, inner.nulls().cloned()))
}

async fn read(column: ArrayRef) -> StructArray {
    let mut table = Table::of("v", PrimitiveType::Variant);
    table.add(parquet(vec![("v", column)])).await;
    let batches = table.batches().await.unwrap();
    assert_eq!(batches[0].schema(), table.task.spec.output_schema().unwrap());
    batches[0].column(0).as_struct().clone()
}

/// Returns the values of a column in the plain form.
fn values(column: &StructArray) -> Vec<Option<Variant<'_, '_>>> {
    let (metadata, value) = (column.column(0).as_binary::<i32>(), column.column(1).as_binary::<i32>());
    (0..column.len()).map(|row| column.is_valid(row).then(|| Variant::new(metadata.value(row), value.value(row)))).collect()
}

#[track_caller]
fn check(column: &StructArray) {
    let values = values(column);
    let object = values[0].as_ref().unwrap().as_object().unwrap();
    assert_eq!((object.get("a"), object.get("b"), object.len()), (Some(Variant::from(1_i64)), Some(Variant::from("x")), 2));
    assert_eq!(values[1].as_ref().unwrap().as_int64(), Some(5));
    assert_eq!(values[2], Some(Variant::Null));
    assert_eq!(values[3], None);
    assert_eq!(values[4].as_ref().unwrap().as_object().unwrap().get("a"), Some(Variant::from("text")));
}

#[tokio::test]
async fn variants_in_one_piece_are_read() {
    check(&read(stored(&sample())).await);
}

#[tokio::test]
async fn variants_stored_apart_are_put_together_again() {
    let a = ArrowType::Struct(vec![Field::new("a", ArrowType::Int64, true)].into());
    for apart in [a, ArrowType::Int64] {
        let shredded = shred_variant(&sample(), &apart).unwrap();
        assert!(shredded.inner().column_by_name("typed_value").is_some());
        check(&read(stored(&shredded)).await);
    }
}

#[tokio::test]
async fn variant_reads_unsorted_and_empty_names() {
    let mut builder = VariantArrayBuilder::new(1);
    builder.new_object().with_field("z", 1_i64).with_field("", "x").with_field("a", 2_i64).finish();
    let shape = ArrowType::Struct(vec![Field::new("a", ArrowType::Int64, true)].into());
    let column = read(stored(&shred_variant(&builder.build(), &shape).unwrap())).await;
    let (metadata, value) = (column.column(0).as_binary::<i32>().value(0), column.column(1).as_binary::<i32>().value(0));
    // {"": "x", "a": 2, "z": 1}: the names are in their order, each with its index among the names
    // of the metadata.
    assert_eq!(metadata, [1, 3, 0, 1, 1, 2, b'z', b'a']);
    assert_eq!(value[..9], [2, 3, 1, 2, 0, value[5], 0, value[7], value[8]]);
}

#[tokio::test]
async fn variant_without_value_is_json_null() {
    let metadata: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&[1_u8, 0, 0][..]), None]));
    let value: ArrayRef = Arc::new(BinaryArray::from(vec![None, None::<&[u8]>]));
    let fields = vec![Field::new("metadata", ArrowType::Binary, true), Field::new("value", ArrowType::Binary, true)];
    let column = StructArray::new(fields.into(), vec![metadata, value], Some(vec![true, false].into()));
    let column = read(Arc::new(column)).await;
    assert_eq!(values(&column), [Some(Variant::Null), None]);
}

#[tokio::test]
async fn a_variant_without_metadata_is_refused() {
    let mut builder = VariantBuilder::new();
    builder.append_value("x");
    let value: ArrayRef = Arc::new(BinaryArray::from(vec![&builder.finish().1[..]]));
    let column = StructArray::new(vec![Field::new("value", ArrowType::Binary, true)].into(), vec![value], None);
    let mut table = Table::of("v", PrimitiveType::Variant);
    table.add(parquet(vec![("v", Arc::new(column))])).await;
    table.check_mismatch("memory://test/f0.parquet: column v: ", &[]).await;
}
