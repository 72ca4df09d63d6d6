//! The Delta protocol as functions over plain values and Arrow batches.
//!
//! Nothing here performs I/O, reads a clock, draws a random number or awaits. A function that needs
//! the result of one of these takes it as an argument. The modules are listed from bottom to top:
//! each uses only modules above its own line.

pub mod error;
mod json_string;
pub mod path;
pub mod schema;
pub mod value;
pub mod property;
pub mod action;
pub mod stats;
pub mod dv;
pub mod variant;
pub mod feature;
pub mod log;
pub mod commit;
pub mod layout;
#[cfg(test)]
mod kit;

pub use error::{ConflictKind, Error, ErrorKind, Result};
