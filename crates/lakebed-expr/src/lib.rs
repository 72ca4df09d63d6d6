//! SQL expressions with Spark's meaning: text to typed expressions, filters made of them, and proofs over statistics (`prune`).
//!
//! The crate knows neither tables nor stores.
//!
//! The way of a text: `syntax` (words, then a tree) → `bind` (columns, types, coercions) with `function` (functions and operators)
//! → `evaluate` (constants folded, compiled, run on batches). The result is a DataFusion [`Expr`](datafusion_expr::Expr), but
//! DataFusion's parser, coercions and simplifier take no part: their rules are not Spark's. Spark's ANSI mode is on, the session's
//! zone is UTC, names are found without regard to case. Modules stand bottom to top: each uses only those above its own line. Read
//! [`parse_filter`] first.
#![warn(missing_docs)]

mod calendar;
mod types;
mod spelling;
pub mod syntax;
mod evaluate;
mod function;
mod bind;
mod expression;
mod filter;
mod predicate;
pub mod prune;
#[cfg(test)]
mod tests;

pub use bind::current_time::Options;
pub use bind::metadata_column::{METADATA_COLUMN, metadata_field, scan_schema};
pub use bind::schema::{filter_schema, nullable};
pub use calendar::{date_text, timestamp_text};
pub use evaluate::cast_rules::can_cast;
pub use evaluate::nested::{column_path, field_index, struct_fields};
pub use evaluate::normalize_float::without_normalization;
pub use evaluate::short_decimal::{saturated_to_i64, short_decimal_type};
pub use evaluate::text_value::decimal_text;
pub use evaluate::tree::columns_of;
pub use expression::{Expression, parse_expr};
pub use filter::{Conjunct, Filter, joined_text, matching_rows, parse_filter};
pub use predicate::Predicate;
pub use spelling::nearest_name;
