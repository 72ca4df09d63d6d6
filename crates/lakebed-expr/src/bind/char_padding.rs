//! Comparisons of CHAR columns. As in Spark, the shorter side is padded with blanks to the length
//! of the longer side.
//!
//! This rule holds for a CHAR column of the table that `=`, `<` and other comparisons compare with
//! a constant string or with another CHAR column. It also holds for IN if the list consists of such
//! strings or of such columns. It does not hold for fields of structs and results of functions.
//! LIKE, BETWEEN and everything else see the padded values of the column and the unchanged other
//! side. Read [`pair`] first.

use arrow_schema::{DataType, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, cast, lit};
use lakebed_core::schema::char_varchar::pad;

use super::schema::char_length;
use crate::function;
use crate::function::typed::TypedExpr;

/// Pads the two sides of a comparison.
pub(crate) fn pair(schema: &Schema, left: TypedExpr, right: TypedExpr) -> (TypedExpr, TypedExpr) {
    let lengths = (column_length(schema, &left), column_length(schema, &right));
    let length = match lengths {
        (Some(left), Some(right)) => left.max(right),
        (Some(length), None) => match constant_length(&right) {
            Some(other) => length.max(other),
            None => return (left, right),
        },
        (None, Some(length)) => match constant_length(&left) {
            Some(other) => length.max(other),
            None => return (left, right),
        },
        (None, None) => return (left, right),
    };
    (padded(schema, left, length), padded(schema, right, length))
}

/// Pads the value and the list of IN.
pub(crate) fn with_list(schema: &Schema, value: TypedExpr, list: Vec<TypedExpr>) -> (TypedExpr, Vec<TypedExpr>) {
    let Some(length) = column_length(schema, &value) else { return (value, list) };
    let lengths = |of: &dyn Fn(&TypedExpr) -> Option<u32>| list.iter().map(of).collect::<Option<Vec<u32>>>();
    let constants = lengths(&|item| constant_length(item).or_else(|| is_null_text(item).then_some(0)));
    let Some(others) = constants.or_else(|| lengths(&|item| column_length(schema, item))) else { return (value, list) };
    let length = others.into_iter().fold(length, u32::max);
    let list = list.into_iter().map(|item| padded(schema, item, length)).collect();
    (padded(schema, value, length), list)
}

/// Wraps a CHAR column that was cast to its own type, because Spark no longer treats it as a
/// column.
pub(crate) fn cast_column(schema: &Schema, value: TypedExpr) -> TypedExpr {
    match column_length(schema, &value) {
        Some(_) => TypedExpr { expr: cast(value.expr, value.data_type.clone()), ..value },
        None => value,
    }
}

fn column_length(schema: &Schema, value: &TypedExpr) -> Option<u32> {
    let Expr::Column(column) = &value.expr else { return None };
    char_length(schema.field_with_name(&column.name).ok()?)
}

fn constant_length(value: &TypedExpr) -> Option<u32> {
    match &value.expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => u32::try_from(text.chars().count()).ok(),
        _ => None,
    }
}

/// Whether the value is a null of type STRING, as CAST makes it. For a bare NULL the list of IN has
/// no type yet where Spark pads.
fn is_null_text(value: &TypedExpr) -> bool {
    matches!(value.expr, Expr::Literal(ScalarValue::Utf8(None), _)) && value.data_type == DataType::Utf8
}

/// Pads a constant, or a column whose values all have a fixed length.
fn padded(schema: &Schema, value: TypedExpr, length: u32) -> TypedExpr {
    match (&value.expr, column_length(schema, &value)) {
        (Expr::Literal(ScalarValue::Utf8(Some(text)), _), _) => {
            TypedExpr::literal(ScalarValue::Utf8(Some(pad(text, length).into_owned())))
        }
        (_, Some(own)) if own < length => {
            let count = TypedExpr::literal(ScalarValue::Int32(i32::try_from(length).ok()));
            let blank = TypedExpr { expr: lit(" "), data_type: DataType::Utf8 };
            function::call("rpad", vec![value.clone(), count, blank]).unwrap_or(value)
        }
        _ => value,
    }
}
