//! Tells damage of a table from failures of its store.

use crate::{Error, ErrorKind, Result};

/// Returns the value, or the error if it shows damage of the table. All other errors, such as those
/// of the network, end the check.
pub(crate) fn damage<T>(result: Result<T>) -> Result<Result<T, Error>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) if is_damage(&error) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

fn is_damage(error: &Error) -> bool {
    error.is_not_found()
        || matches!(
            error.kind(),
            ErrorKind::Corrupt { .. }
                | ErrorKind::VersionNotFound
                | ErrorKind::SchemaMismatch
                | ErrorKind::UnsupportedFeature { .. }
                | ErrorKind::TableNotFound
        )
}
