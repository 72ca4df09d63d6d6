//! Functions that choose among values: coalesce, if, nullif, greatest and similar functions.
//!
//! They become CASE, which computes a branch only where it is chosen. Read [`call`] first.

use std::cmp::Ordering;

use arrow_array::{Array, ArrayRef, BooleanArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use arrow_select::zip::zip;
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::{Expr, lit};

use super::args::{Args, CallResult};
use super::compare::compare;
use super::typed::TypedExpr;
use crate::evaluate::kernel::{KernelInput, KernelSpec, Monotonicity};
use crate::evaluate::normalize_float::normalized_float;
use crate::evaluate::tree::case_when;
use crate::syntax::tree::Comparison;
use crate::types;

pub(crate) fn call(args: &Args<'_>) -> Option<CallResult> {
    Some(match args.name {
        "coalesce" | "nvl" | "ifnull" => one_of_all(args),
        "nvl2" => args.count(3).and_then(|()| {
            let (values, data_type) = args.in_common(1)?;
            choose(vec![Expr::IsNotNull(Box::new(args.get(0)?.expr.clone()))], values, data_type)
        }),
        "if" | "iff" => args.count(3).and_then(|()| {
            let (values, data_type) = args.in_common(1)?;
            choose(vec![args.cast(0, &DataType::Boolean)?], values, data_type)
        }),
        "nullif" => args.count(2).and_then(|()| null_if(args.get(0)?, args.get(1)?.clone())),
        "nullifzero" => args.count(1).and_then(|()| null_if(args.get(0)?, zero())),
        "zeroifnull" => {
            args.count(1).and_then(|()| one_of_all(&Args { name: args.name, list: vec![args.get(0)?.clone(), zero()] }))
        }
        "isnull" => args.count(1).and_then(|()| boolean(Expr::IsNull(Box::new(args.get(0)?.expr.clone())))),
        "isnotnull" => args.count(1).and_then(|()| boolean(Expr::IsNotNull(Box::new(args.get(0)?.expr.clone())))),
        "equal_null" => {
            args.count(2).and_then(|()| boolean(compare(Comparison::NullSafeEqual, args.get(0)?.clone(), args.get(1)?.clone())?))
        }
        "isnan" => args.count(1).and_then(|()| {
            let value = args.double(0)?;
            let nan = normalized_float(value.clone(), &DataType::Float64).eq(lit(f64::NAN));
            boolean(nan.and(Expr::IsNotNull(Box::new(value))))
        }),
        "nanvl" => args.count(2).and_then(|()| {
            let value = args.double(0)?;
            let nan = normalized_float(value.clone(), &DataType::Float64).eq(lit(f64::NAN));
            choose(vec![nan], vec![args.double(1)?, value], DataType::Float64)
        }),
        "greatest" => extreme(args, &GREATEST),
        "least" => extreme(args, &LEAST),
        _ => return None,
    })
}

fn boolean(expr: Expr) -> CallResult {
    Ok(TypedExpr { expr, data_type: DataType::Boolean })
}

/// Returns the value of the first condition that holds. The last value has no condition.
fn choose(conditions: Vec<Expr>, mut values: Vec<Expr>, data_type: DataType) -> CallResult {
    let otherwise = values.pop();
    Ok(TypedExpr { expr: case_when(conditions.into_iter().zip(values), otherwise), data_type })
}

fn one_of_all(args: &Args<'_>) -> CallResult {
    args.counts(1, usize::MAX)?;
    let (values, data_type) = args.in_common(0)?;
    Ok(TypedExpr { expr: coalesce(values), data_type })
}

/// Returns the first of several values of one type that is not null.
fn coalesce(mut values: Vec<Expr>) -> Expr {
    let Some(last) = values.pop() else { return Expr::Literal(ScalarValue::Null, None) };
    if values.is_empty() {
        return last;
    }
    case_when(values.into_iter().map(|value| (Expr::IsNotNull(Box::new(value.clone())), value)), Some(last))
}

fn zero() -> TypedExpr {
    TypedExpr { expr: lit(0i32), data_type: DataType::Int32 }
}

/// Returns the first value, or null if it equals the second.
fn null_if(first: &TypedExpr, second: TypedExpr) -> CallResult {
    let equal = compare(Comparison::Equal, first.clone(), second)?;
    let null = ScalarValue::try_from(&first.data_type).map_err(|error| error.to_string())?;
    choose(vec![equal], vec![Expr::Literal(null, None), first.expr.clone()], first.data_type.clone())
}

const CHOSEN: &[Monotonicity] = &[Monotonicity::Chosen];

static GREATEST: KernelSpec =
    KernelSpec::total("greatest", |input| best(input, Ordering::Greater)).with_null_args(0).monotonic(CHOSEN);
static LEAST: KernelSpec = KernelSpec::total("least", |input| best(input, Ordering::Less)).with_null_args(0).monotonic(CHOSEN);

/// The same, but null if a value is.
pub(crate) static GREATEST_OF_KNOWN: KernelSpec =
    KernelSpec::total("greatest_of_known", |input| best_of_known(input, Ordering::Greater));
pub(crate) static LEAST_OF_KNOWN: KernelSpec = KernelSpec::total("least_of_known", |input| best_of_known(input, Ordering::Less));

/// Returns the greatest or the least of several values, ignoring nulls.
fn extreme(args: &Args<'_>, spec: &'static KernelSpec) -> CallResult {
    args.counts(2, usize::MAX)?;
    let (values, data_type) = args.in_common(0)?;
    if data_type.is_nested() {
        return Err(format!("{} cannot compare {}", args.name, types::name(&data_type)));
    }
    let values = values.into_iter().map(|value| normalized_float(value, &data_type)).collect();
    Ok(TypedExpr { expr: spec.call(values, data_type.clone()), data_type })
}

fn best(input: &KernelInput<'_>, wanted: Ordering) -> DfResult<ArrayRef> {
    let mut best = input.array(0)?.clone();
    for next in input.arrays.iter().skip(1) {
        let compare = make_comparator(next, &best, SortOptions::default())?;
        let replaces: BooleanArray =
            (0..input.rows).map(|row| Some(next.is_valid(row) && (best.is_null(row) || compare(row, row) == wanted))).collect();
        best = zip(&replaces, next, &best)?;
    }
    Ok(best)
}

fn best_of_known(input: &KernelInput<'_>, wanted: Ordering) -> DfResult<ArrayRef> {
    let nulls = input.arrays.iter().fold(None, |nulls, array| NullBuffer::union(nulls.as_ref(), array.logical_nulls().as_ref()));
    let best = best(input, wanted)?;
    Ok(make_array(best.to_data().into_builder().nulls(nulls).build()?))
}
