//! Bounds of results that do not simply follow their arguments: those of `abs`, of remainders and parts of times, of values chosen among
//! several.
//!
//! Read [`Prover::bounds_of_case`] and [`order_of`] first.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::Case;
use datafusion_expr::{Expr, ExprSchemable, lit};

use super::bounds::{Bounds, Nan, where_known, without_nan};
use super::proof::{Answer, Prover, any};
use crate::{GREATEST_OF_KNOWN, Kernel, LEAST_OF_KNOWN, Order, Spec, branches};

/// How a result follows the argument at this place, given the other arguments; `None` if it does not.
pub(super) fn order_of(spec: &Spec, args: &[Expr], place: usize) -> Option<Order> {
    match spec.order.get(place)? {
        Order::Constant => literal(args.get(place)?).map(|_| Order::Constant),
        Order::Scaled if literal(args.get(place)?).is_some() => Some(Order::Constant),
        Order::Scaled => {
            let factor = literal(args.get(1 - place.min(1))?)?;
            let zero = ScalarValue::new_zero(&factor.data_type()).ok()?;
            match (factor.is_null() || !is_finite(factor), factor.partial_cmp(&zero)?) {
                (false, std::cmp::Ordering::Greater) => Some(Order::Rising),
                (false, std::cmp::Ordering::Less) => Some(Order::Falling),
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

/// The result where the kernel says that the order holds between the least and the greatest arguments.
pub(super) fn where_ordered(within: &'static Spec, low: &[Expr], high: &[Expr], result: Expr) -> Expr {
    let ends = low.iter().chain(high).cloned().collect();
    branches([(within.call(ends, DataType::Boolean), result)], None)
}

/// The bounds of `abs` and its like.
pub(super) fn even(kernel: &Kernel, spec: &'static Spec, bounds: Bounds) -> Option<Bounds> {
    let zero = lit(ScalarValue::new_zero(&kernel.output).ok()?);
    let of = |bound: &Expr| spec.call(vec![bound.clone()], kernel.output.clone());
    let (Some(low), Some(high)) = (&bounds.low, &bounds.high) else {
        let nan = if bounds.may_be_nan() { Nan::Unless(None) } else { Nan::Never };
        return Some(Bounds { low: Some(zero), high: None, nan });
    };
    let above = (low.clone().gt_eq(zero.clone()), of(low));
    let below = (high.clone().lt_eq(zero.clone()), of(high));
    let greatest = extreme(vec![of(low), of(high)], &kernel.output, true);
    let nan = match &bounds.nan {
        Nan::Never => Nan::Never,
        Nan::Unless(top) => Nan::Unless(top.clone().map(|top| where_known(top, greatest.clone()))),
    };
    Some(Bounds { low: Some(branches([above, below], Some(zero))), high: Some(greatest), nan })
}

/// The greatest or the least of several values of this type, null if one of them is, or if it is NaN.
fn extreme(values: Vec<Expr>, data_type: &DataType, greatest: bool) -> Expr {
    let spec = if greatest { &GREATEST_OF_KNOWN } else { &LEAST_OF_KNOWN };
    without_nan(spec.call(values, data_type.clone()), data_type)
}

/// The first bounds in files where a value is never null, the others elsewhere.
fn unless_null(may_be_null: Answer, first: Vec<Bounds>, others: Vec<Bounds>) -> Vec<Bounds> {
    let (Some(may_be_null), Some(first)) = (may_be_null, first.first()) else { return others };
    let never_null = Expr::IsFalse(Box::new(may_be_null));
    let either = |first: Option<&Expr>, other: Option<Expr>| match first {
        Some(first) => Some(branches([(never_null.clone(), first.clone())], other)),
        None => other,
    };
    let pair = |other: Bounds| {
        let top = either(first.top(), other.top().cloned());
        let nan = if first.may_be_nan() || other.may_be_nan() { Nan::Unless(top) } else { Nan::Never };
        Bounds { low: either(first.low.as_ref(), other.low), high: either(first.high.as_ref(), other.high), nan }
    };
    others.into_iter().map(pair).collect()
}

impl Prover<'_> {
    /// A value of CASE lies between the bounds of those it is chosen from. That of `coalesce` is the first one in files where this is never
    /// null.
    pub(super) fn bounds_of_case(&mut self, case: &Case) -> Vec<Bounds> {
        let values = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
        let values: Vec<&Expr> = values.map(AsRef::as_ref).filter(|value| !is_null(value)).collect();
        let Some(data_type) = values.first().and_then(|value| self.result_of(value)) else { return vec![] };
        let of_values = values.into_iter().map(|value| self.bounds(value)).collect();
        let of_any = self.among(of_values, &data_type);
        let [(when, then)] = case.when_then_expr.as_slice() else { return of_any };
        match when.as_ref() {
            Expr::IsNotNull(value) if value == then => {
                let may_be_null = self.may_be_null(value);
                let of_first = self.bounds(value);
                unless_null(may_be_null, of_first, of_any)
            }
            _ => of_any,
        }
    }

    /// The greatest or the least of several values that are not null. It follows them in files where none of them is ever null.
    pub(super) fn bounds_of_extreme(&mut self, kernel: &Kernel, args: &[Expr]) -> Vec<Bounds> {
        let of_all: Vec<Vec<Bounds>> = args.iter().map(|arg| self.bounds(arg)).collect();
        let may_be_null = any(args.iter().map(|arg| self.may_be_null(arg)).collect::<Vec<_>>());
        let of_args: Vec<Bounds> = of_all.iter().filter_map(|bounds| bounds.first().cloned()).collect();
        let not_null = args.iter().zip(of_all).filter(|(arg, _)| !is_null(arg)).map(|(_, bounds)| bounds).collect();
        let of_any = self.among(not_null, &kernel.output);
        if of_args.len() < args.len() {
            return of_any;
        }
        let is_greatest = kernel.spec.name == "greatest";
        // The kernel passes over null, which as a bound says that nothing is known.
        let result = |bound: fn(&Bounds) -> Option<&Expr>| {
            let bounds = of_args.iter().map(|bounds| bound(bounds).cloned()).collect::<Option<Vec<_>>>()?;
            Some(extreme(bounds, &kernel.output, is_greatest))
        };
        let may_be_nan = of_args.iter().any(Bounds::may_be_nan);
        let nan = if may_be_nan { Nan::Unless(result(Bounds::top)) } else { Nan::Never };
        let low = result(|bounds| bounds.low.as_ref());
        // Of NaN and a number the least is the number, which may lie above the bounds of what else could be NaN.
        let high = if may_be_nan && !is_greatest { result(Bounds::top) } else { result(|bounds| bounds.high.as_ref()) };
        unless_null(may_be_null, vec![Bounds { low, high, nan }], of_any)
    }

    /// The type of a value.
    fn result_of(&self, value: &Expr) -> Option<DataType> {
        value.get_type(&DFSchema::try_from(self.knowledge.schema.clone()).ok()?).ok()
    }

    /// The bounds of a value of this type that is one of several. Null is none of them.
    fn among(&mut self, of_values: Vec<Vec<Bounds>>, data_type: &DataType) -> Vec<Bounds> {
        self.inexact();
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
            let nan = if may_be_nan { Nan::Unless(of_all(Bounds::top, true)) } else { Nan::Never };
            let (low, high) = (of_all(|bounds| bounds.low.as_ref(), false), of_all(|bounds| bounds.high.as_ref(), true));
            Bounds { low, high, nan }
        };
        (0..sources).map(of_source).collect()
    }
}

fn is_null(expr: &Expr) -> bool {
    literal(expr).is_some_and(ScalarValue::is_null)
}
