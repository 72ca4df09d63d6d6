//! Which files and rows a scan takes.

mod floats;
mod plan;
mod row_conditions;
