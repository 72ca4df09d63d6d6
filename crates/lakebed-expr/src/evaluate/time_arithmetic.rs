//! Addition and subtraction of dates, timestamps and intervals.
//!
//! Months are calendar months; the day is limited to the last day of the month. Days and shorter
//! units have a fixed length, because the time zone is UTC. The module `arithmetic` computes with
//! plain numbers. Read [`plus_days`] and [`difference`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, DurationMicrosecondType, Int32Type, Int64Type, IntervalYearMonthType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::Result as DfResult;
use datafusion_expr::{Expr, lit};

use super::arithmetic::zip;
use super::cast::cast;
use super::kernel::{KernelInput, KernelSpec, Monotonicity, fail};
use crate::calendar::{Civil, DAY, split};
use crate::types;

const SUM: &[Monotonicity] = &[Monotonicity::Increasing, Monotonicity::Increasing];
const DIFFERENCE: &[Monotonicity] = &[Monotonicity::Increasing, Monotonicity::Decreasing];
const MONTHS: &[Monotonicity] = &[Monotonicity::Increasing, Monotonicity::Constant];

static ADD_DAYS: KernelSpec =
    KernelSpec::total("date_add", |input| add_days(input, false)).with_try(&TRY_ADD_DAYS).monotonic(SUM);
static TRY_ADD_DAYS: KernelSpec = KernelSpec::total("date_add", |input| add_days(input, true)).not_strict().monotonic(SUM);
static ADD_MICROS: KernelSpec =
    KernelSpec::total("time_add", |input| add_micros(input, false)).with_try(&TRY_ADD_MICROS).monotonic(SUM);
static TRY_ADD_MICROS: KernelSpec = KernelSpec::total("time_add", |input| add_micros(input, true)).not_strict().monotonic(SUM);
// A timestamp near the end of a month moves to an earlier day but keeps its clock time. So two
// timestamps may change their order, and the function is not monotonic.
static ADD_MONTHS_TO_TIME: KernelSpec = KernelSpec::total("add_months", add_months_to_time).fallible();
static ADD_MONTHS_TO_DATE: KernelSpec =
    KernelSpec::total("add_months", |input| add_months_to_date(input, false)).with_try(&TRY_MONTHS_TO_DATE).monotonic(MONTHS);
static TRY_MONTHS_TO_DATE: KernelSpec =
    KernelSpec::total("add_months", |input| add_months_to_date(input, true)).not_strict().monotonic(MONTHS);
static DAYS_BETWEEN: KernelSpec = KernelSpec::total("date_diff", days_between).monotonic(DIFFERENCE);
static MICROS_BETWEEN: KernelSpec =
    KernelSpec::total("-", |input| micros_between(input, false)).with_try(&TRY_MICROS_BETWEEN).monotonic(DIFFERENCE);
static TRY_MICROS_BETWEEN: KernelSpec =
    KernelSpec::total("-", |input| micros_between(input, true)).not_strict().monotonic(DIFFERENCE);

/// Adds days (an INT) to a date.
pub(crate) fn plus_days(date: Expr, days: Expr) -> Expr {
    ADD_DAYS.call(vec![date, days], DataType::Date32)
}

/// Adds months (an INT or a year-month interval) to a date or timestamp.
pub(crate) fn plus_months(time: Expr, time_type: &DataType, months: Expr) -> Expr {
    let spec = if *time_type == DataType::Date32 { &ADD_MONTHS_TO_DATE } else { &ADD_MONTHS_TO_TIME };
    spec.call(vec![time, months], time_type.clone())
}

/// Adds microseconds (a day-time interval or a BIGINT) to a timestamp.
pub(crate) fn plus_micros(time: Expr, time_type: &DataType, micros: Expr) -> Expr {
    ADD_MICROS.call(vec![time, micros], time_type.clone())
}

/// Returns the number of days from the second date to the first, as INT.
pub(crate) fn days_from(end: Expr, start: Expr) -> Expr {
    DAYS_BETWEEN.call(vec![end, start], DataType::Int32)
}

/// Returns the interval between two dates or two timestamps.
pub(crate) fn difference(end: Expr, start: Expr, data_type: &DataType) -> Expr {
    if *data_type == DataType::Date32 {
        let times = [end, start].map(|date| cast(date.clone(), data_type, &types::timestamp(), false).unwrap_or(date));
        return MICROS_BETWEEN.call(times.to_vec(), types::day_time());
    }
    MICROS_BETWEEN.call(vec![end, start], types::day_time())
}

/// Adds the months, days and microseconds of an interval literal to a date or timestamp.
pub(crate) fn plus_calendar(time: Expr, time_type: &DataType, months: i32, days: i32, micros: i64) -> Expr {
    let moved = if months == 0 { time } else { plus_months(time, time_type, lit(months)) };
    if *time_type == DataType::Date32 {
        return plus_days(moved, lit(days));
    }
    plus_micros(moved, time_type, lit(i64::from(days).saturating_mul(DAY).saturating_add(micros)))
}

fn add_days(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    let (dates, days) = (input.array(0)?.as_primitive::<Date32Type>(), input.array(1)?.as_primitive::<Int32Type>());
    let sum = zip::<_, _, Date32Type>(dates, days, |date, days| checked(date.checked_add(days), try_, "a date"))?;
    Ok(Arc::new(sum))
}

fn add_micros(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    let times = input.array(0)?.as_primitive::<TimestampMicrosecondType>();
    let micros = input.array(1)?;
    let add = |time: i64, micros: i64| checked(time.checked_add(micros), try_, "a timestamp");
    let sum = match micros.data_type() {
        DataType::Int64 => zip::<_, _, TimestampMicrosecondType>(times, micros.as_primitive::<Int64Type>(), add)?,
        _ => zip::<_, _, TimestampMicrosecondType>(times, micros.as_primitive::<DurationMicrosecondType>(), add)?,
    };
    Ok(Arc::new(sum.with_data_type(input.output.clone())))
}

fn checked<T>(value: Option<T>, try_: bool, what: &str) -> DfResult<Option<T>> {
    match value {
        None if !try_ => Err(fail(format!("the sum of {what} and an interval is out of range"))),
        value => Ok(value),
    }
}

/// Returns the month counts of an INT or a year-month interval.
fn months(array: &ArrayRef) -> arrow_array::Int32Array {
    match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().clone(),
        _ => array.as_primitive::<IntervalYearMonthType>().unary(|months| months),
    }
}

fn add_months_to_date(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    let dates = input.array(0)?.as_primitive::<Date32Type>();
    let moved = zip::<_, _, Date32Type>(dates, &months(input.array(1)?), |date, months| {
        let days = Civil::from_days(i64::from(date)).plus_months(i64::from(months)).days();
        checked(i32::try_from(days).ok(), try_, "a date")
    })?;
    Ok(Arc::new(moved))
}

fn add_months_to_time(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let times = input.array(0)?.as_primitive::<TimestampMicrosecondType>();
    let moved = zip::<_, _, TimestampMicrosecondType>(times, &months(input.array(1)?), |time, months| {
        let (day, clock) = split(time);
        let day = Civil::from_days(day).plus_months(i64::from(months)).days();
        checked(day.checked_mul(DAY).and_then(|midnight| midnight.checked_add(clock)), false, "a timestamp")
    })?;
    Ok(Arc::new(moved.with_data_type(input.output.clone())))
}

fn days_between(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let (end, start) = (input.array(0)?.as_primitive::<Date32Type>(), input.array(1)?.as_primitive::<Date32Type>());
    Ok(Arc::new(zip::<_, _, Int32Type>(end, start, |end, start| Ok(Some(end.wrapping_sub(start))))?))
}

fn micros_between(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    let end = input.array(0)?.as_primitive::<TimestampMicrosecondType>();
    let start = input.array(1)?.as_primitive::<TimestampMicrosecondType>();
    let micros = zip::<_, _, DurationMicrosecondType>(end, start, |end, start| checked(end.checked_sub(start), try_, "a time"))?;
    Ok(Arc::new(micros))
}
