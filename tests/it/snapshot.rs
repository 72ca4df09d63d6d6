//! Opening a table: what is recovered from a damaged log, and what is refused.

mod recovery;
mod refused;
