//! A store around another one. It counts requests, and fails or drops those that a test chose.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, future, stream};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use tokio::sync::oneshot::{Receiver, Sender, channel};

/// The number of objects on a page of a listing.
const PAGE: usize = 1000;

/// The number of requests by kind, as a network would have seen them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub gets: usize,
    pub heads: usize,
    /// Listings, with one request for each page.
    pub lists: usize,
    /// Objects, copies and uploads in parts. An upload takes one request to begin, one for each
    /// part, and one to complete.
    pub puts: usize,
    /// Deleted objects, each counted by itself.
    pub deletes: usize,
    /// Bytes that were read.
    pub bytes: u64,
    /// The number of reads of each object, by name.
    pub objects: HashMap<String, usize>,
}

impl Counts {
    /// Returns the number of requests of any kind.
    pub fn total(&self) -> usize {
        self.gets + self.heads + self.lists + self.puts + self.deletes
    }

    /// Returns the number of data files that were read.
    pub fn data_files(&self) -> usize {
        self.objects.keys().filter(|name| !name.contains("_delta_log")).count()
    }

    /// Returns the number of data files that were read, of objects that were written, and of
    /// requested deletions.
    pub fn reads_and_writes(&self) -> (usize, usize, usize) {
        (self.data_files(), self.puts, self.deletes)
    }
}

/// A fault of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The object is not there.
    NotFound,
    /// The credentials do not suffice.
    Denied,
    /// The store is overloaded; the next attempt may succeed.
    Unavailable,
    /// The request is carried out, but the answer is lost.
    LostReply,
    /// The answer is lost, and a put is carried out only after the next request for the object.
    Late,
    /// A read finds the object empty.
    Blank,
    /// The answer ends after this number of bytes, with an error.
    Cut(usize),
}

/// Counts requests, and fails those for which [`fail`](Self::fail) was called.
#[derive(Debug)]
pub struct ObservedStore {
    inner: Arc<dyn ObjectStore>,
    counts: Arc<Mutex<Counts>>,
    failing: Arc<Mutex<Vec<Failing>>>,
    late: Mutex<Vec<Late>>,
    /// Delete requests, each for one object or for many.
    deletions: AtomicUsize,
    /// The suffixes of names that listings omit.
    unlisted: Arc<Mutex<Vec<String>>>,
    held: Mutex<Option<Held>>,
}

/// A put that waits.
#[derive(Debug)]
struct Held {
    suffix: String,
    reach: Sender<()>,
    opened: Receiver<()>,
}

/// The control of a put that waits.
#[derive(Debug)]
pub struct Keeper {
    /// Receives a message when the put has arrived.
    pub reached: Receiver<()>,
    /// Lets the put continue.
    pub open: Sender<()>,
}

/// A put that is still on its way.
#[derive(Debug)]
struct Late {
    location: Path,
    payload: PutPayload,
    options: PutOptions,
    is_due: bool,
}

#[derive(Debug)]
struct Failing {
    suffix: String,
    fault: Fault,
    spared: usize,
    times: usize,
}

impl Failing {
    /// Returns whether the fault happens now.
    fn strikes(&mut self, path: &str) -> bool {
        if self.times == 0 || !path.ends_with(&self.suffix) {
            return false;
        }
        let is_due = self.spared == 0;
        if is_due {
            self.times -= 1;
        } else {
            self.spared -= 1;
        }
        is_due
    }
}

impl ObservedStore {
    pub fn new(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            counts: Arc::default(),
            failing: Arc::default(),
            late: Mutex::default(),
            deletions: AtomicUsize::new(0),
            unlisted: Arc::default(),
            held: Mutex::default(),
        })
    }

    /// Returns the counts since the last call.
    pub fn take_counts(&self) -> Counts {
        std::mem::take(&mut self.counts.lock().unwrap())
    }

    /// Returns the number of delete requests since the last call. A request may delete many
    /// objects.
    pub fn take_deletions(&self) -> usize {
        self.deletions.swap(0, Ordering::Relaxed)
    }

    /// Fails the next `times` requests for objects, or listings of folders, with a name that ends
    /// with `suffix`. The error is transient.
    pub fn fail(&self, suffix: &str, times: usize) {
        self.fail_with(suffix, Fault::Unavailable, times);
    }

    /// Fails requests with a chosen fault. The first fault that applies counts.
    pub fn fail_with(&self, suffix: &str, fault: Fault, times: usize) {
        self.failing.lock().unwrap().push(Failing { suffix: suffix.to_owned(), fault, spared: 0, times });
    }

    /// Fails one request after `spared` other matching requests.
    pub fn fail_after(&self, suffix: &str, fault: Fault, spared: usize) {
        self.failing.lock().unwrap().push(Failing { suffix: suffix.to_owned(), fault, spared, times: 1 });
    }

    /// Fails all requests after `spared` ones, as if the process had died.
    pub fn die_after(&self, spared: usize) {
        self.failing.lock().unwrap().push(Failing { suffix: String::new(), fault: Fault::Denied, spared, times: usize::MAX });
    }

    /// Hides objects from listings if their name ends with `suffix`. The objects exist all the
    /// same, as if another process had created them during the listing.
    pub fn unlist(&self, suffix: &str) {
        self.unlisted.lock().unwrap().push(suffix.to_owned());
    }

    /// Holds the next put of an object with a name that ends with `suffix`. The put continues when
    /// the test lets it, so that another writer can commit first.
    pub fn hold(&self, suffix: String) -> Keeper {
        let ((reach, reached), (open, opened)) = (channel(), channel());
        *self.held.lock().unwrap() = Some(Held { suffix, reach, opened });
        Keeper { reached, open }
    }

    async fn wait_if_held(&self, location: &Path) {
        let held = self.held.lock().unwrap().take_if(|held| location.as_ref().ends_with(&held.suffix));
        if let Some(Held { reach, opened, .. }) = held {
            reach.send(()).unwrap();
            opened.await.unwrap();
        }
    }

    /// Returns faults that need no answer as errors, and other faults as values for the answer.
    fn check(&self, path: &str) -> Result<Option<Fault>> {
        check(&self.failing, path)
    }

    /// Carries out the puts of this object that are late by one request. The other late puts of the
    /// object become due with the next request.
    async fn arrive(&self, location: &Path) {
        let due = {
            let mut late = self.late.lock().unwrap();
            let (here, elsewhere): (Vec<Late>, Vec<Late>) = late.drain(..).partition(|late| late.location == *location);
            let (due, next): (Vec<Late>, Vec<Late>) = here.into_iter().partition(|late| late.is_due);
            late.extend(elsewhere);
            late.extend(next.into_iter().map(|late| Late { is_due: true, ..late }));
            due
        };
        for late in due {
            // The sender does not wait for the answer any more.
            let _ = self.inner.put_opts(&late.location, late.payload, late.options).await;
        }
    }

    /// Counts a page at the start and whenever a page is full.
    fn paged(
        &self,
        folder: Option<&Path>,
        listed: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.counts.lock().unwrap().lists += 1;
        if let Err(error) = self.check(folder.map_or("", |folder| folder.as_ref())) {
            return stream::iter([Err(error)]).boxed();
        }
        let (counts, mut seen) = (Arc::clone(&self.counts), 0);
        let count = move |_: &ObjectMeta| {
            if seen > 0 && seen % PAGE == 0 {
                counts.lock().unwrap().lists += 1;
            }
            seen += 1;
        };
        let unlisted = Arc::clone(&self.unlisted);
        listed.inspect_ok(count).try_filter(move |object| future::ready(is_listed(&unlisted, object))).boxed()
    }
}

fn is_listed(unlisted: &Mutex<Vec<String>>, object: &ObjectMeta) -> bool {
    !unlisted.lock().unwrap().iter().any(|suffix| object.location.as_ref().ends_with(suffix))
}

fn check(failing: &Mutex<Vec<Failing>>, path: &str) -> Result<Option<Fault>> {
    let mut failing = failing.lock().unwrap();
    let Some(due) = failing.iter_mut().find_map(|due| due.strikes(path).then(|| due.fault.clone())) else { return Ok(None) };
    let told = || "failed on demand".into();
    match due {
        Fault::NotFound => Err(Error::NotFound { path: path.to_owned(), source: told() }),
        Fault::Denied => Err(Error::PermissionDenied { path: path.to_owned(), source: told() }),
        Fault::Unavailable => Err(passing(io::ErrorKind::TimedOut)),
        fault => Ok(Some(fault)),
    }
}

/// An upload. Its requests are counted, and they fail like requests for its object.
#[derive(Debug)]
struct ObservedUpload {
    inner: Box<dyn MultipartUpload>,
    location: String,
    counts: Arc<Mutex<Counts>>,
    failing: Arc<Mutex<Vec<Failing>>>,
}

impl ObservedUpload {
    fn check(&self) -> Result<Option<Fault>> {
        self.counts.lock().unwrap().puts += 1;
        check(&self.failing, &self.location)
    }
}

#[async_trait]
impl MultipartUpload for ObservedUpload {
    fn put_part(&mut self, payload: PutPayload) -> UploadPart {
        match self.check() {
            Ok(fault) => {
                let sent = self.inner.put_part(payload);
                Box::pin(async move { unless_lost(sent.await, fault) })
            }
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let fault = self.check()?;
        unless_lost(self.inner.complete().await, fault)
    }

    async fn abort(&mut self) -> Result<()> {
        self.counts.lock().unwrap().deletes += 1;
        self.inner.abort().await
    }
}

fn unless_lost<T>(answer: Result<T>, fault: Option<Fault>) -> Result<T> {
    if fault.is_some() { Err(passing(io::ErrorKind::ConnectionReset)) } else { answer }
}

fn passing(kind: io::ErrorKind) -> Error {
    Error::Generic { store: "observed", source: io::Error::new(kind, "failed on demand").into() }
}

/// Returns an answer that ends too early.
fn blank(found: GetResult) -> GetResult {
    let meta = ObjectMeta { size: 0, ..found.meta };
    GetResult { payload: GetResultPayload::Stream(stream::empty().boxed()), meta, range: 0..0, attributes: found.attributes }
}

async fn cut(found: GetResult, length: usize) -> Result<GetResult> {
    let (meta, range, attributes) = (found.meta.clone(), found.range.clone(), found.attributes.clone());
    let bytes: Bytes = found.bytes().await?;
    let kept = bytes.slice(..length.min(bytes.len()));
    let parts = stream::iter([Ok(kept), Err(passing(io::ErrorKind::UnexpectedEof))]);
    Ok(GetResult { payload: GetResultPayload::Stream(parts.boxed()), meta, range, attributes })
}

impl fmt::Display for ObservedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "observed {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for ObservedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.wait_if_held(location).await;
        self.counts.lock().unwrap().puts += 1;
        self.arrive(location).await;
        let fault = self.check(location.as_ref())?;
        if fault == Some(Fault::Late) {
            self.late.lock().unwrap().push(Late { location: location.clone(), payload, options, is_due: false });
            return Err(passing(io::ErrorKind::TimedOut));
        }
        unless_lost(self.inner.put_opts(location, payload, options).await, fault)
    }

    async fn put_multipart_opts(&self, location: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.counts.lock().unwrap().puts += 1;
        let inner = self.inner.put_multipart_opts(location, options).await?;
        let (counts, failing) = (Arc::clone(&self.counts), Arc::clone(&self.failing));
        Ok(Box::new(ObservedUpload { inner, location: location.to_string(), counts, failing }))
    }

    // `get_ranges` is left to its default, which joins near ranges and comes here for each of what
    // remains.
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        {
            let mut counts = self.counts.lock().unwrap();
            if options.head {
                counts.heads += 1;
            } else {
                counts.gets += 1;
                *counts.objects.entry(location.to_string()).or_default() += 1;
            }
        }
        self.arrive(location).await;
        let fault = self.check(location.as_ref())?;
        let is_head = options.head;
        let found = self.inner.get_opts(location, options).await?;
        if !is_head {
            self.counts.lock().unwrap().bytes += found.range.end - found.range.start;
        }
        match fault {
            Some(Fault::Cut(length)) => cut(found, length).await,
            Some(Fault::Blank) => Ok(blank(found)),
            Some(_) => Err(passing(io::ErrorKind::ConnectionReset)),
            None => Ok(found),
        }
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.deletions.fetch_add(1, Ordering::Relaxed);
        let (counts, failing) = (Arc::clone(&self.counts), Arc::clone(&self.failing));
        let checked = locations.map(move |location| {
            let location = location?;
            counts.lock().unwrap().deletes += 1;
            check(&failing, location.as_ref()).map(|_| location)
        });
        self.inner.delete_stream(checked.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.paged(prefix, self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.paged(prefix, self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.counts.lock().unwrap().lists += 1;
        self.check(prefix.map_or("", |prefix| prefix.as_ref()))?;
        let mut found = self.inner.list_with_delimiter(prefix).await?;
        found.objects.retain(|object| is_listed(&self.unlisted, object));
        let further = (found.objects.len() + found.common_prefixes.len()).saturating_sub(1) / PAGE;
        self.counts.lock().unwrap().lists += further;
        Ok(found)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.counts.lock().unwrap().puts += 1;
        let fault = self.check(to.as_ref())?;
        unless_lost(self.inner.copy_opts(from, to, options).await, fault)
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt, PutMode};

    use super::*;

    #[tokio::test]
    async fn store_counts_ranges_and_listing_pages() {
        let store = ObservedStore::new(Arc::new(InMemory::new()));
        for i in 0..2001 {
            store.put(&Path::from(format!("d/{i:04}")), "0".into()).await.unwrap();
        }
        let big = Path::from("big");
        store.put(&big, vec![0_u8; 4 << 20].into()).await.unwrap();
        assert_eq!(store.take_counts(), Counts { puts: 2002, ..Counts::default() });
        store.get_ranges(&big, &[0..10, 20..30, 3 << 20..(3 << 20) + 5]).await.unwrap();
        let objects = HashMap::from([("big".to_owned(), 2)]);
        assert_eq!(store.take_counts(), Counts { gets: 2, bytes: 35, objects, ..Counts::default() });
        let listed: Vec<ObjectMeta> =
            store.list_with_offset(Some(&Path::from("d")), &Path::from("d/0000")).try_collect().await.unwrap();
        assert_eq!((listed.len(), store.take_counts().lists), (2000, 2));
        let first: Vec<_> = store.list(Some(&Path::from("d"))).take(3).try_collect().await.unwrap();
        assert_eq!((first.len(), store.take_counts().lists), (3, 1));
        store.list_with_delimiter(Some(&Path::from("d"))).await.unwrap();
        assert_eq!(store.take_counts().lists, 3);
        store.head(&big).await.unwrap();
        assert_eq!(store.take_counts(), Counts { heads: 1, ..Counts::default() });
    }

    #[tokio::test]
    async fn store_faults_strike_as_configured() {
        let store = ObservedStore::new(Arc::new(InMemory::new()));
        let (a, b) = (Path::from("t/a.json"), Path::from("t/b.json"));
        store.put(&a, "0123456789".into()).await.unwrap();
        store.put(&b, "b".into()).await.unwrap();
        store.fail("a.json", 2);
        store.fail_with("a.json", Fault::Cut(4), 1);
        store.fail_with("a.json", Fault::NotFound, 1);
        assert!(matches!(store.get(&a).await, Err(Error::Generic { .. })));
        assert_eq!(store.get(&b).await.unwrap().bytes().await.unwrap(), "b");
        assert!(matches!(store.get(&a).await, Err(Error::Generic { .. })));
        let cut = store.get(&a).await.unwrap().bytes().await;
        assert!(matches!(cut, Err(Error::Generic { .. })), "{cut:?}");
        assert!(matches!(store.get(&a).await, Err(Error::NotFound { .. })));
        assert_eq!(store.get(&a).await.unwrap().bytes().await.unwrap(), "0123456789");
    }

    #[tokio::test]
    async fn a_lost_reply_leaves_the_object_there() {
        let store = ObservedStore::new(Arc::new(InMemory::new()));
        store.fail_with("a.json", Fault::LostReply, 1);
        let path = Path::from("t/a.json");
        assert!(matches!(store.put(&path, "x".into()).await, Err(Error::Generic { .. })));
        assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "x");
    }

    #[tokio::test]
    async fn late_put_arrives_later_with_its_condition() {
        let store = ObservedStore::new(Arc::new(InMemory::new()));
        let path = Path::from("t/a.json");
        store.fail_with("a.json", Fault::Late, 1);
        assert!(matches!(store.put_opts(&path, "x".into(), PutMode::Create.into()).await, Err(Error::Generic { .. })));
        assert!(matches!(store.get(&path).await, Err(Error::NotFound { .. })));
        assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "x");
        store.fail_with("a.json", Fault::Late, 1);
        assert!(matches!(store.put_opts(&path, "y".into(), PutMode::Create.into()).await, Err(Error::Generic { .. })));
        for _ in 0..3 {
            assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "x");
        }
    }

    #[tokio::test]
    async fn store_counts_and_fails_uploads_and_deletions() {
        let store = ObservedStore::new(Arc::new(InMemory::new()));
        let path = Path::from("t/a");
        let mut upload = store.put_multipart(&path).await.unwrap();
        upload.put_part("x".into()).await.unwrap();
        store.fail("t/a", 1);
        assert!(matches!(upload.put_part("y".into()).await, Err(Error::Generic { .. })));
        upload.abort().await.unwrap();
        assert!(matches!(store.head(&path).await, Err(Error::NotFound { .. })));
        let mut upload = store.put_multipart(&path).await.unwrap();
        upload.put_part("x".into()).await.unwrap();
        store.fail_with("t/a", Fault::LostReply, 1);
        assert!(matches!(upload.complete().await, Err(Error::Generic { .. })));
        assert_eq!(store.head(&path).await.unwrap().size, 1);
        store.fail("t/a", 1);
        assert!(matches!(store.delete(&path).await, Err(Error::Generic { .. })));
        store.delete(&path).await.unwrap();
        assert_eq!(store.take_counts(), Counts { puts: 6, heads: 2, deletes: 3, ..Counts::default() });
    }
}
