//! Following a table, and its change feed: exact rows, batch by batch.

mod bounds;
mod budgets;
mod cases;
mod feed;
mod kit;
mod loss;
mod schemas;
mod shuffled;
mod starts;
