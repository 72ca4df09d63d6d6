//! Lakebed's own functions as nodes of DataFusion expressions. They compute what Spark has and
//! Arrow's kernels do not have.
//!
//! The binder casts arguments to exact types before it makes such a node. So a kernel needs no
//! signature; it knows the type of its result. The kernels themselves are in `cast`, `arithmetic`,
//! `nested` and in the room `function`. Read [`Kernel`] first.

use std::hash::{Hash, Hasher};

use arrow_array::{ArrayRef, new_empty_array};
use arrow_schema::DataType;
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

/// The properties of a kernel, except for the type of its result.
pub(crate) struct KernelSpec {
    /// The name of the kernel in messages and plans.
    pub(crate) name: &'static str,
    /// Whether the kernel fails for some values. It must then not be evaluated on rows that an
    /// earlier condition has excluded.
    pub(crate) may_fail: bool,
    /// The variant of the kernel that returns null where this one fails.
    pub(crate) try_spec: Option<&'static KernelSpec>,
    /// Whether the result is null exactly when an argument is.
    pub(crate) strict: bool,
    /// The number of leading arguments that make the result null if they are null.
    pub(crate) null_args: usize,
    /// The monotonicity in each argument. An argument that is not listed has none.
    pub(crate) monotonicity: &'static [Monotonicity],
    /// A kernel for functions that are monotonic only on some ranges. It gets the least and then
    /// the greatest arguments, and returns whether the function is monotonic between them.
    pub(crate) monotonic_if: Option<&'static KernelSpec>,
    /// Computes the result, one value per row. Each argument has one value per row.
    pub(crate) run: fn(&KernelInput<'_>) -> DfResult<ArrayRef>,
}

/// How the result changes with one argument while the other arguments stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Monotonicity {
    /// A greater argument gives no smaller result.
    Increasing,
    /// A greater argument gives no greater result.
    Decreasing,
    /// The monotonicity in the other arguments holds only while this argument is the same for all
    /// rows.
    Constant,
    /// As `Increasing` if the argument is not NaN.
    IncreasingUnlessNan,
    /// Increasing if the other argument is a positive constant, and decreasing if it is a negative
    /// one.
    Scaled,
    /// The function is even: the result decreases up to zero, increases from zero, and is the same
    /// for a value and its negation.
    Even,
    /// The result is one of the arguments. The function takes any number of them.
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

    /// Sets the monotonicity in each argument.
    pub(crate) const fn monotonic(self, monotonicity: &'static [Monotonicity]) -> KernelSpec {
        KernelSpec { monotonicity, ..self }
    }

    /// Makes the monotonicity hold only on ranges for which this kernel returns true.
    pub(crate) const fn monotonic_if(self, monotonic_if: &'static KernelSpec) -> KernelSpec {
        KernelSpec { monotonic_if: Some(monotonic_if), ..self }
    }

    /// Makes only the leading `null_args` arguments null-propagating.
    pub(crate) const fn with_null_args(self, null_args: usize) -> KernelSpec {
        KernelSpec { strict: false, null_args, ..self }
    }

    /// Declares that the kernel fails for some values.
    pub(crate) const fn fallible(self) -> KernelSpec {
        KernelSpec { may_fail: true, ..self }
    }

    /// Declares that the result may be null although no argument is.
    pub(crate) const fn not_strict(self) -> KernelSpec {
        KernelSpec { strict: false, ..self }
    }

    /// Declares that the kernel may fail, and sets the variant that returns null there.
    pub(crate) const fn with_try(self, try_spec: &'static KernelSpec) -> KernelSpec {
        KernelSpec { may_fail: true, try_spec: Some(try_spec), ..self }
    }

    /// Makes a call of this kernel.
    pub(crate) fn call(&'static self, args: Vec<Expr>, output: DataType) -> Expr {
        let kernel = Kernel { spec: self, output, signature: Signature::variadic_any(Volatility::Immutable) };
        Expr::ScalarFunction(ScalarFunction::new_udf(ScalarUDF::new_from_impl(kernel).into(), args))
    }
}

/// The arguments of one evaluation of a kernel.
pub(crate) struct KernelInput<'a> {
    pub(crate) arrays: &'a [ArrayRef],
    values: &'a [ColumnarValue],
    pub(crate) output: &'a DataType,
    pub(crate) rows: usize,
}

impl KernelInput<'_> {
    /// Returns the argument at this index.
    pub(crate) fn array(&self, index: usize) -> DfResult<&ArrayRef> {
        self.arrays.get(index).ok_or_else(|| fail("an argument is missing"))
    }

    /// Returns the text at this index if it is the same for all rows.
    pub(crate) fn constant_text(&self, index: usize) -> Option<&str> {
        match self.values.get(index) {
            Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(text)))) => Some(text),
            _ => None,
        }
    }
}

/// Makes an error of the evaluation.
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
    /// Returns the kernel that an expression calls, and its arguments.
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
            // Kernels read the first value of constant arguments, so there must be a row.
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
