//! What all operations of a process share: the memory budget, temporary files for rows that do not
//! fit into memory, and streams of record batches. Nothing here knows tables.

pub mod memory;
pub(crate) mod process;
pub(crate) mod size;
pub(crate) mod spill;
pub mod stream;
