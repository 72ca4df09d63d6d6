//! What changes in a table: its change data feed (`feed`), and the way of a stream through its commits (`follow`).
//!
//! Both read the commits one by one (`commits`), keep of them what they need, and give [`ScanTask`](crate::scan::ScanTask)s, so that whoever
//! runs tasks reads changes too. Begin with [`Table::follow`](crate::Table::follow).

mod commits;
pub mod feed;
pub mod follow;

pub use feed::Changes;
pub use follow::{Follow, FollowOptions, Offset, Position, ReadLimits, Start};
