//! The arguments of a call of a function. Read [`Args`] first.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;

use super::typed::TypedExpr;
use crate::evaluate::cast::cast;
use crate::evaluate::fold::fold_if_possible;
use crate::types;

/// The result of binding a call, or the reason why the call is invalid.
pub(crate) type CallResult = Result<TypedExpr, String>;

/// The arguments of one call.
pub(crate) struct Args<'a> {
    pub(crate) name: &'a str,
    pub(crate) list: Vec<TypedExpr>,
}

impl Args<'_> {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn count(&self, count: usize) -> Result<(), String> {
        self.counts(count, count)
    }

    pub(crate) fn counts(&self, least: usize, most: usize) -> Result<(), String> {
        if (least..=most).contains(&self.list.len()) {
            return Ok(());
        }
        let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Err(format!("{} takes {wanted} arguments, not {}", self.name, self.list.len()))
    }

    pub(crate) fn get(&self, index: usize) -> Result<&TypedExpr, String> {
        self.list.get(index).ok_or_else(|| format!("{} needs more arguments", self.name))
    }

    pub(crate) fn data_type(&self, index: usize) -> Result<&DataType, String> {
        self.get(index).map(|arg| &arg.data_type)
    }

    /// Returns an argument cast to a type. A value with parts becomes a string only where the text
    /// of an expression casts it.
    pub(crate) fn cast(&self, index: usize, to: &DataType) -> Result<Expr, String> {
        let given = self.data_type(index)?;
        if given.is_nested() && *to == DataType::Utf8 {
            return Err(self.misfit(index, given, to));
        }
        self.explicit_cast(index, to)
    }

    pub(crate) fn explicit_cast(&self, index: usize, to: &DataType) -> Result<Expr, String> {
        let arg = self.get(index)?;
        let expr = cast(arg.expr.clone(), &arg.data_type, to, false);
        expr.map(fold_if_possible).ok_or_else(|| self.misfit(index, &arg.data_type, to))
    }

    pub(crate) fn misfit(&self, index: usize, given: &DataType, to: &DataType) -> String {
        format!("{}: argument {} is {}, not {}", self.name, index + 1, types::name(given), types::name(to))
    }

    pub(crate) fn text(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Utf8)
    }

    pub(crate) fn int(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Int32)
    }

    pub(crate) fn long(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Int64)
    }

    pub(crate) fn double(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Float64)
    }

    /// Returns an argument as a date.
    pub(crate) fn date(&self, index: usize) -> Result<Expr, String> {
        self.cast(index, &DataType::Date32)
    }

    /// Returns an argument as a time. A timestamp of either kind keeps its type.
    pub(crate) fn time(&self, index: usize) -> Result<TypedExpr, String> {
        let arg = self.get(index)?;
        if types::is_timestamp(&arg.data_type) {
            return Ok(arg.clone());
        }
        Ok(TypedExpr { expr: self.cast(index, &types::timestamp())?, data_type: types::timestamp() })
    }

    /// Returns an argument that must be a string literal.
    pub(crate) fn literal(&self, index: usize) -> Result<&str, String> {
        match &self.get(index)?.expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Ok(text),
            _ => Err(format!("{}: argument {} must be a string literal", self.name, index + 1)),
        }
    }

    /// Returns the arguments from this index on, cast to their common type.
    pub(crate) fn in_common(&self, from: usize) -> Result<(Vec<Expr>, DataType), String> {
        let list = self.list.get(from..).unwrap_or_default();
        let data_type = types::common_of(list.iter().map(|arg| &arg.data_type)).ok_or_else(|| {
            let names: Vec<String> = list.iter().map(|arg| types::name(&arg.data_type)).collect();
            format!("{}: {} have no common type; use CAST", self.name, names.join(", "))
        })?;
        let exprs = (from..self.len()).map(|index| self.cast(index, &data_type)).collect::<Result<_, _>>()?;
        Ok((exprs, data_type))
    }
}
