//! Check: compares the log of a table with the objects in its store, in six depths.
//!
//! Each depth ([`Level`]) includes the ones before. Every contradiction is a [`Finding`]. A check
//! reads and never writes, and it works on tables that cannot be opened: it then continues with the
//! newest version that can be read. Each file of this module is one depth: `commits` (level `log`),
//! `state`, `files`, `footers`, `rows` and `history`. Begin with [`Check`].

mod bounds;
mod change_files;
mod commit_actions;
mod commit_times;
mod commits;
mod compactions;
mod damaged;
mod existence;
mod files;
mod finding;
mod findings;
mod footers;
mod history;
mod log_lines;
mod newest;
mod options;
mod outcome;
mod progress;
mod row_id_mark;
mod row_ids;
mod rows;
mod run;
mod state;
mod state_digest;
mod vector;

use std::sync::Arc;

use crate::{Result, Table};

pub(crate) use damaged::damage;
pub use finding::{Finding, FindingKind, Severity};
pub(crate) use history::vacuumed_until;
pub use options::{CheckOptions, Level};
pub use outcome::CheckOutcome;
pub use progress::{CheckProgress, CheckWatcher};
pub(crate) use row_id_mark::GreatestRowId;
pub(crate) use vector::VectorState;

/// A check of a table. Nothing is read before [`run`](Check::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use lakebed::check::Level;
///
/// let url = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trips");
/// let outcome = lakebed::Table::at(url).build()?.check().level(Level::Rows).run().await?;
/// assert!(outcome.is_ok());
/// assert_eq!(outcome.version, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Check {
    table: Table,
    options: CheckOptions,
    watcher: Option<CheckWatcher>,
}

impl Table {
    /// Compares the log of the table with the files of the table. The table need not be
    /// readable.
    pub fn check(&self) -> Check {
        Check { table: self.clone(), options: CheckOptions::default(), watcher: None }
    }
}

impl Check {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: CheckOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the depth.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.options.level = level;
        self
    }

    /// Sets a function that is called with the progress from time to time.
    #[must_use]
    pub fn watched_by(mut self, watcher: impl Fn(CheckProgress) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Checks the newest version of the table.
    ///
    /// # Errors
    /// Damage of the table is a finding, and no error. It is an error if there is no table, or if
    /// the store cannot be read.
    pub async fn run(self) -> Result<CheckOutcome> {
        self.table.refuse_in_transaction("a check")?;
        run::run(&self.table, &self.options, self.watcher).await
    }
}
