//! Repair: mends the damage that a check finds, as far as the log determines the right state.
//!
//! Checkpoints, checksums and the hint are computed from the commits again, and statistics from the
//! rows. Broken files of the log are moved aside and never deleted. What loses rows or versions is
//! done only if the caller names it: dropping data files that do not exist, a choice for those that
//! lost their deletion vector, and cutting a broken tail of the log. `plan` decides from findings, `log_files` mends the log, and `data_files`
//! commits changes of files. Begin with [`Repair`].

mod data_files;
mod log_files;
mod lost_vectors;
mod options;
mod outcome;
mod plan;
mod row_id_mark;
mod run;

use crate::{Result, Table};

pub use options::{LostDeletionVectors, RepairOptions};
pub use outcome::{RepairAction, RepairKind, RepairOutcome};

/// A repair of a table. Nothing is read before [`run`](Repair::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// let url = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trips");
/// let outcome = lakebed::Table::at(url).build()?.repair().run().await?;
/// assert!(outcome.is_dry_run && outcome.actions.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Repair {
    table: Table,
    options: RepairOptions,
}

impl Table {
    /// Mends the damage that a check finds, as far as the log determines the right state. The default is
    /// a dry run. The table
    /// need not be readable.
    pub fn repair(&self) -> Repair {
        Repair { table: self.clone(), options: RepairOptions::default() }
    }
}

impl Repair {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: RepairOptions) -> Self {
        self.options = options;
        self
    }

    /// Mends the table, or finds what would be done.
    ///
    /// # Errors
    /// It is an error if the caller asks to cut the log, but a commit of its tail can be read.
    pub async fn run(self) -> Result<RepairOutcome> {
        self.table.refuse_in_transaction("a repair")?;
        run::run(&self.table, &self.options).await
    }
}
