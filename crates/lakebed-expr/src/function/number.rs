//! Functions about numbers.
//!
//! Read [`call`] first; the operators are in `arithmetic`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType;
use datafusion_common::Result as DfResult;
use datafusion_expr::{Expr, lit};

use super::args::{Args, CallResult};
use super::operator::arithmetic;
use super::typed::TypedExpr;
use crate::evaluate::arithmetic::{operation, zip};
use crate::evaluate::kernel::{KernelInput, KernelSpec, Monotonicity, fail};
use crate::evaluate::text_value::{decimal_text, parse_decimal};
use crate::syntax::tree::Binary;
use crate::types;

const EVEN: &[Monotonicity] = &[Monotonicity::Even];
const ROUNDED: &[Monotonicity] = &[Monotonicity::Increasing, Monotonicity::Constant];

static ABS: KernelSpec = KernelSpec::total("abs", |input| abs(input, false)).with_try(&TRY_ABS).monotonic(EVEN);
static TRY_ABS: KernelSpec = KernelSpec::total("abs", |input| abs(input, true)).not_strict().monotonic(EVEN);
static SIGN: KernelSpec = KernelSpec::total("sign", |input| each_double(input, |x| Some(if x == 0.0 { x } else { x.signum() })));
// A double that is NaN becomes zero.
static CEIL: KernelSpec = KernelSpec::total("ceil", |input| whole(input, true)).monotonic(&[Monotonicity::IncreasingUnlessNan]);
static FLOOR: KernelSpec =
    KernelSpec::total("floor", |input| whole(input, false)).monotonic(&[Monotonicity::IncreasingUnlessNan]);
static DECIMAL_CEIL: KernelSpec = KernelSpec::total("ceil", |input| whole(input, true)).monotonic(&[Monotonicity::Increasing]);
static DECIMAL_FLOOR: KernelSpec = KernelSpec::total("floor", |input| whole(input, false)).monotonic(&[Monotonicity::Increasing]);
static ROUND: KernelSpec = KernelSpec::total("round", |input| round(input, false)).with_try(&TRY_ROUND).monotonic(ROUNDED);
static TRY_ROUND: KernelSpec = KernelSpec::total("round", |input| round(input, true)).not_strict().monotonic(ROUNDED);
static POWER: KernelSpec = KernelSpec::total("power", |input| both_doubles(input, |x, y| Some(x.powf(y))));
static ATAN2: KernelSpec = KernelSpec::total("atan2", |input| both_doubles(input, |y, x| Some((y + 0.0).atan2(x + 0.0))));
static HYPOT: KernelSpec = KernelSpec::total("hypot", |input| both_doubles(input, |x, y| Some(x.hypot(y))));
static LOG_OF_BASE: KernelSpec =
    KernelSpec::total("log", |input| both_doubles(input, |base, x| (base > 0.0 && x > 0.0).then(|| x.ln() / base.ln())))
        .not_strict();

/// A function from double to double; `None` is null.
type OfDouble = (&'static [&'static str], KernelSpec);

macro_rules! of_double {
    ($($names:expr => $compute:expr),+ $(,)?) => {
        [$((&$names, KernelSpec::total($names[0], |input| each_double(input, $compute)).not_strict())),+]
    };
}

static OF_DOUBLE: [OfDouble; 26] = of_double![
    ["sqrt"] => |x| Some(x.sqrt()),
    ["cbrt"] => |x| Some(x.cbrt()),
    ["exp"] => |x| Some(x.exp()),
    ["expm1"] => |x| Some(x.exp_m1()),
    ["ln", "log"] => |x| (x > 0.0 || x.is_nan()).then(|| x.ln()),
    ["log10"] => |x| (x > 0.0 || x.is_nan()).then(|| x.log10()),
    ["log2"] => |x| (x > 0.0 || x.is_nan()).then(|| x.log2()),
    ["log1p"] => |x| (x > -1.0 || x.is_nan()).then(|| x.ln_1p()),
    ["sin"] => |x| Some(x.sin()),
    ["cos"] => |x| Some(x.cos()),
    ["tan"] => |x| Some(x.tan()),
    ["cot"] => |x| Some(1.0 / x.tan()),
    ["sec"] => |x| Some(1.0 / x.cos()),
    ["csc"] => |x| Some(1.0 / x.sin()),
    ["asin"] => |x| Some(x.asin()),
    ["acos"] => |x| Some(x.acos()),
    ["atan"] => |x| Some(x.atan()),
    ["sinh"] => |x| Some(x.sinh()),
    ["cosh"] => |x| Some(x.cosh()),
    ["tanh"] => |x| Some(x.tanh()),
    ["asinh"] => |x| Some(x.asinh()),
    ["acosh"] => |x| Some(x.acosh()),
    ["atanh"] => |x| Some(x.atanh()),
    ["degrees"] => |x| Some(x.to_degrees()),
    ["radians"] => |x| Some(x.to_radians()),
    ["rint"] => |x| Some(x.round_ties_even()),
];

pub(crate) fn call(args: &Args<'_>) -> Option<CallResult> {
    if args.len() == 1
        && let Some((_, spec)) = OF_DOUBLE.iter().find(|(names, _)| names.contains(&args.name))
    {
        return Some(args.double(0).map(|x| doubles(spec, vec![x])));
    }
    Some(match args.name {
        "abs" => args.count(1).and_then(|()| number(args).map(|x| same(&ABS, x))),
        "sign" | "signum" => args.count(1).and_then(|()| args.double(0).map(|x| doubles(&SIGN, vec![x]))),
        "ceil" | "ceiling" => args.count(1).and_then(|()| to_whole(args, &CEIL, &DECIMAL_CEIL)),
        "floor" => args.count(1).and_then(|()| to_whole(args, &FLOOR, &DECIMAL_FLOOR)),
        "round" => args.counts(1, 2).and_then(|()| rounded(args)),
        "pow" | "power" => both(args, &POWER),
        "atan2" => both(args, &ATAN2),
        "hypot" => both(args, &HYPOT),
        "log" => both(args, &LOG_OF_BASE),
        "pi" => args.count(0).map(|()| TypedExpr { expr: lit(std::f64::consts::PI), data_type: DataType::Float64 }),
        "e" => args.count(0).map(|()| TypedExpr { expr: lit(std::f64::consts::E), data_type: DataType::Float64 }),
        "negative" => args.count(1).and_then(|()| {
            let zero = TypedExpr { expr: lit(0i8), data_type: DataType::Int8 };
            arithmetic(Binary::Subtract, zero, number(args)?, false)
        }),
        "positive" => args.count(1).and_then(|()| number(args)),
        "mod" => binary(args, Binary::Remainder, false),
        "pmod" => args.count(2).and_then(|()| positive_remainder(args)),
        "try_add" => binary(args, Binary::Add, true),
        "try_subtract" => binary(args, Binary::Subtract, true),
        "try_multiply" => binary(args, Binary::Multiply, true),
        "try_divide" => binary(args, Binary::Divide, true),
        "try_mod" => binary(args, Binary::Remainder, true),
        _ => return None,
    })
}

fn doubles(spec: &'static KernelSpec, args: Vec<Expr>) -> TypedExpr {
    TypedExpr { expr: spec.call(args, DataType::Float64), data_type: DataType::Float64 }
}

fn same(spec: &'static KernelSpec, value: TypedExpr) -> TypedExpr {
    TypedExpr { expr: spec.call(vec![value.expr], value.data_type.clone()), data_type: value.data_type }
}

/// The first argument if it is a number; text is read as a double.
fn number(args: &Args<'_>) -> CallResult {
    let value = args.get(0)?;
    if types::is_number(&value.data_type) {
        return Ok(value.clone());
    }
    Ok(TypedExpr { expr: args.double(0)?, data_type: DataType::Float64 })
}

fn both(args: &Args<'_>, spec: &'static KernelSpec) -> CallResult {
    args.count(2)?;
    Ok(doubles(spec, vec![args.double(0)?, args.double(1)?]))
}

fn binary(args: &Args<'_>, operator: Binary, try_: bool) -> CallResult {
    args.count(2)?;
    arithmetic(operator, args.get(0)?.clone(), args.get(1)?.clone(), try_)
}

/// `((a % n) + n) % n`, which has the sign of n.
fn positive_remainder(args: &Args<'_>) -> CallResult {
    let (values, data_type) = args.in_common(0)?;
    let [a, n] = <[Expr; 2]>::try_from(values).map_err(|_| "pmod takes 2 arguments".to_string())?;
    let step = |operator, left, right| operation(operator, left, right, data_type.clone(), false).unwrap_or_default();
    let remainder = step(Binary::Remainder, a, n.clone());
    let expr = step(Binary::Remainder, step(Binary::Add, remainder, n.clone()), n);
    Ok(TypedExpr { expr, data_type })
}

fn to_whole(args: &Args<'_>, of_double: &'static KernelSpec, of_decimal: &'static KernelSpec) -> CallResult {
    let value = number(args)?;
    match value.data_type {
        DataType::Decimal128(precision, scale) if scale > 0 => {
            let digits = (i16::from(precision) - i16::from(scale) + 1).clamp(1, 38) as u8;
            let data_type = DataType::Decimal128(digits, 0);
            Ok(TypedExpr { expr: of_decimal.call(vec![value.expr], data_type.clone()), data_type })
        }
        DataType::Decimal128(_, _) => Ok(value),
        ref t if types::is_whole_number(t) => Ok(TypedExpr { expr: args.long(0)?, data_type: DataType::Int64 }),
        _ => Ok(TypedExpr { expr: of_double.call(vec![args.double(0)?], DataType::Int64), data_type: DataType::Int64 }),
    }
}

fn rounded(args: &Args<'_>) -> CallResult {
    let value = number(args)?;
    let places = match args.len() {
        1 => lit(0i32),
        _ => args.int(1)?,
    };
    if !matches!(places, Expr::Literal(_, _)) {
        return Err("round: the number of places must be a literal".into());
    }
    Ok(TypedExpr { expr: ROUND.call(vec![value.expr, places], value.data_type.clone()), data_type: value.data_type })
}

fn each_double(input: &KernelInput<'_>, compute: fn(f64) -> Option<f64>) -> DfResult<ArrayRef> {
    Ok(Arc::new(input.array(0)?.as_primitive::<Float64Type>().unary_opt::<_, Float64Type>(compute)))
}

fn both_doubles(input: &KernelInput<'_>, compute: fn(f64, f64) -> Option<f64>) -> DfResult<ArrayRef> {
    let (x, y) = (input.array(0)?.as_primitive::<Float64Type>(), input.array(1)?.as_primitive::<Float64Type>());
    Ok(Arc::new(zip::<_, _, Float64Type>(x, y, |x, y| Ok(compute(x, y)))?))
}

/// Applies a function that keeps the type; `None` is an overflow, which is null with `try_`.
fn keep<T: ArrowPrimitiveType>(
    input: &KernelInput<'_>,
    name: &str,
    try_: bool,
    compute: impl Fn(T::Native) -> Option<T::Native>,
) -> DfResult<ArrayRef> {
    let checked = |x| compute(x).ok_or_else(|| fail(format!("{name}({x:?}) does not fit {}", types::name(input.output))));
    let values = input.array(0)?.as_primitive::<T>();
    let result: PrimitiveArray<T> = if try_ { values.unary_opt(&compute) } else { values.try_unary(checked)? };
    Ok(Arc::new(result.with_data_type(input.output.clone())))
}

fn abs(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    match input.output {
        DataType::Int8 => keep::<Int8Type>(input, "abs", try_, i8::checked_abs),
        DataType::Int16 => keep::<Int16Type>(input, "abs", try_, i16::checked_abs),
        DataType::Int32 => keep::<Int32Type>(input, "abs", try_, i32::checked_abs),
        DataType::Int64 => keep::<Int64Type>(input, "abs", try_, i64::checked_abs),
        DataType::Decimal128(_, _) => keep::<Decimal128Type>(input, "abs", try_, i128::checked_abs),
        DataType::Float32 => keep::<Float32Type>(input, "abs", try_, |x| Some(x.abs())),
        _ => keep::<Float64Type>(input, "abs", try_, |x| Some(x.abs())),
    }
}

fn whole(input: &KernelInput<'_>, up: bool) -> DfResult<ArrayRef> {
    let array = input.array(0)?;
    if let DataType::Decimal128(_, scale) = array.data_type() {
        let unit = 10i128.checked_pow(scale.unsigned_abs().into()).ok_or_else(|| fail("a scale is too large"))?;
        let whole = array.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(|value| {
            let floor = value.div_euclid(unit);
            floor + i128::from(up && value.rem_euclid(unit) != 0)
        });
        return Ok(Arc::new(whole.with_data_type(input.output.clone())));
    }
    let whole = |x: f64| if up { x.ceil() as i64 } else { x.floor() as i64 };
    Ok(Arc::new(array.as_primitive::<Float64Type>().unary::<_, Int64Type>(whole)))
}

/// Rounds half away from zero, as decimal digits say it, not as the bits of a double do.
fn round(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    let places = input.array(1)?.as_primitive::<Int32Type>();
    let places = places.iter().next().flatten().ok_or_else(|| fail("round needs a number of places"))?;
    match input.output {
        DataType::Int8 => keep::<Int8Type>(input, "round", try_, |x| round_whole(x.into(), 0, places)?.try_into().ok()),
        DataType::Int16 => keep::<Int16Type>(input, "round", try_, |x| round_whole(x.into(), 0, places)?.try_into().ok()),
        DataType::Int32 => keep::<Int32Type>(input, "round", try_, |x| round_whole(x.into(), 0, places)?.try_into().ok()),
        DataType::Int64 => keep::<Int64Type>(input, "round", try_, |x| round_whole(x.into(), 0, places)?.try_into().ok()),
        DataType::Decimal128(precision, scale) => {
            let limit = 10i128.checked_pow(u32::from(*precision)).unwrap_or(i128::MAX);
            keep::<Decimal128Type>(input, "round", try_, |x| round_whole(x, (*scale).into(), places).filter(|x| x.abs() < limit))
        }
        DataType::Float32 => {
            keep::<Float32Type>(input, "round", try_, |x| Some(round_float(x.into(), &format!("{x:e}"), places) as f32))
        }
        _ => keep::<Float64Type>(input, "round", try_, |x| Some(round_float(x, &format!("{x:e}"), places))),
    }
}

/// A whole number of units of `10^-scale`, rounded to so many places behind the point.
fn round_whole(value: i128, scale: i32, places: i32) -> Option<i128> {
    let Some(drop) = scale.checked_sub(places).filter(|drop| *drop > 0) else { return Some(value) };
    let Some(unit) = 10i128.checked_pow(drop.unsigned_abs()) else { return Some(0) };
    let (quotient, rest) = (value / unit, value % unit);
    let away = i128::from(rest.unsigned_abs() * 2 >= unit.unsigned_abs()) * rest.signum();
    (quotient + away).checked_mul(unit)
}

fn round_float(value: f64, digits: &str, places: i32) -> f64 {
    if !value.is_finite() || !(-300..=18).contains(&places) || (value.abs() >= 1e18 && places >= 0) {
        return if places < -300 && value.is_finite() { 0.0 } else { value };
    }
    if places >= 0 {
        let scale = places as i8;
        return match parse_decimal(digits, 38, scale) {
            Some(decimal) => decimal_text(decimal, scale).parse().unwrap_or(value),
            None => value,
        };
    }
    let unit = 10f64.powi(-places);
    (value / unit).round() * unit
}
