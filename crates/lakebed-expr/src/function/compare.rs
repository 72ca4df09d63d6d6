//! Comparisons as Spark makes them: both sides in their common type, NaN equal to NaN and above
//! all, -0.0 equal to 0.0.
//!
//! Arrow orders floats by their bits, so floats are brought to one form first; `prune` sees through
//! that. A literal is brought to the type of the other side where nothing is lost, so that columns
//! are compared as they are stored. Read [`compare`] first.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, Operator, binary_expr, in_list};

use super::typed::TypedExpr;
use crate::evaluate::cast::cast;
use crate::evaluate::fold::fold;
use crate::evaluate::normalize_float::normalized_float;
use crate::evaluate::tree::join_conditions;
use crate::syntax::tree::Comparison;
use crate::types;

/// The comparison of two values, or why they cannot be compared.
pub(crate) fn compare(comparison: Comparison, left: TypedExpr, right: TypedExpr) -> Result<Expr, String> {
    let (left, right) = common_form(left, right)?;
    Ok(binary_expr(left, operator(comparison), right))
}

/// The operator of DataFusion.
fn operator(comparison: Comparison) -> Operator {
    match comparison {
        Comparison::Equal => Operator::Eq,
        Comparison::NotEqual => Operator::NotEq,
        Comparison::Less => Operator::Lt,
        Comparison::LessOrEqual => Operator::LtEq,
        Comparison::Greater => Operator::Gt,
        Comparison::GreaterOrEqual => Operator::GtEq,
        Comparison::NullSafeEqual => Operator::IsNotDistinctFrom,
        Comparison::Distinct => Operator::IsDistinctFrom,
    }
}

/// Both values in a form in which Arrow compares them as Spark does.
fn common_form(left: TypedExpr, right: TypedExpr) -> Result<(Expr, Expr), String> {
    let data_type = comparison_type(&left.data_type, &right.data_type)?;
    if let Some(narrow) = narrowed(&left, &right.data_type, &data_type) {
        return Ok((narrow, normalized_float(right.expr, &right.data_type)));
    }
    if let Some(narrow) = narrowed(&right, &left.data_type, &data_type) {
        return Ok((normalized_float(left.expr, &left.data_type), narrow));
    }
    Ok((in_form(left, &data_type)?, in_form(right, &data_type)?))
}

/// The type in which values of two types are compared.
fn comparison_type(left: &DataType, right: &DataType) -> Result<DataType, String> {
    let data_type = if types::is_decimal(left) || types::is_decimal(right) {
        types::comparison_decimal(left, right).or_else(|| types::common(left, right))
    } else {
        types::common(left, right)
    };
    match data_type {
        Some(DataType::Map(_, _)) => Err("maps cannot be compared".into()),
        Some(t) if t.is_nested() => Err("compare the fields of structs and the elements of arrays one by one".into()),
        Some(data_type) => Ok(data_type),
        None => Err(format!("{} and {} cannot be compared; use CAST", types::name(left), types::name(right))),
    }
}

/// A literal in the type of the other side, if that means the same as comparing in the common type.
fn narrowed(literal: &TypedExpr, other: &DataType, common: &DataType) -> Option<Expr> {
    let Expr::Literal(value, _) = &literal.expr else { return None };
    if types::is_float(other) || types::is_float(common) || types::digits(other).is_none() || types::digits(common).is_none() {
        return None;
    }
    if literal.data_type == DataType::Utf8 {
        let whole = fold(cast(literal.expr.clone(), &DataType::Utf8, common, false)?).ok()?;
        return narrowed(&TypedExpr { expr: whole, data_type: common.clone() }, other, common);
    }
    let narrow = value.cast_to(other).ok().filter(|narrow| !narrow.is_null())?;
    let wide = narrow.cast_to(common).ok()?;
    (wide == value.cast_to(common).ok()?).then(|| Expr::Literal(narrow, None))
}

fn in_form(value: TypedExpr, data_type: &DataType) -> Result<Expr, String> {
    let from = types::name(&value.data_type);
    let expr = cast(value.expr, &value.data_type, data_type, false)
        .ok_or_else(|| format!("{from} cannot be compared as {}", types::name(data_type)))?;
    let expr = fold(expr).map_err(|error| error.to_string())?;
    Ok(normalized_float(expr, data_type))
}

/// `value IN (list)`, all in one type, or why that cannot be.
pub(crate) fn is_in(value: TypedExpr, list: Vec<TypedExpr>, negated: bool) -> Result<Expr, String> {
    let data_type = list.iter().try_fold(value.data_type.clone(), |all, item| comparison_type(&all, &item.data_type))?;
    let narrow: Option<Vec<Expr>> = list
        .iter()
        .map(|item| match &item.expr {
            Expr::Literal(item, _) if item.is_null() => Some(Expr::Literal(ScalarValue::try_from(&value.data_type).ok()?, None)),
            _ => narrowed(item, &value.data_type, &data_type),
        })
        .collect();
    if let Some(list) = narrow {
        return Ok(in_list(value.expr, list, negated));
    }
    let list = list.into_iter().map(|item| in_form(item, &data_type)).collect::<Result<Vec<_>, _>>()?;
    let value = in_form(value, &data_type)?;
    if list.iter().all(|item| matches!(item, Expr::Literal(_, _))) {
        return Ok(in_list(value, list, negated));
    }
    // DataFusion finds out whether a list is constant by computing it for no rows, where CASE is
    // null.
    let found =
        join_conditions(Operator::Or, list.into_iter().map(|item| binary_expr(value.clone(), Operator::Eq, item)).collect());
    Ok(if negated { Expr::Not(Box::new(found)) } else { found })
}
