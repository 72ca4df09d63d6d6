//! Bounds of results that do not simply follow their arguments: those of `abs`, of remainders and
//! parts of times, of values chosen among several.
//!
//! Read [`order_of`] first.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, lit};

use super::bounds::{Bounds, FINITE_BOUND, NanBound, is_float, where_known, without_nan};
use super::prover::Answer;
use crate::evaluate::kernel::{Kernel, KernelSpec, Monotonicity};
use crate::evaluate::tree::case_when;
use crate::function::conditional::{GREATEST_OF_KNOWN, LEAST_OF_KNOWN};

/// How a result follows the argument at this place, given the other arguments; `None` if it does
/// not.
pub(super) fn order_of(spec: &KernelSpec, args: &[Expr], place: usize) -> Option<Monotonicity> {
    match spec.monotonicity.get(place)? {
        Monotonicity::Constant => literal(args.get(place)?).map(|_| Monotonicity::Constant),
        Monotonicity::Scaled if literal(args.get(place)?).is_some() => Some(Monotonicity::Constant),
        Monotonicity::Scaled => {
            let factor = literal(args.get(1 - place.min(1))?)?;
            let zero = ScalarValue::new_zero(&factor.data_type()).ok()?;
            match (factor.is_null() || !is_finite(factor), factor.partial_cmp(&zero)?) {
                (false, std::cmp::Ordering::Greater) => Some(Monotonicity::Increasing),
                (false, std::cmp::Ordering::Less) => Some(Monotonicity::Decreasing),
                _ => None,
            }
        }
        order => Some(*order),
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

fn is_finite(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float32(Some(value)) => value.is_finite(),
        ScalarValue::Float64(Some(value)) => value.is_finite(),
        _ => true,
    }
}

/// The result where the kernel says that the order holds between the least and the greatest
/// arguments.
pub(super) fn where_ordered(within: &'static KernelSpec, low: &[Expr], high: &[Expr], result: Expr) -> Expr {
    let ends = low.iter().chain(high).cloned().collect();
    case_when([(within.call(ends, DataType::Boolean), result)], None)
}

/// The bounds of `abs` and its like.
pub(super) fn even(kernel: &Kernel, spec: &'static KernelSpec, bounds: Bounds) -> Option<Bounds> {
    let zero = lit(ScalarValue::new_zero(&kernel.output).ok()?);
    let of = |bound: &Expr| spec.call(vec![bound.clone()], kernel.output.clone());
    let (Some(low), Some(high)) = (&bounds.low, &bounds.high) else {
        let nan = if bounds.may_be_nan() { NanBound::Unless(None) } else { NanBound::Never };
        return Some(Bounds { low: Some(zero), high: None, nan });
    };
    let above = (low.clone().gt_eq(zero.clone()), of(low));
    let below = (high.clone().lt_eq(zero.clone()), of(high));
    let greatest = extreme(vec![of(low), of(high)], &kernel.output, true);
    let nan = match &bounds.nan {
        NanBound::Never => NanBound::Never,
        NanBound::Unless(top) => NanBound::Unless(top.clone().map(|top| where_known(top, greatest.clone()))),
    };
    Some(Bounds { low: Some(case_when([above, below], Some(zero))), high: Some(greatest), nan })
}

/// The greatest or the least of several values of this type, null if one of them is, or if it is
/// NaN.
pub(super) fn extreme(values: Vec<Expr>, data_type: &DataType, greatest: bool) -> Expr {
    let spec = if greatest { &GREATEST_OF_KNOWN } else { &LEAST_OF_KNOWN };
    without_nan(spec.call(values, data_type.clone()), data_type)
}

/// The first bounds in files where a value is never null, the others elsewhere.
pub(super) fn unless_null(may_be_null: Answer, first: Vec<Bounds>, others: Vec<Bounds>) -> Vec<Bounds> {
    let (Some(may_be_null), Some(first)) = (may_be_null, first.first()) else { return others };
    let never_null = Expr::IsFalse(Box::new(may_be_null));
    let either = |first: Option<&Expr>, other: Option<Expr>| match first {
        Some(first) => Some(case_when([(never_null.clone(), first.clone())], other)),
        None => other,
    };
    let pair = |other: Bounds| {
        let top = either(first.top(), other.top().cloned());
        let nan = if first.may_be_nan() || other.may_be_nan() { NanBound::Unless(top) } else { NanBound::Never };
        Bounds { low: either(first.low.as_ref(), other.low), high: either(first.high.as_ref(), other.high), nan }
    };
    others.into_iter().map(pair).collect()
}

/// The bounds of a value of this type that is one of several. Null is none of them.
pub(super) fn among(of_values: Vec<Vec<Bounds>>, data_type: &DataType) -> Vec<Bounds> {
    let is_nan = |bounds: &Bounds| bounds.high.as_ref().and_then(literal).is_some_and(|value| !is_finite(value));
    if of_values.is_empty() || of_values.iter().any(|bounds| bounds.is_empty() || bounds.iter().any(is_nan)) {
        return vec![];
    }
    let sources = of_values.iter().map(Vec::len).max().unwrap_or(0);
    let of_source = |source: usize| {
        let chosen: Vec<&Bounds> = of_values.iter().filter_map(|bounds| bounds.get(source).or(bounds.last())).collect();
        let of_all = |bound: fn(&Bounds) -> Option<&Expr>, greatest: bool| {
            let bounds = chosen.iter().map(|bounds| bound(bounds).cloned()).collect::<Option<Vec<_>>>()?;
            Some(extreme(bounds, data_type, greatest))
        };
        let may_be_nan = chosen.iter().any(|bounds| bounds.may_be_nan());
        let nan = if may_be_nan { NanBound::Unless(of_all(Bounds::top, true)) } else { NanBound::Never };
        let (low, high) = (of_all(|bounds| bounds.low.as_ref(), false), of_all(|bounds| bounds.high.as_ref(), true));
        Bounds { low, high, nan }
    };
    (0..sources).map(of_source).collect()
}

pub(super) fn is_null(expr: &Expr) -> bool {
    literal(expr).is_some_and(ScalarValue::is_null)
}

/// The bounds of a call from one source of bounds of its arguments.
pub(super) fn of_results(kernel: &Kernel, spec: &'static KernelSpec, of_args: &[Vec<Bounds>], source: usize) -> Bounds {
    let chosen: Vec<Option<&Bounds>> = of_args.iter().map(|bounds| bounds.get(source).or(bounds.last())).collect();
    let args = |bound: fn(&Bounds) -> Option<&Expr>| {
        chosen.iter().map(|bounds| bounds.and_then(bound).cloned()).collect::<Option<Vec<_>>>()
    };
    let (low, high) = (args(|bounds| bounds.low.as_ref()), args(|bounds| bounds.high.as_ref()));
    let result = |args: &Option<Vec<Expr>>| {
        let result = spec.call(args.clone()?, kernel.output.clone());
        let result = match spec.monotonic_if {
            Some(within) => where_ordered(within, low.as_ref()?, high.as_ref()?, result),
            None => result,
        };
        Some(without_nan(result, &kernel.output))
    };
    // A float result may be NaN where its arguments are not, such as the difference of two
    // infinities. One multiplied or divided by a finite number other than zero is not.
    let makes_nan = is_float(&kernel.output) && !spec.monotonicity.contains(&Monotonicity::Scaled);
    let nan = match (makes_nan, chosen.iter().flatten().any(|bounds| bounds.may_be_nan())) {
        (false, false) => NanBound::Never,
        (false, true) => NanBound::Unless(result(&args(Bounds::top))),
        (true, _) => {
            let ends = result(&args(Bounds::top)).zip(result(&low));
            NanBound::Unless(ends.map(|(top, low)| FINITE_BOUND.call(vec![top, low], kernel.output.clone())))
        }
    };
    Bounds { low: result(&low), high: result(&high), nan }
}
