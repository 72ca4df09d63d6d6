//! Facilities that all operations of a process share: the memory budget, temporary files for rows
//! that do not fit into memory, and streams of record batches. This module does not depend on
//! tables.

pub mod memory;
pub(crate) mod process;
pub(crate) mod size;
pub(crate) mod spill;
pub(crate) mod spool;
pub mod stream;
