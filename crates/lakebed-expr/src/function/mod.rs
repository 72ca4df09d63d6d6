//! Binds Spark's functions and operators to typed operands, and decides how the operands are cast.
//!
//! A name is looked up among the functions computed here (`conditional`, `construct`, `collection`,
//! `datetime`, `number`, `text`), then among the functions of DataFusion and datafusion-spark whose
//! results are Spark's (`library`). Read [`call`] first.

mod args;
mod collection;
pub(crate) mod compare;
pub(crate) mod conditional;
mod construct;
mod datetime;
pub(crate) mod datetime_pattern;
mod library;
pub(crate) mod like;
mod number;
pub(crate) mod operator;
pub(crate) mod text;
pub(crate) mod typed;

use arrow_schema::DataType;

use crate::types;
use args::{Args, CallResult};
use typed::TypedExpr;

/// Returns the call of a function by its lower-case name.
pub(crate) fn call(name: &str, args: Vec<TypedExpr>) -> CallResult {
    if let Some(kind) = refused(name) {
        return Err(format!("{name} is {kind}, which cannot stand in an expression about one row"));
    }
    if matches!(name, "now" | "current_timestamp" | "localtimestamp" | "current_date" | "curdate") {
        return Err(format!("{name} cannot stand here: the time of the call is not known"));
    }
    let args = Args { name, list: args };
    for group in [conditional::call, datetime::call, number::call, text::call, construct::call, collection::call] {
        if let Some(found) = group(&args) {
            return found;
        }
    }
    match cast_name(name) {
        Some(to) => {
            args.count(1)?;
            args.explicit_cast(0, &to).map(|expr| TypedExpr { expr, data_type: to })
        }
        None => library::call(args),
    }
}

/// Returns why a name is refused: it is an aggregate, a generator, or a function whose result
/// differs from call to call.
fn refused(name: &str) -> Option<&'static str> {
    Some(match name {
        "count"
        | "sum"
        | "avg"
        | "mean"
        | "min"
        | "max"
        | "first"
        | "last"
        | "any"
        | "some"
        | "every"
        | "bool_and"
        | "bool_or"
        | "collect_list"
        | "collect_set"
        | "array_agg"
        | "stddev"
        | "variance"
        | "median"
        | "percentile"
        | "mode"
        | "approx_count_distinct"
        | "count_if"
        | "max_by"
        | "min_by" => "an aggregate function",
        "row_number" | "rank" | "dense_rank" | "lag" | "lead" | "ntile" | "cume_dist" | "percent_rank" => "a window function",
        "explode" | "explode_outer" | "posexplode" | "inline" | "stack" => "a generator",
        "rand" | "random" | "randn" | "uuid" | "shuffle" | "monotonically_increasing_id" | "randstr" => {
            "a function that gives another answer at each call"
        }
        _ => return None,
    })
}

/// Returns the type of the casts `int(x)`, `date(x)` and similar functions.
fn cast_name(name: &str) -> Option<DataType> {
    let casts = [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal",
        "string",
        "binary",
        "date",
        "timestamp",
    ];
    casts.contains(&name).then(|| types::from_name(name, &[])).flatten()
}
