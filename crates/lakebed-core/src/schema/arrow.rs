//! The Arrow form of schemas. Each Delta type has one Arrow type in this form, independent of the
//! types that files store. `widen` casts arrays of other types to it.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};

use super::field_metadata::{metadata_from_arrow, metadata_to_arrow};
use super::types::{ArrayType, DataType, MapType, PrimitiveType, StructField, StructType};
use crate::{Error, Result};

/// The time zone of every timestamp that has one.
pub const UTC: &str = "UTC";
/// The extension name of a variant in the metadata of an Arrow field.
const VARIANT_EXTENSION: &str = "arrow.parquet.variant";
const EXTENSION_NAME: &str = "ARROW:extension:name";

/// Returns the Arrow schema of a table or of its files. The metadata of fields is left out.
pub fn schema_to_arrow(schema: &StructType) -> Result<SchemaRef> {
    Ok(Arc::new(Schema::new(fields_to_arrow(schema)?)))
}

/// Returns the Arrow schema with the notes on columns in the metadata of fields, so that
/// [`schema_from_arrow`] gives the same schema again. Metadata that belongs to one table alone is
/// left out: names and ids of column mapping, marks of identity columns, and former types.
pub fn schema_with_notes(schema: &StructType) -> Result<SchemaRef> {
    let arrow = schema_to_arrow(schema)?;
    Ok(Arc::new(Schema::new(noted_fields(arrow.fields(), schema))))
}

fn noted_fields(arrow: &Fields, schema: &StructType) -> Fields {
    let noted = |(arrow, field): (&Arc<Field>, &StructField)| {
        let mut notes = metadata_to_arrow(&field.metadata);
        notes.extend(extension(&field.data_type));
        arrow.as_ref().clone().with_data_type(noted_type(arrow.data_type(), &field.data_type)).with_metadata(notes)
    };
    arrow.iter().zip(&schema.fields).map(noted).collect()
}

fn noted_type(arrow: &ArrowType, data_type: &DataType) -> ArrowType {
    let part = |field: &Field, of: &DataType| {
        let noted = field.clone().with_data_type(noted_type(field.data_type(), of));
        Arc::new(noted.with_metadata(extension(of).into_iter().collect()))
    };
    match (arrow, data_type) {
        (ArrowType::Struct(fields), DataType::Struct(of)) => ArrowType::Struct(noted_fields(fields, of)),
        (ArrowType::List(element), DataType::Array(of)) => ArrowType::List(part(element, &of.element)),
        (ArrowType::Map(entries, sorted), DataType::Map(of)) => {
            let ArrowType::Struct(fields) = entries.data_type() else { return arrow.clone() };
            let [key, value] = fields.as_ref() else { return arrow.clone() };
            let parts = ArrowType::Struct(Fields::from(vec![part(key, &of.key), part(value, &of.value)]));
            ArrowType::Map(Arc::new(entries.as_ref().clone().with_data_type(parts)), *sorted)
        }
        _ => arrow.clone(),
    }
}

/// Returns the metadata entry that distinguishes a variant from the struct by which Arrow
/// represents it.
fn extension(data_type: &DataType) -> Option<(String, String)> {
    let is_variant = *data_type == PrimitiveType::Variant.into();
    is_variant.then(|| (EXTENSION_NAME.to_owned(), VARIANT_EXTENSION.to_owned()))
}

/// Returns the Arrow type of a Delta type. It fails only for a decimal of impossible precision.
pub fn type_to_arrow(data_type: &DataType) -> Result<ArrowType> {
    Ok(match data_type {
        DataType::Primitive(primitive) => primitive_to_arrow(*primitive)?,
        DataType::Struct(fields) => ArrowType::Struct(fields_to_arrow(fields)?),
        DataType::Array(array) => {
            ArrowType::List(Arc::new(Field::new("element", type_to_arrow(&array.element)?, array.contains_null)))
        }
        DataType::Map(map) => {
            let key = Field::new("key", type_to_arrow(&map.key)?, false);
            let value = Field::new("value", type_to_arrow(&map.value)?, map.value_contains_null);
            let entries = ArrowType::Struct(Fields::from(vec![key, value]));
            ArrowType::Map(Arc::new(Field::new("key_value", entries, false)), false)
        }
    })
}

/// Returns the Arrow type of a primitive.
pub fn primitive_to_arrow(primitive: PrimitiveType) -> Result<ArrowType> {
    Ok(match primitive {
        PrimitiveType::String | PrimitiveType::Char { .. } => ArrowType::Utf8,
        PrimitiveType::Long => ArrowType::Int64,
        PrimitiveType::Integer => ArrowType::Int32,
        PrimitiveType::Short => ArrowType::Int16,
        PrimitiveType::Byte => ArrowType::Int8,
        PrimitiveType::Float => ArrowType::Float32,
        PrimitiveType::Double => ArrowType::Float64,
        PrimitiveType::Boolean => ArrowType::Boolean,
        PrimitiveType::Binary => ArrowType::Binary,
        PrimitiveType::Date => ArrowType::Date32,
        PrimitiveType::Timestamp => ArrowType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        PrimitiveType::TimestampNtz => ArrowType::Timestamp(TimeUnit::Microsecond, None),
        PrimitiveType::Decimal { precision, scale } if (1..=38).contains(&precision) && scale <= precision => {
            // The scale is at most 38, so it fits.
            ArrowType::Decimal128(precision, scale.cast_signed())
        }
        PrimitiveType::Decimal { .. } => return Err(Error::schema_mismatch(format!("the type {primitive} does not exist"))),
        PrimitiveType::Variant => ArrowType::Struct(Fields::from(vec![
            Field::new("metadata", ArrowType::Binary, false),
            Field::new("value", ArrowType::Binary, false),
        ])),
        PrimitiveType::Void => ArrowType::Null,
        PrimitiveType::YearMonthInterval => ArrowType::Interval(IntervalUnit::YearMonth),
        PrimitiveType::DayTimeInterval => ArrowType::Duration(TimeUnit::Microsecond),
    })
}

/// Returns the Arrow type with nulls allowed everywhere except in the keys of maps.
pub fn nullable_type_to_arrow(data_type: &DataType) -> Result<ArrowType> {
    Ok(nullable_type(&type_to_arrow(data_type)?))
}

fn nullable_type(data_type: &ArrowType) -> ArrowType {
    let nullable = |field: &Field| Field::new(field.name(), nullable_type(field.data_type()), true);
    match data_type {
        ArrowType::Struct(fields) => ArrowType::Struct(fields.iter().map(|field| nullable(field)).collect()),
        ArrowType::List(element) => ArrowType::List(Arc::new(nullable(element))),
        ArrowType::Map(entries, sorted) => {
            let ArrowType::Struct(fields) = entries.data_type() else { return data_type.clone() };
            let [key, value] = fields.as_ref() else { return data_type.clone() };
            let key = Field::new(key.name(), nullable_type(key.data_type()), false);
            let fields = Fields::from(vec![key, nullable(value)]);
            ArrowType::Map(Arc::new(Field::new(entries.name(), ArrowType::Struct(fields), false)), *sorted)
        }
        other => other.clone(),
    }
}

fn fields_to_arrow(fields: &StructType) -> Result<Fields> {
    fields.fields.iter().map(|field| Ok(Field::new(&field.name, type_to_arrow(&field.data_type)?, field.nullable))).collect()
}

/// Returns the Delta schema that can hold data of an Arrow schema.
///
/// This is the inverse of [`schema_to_arrow`] and accepts more types: large, view, dictionary and
/// fixed-size forms count as the plain ones, and unsigned integers as the next wider signed ones. A
/// variant is recognized by its extension name alone. Notes on columns are taken from the metadata
/// of fields. If no Delta type can hold a column, the error names the column.
pub fn schema_from_arrow(schema: &Schema) -> Result<StructType> {
    fields_from_arrow(schema.fields(), "")
}

fn fields_from_arrow(fields: &Fields, place: &str) -> Result<StructType> {
    let fields = fields.iter().map(|field| {
        let data_type = field_type(field, &format!("{place}{}", field.name()))?;
        let metadata = metadata_from_arrow(field.metadata(), &format!("{place}{}", field.name()))?;
        Ok(StructField { metadata, ..StructField::new(field.name(), data_type, field.is_nullable()) })
    });
    Ok(StructType { fields: fields.collect::<Result<_>>()? })
}

fn field_type(field: &Field, place: &str) -> Result<DataType> {
    if field.metadata().get(EXTENSION_NAME).is_some_and(|name| name == VARIANT_EXTENSION) {
        return Ok(PrimitiveType::Variant.into());
    }
    type_from_arrow(field.data_type(), place)
}

fn type_from_arrow(arrow: &ArrowType, place: &str) -> Result<DataType> {
    let primitive = match arrow {
        ArrowType::Struct(fields) => return Ok(fields_from_arrow(fields, &format!("{place}."))?.into()),
        ArrowType::List(element)
        | ArrowType::LargeList(element)
        | ArrowType::ListView(element)
        | ArrowType::LargeListView(element)
        | ArrowType::FixedSizeList(element, _) => {
            let contains_null = element.is_nullable();
            return Ok(ArrayType { element: field_type(element, &format!("{place}.element"))?, contains_null }.into());
        }
        ArrowType::Map(entries, _) => return map_from_arrow(entries, place),
        ArrowType::Dictionary(_, value) => return type_from_arrow(value, place),
        ArrowType::RunEndEncoded(_, values) => return field_type(values, place),
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => PrimitiveType::String,
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView | ArrowType::FixedSizeBinary(_) => {
            PrimitiveType::Binary
        }
        ArrowType::Int8 => PrimitiveType::Byte,
        ArrowType::Int16 | ArrowType::UInt8 => PrimitiveType::Short,
        ArrowType::Int32 | ArrowType::UInt16 => PrimitiveType::Integer,
        ArrowType::Int64 | ArrowType::UInt32 => PrimitiveType::Long,
        ArrowType::UInt64 => PrimitiveType::Decimal { precision: 20, scale: 0 },
        ArrowType::Float16 | ArrowType::Float32 => PrimitiveType::Float,
        ArrowType::Float64 => PrimitiveType::Double,
        ArrowType::Boolean => PrimitiveType::Boolean,
        ArrowType::Date32 | ArrowType::Date64 => PrimitiveType::Date,
        ArrowType::Timestamp(_, Some(_)) => PrimitiveType::Timestamp,
        ArrowType::Timestamp(_, None) => PrimitiveType::TimestampNtz,
        ArrowType::Decimal32(precision, scale)
        | ArrowType::Decimal64(precision, scale)
        | ArrowType::Decimal128(precision, scale)
        | ArrowType::Decimal256(precision, scale) => {
            decimal_from_arrow(*precision, *scale).ok_or_else(|| no_delta_type(arrow, place))?
        }
        ArrowType::Null => PrimitiveType::Void,
        ArrowType::Interval(IntervalUnit::YearMonth) => PrimitiveType::YearMonthInterval,
        ArrowType::Duration(_) => PrimitiveType::DayTimeInterval,
        ArrowType::Time32(_) | ArrowType::Time64(_) | ArrowType::Interval(_) | ArrowType::Union(..) => {
            return Err(no_delta_type(arrow, place));
        }
    };
    Ok(DataType::Primitive(primitive))
}

fn map_from_arrow(entries: &Field, place: &str) -> Result<DataType> {
    match entries.data_type() {
        ArrowType::Struct(fields) if fields.len() == 2 => Ok(MapType {
            key: field_type(&fields[0], &format!("{place}.key"))?,
            value: field_type(&fields[1], &format!("{place}.value"))?,
            value_contains_null: fields[1].is_nullable(),
        }
        .into()),
        other => Err(no_delta_type(other, place)),
    }
}

/// Returns the decimal type that can hold an Arrow decimal. A negative scale stands for zeros
/// before the decimal point.
fn decimal_from_arrow(precision: u8, scale: i8) -> Option<PrimitiveType> {
    let zeros = u8::try_from(-i16::from(scale)).unwrap_or(0);
    let scale = u8::try_from(scale).unwrap_or(0);
    let precision = precision.checked_add(zeros)?.max(scale);
    (1..=38).contains(&precision).then_some(PrimitiveType::Decimal { precision, scale })
}

fn no_delta_type(arrow: &ArrowType, place: &str) -> Error {
    Error::schema_mismatch(format!("column {place}: no Delta type can hold {}", foreign_name(arrow)))
}

/// Returns the name of a type for messages. It is the name of the Delta type that can hold the
/// type, if there is one.
pub fn type_name(arrow: &ArrowType) -> String {
    let name = type_from_arrow(arrow, "").map_or_else(|_| foreign_name(arrow), |data_type| data_type.to_string());
    match arrow {
        ArrowType::Timestamp(TimeUnit::Second, _) => format!("{name} in seconds"),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => format!("{name} in milliseconds"),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => format!("{name} in nanoseconds"),
        _ => name,
    }
}

/// Returns the name of a type that no Delta type can hold.
fn foreign_name(arrow: &ArrowType) -> String {
    match arrow {
        ArrowType::Time32(_) | ArrowType::Time64(_) => "time".to_owned(),
        ArrowType::Interval(_) => "interval of months, days and nanoseconds".to_owned(),
        ArrowType::Union(..) => "union".to_owned(),
        ArrowType::Decimal32(precision, scale)
        | ArrowType::Decimal64(precision, scale)
        | ArrowType::Decimal128(precision, scale)
        | ArrowType::Decimal256(precision, scale) => format!("decimal({precision},{scale})"),
        // No Delta type can hold a type with parts if it cannot hold one of the parts.
        ArrowType::Struct(_) => "struct".to_owned(),
        ArrowType::Map(..) => "map".to_owned(),
        _ => "array".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::arbitrary::any_struct;
    use super::*;

    #[track_caller]
    fn check(delta: impl Into<DataType>, arrow: &ArrowType) {
        assert_eq!(type_to_arrow(&delta.into()).unwrap(), *arrow);
    }

    /// Returns the Delta type of a column of this Arrow type.
    fn from_arrow(arrow: ArrowType) -> Result<DataType> {
        let schema = schema_from_arrow(&Schema::new(vec![Field::new("c", arrow, true)]))?;
        Ok(schema.fields[0].data_type.clone())
    }

    #[test]
    fn every_type_has_its_arrow_form() {
        check(PrimitiveType::String, &ArrowType::Utf8);
        check(PrimitiveType::Byte, &ArrowType::Int8);
        check(PrimitiveType::Short, &ArrowType::Int16);
        check(PrimitiveType::Timestamp, &ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
        check(PrimitiveType::TimestampNtz, &ArrowType::Timestamp(TimeUnit::Microsecond, None));
        check(PrimitiveType::Decimal { precision: 38, scale: 38 }, &ArrowType::Decimal128(38, 38));
        check(PrimitiveType::Void, &ArrowType::Null);
        check(PrimitiveType::YearMonthInterval, &ArrowType::Interval(IntervalUnit::YearMonth));
        check(PrimitiveType::DayTimeInterval, &ArrowType::Duration(TimeUnit::Microsecond));
        let variant = vec![Field::new("metadata", ArrowType::Binary, false), Field::new("value", ArrowType::Binary, false)];
        check(PrimitiveType::Variant, &ArrowType::Struct(variant.into()));
        check(
            ArrayType { element: PrimitiveType::Date.into(), contains_null: false },
            &ArrowType::List(Arc::new(Field::new("element", ArrowType::Date32, false))),
        );
        let entries = vec![Field::new("key", ArrowType::Int64, false), Field::new("value", ArrowType::Utf8, true)];
        check(
            MapType { key: PrimitiveType::Long.into(), value: PrimitiveType::String.into(), value_contains_null: true },
            &ArrowType::Map(Arc::new(Field::new("key_value", ArrowType::Struct(entries.into()), false)), false),
        );
    }

    #[test]
    fn an_impossible_decimal_has_no_arrow_form() {
        for (precision, scale) in [(0, 0), (39, 0), (5, 6), (255, 255)] {
            let error = primitive_to_arrow(PrimitiveType::Decimal { precision, scale }).unwrap_err();
            assert_eq!(error.message(), format!("the type decimal({precision},{scale}) does not exist"));
        }
    }

    #[test]
    fn convert_other_arrow_encodings_gives_plain_types() {
        let element = || Arc::new(Field::new("item", ArrowType::LargeUtf8, true));
        for (arrow, delta) in [
            (ArrowType::Utf8View, PrimitiveType::String),
            (ArrowType::Dictionary(Box::new(ArrowType::Int8), Box::new(ArrowType::LargeUtf8)), PrimitiveType::String),
            (ArrowType::FixedSizeBinary(16), PrimitiveType::Binary),
            (ArrowType::UInt8, PrimitiveType::Short),
            (ArrowType::UInt16, PrimitiveType::Integer),
            (ArrowType::UInt32, PrimitiveType::Long),
            (ArrowType::UInt64, PrimitiveType::Decimal { precision: 20, scale: 0 }),
            (ArrowType::Date64, PrimitiveType::Date),
            (ArrowType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Paris".into())), PrimitiveType::Timestamp),
            (ArrowType::Timestamp(TimeUnit::Second, None), PrimitiveType::TimestampNtz),
            (ArrowType::Decimal256(38, 10), PrimitiveType::Decimal { precision: 38, scale: 10 }),
            (ArrowType::Decimal32(3, -2), PrimitiveType::Decimal { precision: 5, scale: 0 }),
            (ArrowType::Decimal64(2, 4), PrimitiveType::Decimal { precision: 4, scale: 4 }),
        ] {
            assert_eq!(from_arrow(arrow).unwrap(), DataType::Primitive(delta));
        }
        for arrow in [ArrowType::LargeList(element()), ArrowType::FixedSizeList(element(), 2), ArrowType::ListView(element())] {
            let expected = ArrayType { element: PrimitiveType::String.into(), contains_null: true };
            assert_eq!(from_arrow(arrow).unwrap(), expected.into());
        }
    }

    #[test]
    fn convert_variant_needs_its_extension_name() {
        let storage = primitive_to_arrow(PrimitiveType::Variant).unwrap();
        let named = [(EXTENSION_NAME.to_owned(), VARIANT_EXTENSION.to_owned())];
        let field = Field::new("v", storage.clone(), true).with_metadata(named.into());
        assert_eq!(schema_from_arrow(&Schema::new(vec![field])).unwrap().fields[0].data_type, PrimitiveType::Variant.into());
        assert!(matches!(from_arrow(storage).unwrap(), DataType::Struct(_)));
    }

    #[test]
    fn convert_unsupported_type_names_the_column() {
        let inner = Field::new("t", ArrowType::Time32(TimeUnit::Second), true);
        let error = from_arrow(ArrowType::Struct(vec![inner].into())).unwrap_err();
        assert_eq!(error.message(), "column c.t: no Delta type can hold time");
        let error = from_arrow(ArrowType::Decimal256(76, 0)).unwrap_err();
        assert_eq!(error.message(), "column c: no Delta type can hold decimal(76,0)");
        let error = from_arrow(ArrowType::Decimal128(38, -1)).unwrap_err();
        assert_eq!(error.message(), "column c: no Delta type can hold decimal(38,-1)");
    }

    #[test]
    fn notes_on_columns_come_back_from_arrow() {
        let json = r#"{"type":"struct","fields":[
            {"name":"id","type":"long","nullable":true,"metadata":{"delta.identity.start":-5,"delta.identity.step":2,
                "delta.identity.allowExplicitInsert":true,"delta.identity.highWaterMark":17,"delta.columnMapping.id":3}},
            {"name":"s","type":{"type":"struct","fields":[{"name":"x","type":"string","nullable":true,
                "metadata":{"comment":"inside","__CHAR_VARCHAR_TYPE_STRING":"varchar(3)"}}]},"nullable":true,"metadata":{}},
            {"name":"l","type":{"type":"array","elementType":"variant","containsNull":true},"nullable":true,
                "metadata":{"CURRENT_DEFAULT":"NULL"}},
            {"name":"v","type":"variant","nullable":true,"metadata":{"delta.generationExpression":"NULL"}}]}"#;
        let mut schema = crate::schema::parse(json).unwrap();
        let found = schema_from_arrow(&schema_with_notes(&schema).unwrap()).unwrap();
        for key in ["delta.identity.highWaterMark", "delta.columnMapping.id"] {
            schema.fields[0].metadata.remove(key).unwrap();
        }
        assert_eq!(found, schema);
    }

    #[test]
    fn convert_wrong_metadata_kind_names_the_column() {
        let noted = |key: &str, text: &str| {
            let field = Field::new("x", ArrowType::Int64, true).with_metadata([(key.to_owned(), text.to_owned())].into());
            let outer = Field::new("s", ArrowType::Struct(vec![field].into()), true);
            schema_from_arrow(&Schema::new(vec![outer])).unwrap_err().message().to_owned()
        };
        assert_eq!(
            noted("delta.identity.step", "two"),
            r#"column s.x: delta.identity.step is "two", not a whole number of 64 bits"#
        );
        assert_eq!(
            noted("delta.identity.allowExplicitInsert", "1"),
            r#"column s.x: delta.identity.allowExplicitInsert is "1", not true or false"#
        );
    }

    /// Returns the schema without the facts that the Arrow form does not keep: metadata, and which
    /// structs are variants.
    fn plain(schema: &StructType) -> StructType {
        let fields = schema.fields.iter();
        StructType {
            fields: fields.map(|field| StructField::new(&field.name, plain_type(&field.data_type), field.nullable)).collect(),
        }
    }

    fn plain_type(data_type: &DataType) -> DataType {
        match data_type {
            DataType::Primitive(PrimitiveType::Variant) => StructType {
                fields: ["metadata", "value"].map(|name| StructField::new(name, PrimitiveType::Binary, false)).into(),
            }
            .into(),
            DataType::Primitive(primitive) => (*primitive).into(),
            DataType::Struct(fields) => plain(fields).into(),
            DataType::Array(array) => {
                ArrayType { element: plain_type(&array.element), contains_null: array.contains_null }.into()
            }
            DataType::Map(map) => {
                MapType { key: plain_type(&map.key), value: plain_type(&map.value), value_contains_null: map.value_contains_null }
                    .into()
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn a_schema_comes_back_from_arrow(schema in any_struct()) {
            let arrow = schema_to_arrow(&schema).unwrap();
            prop_assert_eq!(schema_from_arrow(&arrow).unwrap(), plain(&schema));
        }
    }
}
