//! Why planning stops before its end.

use crate::Error;

/// Why planning stopped early.
pub(super) enum Stop {
    /// Other files of the log can stand in.
    Broken(Error),
    Failed(Error),
    /// The reader went away.
    Unwanted,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    pub(super) fn of_checkpoint(error: Error) -> Self {
        if error.is_corrupt() || error.is_not_found() { Self::Broken(error) } else { Self::Failed(error) }
    }

    /// A clean-up removes commits for which there is a checkpoint; for broken ones there is nothing.
    pub(super) fn of_commits(error: Error) -> Self {
        if error.is_not_found() { Self::Broken(error) } else { Self::Failed(error) }
    }
}
