//! The operators `+ - * / % DIV` and their `try_` variants. Overflow and division by zero are
//! errors, or null for the `try_` variants. Decimal results have Spark's precision and scale.
//!
//! The module `function::operator` casts both operands to one type and chooses the type of the
//! result. The module `time_arithmetic` computes with dates and intervals. Read [`operation`]
//! first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, new_null_array};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::Result as DfResult;
use datafusion_expr::Expr;

use super::kernel::{KernelInput, KernelSpec, Monotonicity, fail};
use crate::syntax::tree::Binary;
use crate::types;

const SUM: &[Monotonicity] = &[Monotonicity::Increasing, Monotonicity::Increasing];
const DIFFERENCE: &[Monotonicity] = &[Monotonicity::Increasing, Monotonicity::Decreasing];
const PRODUCT: &[Monotonicity] = &[Monotonicity::Scaled, Monotonicity::Scaled];
const QUOTIENT: &[Monotonicity] = &[Monotonicity::Scaled, Monotonicity::Constant];
const OF_ONE: &[Monotonicity] = &[Monotonicity::Increasing, Monotonicity::Constant];

static ADD: KernelSpec = KernelSpec::total("+", |input| run(input, Binary::Add, false)).with_try(&TRY_ADD).monotonic(SUM);
static TRY_ADD: KernelSpec = KernelSpec::total("try_add", |input| run(input, Binary::Add, true)).not_strict().monotonic(SUM);
static SUBTRACT: KernelSpec =
    KernelSpec::total("-", |input| run(input, Binary::Subtract, false)).with_try(&TRY_SUBTRACT).monotonic(DIFFERENCE);
static TRY_SUBTRACT: KernelSpec =
    KernelSpec::total("try_subtract", |input| run(input, Binary::Subtract, true)).not_strict().monotonic(DIFFERENCE);
static MULTIPLY: KernelSpec =
    KernelSpec::total("*", |input| run(input, Binary::Multiply, false)).with_try(&TRY_MULTIPLY).monotonic(PRODUCT);
static TRY_MULTIPLY: KernelSpec =
    KernelSpec::total("try_multiply", |input| run(input, Binary::Multiply, true)).not_strict().monotonic(PRODUCT);
static DIVIDE: KernelSpec =
    KernelSpec::total("/", |input| run(input, Binary::Divide, false)).with_try(&TRY_DIVIDE).monotonic(QUOTIENT);
static TRY_DIVIDE: KernelSpec =
    KernelSpec::total("try_divide", |input| run(input, Binary::Divide, true)).not_strict().monotonic(QUOTIENT);
static REMAINDER: KernelSpec = KernelSpec::total("%", |input| run(input, Binary::Remainder, false))
    .with_try(&TRY_REMAINDER)
    .monotonic(OF_ONE)
    .monotonic_if(&SAME_QUOTIENT);
static TRY_REMAINDER: KernelSpec = KernelSpec::total("try_mod", |input| run(input, Binary::Remainder, true))
    .not_strict()
    .monotonic(OF_ONE)
    .monotonic_if(&SAME_QUOTIENT);
static SAME_QUOTIENT: KernelSpec = KernelSpec::total("same_quotient", same_quotient).not_strict();
static WHOLE_DIVIDE: KernelSpec =
    KernelSpec::total("div", |input| run(input, Binary::WholeDivide, false)).with_try(&TRY_WHOLE_DIVIDE).monotonic(QUOTIENT);
static TRY_WHOLE_DIVIDE: KernelSpec =
    KernelSpec::total("div", |input| run(input, Binary::WholeDivide, true)).not_strict().monotonic(QUOTIENT);

/// Returns the kernel call of an operator on two values of one numeric type. Decimals may differ in
/// precision and scale.
pub(crate) fn operation(operator: Binary, left: Expr, right: Expr, output: DataType, try_: bool) -> Option<Expr> {
    let spec = match (operator, try_) {
        (Binary::Add, false) => &ADD,
        (Binary::Add, true) => &TRY_ADD,
        (Binary::Subtract, false) => &SUBTRACT,
        (Binary::Subtract, true) => &TRY_SUBTRACT,
        (Binary::Multiply, false) => &MULTIPLY,
        (Binary::Multiply, true) => &TRY_MULTIPLY,
        (Binary::Divide, false) => &DIVIDE,
        (Binary::Divide, true) => &TRY_DIVIDE,
        (Binary::Remainder, false) => &REMAINDER,
        (Binary::Remainder, true) => &TRY_REMAINDER,
        (Binary::WholeDivide, false) => &WHOLE_DIVIDE,
        _ => return None,
    };
    Some(spec.call(vec![left, right], output))
}

fn run(input: &KernelInput<'_>, operator: Binary, try_: bool) -> DfResult<ArrayRef> {
    let (left, right) = (input.array(0)?, input.array(1)?);
    match (left.data_type(), input.output) {
        (DataType::Decimal128(_, s1), DataType::Decimal128(precision, scale)) => {
            let DataType::Decimal128(_, s2) = right.data_type() else {
                return Err(fail("a decimal meets another type"));
            };
            let shape = DecimalShape { left: *s1, right: *s2, scale: *scale, limit: power_of_ten(i32::from(*precision)) };
            each::<Decimal128Type, _, _>(input, operator, try_, |a, b| shape.compute(operator, a, b))
        }
        (DataType::Int8, _) => whole::<Int8Type>(input, operator, try_),
        (DataType::Int16, _) => whole::<Int16Type>(input, operator, try_),
        (DataType::Int32, _) => whole::<Int32Type>(input, operator, try_),
        (DataType::Int64, _) => whole::<Int64Type>(input, operator, try_),
        (DataType::Duration(TimeUnit::Microsecond), _) => {
            each::<DurationMicrosecondType, _, _>(input, operator, try_, |a, b| whole_number(operator, a, b))
        }
        (DataType::Float32, _) => each::<Float32Type, _, _>(input, operator, try_, |a, b| {
            // Rounding a double to a float gives the result of float arithmetic.
            float(operator, f64::from(a), f64::from(b)).map(|value| value as f32)
        }),
        (DataType::Float64, _) => each::<Float64Type, _, _>(input, operator, try_, |a, b| float(operator, a, b)),
        (other, _) => Err(fail(format!("no arithmetic on {}", types::name(other)))),
    }
}

fn whole<T: ArrowPrimitiveType>(input: &KernelInput<'_>, operator: Binary, try_: bool) -> DfResult<ArrayRef>
where
    T::Native: Into<i64> + TryFrom<i64>,
{
    each::<T, _, _>(input, operator, try_, |a, b| -> Option<T::Native> {
        whole_number(operator, a.into(), b.into()).and_then(|value| T::Native::try_from(value).ok())
    })
}

fn whole_number(operator: Binary, a: i64, b: i64) -> Option<i64> {
    match operator {
        Binary::Add => a.checked_add(b),
        Binary::Subtract => a.checked_sub(b),
        Binary::Multiply => a.checked_mul(b),
        Binary::Remainder => (b != 0).then(|| a.wrapping_rem(b)),
        _ => a.checked_div(b),
    }
}

fn float(operator: Binary, a: f64, b: f64) -> Option<f64> {
    match operator {
        Binary::Add => Some(a + b),
        Binary::Subtract => Some(a - b),
        Binary::Multiply => Some(a * b),
        Binary::Remainder => (b != 0.0).then_some(a % b),
        _ => (b != 0.0).then_some(a / b),
    }
}

/// Computes the operation for each row. If it returns `None`, the result is null or an error.
fn each<T: ArrowPrimitiveType, F, O>(input: &KernelInput<'_>, operator: Binary, try_: bool, compute: F) -> DfResult<ArrayRef>
where
    F: Fn(T::Native, T::Native) -> Option<O>,
    O: Into<T::Native>,
{
    let (left, right) = (input.array(0)?.as_primitive::<T>(), input.array(1)?.as_primitive::<T>());
    let rows: PrimitiveArray<T> = zip(left, right, |a, b| match compute(a, b) {
        Some(value) => Ok(Some(value.into())),
        None if try_ => Ok(None),
        None => Err(failure(operator, &format!("{a:?}"), &format!("{b:?}"), input.output)),
    })?;
    Ok(Arc::new(rows.with_data_type(input.output.clone())))
}

/// Computes the rows in which neither side is null.
pub(crate) fn zip<A: ArrowPrimitiveType, B: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    left: &PrimitiveArray<A>,
    right: &PrimitiveArray<B>,
    compute: impl Fn(A::Native, B::Native) -> DfResult<Option<T::Native>>,
) -> DfResult<PrimitiveArray<T>> {
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let rows = left.values().iter().zip(right.values().iter()).enumerate();
    let values = rows.map(|(row, (a, b))| {
        let present = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        if present { compute(*a, *b) } else { Ok(None) }
    });
    values.collect::<DfResult<PrimitiveArray<T>>>()
}

/// Whether the least and the greatest dividend have the same integral quotient. The remainder then
/// increases between them. The answer is null for numbers other than integers.
fn same_quotient(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    if !types::is_whole_number(input.array(0)?.data_type()) {
        return Ok(new_null_array(&DataType::Boolean, input.rows));
    }
    let longs: Vec<ArrayRef> =
        input.arrays.iter().map(|array| arrow_cast::cast(array, &DataType::Int64)).collect::<Result<_, _>>()?;
    let [least, divisor, greatest, _] = longs.as_slice() else {
        return Err(fail("two numbers with their divisors are expected"));
    };
    let quotients = |number: &ArrayRef| {
        let (number, divisor) = (number.as_primitive::<Int64Type>(), divisor.as_primitive::<Int64Type>());
        zip::<_, _, Int64Type>(number, divisor, |number, divisor| Ok(number.checked_div(divisor)))
    };
    let (least, greatest) = (quotients(least)?, quotients(greatest)?);
    Ok(Arc::new(least.iter().zip(&greatest).map(|(least, greatest)| Some(least? == greatest?)).collect::<BooleanArray>()))
}

fn failure(operator: Binary, a: &str, b: &str, output: &DataType) -> datafusion_common::DataFusionError {
    let (symbol, twin) = match operator {
        Binary::Add => ("+", "try_add"),
        Binary::Subtract => ("-", "try_subtract"),
        Binary::Multiply => ("*", "try_multiply"),
        Binary::Remainder => ("%", "try_mod"),
        Binary::WholeDivide => ("DIV", "try_divide"),
        _ => ("/", "try_divide"),
    };
    let zero = b.trim_matches(['0', '.', '-']).is_empty();
    let divides = matches!(operator, Binary::Divide | Binary::WholeDivide | Binary::Remainder);
    if divides && zero {
        return fail(format!("division by zero in {a} {symbol} {b}; {twin} would give null"));
    }
    fail(format!("the result of {a} {symbol} {b} does not fit {}; {twin} would give null", types::name(output)))
}

/// The scales of two decimals and of their result.
struct DecimalShape {
    left: i8,
    right: i8,
    scale: i8,
    /// The smallest number that has too many digits.
    limit: i256,
}

impl DecimalShape {
    fn compute(&self, operator: Binary, a: i128, b: i128) -> Option<i128> {
        let (a, b) = (i256::from_i128(a), i256::from_i128(b));
        let common = self.left.max(self.right);
        let aligned = || Some((scale_up(a, common - self.left)?, scale_up(b, common - self.right)?));
        let (value, scale) = match operator {
            Binary::Add => aligned().and_then(|(a, b)| Some((a.checked_add(b)?, common)))?,
            Binary::Subtract => aligned().and_then(|(a, b)| Some((a.checked_sub(b)?, common)))?,
            Binary::Multiply => (a.checked_mul(b)?, self.left + self.right),
            Binary::Remainder => aligned().and_then(|(a, b)| Some((a.checked_rem(b)?, common)))?,
            _ => {
                let power = self.scale - self.left + self.right;
                (divide_half_up(scale_up(a, power.max(0))?, scale_up(b, (-power).max(0))?)?, self.scale)
            }
        };
        let value = if scale > self.scale {
            divide_half_up(value, power_of_ten(i32::from(scale - self.scale)))?
        } else {
            scale_up(value, self.scale - scale)?
        };
        (value.checked_abs()? < self.limit).then(|| value.to_i128()).flatten()
    }
}

fn power_of_ten(power: i32) -> i256 {
    (0..power.max(0)).fold(i256::ONE, |value, _| value.wrapping_mul(i256::from_i128(10)))
}

fn scale_up(value: i256, digits: i8) -> Option<i256> {
    value.checked_mul(power_of_ten(i32::from(digits)))
}

fn divide_half_up(dividend: i256, divisor: i256) -> Option<i256> {
    let quotient = dividend.checked_div(divisor)?;
    let rest = dividend.checked_rem(divisor)?.checked_abs()?;
    let up = rest.checked_mul(i256::from_i128(2))? >= divisor.checked_abs()?;
    if !up {
        return Some(quotient);
    }
    let away = if (dividend < i256::ZERO) == (divisor < i256::ZERO) { i256::ONE } else { i256::MINUS_ONE };
    quotient.checked_add(away)
}
