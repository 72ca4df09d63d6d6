//! A call whose arguments are the same for all rows is computed once.
//!
//! Arguments can turn out to be so while a batch is computed: a CASE is a constant where all rows take the same branch. Functions of
//! libraries meet that seldom, and `concat_ws` of datafusion-spark 55 reads beyond its arguments then.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};

/// A function that sees one row where all its arguments are constants.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ByOneRow(Arc<ScalarUDF>);

/// The same function, computed once for constants.
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
