//! Two bounds between which the values of an expression lie. Read [`Bounds`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::{Expr, Operator, binary_expr};

use super::prover::{Answer, all, any};
use crate::evaluate::kernel::{KernelInput, KernelSpec};
use crate::evaluate::tree::case_when;

/// The largest number of nodes that the bounds of one value may have.
const MOST_NODES: usize = 500;

/// Two bounds between which all non-null values of an expression lie.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// The lower bound: no value is less. It is absent or null if it is not known.
    pub(super) low: Option<Expr>,
    /// The upper bound: no value but NaN is greater. It is absent or null if it is not known.
    pub(super) high: Option<Expr>,
    /// Whether there may be NaN above the upper bound.
    pub(super) nan: NanBound,
}

/// Whether there may be NaN above an upper bound. Most writers leave NaN out of their statistics.
#[derive(Debug, Clone)]
pub(super) enum NanBound {
    /// There is no NaN.
    Never,
    /// There may be NaN, unless this upper bound is known. It holds for NaN too, and is null if it
    /// is not known.
    Unless(Option<Expr>),
}

impl Bounds {
    pub(super) fn exactly(value: Expr) -> Bounds {
        Bounds { low: Some(value.clone()), high: Some(value), nan: NanBound::Never }
    }

    pub(super) fn map(self, convert: impl Fn(Expr) -> Expr) -> Bounds {
        let nan = match self.nan {
            NanBound::Never => NanBound::Never,
            NanBound::Unless(top) => NanBound::Unless(top.map(&convert)),
        };
        Bounds { low: self.low.map(&convert), high: self.high.map(&convert), nan }
    }

    /// Returns whether there may be NaN above the upper bound.
    pub(super) fn may_be_nan(&self) -> bool {
        matches!(self.nan, NanBound::Unless(_))
    }

    /// Returns an upper bound that holds for NaN, too.
    pub(super) fn top(&self) -> Option<&Expr> {
        match &self.nan {
            NanBound::Never => self.high.as_ref(),
            NanBound::Unless(top) => top.as_ref(),
        }
    }

    /// Returns the bounds of the values in the opposite order. The lower bound becomes the upper
    /// one, except for NaN.
    pub(super) fn reversed(self) -> Bounds {
        let nan = match self.nan {
            NanBound::Never => NanBound::Never,
            NanBound::Unless(top) => NanBound::Unless(top.zip(self.low.clone()).map(|(top, low)| where_known(top, low))),
        };
        Bounds { low: self.high, high: self.low, nan }
    }

    /// Returns the bounds where they are known to hold for NaN, too. Elsewhere nothing is known.
    pub(super) fn where_no_nan(self) -> Bounds {
        match self.nan {
            NanBound::Never => self,
            NanBound::Unless(top) => {
                let low = top.clone().zip(self.low).map(|(top, low)| where_known(top, low));
                Bounds { low, high: top, nan: NanBound::Never }
            }
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }

    pub(super) fn is_short(&self) -> bool {
        let mut left = MOST_NODES;
        let mut count = |expr: &Expr| {
            let counted = expr.apply(|_| {
                left = left.saturating_sub(1);
                Ok(if left == 0 { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            });
            counted.is_ok()
        };
        self.low.iter().chain(&self.high).chain(self.top()).all(&mut count) && left > 0
    }
}

/// Normalizes floats of statistics for comparison. A bound that is NaN proves nothing.
pub(super) static FLOAT_BOUND: KernelSpec = KernelSpec::total("float_bound", float_bound).not_strict();

/// Returns the first of two bounds, if both are finite.
pub(super) static FINITE_BOUND: KernelSpec = KernelSpec::total("finite_bound", finite_bound).not_strict();

/// Returns a bound of this type, or null if it is NaN.
pub(super) fn without_nan(bound: Expr, data_type: &DataType) -> Expr {
    if is_float(data_type) { FLOAT_BOUND.call(vec![bound], data_type.clone()) } else { bound }
}

/// Returns a value where a bound is known.
pub(super) fn where_known(bound: Expr, value: Expr) -> Expr {
    case_when([(bound.is_not_null(), value)], None)
}

pub(super) fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

fn float_bound(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let array = input.array(0)?;
    Ok(match array.data_type() {
        DataType::Float32 => {
            Arc::new(array.as_primitive::<Float32Type>().unary_opt::<_, Float32Type>(|x| (!x.is_nan()).then_some(x + 0.0)))
        }
        _ => Arc::new(array.as_primitive::<Float64Type>().unary_opt::<_, Float64Type>(|x| (!x.is_nan()).then_some(x + 0.0))),
    })
}

fn finite_bound(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let (bound, other) = (input.array(0)?, input.array(1)?);
    Ok(match bound.data_type() {
        DataType::Float32 => Arc::new(where_finite::<Float32Type>(bound.as_primitive(), other.as_primitive(), f32::is_finite)),
        _ => Arc::new(where_finite::<Float64Type>(bound.as_primitive(), other.as_primitive(), f64::is_finite)),
    })
}

fn where_finite<T: ArrowPrimitiveType>(
    bounds: &PrimitiveArray<T>,
    others: &PrimitiveArray<T>,
    is_finite: fn(T::Native) -> bool,
) -> PrimitiveArray<T> {
    let pairs = bounds.iter().zip(others);
    pairs.map(|(bound, other)| bound.filter(|bound| is_finite(*bound) && other.is_some_and(is_finite))).collect()
}

/// Returns the condition that two bounded values must satisfy for a comparison to be true in some
/// row.
pub(super) fn compare_bounds(left: &Bounds, operator: Operator, right: &Bounds) -> Answer {
    let pair = |a: Option<&Expr>, operator: Operator, b: Option<&Expr>| {
        a.zip(b).map(|(a, b)| binary_expr(a.clone(), operator, b.clone()))
    };
    let low = |bounds: &'_ Bounds| bounds.low.clone();
    let (left_low, right_low) = (low(left), low(right));
    let (left_low, right_low) = (left_low.as_ref(), right_low.as_ref());
    match operator {
        Operator::Eq => {
            // NaN equals NaN, so bounds must hold for NaN only if both sides may be NaN.
            let both_nan = (left.may_be_nan() || bound_is_nan(left)) && (right.may_be_nan() || bound_is_nan(right));
            let highest = |bounds: &'_ Bounds| if both_nan { bounds.top().cloned() } else { bounds.high.clone() };
            let (left_high, right_high) = (highest(left), highest(right));
            all([pair(left_low, Operator::LtEq, right_high.as_ref()), pair(right_low, Operator::LtEq, left_high.as_ref())])
        }
        Operator::NotEq => any([pair(left_low, Operator::NotEq, right.top()), pair(left.top(), Operator::NotEq, right_low)]),
        Operator::Lt | Operator::LtEq => pair(left_low, operator, right.top()),
        Operator::Gt | Operator::GtEq => pair(left.top(), operator, right_low),
        _ => None,
    }
}

fn bound_is_nan(bounds: &Bounds) -> bool {
    matches!(&bounds.high, Some(Expr::Literal(value, _)) if is_nan(value))
}

pub(super) fn is_nan(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float32(Some(value)) => value.is_nan(),
        ScalarValue::Float64(Some(value)) => value.is_nan(),
        _ => false,
    }
}
