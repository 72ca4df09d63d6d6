//! Changes of a table: the change data feed (`feed`, from one `Bound` to another in
//! `version_range`), and streams over commits (`follow`).
//!
//! Both read the commits one by one (`commits`), keep the needed parts of them, and return
//! [`ScanTask`](crate::scan::ScanTask)s. A process that runs scan tasks can therefore read changes
//! too. Begin with [`Table::follow`](crate::Table::follow).

mod commits;
pub mod feed;
pub mod version_range;
pub mod follow;

pub use feed::{Changes, PlannedChanges};
pub use follow::{Follow, FollowOptions, Offset, Position, ReadLimits, Start};
pub use version_range::{Bound, ChangesOptions};
