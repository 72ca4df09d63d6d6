//! What follows a commit: checksums, the cleanup of the log, compactions.

mod checksum;
mod checksum_damage;
mod cleanup;
mod compaction;
