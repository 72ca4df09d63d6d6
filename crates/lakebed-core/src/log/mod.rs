//! The log: which files make a version (`segment`), what helps to find and check them (`hint`, `checksum`), and what a checkpoint's rows
//! say (`checkpoint`).

pub mod checksum;
pub mod checkpoint;
pub mod hint;
pub mod segment;
