//! Decides which data may be written to which column, and lists the differences that prevent a
//! write in readable form.
//!
//! Names are matched without regard to case, in any order. Numbers may be written to narrower types
//! if each value fits without loss. A string never becomes a number, and a wall-clock time never
//! becomes an instant. Read [`compare`] first.

use std::fmt;

use super::types::{DataType, PrimitiveType, StructType};
use super::widen::is_widening;

/// A difference that prevents data from being written.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The column. A field of a struct is written as `a.b`.
    pub column: String,
    /// The kind of the difference.
    pub kind: DifferenceKind,
}

/// The kind of a difference that prevents data from being written.
#[derive(Debug, Clone, PartialEq)]
pub enum DifferenceKind {
    /// The table does not have the column. The data has it with this type.
    NotInTable(DataType),
    /// The data does not have the column, which must not be null and has no generated or default
    /// value.
    NotInData(DataType),
    /// The types are not compatible.
    Type {
        /// The type of the column.
        table: DataType,
        /// The type of the data.
        data: DataType,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = &self.column;
        match &self.kind {
            DifferenceKind::NotInTable(data) => write!(f, "+ {column}: {} is in the data, not in the table", data),
            DifferenceKind::NotInData(table) => write!(f, "- {column}: {} may not be null and is not in the data", table),
            DifferenceKind::Type { table, data } => {
                write!(f, "~ {column}: {} in the table, {} in the data", table, data)?;
                match hint(table, data) {
                    Some(hint) => write!(f, " ({hint})"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Returns advice about types that are often confused.
fn hint(table: &DataType, data: &DataType) -> Option<&'static str> {
    use PrimitiveType as P;
    match (table, data) {
        (DataType::Primitive(P::Timestamp), DataType::Primitive(P::TimestampNtz)) => {
            Some("the table's values are instants: give the data's column a time zone, such as UTC")
        }
        (DataType::Primitive(P::TimestampNtz), DataType::Primitive(P::Timestamp)) => {
            Some("the table's timestamps have no time zone: remove the time zone from the data")
        }
        (DataType::Primitive(_), DataType::Primitive(P::String)) => Some("parse the strings first"),
        _ => None,
    }
}

/// Returns all differences that prevent data of one schema from being written to columns of
/// another. `is_filled` returns whether a column of the table gets its values in another way if the
/// data does not have it.
pub fn compare(table: &StructType, data: &StructType, is_filled: impl Fn(&str) -> bool) -> Vec<Difference> {
    let mut differences = Vec::new();
    for field in &table.fields {
        match data.field(&field.name) {
            Some(given) => compare_types(&field.data_type, &given.data_type, &field.name, &mut differences),
            None if field.nullable || is_filled(&field.name) => {}
            None => push(&mut differences, &field.name, DifferenceKind::NotInData(field.data_type.clone())),
        }
    }
    push_unknown(table, data, "", &mut differences);
    differences
}

fn compare_types(table: &DataType, data: &DataType, column: &str, differences: &mut Vec<Difference>) {
    match (table, data) {
        (_, DataType::Primitive(PrimitiveType::Void)) => {}
        (DataType::Primitive(table), DataType::Primitive(data)) if is_assignable(*data, *table) => {}
        (DataType::Struct(table), DataType::Struct(data)) => {
            for field in &table.fields {
                let column = format!("{column}.{}", field.name);
                match data.field(&field.name) {
                    Some(given) => compare_types(&field.data_type, &given.data_type, &column, differences),
                    None if field.nullable => {}
                    None => push(differences, &column, DifferenceKind::NotInData(field.data_type.clone())),
                }
            }
            push_unknown(table, data, &format!("{column}."), differences);
        }
        (DataType::Array(table), DataType::Array(data)) => {
            compare_types(&table.element, &data.element, &format!("{column}.element"), differences);
        }
        (DataType::Map(table), DataType::Map(data)) => {
            compare_types(&table.key, &data.key, &format!("{column}.key"), differences);
            compare_types(&table.value, &data.value, &format!("{column}.value"), differences);
        }
        (table, data) => push(differences, column, DifferenceKind::Type { table: table.clone(), data: data.clone() }),
    }
}

fn push_unknown(table: &StructType, data: &StructType, place: &str, differences: &mut Vec<Difference>) {
    for given in data.fields.iter().filter(|given| table.field(&given.name).is_none()) {
        push(differences, &format!("{place}{}", given.name), DifferenceKind::NotInTable(given.data_type.clone()));
    }
}

fn push(differences: &mut Vec<Difference>, column: &str, kind: DifferenceKind) {
    differences.push(Difference { column: column.to_owned(), kind });
}

/// Returns whether values of one primitive type may be written as another, if each value fits.
pub fn is_assignable(from: PrimitiveType, to: PrimitiveType) -> bool {
    use PrimitiveType as P;
    let is_number = |of: P| matches!(of, P::Byte | P::Short | P::Integer | P::Long | P::Float | P::Double | P::Decimal { .. });
    let is_text = |of: P| matches!(of, P::String | P::Char { .. });
    // A float is not an exact number, so the caller must choose its value as a decimal.
    let loses_meaning = matches!(from, P::Float | P::Double) && !matches!(to, P::Float | P::Double);
    is_widening(from, to)
        || (is_number(from) && is_number(to) && !loses_meaning)
        || (is_text(from) && is_text(to))
        || (from == P::Integer && to == P::YearMonthInterval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::schema::{field, required_field, schema, struct_of};

    #[track_caller]
    fn check(table: &[String], data: &[String], expected: &[&str]) {
        let found = compare(&schema(table), &schema(data), |name| name == "filled");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_difference_is_told() {
        let table = [
            required_field("id", "long"),
            field("name", "string"),
            field("at", "timestamp"),
            required_field("filled", "long"),
            required_field("need", "date"),
        ];
        let data = [field("ID", "integer"), field("name", "long"), field("at", "timestamp_ntz"), field("new", "double")];
        check(
            &table,
            &data,
            &[
                "~ name: string in the table, long in the data",
                "~ at: timestamp in the table, timestamp_ntz in the data (the table's values are instants: give the data's column a time zone, such as UTC)",
                "- need: date may not be null and is not in the data",
                "+ new: double is in the data, not in the table",
            ],
        );
    }

    #[test]
    fn fields_of_structs_are_compared_by_name() {
        let table = [field("s", &struct_of(&[field("x", "long"), required_field("y", "string")]))];
        check(&table, &[field("s", &struct_of(&[field("Y", "string"), field("X", "byte")]))], &[]);
        check(
            &table,
            &[field("s", &struct_of(&[field("x", "string"), field("z", "long")]))],
            &[
                "~ s.x: long in the table, string in the data (parse the strings first)",
                "- s.y: string may not be null and is not in the data",
                "+ s.z: long is in the data, not in the table",
            ],
        );
        check(&table, &[field("s", "long")], &["~ s: struct<x: long, y: string> in the table, long in the data"]);
        check(&table, &[field("s", "void")], &[]);
    }

    #[test]
    fn assign_numbers_refuses_floats_for_other_numbers() {
        use PrimitiveType as P;
        let decimal = P::Decimal { precision: 10, scale: 2 };
        for (from, to) in
            [(P::Long, P::Byte), (P::Long, P::Double), (decimal, P::Long), (P::Double, P::Float), (P::Integer, decimal)]
        {
            assert!(is_assignable(from, to), "{from} to {to}");
        }
        for (from, to) in [
            (P::Double, P::Long),
            (P::Double, decimal),
            (P::String, P::Long),
            (P::Long, P::String),
            (P::Boolean, P::Long),
            (P::Date, P::Timestamp),
            (P::Timestamp, P::Date),
            (P::Timestamp, P::TimestampNtz),
            (P::Binary, P::String),
        ] {
            assert!(!is_assignable(from, to), "{from} to {to}");
        }
    }
}
