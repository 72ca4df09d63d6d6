//! Decides whether any of many values lies between two bounds, by binary search. It is used for
//! `IN` with a long list.
//!
//! Read [`any_between`] first.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_ord::ord::make_comparator;
use arrow_ord::sort::sort;
use arrow_schema::{DataType, SortOptions};
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

/// Returns a condition that is false where no value of a list lies between the bounds. A null bound
/// is open.
pub(super) fn any_between(list: Vec<ScalarValue>, low: Expr, high: Expr) -> Option<Expr> {
    let values = ScalarValue::iter_to_array(list.into_iter().filter(|value| !value.is_null())).ok()?;
    let sorted = sort(&values, None).ok()?;
    let function = AnyBetween { sorted, signature: Signature::any(2, Volatility::Immutable) };
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(function)), vec![low, high])))
}

struct AnyBetween {
    sorted: ArrayRef,
    signature: Signature,
}

impl AnyBetween {
    fn run(&self, low: &ArrayRef, high: &ArrayRef) -> DfResult<ArrayRef> {
        let options = SortOptions::default();
        let to_low = make_comparator(&self.sorted, low, options)?;
        let to_high = make_comparator(&self.sorted, high, options)?;
        let found = (0..low.len()).map(|row| {
            let first = if low.is_null(row) { 0 } else { first_not_below(self.sorted.len(), |value| to_low(value, row)) };
            first < self.sorted.len() && (high.is_null(row) || to_high(first, row) != Ordering::Greater)
        });
        Ok(Arc::new(BooleanArray::from_iter(found.map(Some))))
    }
}

/// Returns the index of the first of this many ordered values that is not less than the compared
/// value.
fn first_not_below(values: usize, compare: impl Fn(usize) -> Ordering) -> usize {
    let (mut start, mut end) = (0, values);
    while start < end {
        let middle = start + (end - start) / 2;
        if compare(middle) == Ordering::Less { start = middle + 1 } else { end = middle }
    }
    start
}

impl std::fmt::Debug for AnyBetween {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "any of {} values", self.sorted.len())
    }
}

impl PartialEq for AnyBetween {
    fn eq(&self, other: &Self) -> bool {
        self.sorted.to_data() == other.sorted.to_data()
    }
}

impl Eq for AnyBetween {}

impl Hash for AnyBetween {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sorted.len().hash(state);
    }
}

impl ScalarUDFImpl for AnyBetween {
    fn name(&self) -> &str {
        "any_between"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        match ColumnarValue::values_to_arrays(&args.args)?.as_slice() {
            [low, high] => Ok(ColumnarValue::Array(self.run(low, high)?)),
            _ => Err(datafusion_common::DataFusionError::Internal("any_between takes two bounds".into())),
        }
    }
}
