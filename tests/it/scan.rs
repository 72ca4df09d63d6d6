//! Which files and rows a scan takes.

mod budgets;
mod floats;
mod plan;
mod row_conditions;
