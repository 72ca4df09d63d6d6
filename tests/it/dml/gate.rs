//! A store in which one put waits until it is let through, so that another writer can be faster.

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, Result,
};
use tokio::sync::oneshot::{Receiver, Sender, channel};

/// Holds back the first put of an object whose name ends so.
#[derive(Debug)]
pub(super) struct Gate {
    inner: Arc<dyn ObjectStore>,
    suffix: String,
    held: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

/// The other side of it.
#[derive(Debug)]
pub(super) struct Keeper {
    /// Comes when the put is there.
    pub(super) reached: Receiver<()>,
    /// Lets it through.
    pub(super) open: Sender<()>,
}

impl Gate {
    pub(super) fn new(inner: Arc<dyn ObjectStore>, suffix: String) -> (Arc<Self>, Keeper) {
        let ((reach, reached), (open, opened)) = (channel(), channel());
        (Arc::new(Self { inner, suffix, held: Mutex::new(Some((reach, opened))) }), Keeper { reached, open })
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} behind a gate", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Gate {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let held = if location.as_ref().ends_with(&self.suffix) { self.held.lock().unwrap().take() } else { None };
        if let Some((reach, opened)) = held {
            reach.send(()).unwrap();
            opened.await.unwrap();
        }
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(&self, location: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
