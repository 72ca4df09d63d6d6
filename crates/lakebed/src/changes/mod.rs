//! What changes in a table: its change data feed (`feed`, from one `Bound` to another, in `version_range`), and the way of a stream through its commits (`follow`).
//!
//! Both read the commits one by one (`commits`), keep of them what they need, and give [`ScanTask`](crate::scan::ScanTask)s, so that whoever
//! runs tasks reads changes too. Begin with [`Table::follow`](crate::Table::follow).

mod commits;
pub mod feed;
pub mod version_range;
pub mod follow;

pub use feed::{Changes, PlannedChanges};
pub use follow::{Follow, FollowOptions, Offset, Position, ReadLimits, Start};
pub use version_range::Bound;
