//! Where rows should lie: which files are put together, and by which order of rows files get narrow bounds.
//!
//! What is decided here is carried out by `lakebed::optimize`. Read [`binpack::plan`] for files that are only put together.

pub mod binpack;
