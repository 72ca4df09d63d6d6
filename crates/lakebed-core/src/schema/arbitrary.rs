//! Schemas of all kinds, for property tests.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::Value;

use super::types::{ArrayType, DataType, FieldMetadata, MapType, PrimitiveType, StructField, StructType};

/// Returns any primitive.
pub fn any_primitive() -> impl Strategy<Value = PrimitiveType> {
    prop_oneof![
        Just(PrimitiveType::String),
        Just(PrimitiveType::Long),
        Just(PrimitiveType::Integer),
        Just(PrimitiveType::Short),
        Just(PrimitiveType::Byte),
        Just(PrimitiveType::Float),
        Just(PrimitiveType::Double),
        Just(PrimitiveType::Boolean),
        Just(PrimitiveType::Binary),
        Just(PrimitiveType::Date),
        Just(PrimitiveType::Timestamp),
        Just(PrimitiveType::TimestampNtz),
        (1..=38_u8)
            .prop_flat_map(|precision| (Just(precision), 0..=precision))
            .prop_map(|(precision, scale)| PrimitiveType::Decimal { precision, scale }),
        Just(PrimitiveType::Variant),
        Just(PrimitiveType::Void),
        Just(PrimitiveType::YearMonthInterval),
        Just(PrimitiveType::DayTimeInterval),
    ]
}

/// Returns metadata with all kinds of JSON.
pub fn any_field_metadata() -> impl Strategy<Value = FieldMetadata> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "-?[1-9][0-9]{0,30}\\.[0-9]{1,20}".prop_map(|number| serde_json::from_str(&number).unwrap()),
        "\\PC{0,8}".prop_map(Value::from),
        vec(any::<i32>(), 0..3).prop_map(Value::from),
        btree_map("[a-z]{1,3}", any::<i32>(), 0..3)
            .prop_map(|map| map.into_iter().map(|(key, value)| (key, Value::from(value))).collect()),
    ];
    btree_map("\\PC{0,8}", value, 0..3).prop_map(|map| map.into_iter().collect())
}

/// Returns a struct of up to four levels.
pub fn any_struct() -> impl Strategy<Value = StructType> {
    let leaf = any_primitive().prop_map(DataType::Primitive);
    let any_type = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            struct_of(inner.clone()).prop_map(DataType::Struct),
            (inner.clone(), any::<bool>()).prop_map(|(element, contains_null)| ArrayType { element, contains_null }.into()),
            (inner.clone(), inner, any::<bool>()).prop_map(|(key, value, value_contains_null)| MapType {
                key,
                value,
                value_contains_null
            }
            .into()),
        ]
    });
    struct_of(any_type)
}

fn struct_of(field_type: impl Strategy<Value = DataType>) -> impl Strategy<Value = StructType> {
    let field = ("\\PC{1,6}", field_type, any::<bool>(), any_field_metadata())
        .prop_map(|(name, data_type, nullable, metadata)| StructField { name, data_type, nullable, metadata });
    vec(field, 0..4).prop_map(|mut fields| {
        let mut seen = std::collections::HashSet::new();
        fields.retain(|field: &StructField| seen.insert(field.name.to_lowercase()));
        StructType { fields }
    })
}
