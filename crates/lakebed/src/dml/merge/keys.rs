//! The ON condition of a merge by keys. It depends on the table, because the source values are
//! compared in the form in which the table stores them. Without this, a row would not match its own
//! stored form if its text is padded, if digits are cut, or if it has an empty text in a partition
//! column.

use lakebed_core::path::hive::NULL_NAME;
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};
use lakebed_expr::quoted_path;

use super::options::MergeOptions;
use crate::definition::columns::as_type;
use crate::write::rules::WriteRules;

/// Returns the ON condition for the history. Of keys, it says only that they are equal.
pub(super) fn predicate(given: &MergeOptions) -> String {
    if given.keys.is_empty() {
        return given.on.clone();
    }
    all_equal(&given.keys, [&given.target_alias, &given.source_alias], |_, own| own)
}

/// Returns the ON condition on top of a version. `rules` are the rules of the table after the
/// merge.
pub(super) fn condition(given: &MergeOptions, rules: &WriteRules, source: &StructType) -> String {
    if given.keys.is_empty() {
        return given.on.clone();
    }
    all_equal(&given.keys, [&given.target_alias, &given.source_alias], |key, own| {
        match (rules.schema.field(key), source.field(key)) {
            (Some(target), Some(source)) => stored_form(own, target, source, rules),
            // The parser of the condition reports the missing column.
            _ => own,
        }
    })
}

fn all_equal(keys: &[String], [target, source]: [&str; 2], in_source: impl Fn(&str, String) -> String) -> String {
    let column = |alias: &str, key: &String| quoted_path(&[alias.to_owned(), key.clone()]);
    let equal = |key| format!("{} <=> {}", column(target, key), in_source(key, column(source, key)));
    keys.iter().map(equal).collect::<Vec<_>>().join(" AND ")
}

/// Returns the expression for a source value in the form that `Incoming::rows` stores: cast,
/// padded, and null where the log cannot store another value.
fn stored_form(own: String, target: &StructField, source: &StructField, rules: &WriteRules) -> String {
    use PrimitiveType as P;
    let is_same = target.data_type == source.data_type || (is_text(target) && is_text(source));
    // Whole numbers are compared without a cast. A value that does not fit equals no stored value.
    let cast = if is_same || (is_whole(target) && is_whole(source)) { own } else { as_type(&own, target) };
    let padded = match target.data_type {
        DataType::Primitive(P::Char { length }) => format!("if(length({cast}) < {length}, rpad({cast}, {length}, ' '), {cast})"),
        _ => cast,
    };
    let is_partition = rules.partition_columns.iter().any(|column| column.name == target.name);
    match target.data_type {
        DataType::Primitive(P::String | P::Char { .. }) if is_partition => {
            format!("nullif(nullif({padded}, ''), '{NULL_NAME}')")
        }
        DataType::Primitive(P::Binary) if is_partition => {
            format!("nullif(nullif({padded}, CAST('' AS BINARY)), CAST('{NULL_NAME}' AS BINARY))")
        }
        _ => padded,
    }
}

fn is_text(field: &StructField) -> bool {
    matches!(field.data_type, DataType::Primitive(PrimitiveType::String | PrimitiveType::Char { .. }))
}

fn is_whole(field: &StructField) -> bool {
    use PrimitiveType as P;
    matches!(field.data_type, DataType::Primitive(P::Byte | P::Short | P::Integer | P::Long))
}
