//! Opening a table. lakebed tolerates some damage of the log, and refuses other tables with a clear
//! error.

mod budgets;
mod recovery;
mod refused;
