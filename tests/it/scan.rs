//! The files and rows of a scan.

mod budgets;
mod floats;
mod plan;
mod row_conditions;
