//! The upkeep after a commit: checksums, the cleanup of the log, and compactions.

mod checksum;
mod checksum_damage;
mod cleanup;
mod compaction;
