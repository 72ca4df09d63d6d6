//! The log: which files make a version (`segment`), what helps to find and check them (`hint`,
//! `checksum`), what a checkpoint's rows say (`checkpoint`), how commits fold into files and state
//! (`files`, `builder`, `replay`), what makes many of them one (`compaction`) and which may go
//! (`cleanup`).

pub mod builder;
pub mod checkpoint;
pub mod checksum;
pub mod cleanup;
pub mod compaction;
pub mod files;
pub mod hint;
pub mod replay;
pub mod segment;
