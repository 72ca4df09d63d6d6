//! Functions of our own as nodes of DataFusion expressions: what Spark does and Arrow's kernels do not.
//!
//! The binder brings arguments to exact types before it makes such a node, so a kernel needs no signature: it knows its result
//! type and runs. The kernels themselves stand in `cast`, `arithmetic`, `nested` and `function`. Read [`Kernel`] first.

use std::hash::{Hash, Hasher};

use arrow_array::{ArrayRef, new_empty_array};
use arrow_schema::DataType;
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

/// What a kernel is, apart from the type of its result.
pub(crate) struct KernelSpec {
    /// The name that messages and plans show.
    pub(crate) name: &'static str,
    /// Whether some values make it fail, so that it must not see rows that a condition before it has ruled out.
    pub(crate) may_fail: bool,
    /// The kernel that answers null where this one fails.
    pub(crate) try_spec: Option<&'static KernelSpec>,
    /// Whether the result is null exactly when an argument is.
    pub(crate) strict: bool,
    /// How many arguments, from the first on, make the result null wherever they are null.
    pub(crate) null_args: usize,
    /// How the result follows each argument; an argument that is not listed is of no order.
    pub(crate) monotonicity: &'static [Monotonicity],
    /// If the order holds only between some arguments: the kernel that says of the least and the greatest ones, in this order, whether it
    /// holds between them.
    pub(crate) monotonic_if: Option<&'static KernelSpec>,
    /// Computes the result, one value a row; the arguments have as many values.
    pub(crate) run: fn(&KernelInput<'_>) -> DfResult<ArrayRef>,
}

/// How a result follows an argument while the other arguments stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Monotonicity {
    /// A greater argument gives no smaller result.
    Increasing,
    /// A greater argument gives no greater result.
    Decreasing,
    /// There is an order among the other arguments only as long as this one is the same for all rows.
    Constant,
    /// As `Increasing`, as long as the argument is not NaN.
    IncreasingUnlessNan,
    /// Increasing where the other argument is a positive constant, falling where it is a negative one.
    Scaled,
    /// The result falls up to zero and rises from there, the same on both sides.
    Even,
    /// The result is one of the arguments, as many as there are.
    Chosen,
}

impl KernelSpec {
    /// A kernel that never fails and is null exactly when an argument is.
    pub(crate) const fn total(name: &'static str, run: fn(&KernelInput<'_>) -> DfResult<ArrayRef>) -> KernelSpec {
        KernelSpec {
            name,
            may_fail: false,
            try_spec: None,
            strict: true,
            null_args: usize::MAX,
            monotonicity: &[],
            monotonic_if: None,
            run,
        }
    }

    /// The same, following its arguments in this way.
    pub(crate) const fn monotonic(self, monotonicity: &'static [Monotonicity]) -> KernelSpec {
        KernelSpec { monotonicity, ..self }
    }

    /// The same, following its arguments only between those of which this kernel says so.
    pub(crate) const fn monotonic_if(self, monotonic_if: &'static KernelSpec) -> KernelSpec {
        KernelSpec { monotonic_if: Some(monotonic_if), ..self }
    }

    /// The same, but only so many arguments, from the first on, make the result null where they are null.
    pub(crate) const fn with_null_args(self, null_args: usize) -> KernelSpec {
        KernelSpec { strict: false, null_args, ..self }
    }

    /// The same, but some values make it fail.
    pub(crate) const fn fallible(self) -> KernelSpec {
        KernelSpec { may_fail: true, ..self }
    }

    /// The same, but null also for other reasons.
    pub(crate) const fn not_strict(self) -> KernelSpec {
        KernelSpec { strict: false, ..self }
    }

    /// The same, with the kernel that answers null where this one fails.
    pub(crate) const fn with_try(self, try_spec: &'static KernelSpec) -> KernelSpec {
        KernelSpec { may_fail: true, try_spec: Some(try_spec), ..self }
    }

    /// A call of this kernel.
    pub(crate) fn call(&'static self, args: Vec<Expr>, output: DataType) -> Expr {
        let kernel = Kernel { spec: self, output, signature: Signature::variadic_any(Volatility::Immutable) };
        Expr::ScalarFunction(ScalarFunction::new_udf(ScalarUDF::new_from_impl(kernel).into(), args))
    }
}

/// The arguments of one evaluation.
pub(crate) struct KernelInput<'a> {
    pub(crate) arrays: &'a [ArrayRef],
    values: &'a [ColumnarValue],
    pub(crate) output: &'a DataType,
    pub(crate) rows: usize,
}

impl KernelInput<'_> {
    /// The argument at this place.
    pub(crate) fn array(&self, index: usize) -> DfResult<&ArrayRef> {
        self.arrays.get(index).ok_or_else(|| fail("an argument is missing"))
    }

    /// The text at this place if it is the same for all rows.
    pub(crate) fn constant_text(&self, index: usize) -> Option<&str> {
        match self.values.get(index) {
            Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(text)))) => Some(text),
            _ => None,
        }
    }
}

/// An error while rows are computed.
pub(crate) fn fail(message: impl Into<String>) -> datafusion_common::DataFusionError {
    datafusion_common::DataFusionError::Execution(message.into())
}

/// A kernel with the type of its result.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) spec: &'static KernelSpec,
    pub(crate) output: DataType,
    signature: Signature,
}

impl Kernel {
    /// The kernel that an expression calls, and its arguments.
    pub(crate) fn of(expr: &Expr) -> Option<(&Kernel, &[Expr])> {
        let Expr::ScalarFunction(call) = expr else { return None };
        let inner: &dyn std::any::Any = call.func.inner().as_ref();
        inner.downcast_ref::<Kernel>().map(|kernel| (kernel, call.args.as_slice()))
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} → {}", self.spec.name, self.output)
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.spec.name == other.spec.name && self.output == other.output
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.spec.name.hash(state);
        self.output.hash(state);
    }
}

impl ScalarUDFImpl for Kernel {
    fn name(&self) -> &str {
        self.spec.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        Ok(self.output.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        if rows == 0 {
            // Kernels look at the first value of arguments that are the same for all rows.
            return Ok(ColumnarValue::Array(new_empty_array(&self.output)));
        }
        let arrays: Vec<ArrayRef> = args.args.iter().map(|arg| arg.to_array(rows)).collect::<DfResult<_>>()?;
        let input = KernelInput { arrays: &arrays, values: &args.args, output: &self.output, rows };
        let result = (self.spec.run)(&input)?;
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}
