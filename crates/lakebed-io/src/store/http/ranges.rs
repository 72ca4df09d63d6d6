//! Reads ranges of objects from web servers that send only whole files.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use lakebed_core::error::{Error, Result};
use object_store::GetOptions;
use object_store::path::Path;

use crate::store::{ObjectVersion, Store};

impl Store {
    /// Fetches the whole object and cuts these ranges out of it.
    pub(in crate::store) async fn cut_ranges(
        &self,
        path: &Path,
        ranges: &[Range<u64>],
        seen: Option<&OnceLock<ObjectVersion>>,
    ) -> Result<Vec<Bytes>> {
        let whole = match self.retry(|| self.get_of(path, GetOptions::default(), seen)).await {
            Err(object_store::Error::Precondition { .. }) if seen.is_some() => return Err(Error::replaced(self.describe(path))),
            whole => whole.map_err(|error| self.failed(&error, path))?,
        };
        let cut = |range: &Range<u64>| {
            let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
            (start <= end && end <= whole.len()).then(|| whole.slice(start..end))
        };
        ranges.iter().map(cut).collect::<Option<_>>().ok_or_else(|| self.too_short(path, ranges, whole.len() as u64))
    }
}
