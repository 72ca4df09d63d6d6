//! LIKE, ILIKE and RLIKE. Read [`like`] first.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::expr::Like;
use datafusion_expr::{Expr, Operator, binary_expr, lit};

use super::typed::TypedExpr;
use crate::evaluate::cast::cast;
use crate::evaluate::fold::{fold, fold_if_possible};
use crate::syntax::tree::LikeForm;
use crate::types;

/// Binds LIKE, ILIKE and RLIKE.
pub(crate) fn like(
    value: TypedExpr,
    pattern: TypedExpr,
    form: LikeForm,
    escape: char,
    negated: bool,
) -> Result<TypedExpr, String> {
    let text = |value: TypedExpr| {
        let from = types::name(&value.data_type);
        let expr = cast(value.expr, &value.data_type, &DataType::Utf8, false).ok_or_else(|| format!("{from} is no text"))?;
        Ok::<Expr, String>(fold_if_possible(expr))
    };
    let (value, mut pattern) = (text(value)?, text(pattern)?);
    if form == LikeForm::RLike {
        let operator = if negated { Operator::RegexNotMatch } else { Operator::RegexMatch };
        let expr = binary_expr(value, operator, pattern.clone());
        // A pattern that does not compile is an error at once.
        let trial = binary_expr(lit(""), Operator::RegexMatch, pattern);
        fold(trial).map_err(|error| format!("the regular expression is not understood: {}", error.strip_backtrace()))?;
        return Ok(TypedExpr::boolean(expr));
    }
    if escape != '\\' {
        match &pattern {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => pattern = lit(with_backslashes(text, escape)?),
            _ => return Err("with ESCAPE the pattern must be a string literal".into()),
        }
    }
    let case_insensitive = form == LikeForm::ILike;
    Ok(TypedExpr::boolean(Expr::Like(Like::new(negated, Box::new(value), Box::new(pattern), None, case_insensitive))))
}

/// Returns a pattern that has another escape character, with backslashes instead.
fn with_backslashes(pattern: &str, escape: char) -> Result<String, String> {
    let mut result = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == escape {
            match chars.next() {
                Some(next) if next == escape || next == '%' || next == '_' => {
                    if matches!(next, '%' | '_' | '\\') {
                        result.push('\\');
                    }
                    result.push(next);
                }
                _ => return Err(format!("`{escape}` in the pattern must stand before `%`, `_` or itself")),
            }
        } else {
            if c == '\\' {
                result.push('\\');
            }
            result.push(c);
        }
    }
    Ok(result)
}
