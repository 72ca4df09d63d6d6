//! Evaluation of expressions: kernels that compute what Spark has and Arrow does not, casts,
//! constant folding, and the compiler.
//!
//! Read [`kernel::Kernel`] first.

pub(crate) mod arithmetic;
pub(crate) mod cast;
pub(crate) mod cast_rules;
pub(crate) mod compile;
pub(crate) mod condition;
mod constant_call;
mod float_compare;
pub(crate) mod normalize_float;
pub(crate) mod fold;
pub(crate) mod kernel;
pub(crate) mod library;
pub(crate) mod nested;
pub(crate) mod properties;
mod scalar_cast;
mod short_circuit;
pub(crate) mod short_decimal;
pub(crate) mod text_value;
pub(crate) mod time_arithmetic;
pub(crate) mod tree;
