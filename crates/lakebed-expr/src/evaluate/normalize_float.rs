//! Normalized floats: equal values have equal bits, so there is one NaN and no -0.0.
//!
//! Arrow orders floats by their bits, so comparisons normalize them first. `prune` sees through
//! this step. Read [`normalized_float`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::Expr;

use super::kernel::{Kernel, KernelInput, KernelSpec, Monotonicity};
use crate::types;

/// The kernel that normalizes floats.
pub(crate) static NORMALIZE_FLOAT: KernelSpec =
    KernelSpec::total("normalize_float", normalize).monotonic(&[Monotonicity::Increasing]);

/// Normalizes a float. Values of other types stay as they are.
pub(crate) fn normalized_float(expr: Expr, data_type: &DataType) -> Expr {
    if !types::is_float(data_type) {
        return expr;
    }
    match expr {
        Expr::Literal(ScalarValue::Float64(Some(value)), meta) => {
            Expr::Literal(ScalarValue::Float64(Some(normalized_double(value))), meta)
        }
        Expr::Literal(ScalarValue::Float32(Some(value)), meta) => {
            Expr::Literal(ScalarValue::Float32(Some(normalized_single(value))), meta)
        }
        expr if matches!(expr, Expr::Literal(_, _)) => expr,
        expr => NORMALIZE_FLOAT.call(vec![expr], data_type.clone()),
    }
}

/// Returns the operand of a normalization, or the expression itself.
pub fn without_normalization(expr: &Expr) -> &Expr {
    match Kernel::of(expr) {
        Some((kernel, [value])) if std::ptr::eq(kernel.spec, &NORMALIZE_FLOAT) => value,
        _ => expr,
    }
}

fn normalized_double(value: f64) -> f64 {
    // Adding zero turns -0.0 into 0.0.
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

fn normalized_single(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value + 0.0 }
}

fn normalize(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let array = input.array(0)?;
    Ok(match array.data_type() {
        DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(normalized_single)),
        _ => Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(normalized_double)),
    })
}
