//! Calls of the functions of DataFusion and datafusion-spark. Read [`call`] first.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::type_coercion::functions::fields_with_udf;
use datafusion_expr::{Expr, ReturnFieldArgs, ScalarUDF, cast};

use super::args::{Args, CallResult};
use super::typed::TypedExpr;
use crate::evaluate::fold::fold_if_possible;
use crate::evaluate::library::{FUNCTIONS, REGISTRY};
use crate::spelling::nearest_name;
use crate::types;

/// Returns the call of a function of the registry, with its arguments cast to the types that it
/// accepts.
pub(crate) fn call(args: Args<'_>) -> CallResult {
    let Some((_, name, fixed)) = FUNCTIONS.iter().find(|(spark, _, _)| *spark == args.name) else {
        return Err(unknown(args.name));
    };
    let function = REGISTRY.get(*name).ok_or_else(|| unknown(args.name))?;
    let mut list = Vec::with_capacity(args.len());
    for index in 0..args.len() {
        let arg = args.get(index)?;
        list.push(match fixed {
            Some(to) => TypedExpr { expr: args.cast(index, to)?, data_type: to.clone() },
            None => arg.clone(),
        });
    }
    typed_call(function, list).map_err(|error| format!("{}: {}", args.name, error.strip_backtrace()))
}

fn unknown(name: &str) -> String {
    let known = FUNCTIONS.iter().map(|(name, _, _)| *name);
    match nearest_name(name, known) {
        Some(near) => format!("there is no function `{name}`; did you mean `{near}`?"),
        None => format!("there is no function `{name}` among those that expressions may call"),
    }
}

fn typed_call(function: &Arc<ScalarUDF>, args: Vec<TypedExpr>) -> datafusion_common::Result<TypedExpr> {
    let given: Vec<FieldRef> = args.iter().map(|arg| Arc::new(Field::new("", arg.data_type.clone(), true))).collect();
    let wanted = fields_with_udf(&given, function.as_ref())?;
    let exprs: Vec<Expr> = args
        .into_iter()
        .zip(&wanted)
        .map(
            |(arg, field)| if arg.data_type == *field.data_type() { arg.expr } else { cast(arg.expr, field.data_type().clone()) },
        )
        .map(fold_if_possible)
        .collect();
    let constants: Vec<Option<&ScalarValue>> = exprs
        .iter()
        .map(|expr| match expr {
            Expr::Literal(value, _) => Some(value),
            _ => None,
        })
        .collect();
    let returned = function.return_field_from_args(ReturnFieldArgs { arg_fields: &wanted, scalar_arguments: &constants })?;
    let expr = Expr::ScalarFunction(ScalarFunction::new_udf(function.clone(), exprs));
    let data_type = of_table(returned.data_type());
    let expr = if data_type == *returned.data_type() { expr } else { cast(expr, data_type.clone()) };
    Ok(TypedExpr { expr, data_type })
}

/// Returns the type among those of tables that holds the values of another type.
fn of_table(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary | DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::Timestamp(_, Some(_)) => types::timestamp(),
        DataType::Timestamp(_, None) => types::timestamp_ntz(),
        other => other.clone(),
    }
}
