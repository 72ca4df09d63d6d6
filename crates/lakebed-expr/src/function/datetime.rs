//! Functions about dates and times.
//!
//! All count in UTC, over the whole range of dates and timestamps. Those that never fall as time
//! goes on say so, and files are skipped through them. Patterns are in `datetime_pattern`, sums and
//! differences in `time_arithmetic`. Read [`call`] first.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::DataType;
use datafusion_common::Result as DfResult;
use datafusion_expr::{Expr, lit};

use super::args::{Args, CallResult};
use super::datetime_pattern::Pattern;
use super::typed::TypedExpr;
use crate::calendar::{Civil, DAY, SECOND, days_in_month, split};
use crate::evaluate::cast::cast;
use crate::evaluate::fold::fold_if_possible;
use crate::evaluate::kernel::{KernelInput, KernelSpec, Monotonicity, fail};
use crate::evaluate::{arithmetic, time_arithmetic};
use crate::syntax::interval::IntervalUnit;
use crate::syntax::tree::Binary;
use crate::types;

const INCREASING: &[Monotonicity] = &[Monotonicity::Increasing];

static YEAR: KernelSpec =
    KernelSpec::total("year", |input| of_date(input, |days| Civil::from_days(days).year)).monotonic(INCREASING);
static QUARTER: KernelSpec = KernelSpec::total("quarter", |input| of_date(input, |days| (Civil::from_days(days).month + 2) / 3))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_YEAR);
static MONTH: KernelSpec = KernelSpec::total("month", |input| of_date(input, |days| Civil::from_days(days).month))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_YEAR);
static DAY_OF_MONTH: KernelSpec = KernelSpec::total("day", |input| of_date(input, |days| Civil::from_days(days).day))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_MONTH);
static DAY_OF_YEAR: KernelSpec = KernelSpec::total("dayofyear", |input| of_date(input, |days| days - new_year(days) + 1))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_YEAR);
static DAY_OF_WEEK: KernelSpec = KernelSpec::total("dayofweek", |input| of_date(input, |days| (days + 4).rem_euclid(7) + 1))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_WEEK_FROM_SUNDAY);
static WEEKDAY: KernelSpec = KernelSpec::total("weekday", |input| of_date(input, |days| (days + 3).rem_euclid(7)))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_WEEK);
static ISO_DAY: KernelSpec = KernelSpec::total("dayofweek_iso", |input| of_date(input, |days| (days + 3).rem_euclid(7) + 1))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_WEEK);
static WEEK_OF_YEAR: KernelSpec = KernelSpec::total("weekofyear", |input| of_date(input, |days| iso_week(days).1))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_YEAR_OF_WEEK);
static YEAR_OF_WEEK: KernelSpec =
    KernelSpec::total("yearofweek", |input| of_date(input, |days| iso_week(days).0)).monotonic(INCREASING);
static UNIX_DATE: KernelSpec = KernelSpec::total("unix_date", |input| of_date(input, |days| days)).monotonic(INCREASING);
static HOUR: KernelSpec = KernelSpec::total("hour", |input| of_clock(input, |clock| clock / (3_600 * SECOND)))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_DAY);
static MINUTE: KernelSpec = KernelSpec::total("minute", |input| of_clock(input, |clock| clock / (60 * SECOND) % 60))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_HOUR);
static SECOND_OF_MINUTE: KernelSpec = KernelSpec::total("second", |input| of_clock(input, |clock| clock / SECOND % 60))
    .monotonic(INCREASING)
    .monotonic_if(&SAME_MINUTE);
static EXACT_SECOND: KernelSpec =
    KernelSpec::total("exact_second", exact_second).monotonic(INCREASING).monotonic_if(&SAME_MINUTE);
// Between the first and the last of one of these, the parts of it rise.
static SAME_YEAR: KernelSpec = KernelSpec::total("same_year", |input| same_by_date(input, |days| Civil::from_days(days).year));
static SAME_MONTH: KernelSpec = KernelSpec::total("same_month", |input| {
    same_by_date(input, |days| {
        let date = Civil::from_days(days);
        date.year * 12 + date.month
    })
});
static SAME_WEEK: KernelSpec = KernelSpec::total("same_week", |input| same_by_date(input, |days| (days + 3).div_euclid(7)));
static SAME_WEEK_FROM_SUNDAY: KernelSpec =
    KernelSpec::total("same_week_from_sunday", |input| same_by_date(input, |days| (days + 4).div_euclid(7)));
static SAME_YEAR_OF_WEEK: KernelSpec =
    KernelSpec::total("same_year_of_week", |input| same_by_date(input, |days| iso_week(days).0));
static SAME_DAY: KernelSpec = KernelSpec::total("same_day", |input| same_by_time(input, |time| time.div_euclid(DAY)));
static SAME_HOUR: KernelSpec =
    KernelSpec::total("same_hour", |input| same_by_time(input, |time| time.div_euclid(3_600 * SECOND)));
static SAME_MINUTE: KernelSpec =
    KernelSpec::total("same_minute", |input| same_by_time(input, |time| time.div_euclid(60 * SECOND)));
/// Unlike `unix_seconds`, `unix_timestamp` cuts towards zero.
static UNIX_TIMESTAMP: KernelSpec =
    KernelSpec::total("unix_timestamp", |input| of_time(input, |t| t / SECOND)).monotonic(INCREASING);
static UNIX_SECONDS: KernelSpec =
    KernelSpec::total("unix_seconds", |input| of_time(input, |t| t.div_euclid(SECOND))).monotonic(INCREASING);
static UNIX_MILLIS: KernelSpec =
    KernelSpec::total("unix_millis", |input| of_time(input, |t| t.div_euclid(1_000))).monotonic(INCREASING);
static UNIX_MICROS: KernelSpec = KernelSpec::total("unix_micros", |input| of_time(input, |t| t)).monotonic(INCREASING);
static TIMESTAMP_SECONDS: KernelSpec =
    KernelSpec::total("timestamp_seconds", |input| to_time(input, SECOND, false)).with_try(&TRY_SECONDS).monotonic(INCREASING);
static TRY_SECONDS: KernelSpec =
    KernelSpec::total("timestamp_seconds", |input| to_time(input, SECOND, true)).not_strict().monotonic(INCREASING);
static TIMESTAMP_MILLIS: KernelSpec =
    KernelSpec::total("timestamp_millis", |input| to_time(input, 1_000, false)).with_try(&TRY_MILLIS).monotonic(INCREASING);
static TRY_MILLIS: KernelSpec =
    KernelSpec::total("timestamp_millis", |input| to_time(input, 1_000, true)).not_strict().monotonic(INCREASING);
static TIMESTAMP_MICROS: KernelSpec =
    KernelSpec::total("timestamp_micros", |input| to_time(input, 1, false)).monotonic(INCREASING);
static FROM_UNIX_DATE: KernelSpec = KernelSpec::total("date_from_unix_date", from_unix_date).monotonic(INCREASING);
static LAST_DAY: KernelSpec = KernelSpec::total("last_day", last_day).monotonic(INCREASING);
static NEXT_DAY: KernelSpec = KernelSpec::total("next_day", next_day);
static MAKE_DATE: KernelSpec = KernelSpec::total("make_date", make_date).fallible();
static DATE_TRUNC: KernelSpec =
    KernelSpec::total("date_trunc", truncate_time).not_strict().monotonic(&[Monotonicity::Constant, Monotonicity::Increasing]);
static TRUNC: KernelSpec =
    KernelSpec::total("trunc", truncate_date).not_strict().monotonic(&[Monotonicity::Increasing, Monotonicity::Constant]);
static DATE_FORMAT: KernelSpec = KernelSpec::total("date_format", |input| format(input, false));
static SORTED_DATE_FORMAT: KernelSpec = KernelSpec {
    try_spec: Some(&TRY_DATE_FORMAT),
    ..KernelSpec::total("date_format", |input| format(input, false))
        .monotonic(&[Monotonicity::Increasing, Monotonicity::Constant])
};
static TRY_DATE_FORMAT: KernelSpec = KernelSpec::total("date_format", |input| format(input, true))
    .not_strict()
    .monotonic(&[Monotonicity::Increasing, Monotonicity::Constant]);
static READ_TIME: KernelSpec = KernelSpec::total("to_timestamp", |input| read(input, false)).fallible();
static TRY_READ_TIME: KernelSpec = KernelSpec::total("try_to_timestamp", |input| read(input, true)).not_strict();
static WHOLE_MONTHS: KernelSpec = KernelSpec::total("months_between", whole_months);
static FIXED_UNITS: KernelSpec = KernelSpec::total("timestampdiff", fixed_units).monotonic(&[
    Monotonicity::Decreasing,
    Monotonicity::Increasing,
    Monotonicity::Constant,
]);

pub(crate) fn call(args: &Args<'_>) -> Option<CallResult> {
    Some(match args.name {
        "date_part" | "datepart" => args.count(2).and_then(|()| {
            let field = args.literal(0)?;
            part(field, &Args { name: args.name, list: vec![args.get(1)?.clone()] })
                .unwrap_or_else(|| Err(format!("`{field}` is no part of a date or time")))
        }),
        "day" | "dayofmonth" | "dayofweek" | "weekday" | "dayofyear" | "weekofyear" | "year" | "quarter" | "month" | "hour"
        | "minute" => args.count(1).and_then(|()| part(args.name, args).unwrap_or_else(|| Err("no such part".into()))),
        "second" => args.count(1).and_then(|()| of(&SECOND_OF_MINUTE, vec![args.time(0)?.expr], DataType::Int32)),
        "unix_date" => args.count(1).and_then(|()| of(&UNIX_DATE, vec![args.date(0)?], DataType::Int32)),
        "unix_seconds" => unix(args, &UNIX_SECONDS),
        "unix_millis" => unix(args, &UNIX_MILLIS),
        "unix_micros" => unix(args, &UNIX_MICROS),
        "timestamp_seconds" => args.count(1).and_then(|()| seconds_to_time(args)),
        "timestamp_millis" => args.count(1).and_then(|()| of(&TIMESTAMP_MILLIS, vec![args.long(0)?], types::timestamp())),
        "timestamp_micros" => args.count(1).and_then(|()| of(&TIMESTAMP_MICROS, vec![args.long(0)?], types::timestamp())),
        "date_from_unix_date" => args.count(1).and_then(|()| of(&FROM_UNIX_DATE, vec![args.int(0)?], DataType::Date32)),
        "last_day" => args.count(1).and_then(|()| of(&LAST_DAY, vec![args.date(0)?], DataType::Date32)),
        "next_day" => args.count(2).and_then(|()| {
            day_of_week(args.literal(1)?).ok_or_else(|| format!("`{}` is no day of the week", args.literal(1).unwrap_or("")))?;
            of(&NEXT_DAY, vec![args.date(0)?, args.text(1)?], DataType::Date32)
        }),
        "make_date" => {
            args.count(3).and_then(|()| of(&MAKE_DATE, vec![args.int(0)?, args.int(1)?, args.int(2)?], DataType::Date32))
        }
        "date_trunc" => args.count(2).and_then(|()| {
            let unit = lit(args.literal(0)?.to_uppercase());
            let time = args.time(1)?;
            let time = cast(time.expr, &time.data_type, &types::timestamp(), false).unwrap_or_default();
            of(&DATE_TRUNC, vec![unit, time], types::timestamp())
        }),
        "trunc" => args.count(2).and_then(|()| {
            let unit = lit(args.literal(1)?.to_uppercase());
            of(&TRUNC, vec![args.date(0)?, unit], DataType::Date32)
        }),
        "date_format" => args.count(2).and_then(|()| formatted(args.time(0)?.expr, args.literal(1)?)),
        "dayname" => args.count(1).and_then(|()| formatted(args.time(0)?.expr, "EEE")),
        "monthname" => args.count(1).and_then(|()| formatted(args.time(0)?.expr, "MMM")),
        "from_unixtime" => args.counts(1, 2).and_then(|()| {
            let time = TIMESTAMP_SECONDS.call(vec![args.long(0)?], types::timestamp());
            formatted(time, if args.len() == 2 { args.literal(1)? } else { "yyyy-MM-dd HH:mm:ss" })
        }),
        "to_date" => args.counts(1, 2).and_then(|()| read_as(args, &DataType::Date32, false)),
        "to_timestamp" | "to_timestamp_ltz" => args.counts(1, 2).and_then(|()| read_as(args, &types::timestamp(), false)),
        "try_to_timestamp" => args.counts(1, 2).and_then(|()| read_as(args, &types::timestamp(), true)),
        "to_timestamp_ntz" => args.counts(1, 2).and_then(|()| read_as(args, &types::timestamp_ntz(), false)),
        "unix_timestamp" | "to_unix_timestamp" => args.counts(1, 2).and_then(|()| unix_timestamp(args)),
        "date_add" | "dateadd" => args.count(2).and_then(|()| date(time_arithmetic::plus_days(args.date(0)?, args.int(1)?))),
        "date_sub" => args.count(2).and_then(|()| {
            let days = arithmetic::operation(Binary::Subtract, lit(0i32), args.int(1)?, DataType::Int32, false);
            let days = fold_if_possible(days.unwrap_or_default());
            date(time_arithmetic::plus_days(args.date(0)?, days))
        }),
        "datediff" | "date_diff" => args.count(2).and_then(|()| {
            Ok(TypedExpr { expr: time_arithmetic::days_from(args.date(0)?, args.date(1)?), data_type: DataType::Int32 })
        }),
        "add_months" => {
            args.count(2).and_then(|()| date(time_arithmetic::plus_months(args.date(0)?, &DataType::Date32, args.int(1)?)))
        }
        "timestampadd" => args.count(3).and_then(|()| plus_units(args)),
        "timestampdiff" => args.count(3).and_then(|()| units_between(args)),
        _ => return None,
    })
}

fn of(spec: &'static KernelSpec, args: Vec<Expr>, data_type: DataType) -> CallResult {
    Ok(TypedExpr { expr: spec.call(args, data_type.clone()), data_type })
}

fn date(expr: Expr) -> CallResult {
    Ok(TypedExpr { expr, data_type: DataType::Date32 })
}

/// A part of a date or time by the names that EXTRACT knows.
fn part(name: &str, args: &Args<'_>) -> Option<CallResult> {
    let spec = match name.to_ascii_lowercase().as_str() {
        "year" | "y" | "years" | "yr" | "yrs" => &YEAR,
        "yearofweek" => &YEAR_OF_WEEK,
        "quarter" | "qtr" => &QUARTER,
        "month" | "mon" | "mons" | "months" => &MONTH,
        "week" | "w" | "weeks" | "weekofyear" => &WEEK_OF_YEAR,
        "day" | "d" | "days" | "dayofmonth" => &DAY_OF_MONTH,
        "dayofweek" | "dow" => &DAY_OF_WEEK,
        "dayofweek_iso" | "dow_iso" => &ISO_DAY,
        "weekday" => &WEEKDAY,
        "doy" | "dayofyear" => &DAY_OF_YEAR,
        "hour" | "h" | "hours" | "hr" | "hrs" => {
            return Some(args.time(0).and_then(|t| of(&HOUR, vec![t.expr], DataType::Int32)));
        }
        "minute" | "m" | "min" | "mins" | "minutes" => {
            return Some(args.time(0).and_then(|t| of(&MINUTE, vec![t.expr], DataType::Int32)));
        }
        "second" | "s" | "sec" | "secs" | "seconds" => {
            return Some(args.time(0).and_then(|t| of(&EXACT_SECOND, vec![t.expr], DataType::Decimal128(8, 6))));
        }
        _ => return None,
    };
    Some(args.date(0).and_then(|date| of(spec, vec![date], DataType::Int32)))
}

fn unix(args: &Args<'_>, spec: &'static KernelSpec) -> CallResult {
    args.count(1)?;
    of(spec, vec![args.time(0)?.expr], DataType::Int64)
}

fn seconds_to_time(args: &Args<'_>) -> CallResult {
    if types::is_whole_number(args.data_type(0)?) {
        return of(&TIMESTAMP_SECONDS, vec![args.long(0)?], types::timestamp());
    }
    Ok(TypedExpr { expr: args.cast(0, &types::timestamp())?, data_type: types::timestamp() })
}

fn formatted(time: Expr, pattern: &str) -> CallResult {
    Pattern::parse(pattern)?;
    // Text of this form is in the order of time for the years that have four digits.
    let sorted = ["yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyy-MM-dd-HH", "yyyyMM", "yyyyMMdd", "yyyyMMddHH", "yyyy-MM-dd HH:mm:ss"];
    let spec = if sorted.contains(&pattern) { &SORTED_DATE_FORMAT } else { &DATE_FORMAT };
    of(spec, vec![time, lit(pattern)], DataType::Utf8)
}

/// `to_date` and its kin: a cast, or reading by a pattern.
fn read_as(args: &Args<'_>, to: &DataType, try_: bool) -> CallResult {
    let from = args.data_type(0)?.clone();
    let value = args.get(0)?.expr.clone();
    let cast = |value: Expr, from: &DataType| {
        cast(value, from, to, try_)
            .map(fold_if_possible)
            .ok_or_else(|| format!("{}: {} cannot become {}", args.name, types::name(from), types::name(to)))
    };
    if args.len() == 1 || from != DataType::Utf8 {
        return Ok(TypedExpr { expr: cast(value, &from)?, data_type: to.clone() });
    }
    Pattern::parse(args.literal(1)?)?;
    let spec = if try_ { &TRY_READ_TIME } else { &READ_TIME };
    let time = spec.call(vec![value, args.text(1)?], types::timestamp());
    Ok(TypedExpr { expr: cast(time, &types::timestamp())?, data_type: to.clone() })
}

fn unix_timestamp(args: &Args<'_>) -> CallResult {
    let time = if *args.data_type(0)? == DataType::Utf8 {
        let pattern = if args.len() == 2 { args.literal(1)? } else { "yyyy-MM-dd HH:mm:ss" };
        Pattern::parse(pattern)?;
        READ_TIME.call(vec![args.text(0)?, lit(pattern)], types::timestamp())
    } else {
        args.time(0)?.expr
    };
    of(&UNIX_TIMESTAMP, vec![time], DataType::Int64)
}

fn unit(args: &Args<'_>) -> Result<IntervalUnit, String> {
    let name = args.literal(0)?;
    IntervalUnit::parse(name).ok_or_else(|| format!("`{name}` is no unit of time"))
}

fn plus_units(args: &Args<'_>) -> CallResult {
    use crate::syntax::tree::Binary;
    let (unit, time) = (unit(args)?, args.time(2)?);
    let scaled = |amount: Expr, factor: Expr, data_type: DataType| {
        let product = arithmetic::operation(Binary::Multiply, amount, factor, data_type, false);
        fold_if_possible(product.unwrap_or_default())
    };
    let expr = match (unit.months(), unit.micros()) {
        (Some(months), _) => {
            let months = scaled(args.int(1)?, lit(months), DataType::Int32);
            time_arithmetic::plus_months(time.expr, &time.data_type, months)
        }
        (_, micros) => {
            let micros = scaled(args.long(1)?, lit(micros.unwrap_or(1)), DataType::Int64);
            time_arithmetic::plus_micros(time.expr, &time.data_type, micros)
        }
    };
    Ok(TypedExpr { expr, data_type: time.data_type })
}

fn units_between(args: &Args<'_>) -> CallResult {
    let (unit, start, end) = (unit(args)?, args.time(1)?.expr, args.time(2)?.expr);
    match (unit.months(), unit.micros()) {
        (Some(months), _) => of(&WHOLE_MONTHS, vec![start, end, lit(i64::from(months))], DataType::Int64),
        (_, micros) => of(&FIXED_UNITS, vec![start, end, lit(micros.unwrap_or(1))], DataType::Int64),
    }
}

fn new_year(days: i64) -> i64 {
    Civil { month: 1, day: 1, ..Civil::from_days(days) }.days()
}

/// The year and number of the week that a day lies in: weeks begin on Monday and belong to the year
/// of their Thursday.
fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - (days + 3).rem_euclid(7) + 3;
    (Civil::from_days(thursday).year, (thursday - new_year(thursday)) / 7 + 1)
}

fn day_of_week(name: &str) -> Option<i64> {
    let name = name.trim().to_ascii_lowercase();
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let found = days.iter().position(|day| *day == name || (name.len() >= 2 && name.len() <= 3 && day.starts_with(&name)));
    found.map(|index| index as i64)
}

fn dates<'a>(input: &'a KernelInput<'_>, index: usize) -> DfResult<&'a PrimitiveArray<Date32Type>> {
    input.array(index)?.as_primitive_opt().ok_or_else(|| fail("a date is expected"))
}

fn times<'a>(input: &'a KernelInput<'_>, index: usize) -> DfResult<&'a PrimitiveArray<TimestampMicrosecondType>> {
    input.array(index)?.as_primitive_opt().ok_or_else(|| fail("a timestamp is expected"))
}

fn longs<'a>(input: &'a KernelInput<'_>, index: usize) -> DfResult<&'a PrimitiveArray<Int64Type>> {
    input.array(index)?.as_primitive_opt().ok_or_else(|| fail("a long is expected"))
}

fn of_date(input: &KernelInput<'_>, compute: fn(i64) -> i64) -> DfResult<ArrayRef> {
    Ok(Arc::new(dates(input, 0)?.unary::<_, Int32Type>(|days| compute(i64::from(days)) as i32)))
}

/// Whether two dates give the same number.
fn same_by_date(input: &KernelInput<'_>, number: fn(i64) -> i64) -> DfResult<ArrayRef> {
    let pairs = dates(input, 0)?.iter().zip(dates(input, 1)?);
    let same = pairs.map(|(first, last)| Some(number(i64::from(first?)) == number(i64::from(last?))));
    Ok(Arc::new(same.collect::<BooleanArray>()))
}

/// Whether two times give the same number.
fn same_by_time(input: &KernelInput<'_>, number: fn(i64) -> i64) -> DfResult<ArrayRef> {
    let pairs = times(input, 0)?.iter().zip(times(input, 1)?);
    Ok(Arc::new(pairs.map(|(first, last)| Some(number(first?) == number(last?))).collect::<BooleanArray>()))
}

fn of_clock(input: &KernelInput<'_>, compute: fn(i64) -> i64) -> DfResult<ArrayRef> {
    Ok(Arc::new(times(input, 0)?.unary::<_, Int32Type>(|time| compute(time.rem_euclid(DAY)) as i32)))
}

fn of_time(input: &KernelInput<'_>, compute: fn(i64) -> i64) -> DfResult<ArrayRef> {
    Ok(Arc::new(times(input, 0)?.unary::<_, Int64Type>(compute)))
}

fn exact_second(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let seconds = times(input, 0)?.unary::<_, Decimal128Type>(|time| i128::from(time.rem_euclid(60 * SECOND)));
    Ok(Arc::new(seconds.with_data_type(input.output.clone())))
}

fn to_time(input: &KernelInput<'_>, factor: i64, try_: bool) -> DfResult<ArrayRef> {
    let scaled = |value: i64| value.checked_mul(factor);
    let checked = |value: i64| scaled(value).ok_or_else(|| fail(format!("{value} is out of the range of timestamps")));
    let times = match try_ {
        true => longs(input, 0)?.unary_opt::<_, TimestampMicrosecondType>(scaled),
        false => longs(input, 0)?.try_unary::<_, TimestampMicrosecondType, _>(checked)?,
    };
    Ok(Arc::new(times.with_data_type(input.output.clone())))
}

fn from_unix_date(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    Ok(Arc::new(input.array(0)?.as_primitive::<Int32Type>().unary::<_, Date32Type>(|days| days)))
}

fn last_day(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    Ok(Arc::new(dates(input, 0)?.unary::<_, Date32Type>(|days| {
        let date = Civil::from_days(i64::from(days));
        Civil { day: days_in_month(date.year, date.month), ..date }.days() as i32
    })))
}

fn next_day(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let wanted = input.constant_text(1).and_then(day_of_week).ok_or_else(|| fail("a day of the week is expected"))?;
    Ok(Arc::new(dates(input, 0)?.unary::<_, Date32Type>(|days| {
        let today = (i64::from(days) + 3).rem_euclid(7);
        days.wrapping_add(((wanted - today + 6).rem_euclid(7) + 1) as i32)
    })))
}

fn make_date(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let parts: Vec<_> = (0..3).map(|index| input.array(index).map(|a| a.as_primitive::<Int32Type>())).collect::<DfResult<_>>()?;
    let days = (0..input.rows).map(|row| {
        if parts.iter().any(|part| part.is_null(row)) {
            return Ok(None);
        }
        let [year, month, day] = [0, 1, 2].map(|index| parts.get(index).map_or(0, |part| i64::from(part.value(row))));
        match Civil::checked(year, month, day).and_then(|date| i32::try_from(date.days()).ok()) {
            Some(days) => Ok(Some(days)),
            None => Err(fail(format!("make_date: there is no day {year}-{month}-{day}"))),
        }
    });
    Ok(Arc::new(days.collect::<DfResult<PrimitiveArray<Date32Type>>>()?))
}

/// The first day of the unit that a day lies in.
fn first_day(unit: &str, days: i64) -> Option<i64> {
    let date = Civil::from_days(days);
    Some(match unit {
        "YEAR" | "YYYY" | "YY" => new_year(days),
        "QUARTER" => Civil { month: (date.month - 1) / 3 * 3 + 1, day: 1, ..date }.days(),
        "MONTH" | "MON" | "MM" => Civil { day: 1, ..date }.days(),
        "WEEK" => days - (days + 3).rem_euclid(7),
        _ => return None,
    })
}

fn truncate_date(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let unit = input.constant_text(1).ok_or_else(|| fail("trunc needs a unit"))?;
    let first = dates(input, 0)?.unary_opt::<_, Date32Type>(|days| i32::try_from(first_day(unit, i64::from(days))?).ok());
    Ok(Arc::new(first))
}

fn truncate_time(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let unit = input.constant_text(0).ok_or_else(|| fail("date_trunc needs a unit"))?;
    let length = match unit {
        "DAY" | "DD" => Some(DAY),
        "HOUR" => Some(3_600 * SECOND),
        "MINUTE" => Some(60 * SECOND),
        "SECOND" => Some(SECOND),
        "MILLISECOND" => Some(1_000),
        "MICROSECOND" => Some(1),
        _ => None,
    };
    let truncated = times(input, 1)?.unary_opt::<_, TimestampMicrosecondType>(|time| match length {
        Some(length) => time.checked_sub(time.rem_euclid(length)),
        None => first_day(unit, split(time).0)?.checked_mul(DAY),
    });
    Ok(Arc::new(truncated.with_data_type(input.output.clone())))
}

fn format(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    let pattern = input.constant_text(1).ok_or_else(|| fail("a pattern is expected"))?;
    let pattern = Pattern::parse(pattern).map_err(fail)?;
    let four_digits = (-719_162 * DAY, 2_932_897 * DAY);
    let times = times(input, 0)?;
    let mut text = StringBuilder::with_capacity(times.len(), times.len() * 10);
    for time in times {
        let outside = |time: &i64| try_ && (*time < four_digits.0 || *time >= four_digits.1);
        text.append_option(time.filter(|time| !outside(time)).map(|time| pattern.format(time)));
    }
    Ok(Arc::new(text.finish()))
}

fn read(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    let name = input.constant_text(1).ok_or_else(|| fail("a pattern is expected"))?;
    let pattern = Pattern::parse(name).map_err(fail)?;
    let times = input.array(0)?.as_string::<i32>().iter().map(|text| match text.map(|text| (text, pattern.read(text))) {
        Some((text, None)) if !try_ => Err(fail(format!("'{text}' is not of the form {name}"))),
        parsed => Ok(parsed.and_then(|(_, time)| time)),
    });
    let times = times.collect::<DfResult<Vec<_>>>()?;
    Ok(Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from_iter(times).with_data_type(input.output.clone())))
}

/// Computes from two times and a constant.
fn between(input: &KernelInput<'_>, compute: fn(i64, i64, i64) -> i64) -> DfResult<ArrayRef> {
    let (start, end, unit) = (times(input, 0)?, times(input, 1)?, longs(input, 2)?.value(0));
    let found = arithmetic::zip::<_, _, Int64Type>(start, end, |start, end| Ok(Some(compute(start, end, unit))))?;
    Ok(Arc::new(found))
}

fn fixed_units(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    between(input, |start, end, unit| ((i128::from(end) - i128::from(start)) / i128::from(unit)) as i64)
}

fn whole_months(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    between(input, |start, end, unit| {
        let ((first, from), (last, to)) = (split(start), split(end));
        let (first, last) = (Civil::from_days(first), Civil::from_days(last));
        let months = (last.year - first.year) * 12 + last.month - first.month;
        let incomplete = |early: (i64, i64), late: (i64, i64)| i64::from(early > late);
        let short = match months {
            1.. => incomplete((first.day, from), (last.day, to)),
            ..0 => -incomplete((last.day, to), (first.day, from)),
            0 => 0,
        };
        (months - short) / unit
    })
}
