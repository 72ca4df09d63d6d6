//! Opening a table. lakebed reads past some damage of the log, and refuses other tables with a
//! clear error.

mod budgets;
mod recovery;
mod refused;
