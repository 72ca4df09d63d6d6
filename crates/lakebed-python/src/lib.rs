//! The extension module `lakebed._lakebed`: arguments in, results out. What people import is `python/lakebed`.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod allocator;
mod error;
mod options;
mod owned;
mod doors;
mod runtime;
mod json;
mod arrow;
mod input;
mod logging;
mod credentials;
mod secrets;
mod table;
mod tags;
mod background;
mod scan;
mod write;
mod dml;
mod alter;
mod restore;
mod file_progress;
mod clone;
mod convert;
mod optimize;
mod drop_feature;
mod check;
mod repair;
mod health;
mod vacuum;
mod erase;
mod changes;
mod transaction;

use pyo3::prelude::*;

#[pymodule]
mod _lakebed {
    use super::*;
    #[pymodule_export]
    use crate::alter::{column_schema, delta_type};
    #[pymodule_export]
    use crate::arrow::ArrowStream;
    #[pymodule_export]
    use crate::background::finish_background;
    #[pymodule_export]
    use crate::changes::{Changes, Follow, PlannedChanges};
    #[pymodule_export]
    use crate::dml::MergeSource;
    #[pymodule_export]
    use crate::input::of_python::close_input;
    #[pymodule_export]
    use crate::scan::{read_task, set_memory_limit};
    #[pymodule_export]
    use crate::secrets::{is_relative, options_without_secrets, place_of, uri_without_secrets};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::transaction::Transaction;
    #[pymodule_export]
    use crate::write::write_files;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
        crate::logging::install();
        Ok(())
    }
}
