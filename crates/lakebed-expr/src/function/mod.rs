//! Spark's scalar functions: which there are, what their arguments become, and where they are computed.
//!
//! A name is looked for among the functions computed here (`conditional`, `construct`, `datetime`, `number`, `text`), then among those of
//! DataFusion and datafusion-spark whose answers are Spark's (`registry`). Read [`call`] first.

mod conditional;
mod constant;
mod construct;
mod datetime;
mod number;
pub(crate) mod pattern;
mod registry;
pub(crate) mod text;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;

use super::bind::Typed;
use super::cast::cast;
use super::kernel::Kernel;
use super::types;

pub(crate) use conditional::{GREATEST_OF_KNOWN, LEAST_OF_KNOWN, branches};
#[cfg(test)]
pub(super) use registry::FUNCTIONS;
pub(super) use registry::may_fail;

/// The arguments of a call that make it null wherever they are null.
pub(crate) fn null_args(expr: &Expr) -> &[Expr] {
    let Expr::ScalarFunction(call) = expr else { return &[] };
    let count = match Kernel::of(expr) {
        Some((kernel, _)) => kernel.spec.null_args,
        None => registry::null_args(call.func.name()),
    };
    call.args.get(..count.min(call.args.len())).unwrap_or_default()
}

/// A function's answer, or why it cannot be called so.
pub(super) type Call = Result<Typed, String>;

/// The call of a function by its lower-case name.
pub(super) fn call(name: &str, args: Vec<Typed>) -> Call {
    if let Some(kind) = refused(name) {
        return Err(format!("{name} is {kind}, which cannot stand in an expression about one row"));
    }
    if matches!(name, "now" | "current_timestamp" | "localtimestamp" | "current_date" | "curdate") {
        return Err(format!("{name} cannot stand here: the time of the call is not known"));
    }
    let args = Args { name, list: args };
    for group in [conditional::call, datetime::call, number::call, text::call, construct::call, nested] {
        if let Some(found) = group(&args) {
            return found;
        }
    }
    match cast_name(name) {
        Some(to) => {
            args.count(1)?;
            args.explicit_cast(0, &to).map(|expr| Typed { expr, data_type: to })
        }
        None => registry::call(args),
    }
}

/// Names that mean an aggregate, a generator or something that differs from call to call.
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

/// `int(x)`, `date(x)` and their like are casts.
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

/// The arguments of one call.
pub(super) struct Args<'a> {
    name: &'a str,
    list: Vec<Typed>,
}

impl Args<'_> {
    fn len(&self) -> usize {
        self.list.len()
    }

    fn count(&self, count: usize) -> Result<(), String> {
        self.counts(count, count)
    }

    fn counts(&self, least: usize, most: usize) -> Result<(), String> {
        if (least..=most).contains(&self.list.len()) {
            return Ok(());
        }
        let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Err(format!("{} takes {wanted} arguments, not {}", self.name, self.list.len()))
    }

    fn get(&self, index: usize) -> Result<&Typed, String> {
        self.list.get(index).ok_or_else(|| format!("{} needs more arguments", self.name))
    }

    fn data_type(&self, index: usize) -> Result<&DataType, String> {
        self.get(index).map(|arg| &arg.data_type)
    }

    /// An argument cast to a type. What has parts becomes a text only where the text of an expression says so.
    fn cast(&self, index: usize, to: &DataType) -> Result<Expr, String> {
        let given = self.data_type(index)?;
        if given.is_nested() && *to == DataType::Utf8 {
            return Err(self.misfit(index, given, to));
        }
        self.explicit_cast(index, to)
    }

    fn explicit_cast(&self, index: usize, to: &DataType) -> Result<Expr, String> {
        let arg = self.get(index)?;
        let expr = cast(arg.expr.clone(), &arg.data_type, to, false);
        expr.map(super::physical::fold_if_possible).ok_or_else(|| self.misfit(index, &arg.data_type, to))
    }

    fn misfit(&self, index: usize, given: &DataType, to: &DataType) -> String {
        format!("{}: argument {} is {}, not {}", self.name, index + 1, types::name(given), types::name(to))
    }

    fn text(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Utf8)
    }

    fn int(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Int32)
    }

    fn long(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Int64)
    }

    fn double(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Float64)
    }

    /// An argument as a date.
    fn date(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Date32)
    }

    /// An argument as a time: a timestamp of either kind stays what it is.
    fn time(&self, index: usize) -> Result<Typed, String> {
        let arg = self.get(index)?;
        if types::is_timestamp(&arg.data_type) {
            return Ok(arg.clone());
        }
        Ok(Typed { expr: self.cast(index, &types::timestamp())?, data_type: types::timestamp() })
    }

    /// An argument that must be a string in the text itself.
    fn literal(&self, index: usize) -> Result<&str, String> {
        match &self.get(index)?.expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Ok(text),
            _ => Err(format!("{}: argument {} must be a string literal", self.name, index + 1)),
        }
    }

    /// The arguments from this place on, in the type they have in common.
    fn in_common(&self, from: usize) -> Result<(Vec<Expr>, DataType), String> {
        let list = self.list.get(from..).unwrap_or_default();
        let data_type = types::common_of(list.iter().map(|arg| &arg.data_type)).ok_or_else(|| {
            let names: Vec<String> = list.iter().map(|arg| types::name(&arg.data_type)).collect();
            format!("{}: {} have no common type; use CAST", self.name, names.join(", "))
        })?;
        let exprs = (from..self.len()).map(|index| self.cast(index, &data_type)).collect::<Result<_, _>>()?;
        Ok((exprs, data_type))
    }
}

/// Functions about arrays and maps.
fn nested(args: &Args<'_>) -> Option<Call> {
    use super::nested::{Reach, count, item, map_types, value};
    let found = match args.name {
        "size" | "cardinality" | "array_size" => args.count(1).and_then(|()| {
            let arg = args.get(0)?;
            match arg.data_type {
                DataType::List(_) | DataType::Map(_, _) => {
                    Ok(Typed { expr: count(arg.expr.clone()), data_type: DataType::Int32 })
                }
                _ => Err(format!("{} is about arrays and maps", args.name)),
            }
        }),
        "get" | "element_at" | "try_element_at" => args.count(2).and_then(|()| {
            let arg = args.get(0)?;
            let reach = match args.name {
                "get" => Reach::Get,
                "element_at" => Reach::ElementAt,
                _ => Reach::TryElementAt,
            };
            match (&arg.data_type, map_types(&arg.data_type)) {
                (DataType::List(element), _) => {
                    let expr = item(arg.expr.clone(), args.int(1)?, reach, element.data_type());
                    Ok(Typed { expr, data_type: element.data_type().clone() })
                }
                (_, Some((key, held))) if args.name != "get" => {
                    let expr = value(arg.expr.clone(), args.cast(1, key)?, held);
                    Ok(Typed { expr, data_type: held.clone() })
                }
                _ => Err(format!("{} is about arrays and maps", args.name)),
            }
        }),
        "map_contains_key" => args.count(2).and_then(|()| {
            let (key, _) = map_types(args.data_type(0)?).ok_or("map_contains_key is about maps")?;
            let keys = registry::call(Args { name: "map_keys", list: vec![args.get(0)?.clone()] })?;
            let key = Typed { expr: args.cast(1, key)?, data_type: key.clone() };
            registry::call(Args { name: "array_contains", list: vec![keys, key] })
        }),
        _ => return None,
    };
    Some(found)
}
