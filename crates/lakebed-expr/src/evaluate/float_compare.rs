//! Comparisons of floats with a literal in one pass over the column. They mean the same as
//! [`compare`](crate::function::compare): NaN is greater than all numbers, and -0.0 equals 0.0.
//!
//! The literal is a number. So one comparison by the hardware is enough, together with a test for
//! NaN where the value must be greater.

use std::fmt::{Debug, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{Array, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Schema};
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::expressions::{BinaryExpr, Literal};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::kernel::{Kernel, fail};
use super::normalize_float::NORMALIZE_FLOAT;
use crate::types;

/// A comparison of a float with a number.
#[derive(Clone)]
pub(crate) struct FloatComparison {
    value: Arc<dyn PhysicalExpr>,
    operator: Operator,
    number: f64,
}

impl FloatComparison {
    /// Returns the fast form of a comparison, if it compares a float with a number.
    pub(crate) fn instead_of(node: &Arc<dyn PhysicalExpr>) -> Option<Self> {
        let binary = node.downcast_ref::<BinaryExpr>()?;
        let of = |value: &Arc<dyn PhysicalExpr>, number: &Arc<dyn PhysicalExpr>, operator: Operator| {
            let is_known = matches!(
                operator,
                Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
            );
            let (value, number) = (value_below_normalization(value)?, number_of(number)?);
            is_known.then(|| Self { value: Arc::clone(value), operator, number })
        };
        let swapped = || of(binary.right(), binary.left(), binary.op().swap()?);
        of(binary.left(), binary.right(), *binary.op()).or_else(swapped)
    }

    fn test<T: ArrowPrimitiveType<Native: Into<f64>>>(&self, values: &PrimitiveArray<T>) -> BooleanArray {
        let number = self.number;
        match self.operator {
            Operator::Eq => holds(values, |value| value == number),
            Operator::NotEq => holds(values, |value| value != number),
            Operator::Lt => holds(values, |value| value < number),
            Operator::LtEq => holds(values, |value| value <= number),
            Operator::Gt => holds(values, |value| value > number || value.is_nan()),
            _ => holds(values, |value| value >= number || value.is_nan()),
        }
    }
}

fn holds<T: ArrowPrimitiveType<Native: Into<f64>>>(values: &PrimitiveArray<T>, test: impl Fn(f64) -> bool) -> BooleanArray {
    BooleanArray::from_unary(values, |value| test(value.into()))
}

/// The operand of an expression that normalizes a float.
fn value_below_normalization(expr: &Arc<dyn PhysicalExpr>) -> Option<&Arc<dyn PhysicalExpr>> {
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let inner: &dyn std::any::Any = call.fun().inner().as_ref();
    let kernel = inner.downcast_ref::<Kernel>()?;
    call.args().first().filter(|_| std::ptr::eq(kernel.spec, &NORMALIZE_FLOAT))
}

/// The number of a literal that is neither null nor NaN.
fn number_of(expr: &Arc<dyn PhysicalExpr>) -> Option<f64> {
    let number = match expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Float32(Some(number)) => f64::from(*number),
        ScalarValue::Float64(Some(number)) => *number,
        _ => return None,
    };
    (!number.is_nan()).then_some(number)
}

impl PhysicalExpr for FloatComparison {
    fn data_type(&self, _: &Schema) -> DfResult<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, schema: &Schema) -> DfResult<bool> {
        self.value.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> DfResult<ColumnarValue> {
        let values = self.value.evaluate(batch)?.into_array(batch.num_rows())?;
        let found = match values.data_type() {
            DataType::Float32 => self.test(values.as_primitive::<Float32Type>()),
            DataType::Float64 => self.test(values.as_primitive::<Float64Type>()),
            other => return Err(fail(format!("{} compared as a float", types::name(other)))),
        };
        Ok(ColumnarValue::Array(Arc::new(found)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.value]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> DfResult<Arc<dyn PhysicalExpr>> {
        match <[Arc<dyn PhysicalExpr>; 1]>::try_from(children) {
            Ok([value]) => Ok(Arc::new(Self { value, ..self.as_ref().clone() })),
            Err(_) => Err(fail("a float is compared with one number")),
        }
    }

    fn fmt_sql(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

impl Display for FloatComparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.value, self.operator, self.number)
    }
}

impl Debug for FloatComparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

impl PartialEq for FloatComparison {
    fn eq(&self, other: &Self) -> bool {
        self.operator == other.operator && self.number.to_bits() == other.number.to_bits() && self.value.eq(&other.value)
    }
}

impl Eq for FloatComparison {}

impl Hash for FloatComparison {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.operator.hash(state);
        self.number.to_bits().hash(state);
        self.value.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Float32Array, Float64Array};
    use arrow_schema::Field;

    use crate::bind::resolve::Options;
    use crate::evaluate::float_compare::*;
    use crate::filter::parse_filter;

    /// The expected rows follow from Spark's order of floats: -inf, numbers, inf, NaN.
    #[test]
    fn floats_are_compared_as_spark_compares_them() {
        let negative_nan = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
        let values = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 0.25, 1.5, f64::INFINITY, f64::NAN, negative_nan];
        let rank = |value: f64| match value {
            _ if value.is_nan() => 7,
            f64::NEG_INFINITY => 0,
            -1.5 => 1,
            0.0 => 2,
            0.25 => 3,
            1.5 => 4,
            f64::INFINITY => 6,
            _ => unreachable!(),
        };
        let literals =
            [("-1.5D", 1), ("0D", 2), ("-0D", 2), ("0.25D", 3), ("1.5D", 4), ("double('inf')", 6), ("double('NaN')", 7)];
        let nulls = || values.iter().map(|value| Some(*value)).chain([None]);
        let doubles: ArrayRef = Arc::new(Float64Array::from_iter(nulls()));
        let floats: ArrayRef = Arc::new(Float32Array::from_iter(nulls().map(|value| value.map(|value| value as f32))));
        let schema =
            Arc::new(Schema::new(vec![Field::new("d", DataType::Float64, true), Field::new("f", DataType::Float32, true)]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![doubles, floats]).unwrap();
        let operators: [(&str, fn(i32, i32) -> bool); 6] = [
            ("=", |a, b| a == b),
            ("<>", |a, b| a != b),
            ("<", |a, b| a < b),
            ("<=", |a, b| a <= b),
            (">", |a, b| a > b),
            (">=", |a, b| a >= b),
        ];
        for (operator, holds) in operators {
            for (literal, of_literal) in literals {
                for column in ["d", "f"] {
                    let check = |text: String, expected: Vec<bool>| {
                        let filter = parse_filter(&text, &schema, &Options::default()).unwrap();
                        let found: Vec<bool> = filter.evaluate(&batch).unwrap().iter().map(|row| row == Some(true)).collect();
                        assert_eq!(found, expected, "{text}");
                    };
                    let rows = |holds: &dyn Fn(i32) -> bool| {
                        values.iter().map(|value| holds(rank(*value))).chain([false]).collect::<Vec<_>>()
                    };
                    check(format!("{column} {operator} {literal}"), rows(&|row| holds(row, of_literal)));
                    check(format!("{literal} {operator} {column}"), rows(&|row| holds(of_literal, row)));
                    check(format!("NOT ({column} {operator} {literal})"), rows(&|row| !holds(row, of_literal)));
                }
            }
        }
    }
}
