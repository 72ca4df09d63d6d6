//! Reads ahead in objects that never change. Tasks that run independently mostly request small
//! pieces of one object in order, and a request costs more than the bytes between the pieces.

use std::ops::Range;

use bytes::Bytes;
use lakebed_core::error::{Error, Result};
use object_store::path::Path;
use object_store::{GetOptions, GetRange};

use crate::store::Store;
use crate::store::request::windows::WINDOWS;

/// The number of bytes that are fetched at once.
const WINDOW_BYTES: u64 = 256 * 1024;
impl Store {
    /// Returns this range of an object that never changes. Neighbouring ranges cost one request,
    /// even if different tasks request them.
    pub async fn get_with_readahead(&self, path: &Path, range: Range<u64>) -> Result<Bytes> {
        let size = range.end.saturating_sub(range.start);
        if size > WINDOW_BYTES / 2 || self.local_path(path).is_some() || self.is_web() {
            let bytes = self.get_ranges(path, std::slice::from_ref(&range)).await?;
            return bytes.into_iter().next().ok_or_else(|| Error::internal("the store returned nothing for a range"));
        }
        let windows = self.0.windows.of(path);
        let mut windows = windows.lock().await;
        if let Some(bytes) = windows.iter().find_map(|(start, window)| cut(*start, window, &range)) {
            return Ok(bytes);
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.start..range.start.saturating_add(WINDOW_BYTES))),
            ..GetOptions::default()
        };
        let get = || async { self.object_store().get_opts(path, options.clone()).await?.bytes().await };
        let window = match self.retry(get).await {
            Ok(window) => window,
            Err(error) => return Err(self.explained(self.failed(&error, path), path, std::slice::from_ref(&range), None).await),
        };
        let Some(bytes) = cut(range.start, &window, &range) else {
            return Err(self.too_short(path, std::slice::from_ref(&range), range.start.saturating_add(window.len() as u64)));
        };
        windows.push_back((range.start, window));
        if windows.len() > WINDOWS {
            windows.pop_front();
        }
        Ok(bytes)
    }
}

/// Returns the part of a window with this range, if the window has all of it.
fn cut(start: u64, window: &Bytes, range: &Range<u64>) -> Option<Bytes> {
    let from = usize::try_from(range.start.checked_sub(start)?).ok()?;
    let to = usize::try_from(range.end.checked_sub(start)?).ok()?;
    (from <= to && to <= window.len()).then(|| window.slice(from..to))
}
