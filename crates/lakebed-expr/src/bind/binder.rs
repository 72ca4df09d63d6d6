//! The binder makes typed expressions of syntax trees. Names become columns of a schema. Operators
//! and functions get Spark's types and coercions.
//!
//! The room `function` decides what comparisons, sums and calls become. Read [`Binder`] first.

use arrow_schema::{DataType, Schema};
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::{Expr, Operator, binary_expr, lit};
use lakebed_core::{Error, Result};

use super::char_padding;
use super::literal::{number, typed_literal};
use super::metadata_column::METADATA_COLUMN;
use crate::evaluate::cast::cast;
use crate::evaluate::fold::{fold, fold_if_possible};
use crate::evaluate::tree::join_conditions;
use crate::evaluate::{nested, tree};
use crate::function::compare::{compare, is_in};
use crate::function::like::like;
use crate::function::operator::{arithmetic, bitwise, negative, plus_literal};
use crate::function::typed::TypedExpr;
use crate::spelling::nearest_name;
use crate::syntax::lex::{Span, error_at};
use crate::syntax::tree::{Binary, Comparison, Interval, Is, Kind, Node, Unary};
use crate::{function, types};

/// The text of an expression and the schema that its names refer to.
pub(crate) struct Binder<'a> {
    pub(crate) text: &'a str,
    pub(crate) schema: &'a Schema,
}

impl Binder<'_> {
    fn error(&self, span: Span, what: impl std::fmt::Display) -> Error {
        error_at(self.text, span, what)
    }

    /// Binds a node. An expression without columns becomes its value.
    pub(crate) fn bind(&self, node: &Node) -> Result<TypedExpr> {
        let TypedExpr { expr, data_type } = self.bind_node(node)?;
        Ok(TypedExpr { expr: fold_if_possible(expr), data_type })
    }

    fn bind_node(&self, node: &Node) -> Result<TypedExpr> {
        let here = |what: String| self.error(node.span, what);
        match &node.kind {
            Kind::Null => Ok(TypedExpr::literal(ScalarValue::Null)),
            Kind::Boolean(value) => Ok(TypedExpr::literal(ScalarValue::Boolean(Some(*value)))),
            Kind::Number { digits, suffix } => {
                let value = number(digits, *suffix);
                value.map(TypedExpr::literal).ok_or_else(|| here(format!("the number {digits} is out of the range of its type")))
            }
            Kind::Text(text) => Ok(TypedExpr::literal(ScalarValue::Utf8(Some(text.clone())))),
            Kind::Value(value) => Ok(TypedExpr::literal(value.clone())),
            Kind::TypedLiteral { word, text } => typed_literal(word, text).map(TypedExpr::literal).map_err(here),
            Kind::Interval(interval) => match interval {
                Interval::Months(months) => Ok(TypedExpr::literal(ScalarValue::IntervalYearMonth(Some(*months)))),
                Interval::Time { micros, .. } => Ok(TypedExpr::literal(ScalarValue::DurationMicrosecond(Some(*micros)))),
                Interval::Calendar { .. } => {
                    Err(here("an interval of months and days can only be added to a date or timestamp".into()))
                }
            },
            Kind::Path(path) => self.path(node.span, path),
            Kind::Field(value, name) => self.field(node.span, self.bind(value)?, name),
            Kind::Item(value, index) => self.item(node, value, index),
            Kind::Unary(unary, value) => self.unary(*unary, value).and_then(|made| made.map_err(here)),
            Kind::Binary(operator, left, right) => self.binary(node, *operator, left, right),
            Kind::Compare(comparison, left, right) => {
                let (left, right) = char_padding::pair(self.schema, self.bind(left)?, self.bind(right)?);
                let compared = compare(*comparison, left, right);
                compared.map(TypedExpr::boolean).map_err(here)
            }
            Kind::All(nodes) => self.joined(nodes, Operator::And),
            Kind::Any(nodes) => self.joined(nodes, Operator::Or),
            Kind::Not(value) => Ok(TypedExpr::boolean(Expr::Not(Box::new(self.condition(value)?)))),
            Kind::Is { value, what, negated } => self.is(value, *what, *negated),
            Kind::Between { value, low, high, negated } => {
                let value = self.bind(value)?;
                let above = compare(Comparison::GreaterOrEqual, value.clone(), self.bind(low)?).map_err(here)?;
                let below = compare(Comparison::LessOrEqual, value, self.bind(high)?).map_err(here)?;
                let between = above.and(below);
                Ok(TypedExpr::boolean(if *negated { Expr::Not(Box::new(between)) } else { between }))
            }
            Kind::In { value, list, negated } => {
                if list.is_empty() {
                    return Err(here("the list behind IN is empty".into()));
                }
                let list = list.iter().map(|item| self.bind(item)).collect::<Result<Vec<_>>>()?;
                let (value, list) = char_padding::with_list(self.schema, self.bind(value)?, list);
                is_in(value, list, *negated).map(TypedExpr::boolean).map_err(here)
            }
            Kind::Like { value, pattern, form, escape, negated } => {
                like(self.bind(value)?, self.bind(pattern)?, *form, *escape, *negated).map_err(here)
            }
            Kind::Case { operand, branches, otherwise } => self.case(node, operand.as_deref(), branches, otherwise.as_deref()),
            Kind::Cast { value, to, try_ } => {
                let value = char_padding::cast_column(self.schema, self.bind(value)?);
                let from = types::name(&value.data_type);
                let expr = cast(value.expr, &value.data_type, to, *try_)
                    .ok_or_else(|| here(format!("{from} cannot be cast to {}", types::name(to))))?;
                // A literal that cannot be cast is reported now and not for the first row.
                let expr = fold(expr).map_err(|error| here(error.strip_backtrace()))?;
                Ok(TypedExpr { expr, data_type: to.clone() })
            }
            Kind::Call { name, args } => {
                let mut args = args.iter().map(|arg| self.bind(arg)).collect::<Result<Vec<_>>>()?;
                if let ("equal_null", [left, right]) = (name.as_str(), args.as_slice()) {
                    let (left, right) = char_padding::pair(self.schema, left.clone(), right.clone());
                    args = vec![left, right];
                }
                function::call(name, args).map_err(here)
            }
        }
    }

    fn path(&self, span: Span, path: &[String]) -> Result<TypedExpr> {
        let (first, fields) = path.split_first().ok_or_else(|| self.error(span, "a name is missing"))?;
        let Some(index) = nested::field_index(self.schema.fields(), first) else {
            return Err(self.error(span, self.unknown_column(first)));
        };
        let field = self.schema.field(index);
        let mut value =
            TypedExpr { expr: Expr::Column(Column::new_unqualified(field.name())), data_type: field.data_type().clone() };
        for name in fields {
            value = self.field(span, value, name)?;
        }
        Ok(value)
    }

    fn unknown_column(&self, name: &str) -> String {
        let names = || self.schema.fields().iter().map(|field| field.name().as_str());
        let lower = name.to_lowercase();
        if lower == METADATA_COLUMN {
            return format!("there is no column `{name}` here; conditions of scans, `delete` and `update` know it");
        }
        if names().filter(|other| other.to_lowercase() == lower).count() > 1 {
            return format!("`{name}` could be any of several columns that differ by case; write its name exactly");
        }
        match nearest_name(name, names()) {
            Some(near) => format!("there is no column `{name}`; did you mean `{near}`?"),
            None => {
                let some: Vec<&str> = names().take(12).collect();
                let more = if self.schema.fields().len() > some.len() { ", …" } else { "" };
                format!("there is no column `{name}`; there are {}{more}", some.join(", "))
            }
        }
    }

    fn field(&self, span: Span, value: TypedExpr, name: &str) -> Result<TypedExpr> {
        match &value.data_type {
            DataType::Struct(fields) => {
                let Some(field) = nested::field_index(fields, name).and_then(|index| fields.get(index)) else {
                    let near = nearest_name(name, fields.iter().map(|field| field.name().as_str()));
                    let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    return Err(self.error(span, format_args!("there is no field `{name}`{hint}")));
                };
                let data_type = field.data_type().clone();
                Ok(TypedExpr { expr: nested::field(value.expr, field.name(), &data_type), data_type })
            }
            DataType::Map(_, _) => {
                let Some((DataType::Utf8, held)) = nested::map_types(&value.data_type) else {
                    return Err(self.error(span, "only maps with string keys have fields; use map[key]"));
                };
                let held = held.clone();
                Ok(TypedExpr { expr: nested::value(value.expr, lit(name), &held), data_type: held })
            }
            other => Err(self.error(span, format_args!("{} has no fields, so `.{name}` means nothing", types::name(other)))),
        }
    }

    fn item(&self, node: &Node, value: &Node, index: &Node) -> Result<TypedExpr> {
        let (value, index) = (self.bind(value)?, self.bind(index)?);
        let wanted = match (&value.data_type, nested::map_types(&value.data_type)) {
            (DataType::List(_), _) => DataType::Int32,
            (_, Some((key, _))) => key.clone(),
            (DataType::Struct(_), _) => match index.expr {
                Expr::Literal(ScalarValue::Utf8(Some(name)), _) => return self.field(node.span, value, &name),
                _ => return Err(self.error(node.span, "a field is named by a string literal")),
            },
            (other, _) => return Err(self.error(node.span, format_args!("{} has no items", types::name(other)))),
        };
        let from = types::name(&index.data_type);
        let index = cast(index.expr, &index.data_type, &wanted, false)
            .ok_or_else(|| self.error(node.span, format_args!("the index is {from}, not {}", types::name(&wanted))))?;
        let index = fold_if_possible(index);
        match (&value.data_type, nested::map_types(&value.data_type)) {
            (DataType::List(element), _) => {
                let data_type = element.data_type().clone();
                Ok(TypedExpr { expr: nested::item(value.expr, index, nested::ArrayAccess::Item, &data_type), data_type })
            }
            (_, Some((_, held))) => {
                let data_type = held.clone();
                Ok(TypedExpr { expr: nested::value(value.expr.clone(), index, &data_type), data_type })
            }
            _ => Err(self.error(node.span, "this has no items")),
        }
    }

    fn unary(&self, unary: Unary, value: &Node) -> Result<std::result::Result<TypedExpr, String>> {
        let value = self.bind(value)?;
        Ok(match unary {
            Unary::Plus if types::is_number(&value.data_type) => Ok(value),
            Unary::Minus => negative(value),
            Unary::BitNot if types::is_whole_number(&value.data_type) => {
                let ones = cast(lit(-1i8), &DataType::Int8, &value.data_type, false).map(fold_if_possible);
                let expr = binary_expr(value.expr, Operator::BitwiseXor, ones.unwrap_or_default());
                Ok(TypedExpr { expr, data_type: value.data_type })
            }
            _ => Err(format!("a sign cannot stand before {}", types::name(&value.data_type))),
        })
    }

    fn binary(&self, node: &Node, operator: Binary, left: &Node, right: &Node) -> Result<TypedExpr> {
        let here = |what: String| self.error(node.span, what);
        if let Kind::Interval(interval) = right.kind
            && matches!(operator, Binary::Add | Binary::Subtract)
        {
            let time = self.bind(left)?;
            if let Some(made) = plus_literal(time, interval, operator == Binary::Subtract) {
                return made.map_err(here);
            }
        }
        if let (Kind::Interval(interval), Binary::Add) = (&left.kind, operator)
            && let Some(made) = plus_literal(self.bind(right)?, *interval, false)
        {
            return made.map_err(here);
        }
        let (left, right) = (self.bind(left)?, self.bind(right)?);
        match operator {
            Binary::Concat => function::call("concat", vec![left, right]).map_err(here),
            Binary::BitAnd | Binary::BitOr | Binary::BitXor => bitwise(operator, left, right).map_err(here),
            _ => arithmetic(operator, left, right, false).map_err(here),
        }
    }

    /// Binds a node that must be a condition.
    pub(crate) fn condition(&self, node: &Node) -> Result<Expr> {
        let TypedExpr { expr, data_type } = self.bind(node)?;
        match data_type {
            DataType::Boolean => Ok(expr),
            DataType::Null => Ok(Expr::Literal(ScalarValue::Boolean(None), None)),
            other => {
                Err(self.error(node.span, format_args!("this is {}, but a condition is true or false", types::name(&other))))
            }
        }
    }

    fn joined(&self, nodes: &[Node], operator: Operator) -> Result<TypedExpr> {
        let conditions = nodes.iter().map(|node| self.condition(node)).collect::<Result<Vec<_>>>()?;
        Ok(TypedExpr::boolean(join_conditions(operator, conditions)))
    }

    fn is(&self, value: &Node, what: Is, negated: bool) -> Result<TypedExpr> {
        let expr = match what {
            Is::Null => Box::new(self.bind(value)?.expr),
            Is::True | Is::False => Box::new(self.condition(value)?),
        };
        Ok(TypedExpr::boolean(match (what, negated) {
            (Is::Null, false) => Expr::IsNull(expr),
            (Is::Null, true) => Expr::IsNotNull(expr),
            (Is::True, false) => Expr::IsTrue(expr),
            (Is::True, true) => Expr::IsNotTrue(expr),
            (Is::False, false) => Expr::IsFalse(expr),
            (Is::False, true) => Expr::IsNotFalse(expr),
        }))
    }

    fn case(
        &self,
        node: &Node,
        operand: Option<&Node>,
        branches: &[(Node, Node)],
        otherwise: Option<&Node>,
    ) -> Result<TypedExpr> {
        let operand = operand.map(|operand| self.bind(operand)).transpose()?;
        let mut conditions = Vec::with_capacity(branches.len());
        let mut values = Vec::with_capacity(branches.len() + 1);
        for (when, then) in branches {
            conditions.push(match &operand {
                Some(operand) => {
                    let (operand, when_value) = char_padding::pair(self.schema, operand.clone(), self.bind(when)?);
                    let equal = compare(Comparison::Equal, operand, when_value);
                    equal.map_err(|what| self.error(when.span, what))?
                }
                None => self.condition(when)?,
            });
            values.push(self.bind(then)?);
        }
        if let Some(otherwise) = otherwise {
            values.push(self.bind(otherwise)?);
        }
        let data_type = types::common_of(values.iter().map(|value| &value.data_type))
            .ok_or_else(|| self.error(node.span, "the branches of CASE have no common type"))?;
        let mut values = values.into_iter().map(|value| {
            cast(value.expr, &value.data_type, &data_type, false)
                .map(fold_if_possible)
                .ok_or_else(|| self.error(node.span, "the branches of CASE have no common type"))
        });
        let mut pairs = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let value = values.next().ok_or_else(|| self.error(node.span, "a branch of CASE is missing"))??;
            pairs.push((condition, value));
        }
        let otherwise = values.next().transpose()?;
        Ok(TypedExpr { expr: tree::case_when(pairs, otherwise), data_type })
    }
}
