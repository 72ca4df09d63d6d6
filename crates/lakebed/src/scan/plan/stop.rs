//! The reasons why planning stops before its end.

use crate::Error;

/// The reason why planning stops early.
pub(super) enum Stop {
    /// Other files of the log can replace the broken one.
    Broken(Error),
    Failed(Error),
    /// The consumer dropped the stream.
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

    /// Classifies an error in reading commits. Log cleanup removes commits for which there is a
    /// checkpoint, so a missing commit can be replaced. Nothing can replace a broken commit.
    pub(super) fn of_commits(error: Error) -> Self {
        if error.is_not_found() { Self::Broken(error) } else { Self::Failed(error) }
    }
}
