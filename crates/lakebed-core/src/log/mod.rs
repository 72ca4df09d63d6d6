//! The log. `segment` chooses the files that make a version. `hint` and `checksum` help to find and
//! check them. `checkpoint` has the rows of a checkpoint. `files`, `builder` and `replay` fold
//! commits into files and state, and `add_lines` prints files as lines of a commit. `compaction` combines commits, and `cleanup` chooses the files
//! that may be deleted.

pub mod add_lines;
pub mod builder;
pub mod checkpoint;
pub mod checksum;
pub mod cleanup;
pub mod compaction;
pub mod files;
pub mod hint;
pub mod replay;
pub mod segment;
