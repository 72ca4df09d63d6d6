//! SQL expressions with Spark's meaning. The crate parses text, evaluates expressions on batches,
//! and proves from statistics which files a filter does not need (`prune`).
//!
//! The crate knows neither tables nor stores.
//!
//! A text passes through these modules: `syntax` makes tokens and then a syntax tree. `bind` looks
//! up columns and types, with the help of `function`, which holds functions and operators.
//! `evaluate` folds constants, compiles the expression and runs it on batches. The result is a
//! DataFusion [`Expr`](datafusion_expr::Expr). DataFusion's own parser, coercions and simplifier
//! are not used, because their rules are not Spark's.
//!
//! Spark's ANSI mode is on and the time zone of the session is UTC. Names match without regard to
//! case. The modules are listed from bottom to top, and each uses only modules above its own line.
//! Read [`parse_filter`] first.
#![warn(missing_docs)]

mod calendar;
mod types;
mod spelling;
mod syntax;
mod sql_text;
mod evaluate;
mod function;
mod bind;
mod expression;
mod filter;
mod column_values;
mod predicate;
pub mod prune;
#[cfg(test)]
mod tests;

pub use bind::metadata_column::{METADATA_COLUMN, metadata_field, scan_schema};
pub use bind::resolve::{NameRule, Options};
pub use bind::schema::{filter_schema, nullable};
pub use column_values::{ColumnValues, decimal_of_digits};
pub use evaluate::cast_rules::can_cast;
pub use evaluate::nested::{column_path, field_index, struct_fields};
pub use evaluate::normalize_float::without_normalization;
pub use evaluate::short_decimal::{saturated_to_i64, short_decimal_type};

pub use evaluate::tree::columns_of;
pub use expression::{Expression, parse_expr, parse_expr_named};
pub use filter::{Conjunct, Filter, matching_rows, parse_filter, parse_filter_named};
pub use predicate::Predicate;
pub use spelling::{nearest_name, quoted_path};
pub use sql_text::SqlText;
pub use syntax::parse_path;
