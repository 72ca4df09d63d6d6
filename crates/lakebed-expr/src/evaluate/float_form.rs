//! Floats in the form in which equal values have equal bits: one NaN, and no -0.0.
//!
//! Arrow orders floats by their bits, so comparisons bring them to this form first. `prune` looks through it. Read
//! [`one_form_of`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::Expr;

use super::kernel::{Input, Kernel, Order, Spec};
use crate::types;

/// A float in the form in which equal values have equal bits.
pub(crate) static ONE_FORM: Spec = Spec::total("one_form", one_form).ordered(&[Order::Rising]);

/// A float in the form in which equal values have equal bits.
pub(crate) fn one_form_of(expr: Expr, data_type: &DataType) -> Expr {
    if !types::is_float(data_type) {
        return expr;
    }
    match expr {
        Expr::Literal(ScalarValue::Float64(Some(value)), meta) => {
            Expr::Literal(ScalarValue::Float64(Some(one_double(value))), meta)
        }
        Expr::Literal(ScalarValue::Float32(Some(value)), meta) => {
            Expr::Literal(ScalarValue::Float32(Some(one_float(value))), meta)
        }
        expr if matches!(expr, Expr::Literal(_, _)) => expr,
        expr => ONE_FORM.call(vec![expr], data_type.clone()),
    }
}

/// The value below the form that comparisons need.
pub fn below_one_form(expr: &Expr) -> &Expr {
    match Kernel::of(expr) {
        Some((kernel, [value])) if std::ptr::eq(kernel.spec, &ONE_FORM) => value,
        _ => expr,
    }
}

fn one_double(value: f64) -> f64 {
    // Adding zero turns -0.0 into 0.0.
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

fn one_float(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value + 0.0 }
}

fn one_form(input: &Input<'_>) -> DfResult<ArrayRef> {
    let array = input.array(0)?;
    Ok(match array.data_type() {
        DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(one_float)),
        _ => Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(one_double)),
    })
}
