//! Streams of a table and its change data feed: the exact rows of each batch.

mod bounds;
mod budgets;
mod cases;
mod feed;
mod kit;
mod loss;
mod schemas;
mod shuffled;
mod starts;
