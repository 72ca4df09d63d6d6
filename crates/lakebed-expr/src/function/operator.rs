//! Binds operators to operands of any types: the common type, the result type, and the arithmetic
//! of dates and intervals.
//!
//! The values are computed in `arithmetic` and `time_arithmetic`. Read [`arithmetic`] first.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, Operator, binary_expr, lit};

use super::typed::TypedExpr;
use crate::calendar::DAY;
use crate::evaluate::cast::cast;
use crate::evaluate::fold::fold_if_possible;
use crate::evaluate::{arithmetic as numbers, time_arithmetic};
use crate::syntax::tree::{Binary, Interval};
use crate::types;

pub(crate) fn negative(value: TypedExpr) -> Result<TypedExpr, String> {
    if let Expr::Literal(ScalarValue::IntervalYearMonth(Some(months)), _) = value.expr {
        let months = months.checked_neg().ok_or("the interval is out of range")?;
        return Ok(TypedExpr::literal(ScalarValue::IntervalYearMonth(Some(months))));
    }
    let zero =
        if value.data_type == types::day_time() { ScalarValue::DurationMicrosecond(Some(0)) } else { ScalarValue::Int8(Some(0)) };
    arithmetic(Binary::Subtract, TypedExpr::literal(zero), value, false)
}

/// Returns a date or timestamp plus or minus an interval literal; `None` if the operand is neither.
pub(crate) fn plus_literal(time: TypedExpr, interval: Interval, minus: bool) -> Option<Result<TypedExpr, String>> {
    let is_date = time.data_type == DataType::Date32;
    if !is_date && !types::is_timestamp(&time.data_type) {
        return None;
    }
    let sign = |value: i32| if minus { value.checked_neg() } else { Some(value) };
    let long_sign = |value: i64| if minus { value.checked_neg() } else { Some(value) };
    let made = || {
        let TypedExpr { expr, data_type } = time;
        let as_time = |expr: Expr| cast(expr, &data_type, &types::timestamp(), false);
        Some(match interval {
            Interval::Months(months) => {
                TypedExpr { expr: time_arithmetic::plus_months(expr, &data_type, lit(sign(months)?)), data_type }
            }
            Interval::Time { micros, whole_days: true } if is_date => {
                let days = i32::try_from(long_sign(micros)? / DAY).ok()?;
                TypedExpr { expr: time_arithmetic::plus_days(expr, lit(days)), data_type }
            }
            Interval::Time { micros, .. } if is_date => {
                let expr = time_arithmetic::plus_micros(as_time(expr)?, &types::timestamp(), lit(long_sign(micros)?));
                TypedExpr { expr, data_type: types::timestamp() }
            }
            Interval::Time { micros, .. } => {
                TypedExpr { expr: time_arithmetic::plus_micros(expr, &data_type, lit(long_sign(micros)?)), data_type }
            }
            Interval::Calendar { months, days, micros } => {
                let (expr, data_type) =
                    if is_date && micros != 0 { (as_time(expr)?, types::timestamp()) } else { (expr, data_type.clone()) };
                let (months, days, micros) = (sign(months)?, sign(days)?, long_sign(micros)?);
                TypedExpr { expr: time_arithmetic::plus_calendar(expr, &data_type, months, days, micros), data_type }
            }
        })
    };
    Some(made().ok_or_else(|| "the interval is out of range".into()))
}

/// Binds `+ - * / % DIV` for two values of types that support the operator.
pub(crate) fn arithmetic(operator: Binary, left: TypedExpr, right: TypedExpr, try_: bool) -> Result<TypedExpr, String> {
    let refuse = |l: &DataType, r: &DataType| format!("{} and {} cannot be combined so", types::name(l), types::name(r));
    if let Some(made) = with_time(operator, &left, &right) {
        return made;
    }
    let (l, r) = (left.data_type.clone(), right.data_type.clone());
    let common = types::common(&l, &r).filter(|t| types::is_number(t) || *t == types::day_time());
    let common = common.or_else(|| (l == DataType::Utf8 && r == DataType::Utf8).then_some(DataType::Float64));
    let common = common.ok_or_else(|| refuse(&l, &r))?;
    if types::is_decimal(&common) {
        return decimal_arithmetic(operator, left, right, try_);
    }
    let (operands, output) = match operator {
        Binary::Divide if common != types::day_time() => (DataType::Float64, DataType::Float64),
        Binary::WholeDivide => (DataType::Int64, DataType::Int64),
        _ => (common.clone(), common),
    };
    let to = |value: TypedExpr| {
        cast(value.expr, &value.data_type, &operands, false).map(fold_if_possible).ok_or_else(|| refuse(&l, &r))
    };
    let expr = numbers::operation(operator, to(left)?, to(right)?, output.clone(), try_).ok_or_else(|| refuse(&l, &r))?;
    Ok(TypedExpr { expr, data_type: output })
}

fn decimal_arithmetic(operator: Binary, left: TypedExpr, right: TypedExpr, try_: bool) -> Result<TypedExpr, String> {
    let shape = |value: &TypedExpr| match &value.expr {
        // A whole number literal has as many digits as it is written with, not as many as its type
        // allows.
        Expr::Literal(literal, _) if types::is_whole_number(&value.data_type) => {
            (literal.to_string().trim_start_matches('-').len().clamp(1, 38) as u8, 0)
        }
        _ => types::digits(&value.data_type).unwrap_or((38, 18)),
    };
    let (l, r) = (shape(&left), shape(&right));
    let decimal = |value: TypedExpr, (precision, scale): (u8, i8)| {
        let to = DataType::Decimal128(precision, scale);
        cast(value.expr, &value.data_type, &to, false).map(fold_if_possible).ok_or("not a decimal".to_string())
    };
    let (left, right) = (decimal(left, l)?, decimal(right, r)?);
    if operator == Binary::WholeDivide {
        let quotient = decimal_result(Binary::Divide, l, r);
        let expr = numbers::operation(Binary::Divide, left, right, quotient.clone(), try_).unwrap_or_default();
        let expr = cast(expr, &quotient, &DataType::Int64, try_).unwrap_or_default();
        return Ok(TypedExpr { expr, data_type: DataType::Int64 });
    }
    let output = decimal_result(operator, l, r);
    let expr = numbers::operation(operator, left, right, output.clone(), try_).unwrap_or_default();
    Ok(TypedExpr { expr, data_type: output })
}

/// Binds sums and differences with a date or timestamp.
fn with_time(operator: Binary, left: &TypedExpr, right: &TypedExpr) -> Option<Result<TypedExpr, String>> {
    let is_time = |t: &DataType| types::is_timestamp(t) || *t == DataType::Date32;
    let (l, r) = (&left.data_type, &right.data_type);
    let (a, b) = (left.expr.clone(), right.expr.clone());
    let typed = |expr: Expr, data_type: &DataType| Some(Ok(TypedExpr { expr, data_type: data_type.clone() }));
    match operator {
        Binary::Subtract if is_time(l) && is_time(r) => {
            let common = types::common(l, r)?;
            let to = |value: Expr, from: &DataType| cast(value, from, &common, false);
            typed(time_arithmetic::difference(to(a, l)?, to(b, r)?, &common), &types::day_time())
        }
        Binary::Add if is_time(r) && !is_time(l) => with_time(operator, right, left),
        Binary::Add | Binary::Subtract if is_time(l) => {
            let minus = operator == Binary::Subtract;
            let signed = |value: TypedExpr| if minus { negative(value) } else { Ok(value) };
            if *l == DataType::Date32 && types::is_whole_number(r) && *r != DataType::Int64 {
                let days = signed(right.clone()).map(|days| cast(days.expr, &days.data_type, &DataType::Int32, false));
                return Some(days.map(|days| TypedExpr {
                    expr: time_arithmetic::plus_days(a, days.unwrap_or_default()),
                    data_type: l.clone(),
                }));
            }
            if *r == types::year_month() {
                let months = signed(right.clone());
                return Some(
                    months.map(|m| TypedExpr { expr: time_arithmetic::plus_months(a, l, m.expr), data_type: l.clone() }),
                );
            }
            if *r == types::day_time() {
                let time_type = if *l == DataType::Date32 { types::timestamp() } else { l.clone() };
                let time = cast(a, l, &time_type, false)?;
                let micros = signed(right.clone());
                return Some(micros.map(|m| TypedExpr {
                    expr: time_arithmetic::plus_micros(time, &time_type, m.expr),
                    data_type: time_type.clone(),
                }));
            }
            Some(Err(format!("{} cannot be added to {}", types::name(r), types::name(l))))
        }
        _ => None,
    }
}

pub(crate) fn bitwise(operator: Binary, left: TypedExpr, right: TypedExpr) -> Result<TypedExpr, String> {
    let common = types::common(&left.data_type, &right.data_type).filter(types::is_whole_number);
    let common = common.ok_or("bits are those of whole numbers")?;
    let to = |value: TypedExpr| cast(value.expr, &value.data_type, &common, false).map(fold_if_possible).unwrap_or_default();
    let operator = match operator {
        Binary::BitAnd => Operator::BitwiseAnd,
        Binary::BitOr => Operator::BitwiseOr,
        _ => Operator::BitwiseXor,
    };
    Ok(TypedExpr { expr: binary_expr(to(left), operator, to(right)), data_type: common })
}

/// Returns the result type of `+ - * / %` on two decimals.
fn decimal_result(operator: Binary, left: (u8, i8), right: (u8, i8)) -> DataType {
    let (p1, s1, p2, s2) = (i16::from(left.0), i16::from(left.1), i16::from(right.0), i16::from(right.1));
    let (precision, scale) = match operator {
        Binary::Multiply => (p1 + p2 + 1, s1 + s2),
        Binary::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            (p1 - s1 + s2 + scale, scale)
        }
        Binary::Remainder => ((p1 - s1).min(p2 - s2) + s1.max(s2), s1.max(s2)),
        _ => ((p1 - s1).max(p2 - s2) + s1.max(s2) + 1, s1.max(s2)),
    };
    let most = i16::from(types::MAX_DIGITS);
    if precision <= most {
        return types::bounded_decimal(precision, scale);
    }
    // Digits before the decimal point are kept first, but up to six after it stay.
    let whole = precision - scale;
    DataType::Decimal128(types::MAX_DIGITS, (most - whole).max(scale.min(6)) as i8)
}
