//! INT96, the old type of timestamps. Spark still writes it, into data files and into the
//! statistics of checkpoints.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use parquet::basic::Type as PhysicalType;
use parquet::schema::types::SchemaDescriptor;

/// Returns whether any column is stored as INT96.
pub(super) fn is_in(descriptor: &SchemaDescriptor) -> bool {
    descriptor.columns().iter().any(|column| column.physical_type() == PhysicalType::INT96)
}

/// Returns the schema with INT96 read as microseconds, or `None` if there is no INT96. As
/// nanoseconds, the years before 1677 and after 2262 would overflow.
pub(super) fn as_micros(schema: &SchemaRef, descriptor: &SchemaDescriptor) -> Option<SchemaRef> {
    if !is_in(descriptor) {
        return None;
    }
    let mut leaf = 0;
    let fields = int96_fields(schema.fields(), descriptor, &mut leaf);
    Some(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

fn int96_fields(fields: &Fields, descriptor: &SchemaDescriptor, leaf: &mut usize) -> Fields {
    fields.iter().map(|field| int96_field(field, descriptor, leaf)).collect()
}

fn int96_field(field: &Field, descriptor: &SchemaDescriptor, leaf: &mut usize) -> FieldRef {
    let data_type = match field.data_type() {
        ArrowType::Struct(fields) => ArrowType::Struct(int96_fields(fields, descriptor, leaf)),
        ArrowType::List(element) => ArrowType::List(int96_field(element, descriptor, leaf)),
        ArrowType::Map(entries, sorted) => ArrowType::Map(int96_field(entries, descriptor, leaf), *sorted),
        other => {
            let column = *leaf;
            *leaf += 1;
            let is_int96 = descriptor.columns().get(column).is_some_and(|column| column.physical_type() == PhysicalType::INT96);
            if is_int96 { ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())) } else { other.clone() }
        }
    };
    Arc::new(field.clone().with_data_type(data_type))
}
