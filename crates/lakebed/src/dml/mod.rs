//! Changes of a table's rows: write, delete, update and merge.
//!
//! Delete, update and merge run in these steps. They plan on the newest version and search for the
//! rows to change (`rows::search`). They write the new rows (`rows::rewrite`). A transaction
//! commits everything. After a conflict, `change` does this again. Begin with [`Delete`].

mod assign;
mod change;
mod delete;
mod update;
pub mod merge;
pub mod write;

pub use crate::rows::effects::Effects;
pub(crate) use change::refuse_append_only;
pub use change::{ChangeMetrics, ChangeOptions, ChangeOutcome};
pub use delete::{Delete, DeleteOptions};
pub use update::{Update, UpdateOptions};
