//! A function is computed once if its arguments are the same for all rows.
//!
//! Arguments may turn out to be constant while a batch is evaluated: a CASE is constant if all rows
//! take the same branch. Functions of libraries rarely meet this case. `concat_ws` of
//! datafusion-spark 55 then reads beyond its arguments.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};

/// A function that is called with one row if all its arguments are constants.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ByOneRow(Arc<ScalarUDF>);

/// Wraps a function so that it is computed once for constant arguments.
pub(crate) fn by_one_row(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(ByOneRow(function)))
}

impl ScalarUDFImpl for ByOneRow {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn coerce_types(&self, given: &[DataType]) -> DfResult<Vec<DataType>> {
        self.0.coerce_types(given)
    }

    fn return_type(&self, given: &[DataType]) -> DfResult<DataType> {
        self.0.return_type(given)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> DfResult<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        if args.args.iter().any(|arg| matches!(arg, ColumnarValue::Array(_))) {
            return self.0.invoke_with_args(args);
        }
        Ok(match self.0.invoke_with_args(ScalarFunctionArgs { number_rows: 1, ..args })? {
            ColumnarValue::Array(value) => ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?),
            value => value,
        })
    }
}
