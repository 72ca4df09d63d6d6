//! Checks the number and the kinds of requests.

use super::*;

/// Counts the requests that would go over a network.
#[derive(Debug, Default)]
struct Counting {
    objects: InMemory,
    gets: AtomicUsize,
    listed: Arc<AtomicUsize>,
}

impl fmt::Display for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counting")
    }
}

#[async_trait]
impl ObjectStore for Counting {
    async fn put_opts(&self, path: &Path, bytes: PutPayload, options: PutOptions) -> object_store::Result<PutResult> {
        self.objects.put_opts(path, bytes, options).await
    }
    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(path, options).await
    }
    async fn get_opts(&self, path: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.objects.get_opts(path, options).await
    }
    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> object_store::Result<Vec<Bytes>> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        self.objects.get_ranges(path, ranges).await
    }
    fn delete_stream(
        &self,
        paths: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.objects.delete_stream(paths)
    }
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.objects.list(prefix)
    }
    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        use futures::StreamExt;
        let listed = Arc::clone(&self.listed);
        self.objects.list_with_offset(prefix, offset).inspect(move |_| _ = listed.fetch_add(1, Ordering::SeqCst)).boxed()
    }
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }
    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

fn counting() -> (Arc<Counting>, Store) {
    let objects = Arc::new(Counting::default());
    (Arc::clone(&objects), over(objects))
}

#[tokio::test]
async fn listing_ends_where_nothing_more_is_wanted() {
    let (objects, store) = counting();
    for name in ["log/1", "log/2", "log/_sidecars/a", "log/_sidecars/b", "log/_sidecars/c", "log/_x"] {
        put(&store, name, "x").await;
    }
    let listed = store.list_between(&store.path_of("log").unwrap(), "1", Some(":")).await.unwrap();
    assert_eq!(names(&listed), ["2"]);
    assert_eq!(objects.listed.load(Ordering::SeqCst), 2, "2 and the first sidecar");
}

#[tokio::test]
async fn neighbouring_pieces_share_one_request() {
    let (objects, store) = counting();
    let content: Vec<u8> = (0..100_000_u32).map(|i| i as u8).collect();
    let path = put(&store, "dv.bin", content.clone()).await;
    let pieces = (0..50_u64).map(|i| i * 100..i * 100 + 40);
    let read = futures::future::join_all(pieces.clone().map(|range| store.get_with_readahead(&path, range))).await;
    for (range, bytes) in pieces.zip(read) {
        assert_eq!(bytes.unwrap(), content[range.start as usize..range.end as usize]);
    }
    assert_eq!(objects.gets.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn distant_or_large_pieces_are_fetched_alone() {
    let (objects, store) = counting();
    let content: Vec<u8> = (0..3_000_000_u32).map(|i| (i / 7) as u8).collect();
    let path = put(&store, "dv.bin", content.clone()).await;
    for range in [2_000_000..2_000_010, 10..20, 0..1_500_000, 2_100_000..2_100_007, 2_999_990..3_000_000] {
        let bytes = store.get_with_readahead(&path, range.clone()).await.unwrap();
        assert_eq!(bytes, content[range.start as usize..range.end as usize]);
    }
    assert_eq!(objects.gets.load(Ordering::SeqCst), 4);
    let error = store.get_with_readahead(&path, 2_999_999..3_000_001).await.unwrap_err();
    assert!(error.is_corrupt() && error.message().contains("it has only 3000000"), "{error}");
    let error = store.get_with_readahead(&path, 5_000_000..5_000_001).await.unwrap_err();
    assert!(error.is_corrupt(), "{error}");
    assert!(store.get_with_readahead(&store.path_of("none").unwrap(), 0..1).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn readahead_memory_is_bounded() {
    let (objects, store) = counting();
    for i in 0..40 {
        let path = put(&store, &format!("dv{i}"), vec![i; 1000]).await;
        assert_eq!(store.get_with_readahead(&path, 5..6).await.unwrap(), [i].as_slice());
    }
    assert_eq!(objects.gets.load(Ordering::SeqCst), 40);
    assert!(store.0.windows.objects() <= 16);
    let last = store.path_of("dv39").unwrap();
    store.get_with_readahead(&last, 900..910).await.unwrap();
    assert_eq!(objects.gets.load(Ordering::SeqCst), 40);
}
