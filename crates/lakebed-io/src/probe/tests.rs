use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use url::Url;

use lakebed_core::path::LOG_DIR;

use super::*;
use crate::store::StoreOptions;
use crate::store::tests::kit::{Counts, Fault, ObservedStore};

/// The way in which a store breaks its guarantee.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lie {
    None,
    /// The guarantee is kept, but all concurrent writers are refused.
    Timid,
    /// The condition is ignored.
    Ignored,
    /// The condition is checked some time before the object is written.
    LooksFirst,
    /// The store replies that the name is taken, but stores the new bytes.
    Overwrites,
    /// The store does not support the condition.
    Unheard,
}

#[derive(Debug)]
struct Lying {
    objects: InMemory,
    lie: Lie,
    puts: AtomicUsize,
}

impl fmt::Display for Lying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lying")
    }
}

type Answer<T> = object_store::Result<T>;

#[async_trait]
impl ObjectStore for Lying {
    async fn put_opts(&self, path: &Path, bytes: PutPayload, options: PutOptions) -> Answer<PutResult> {
        self.puts.fetch_add(1, Ordering::SeqCst);
        let is_there = self.objects.head(path).await.is_ok();
        let taken = || object_store::Error::AlreadyExists { path: path.to_string(), source: "taken".into() };
        match self.lie {
            Lie::Timid if self.puts.load(Ordering::SeqCst) <= WRITERS => return Err(taken()),
            Lie::None | Lie::Timid => return self.objects.put_opts(path, bytes, options).await,
            Lie::Unheard => {
                let source = "Server returned non-2xx status code: 501 Not Implemented: ".into();
                return Err(object_store::Error::Generic { store: "S3", source });
            }
            Lie::LooksFirst if is_there => return Err(taken()),
            Lie::LooksFirst => tokio::task::yield_now().await,
            Lie::Ignored | Lie::Overwrites => {}
        }
        let done = self.objects.put_opts(path, bytes, PutMode::Overwrite.into()).await?;
        if self.lie == Lie::Overwrites && is_there { Err(taken()) } else { Ok(done) }
    }
    async fn put_multipart_opts(&self, path: &Path, options: PutMultipartOptions) -> Answer<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(path, options).await
    }
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Answer<GetResult> {
        self.objects.get_opts(path, options).await
    }
    fn delete_stream(&self, paths: BoxStream<'static, Answer<Path>>) -> BoxStream<'static, Answer<Path>> {
        self.objects.delete_stream(paths)
    }
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Answer<ObjectMeta>> {
        self.objects.list(prefix)
    }
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Answer<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }
    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Answer<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

fn over(objects: Arc<dyn ObjectStore>) -> Store {
    Store::from_object_store(objects, Path::from("t"), Url::parse("s3://lake/t").unwrap())
}

fn lying(lie: Lie) -> (Arc<Lying>, Store) {
    let objects = Arc::new(Lying { objects: InMemory::new(), lie, puts: AtomicUsize::new(0) });
    (Arc::clone(&objects), over(objects))
}

async fn is_empty(store: &Store) -> bool {
    store.list_after(&store.path_of(LOG_DIR).unwrap(), "").await.unwrap().is_empty()
}

#[tokio::test]
async fn sound_store_is_probed_once() {
    for lie in [Lie::None, Lie::Timid] {
        let (objects, store) = lying(lie);
        for _ in 0..3 {
            check_put_if_absent(&store).await.unwrap();
            assert_eq!(objects.puts.load(Ordering::SeqCst), WRITERS + 2);
        }
        assert!(is_empty(&store).await);
    }
}

#[tokio::test]
async fn unsound_store_is_refused_each_time() {
    for lie in [Lie::Ignored, Lie::LooksFirst, Lie::Overwrites, Lie::Unheard] {
        let (_, store) = lying(lie);
        for _ in 0..2 {
            let error = check_put_if_absent(&store).await.unwrap_err();
            assert!(error.message().starts_with("s3://lake/t"), "{lie:?}: {error}");
            assert!(error.message().contains("does not support put-if-absent"), "{lie:?}: {error}");
            assert!(matches!(error.kind(), ErrorKind::Store { retryable: false, .. }), "{lie:?}: {error:?}");
        }
        assert!(is_empty(&store).await, "{lie:?}");
    }
}

#[tokio::test]
async fn lost_answers_do_not_condemn_a_store() {
    let observed = ObservedStore::new(Arc::new(InMemory::new()));
    let store = over(Arc::clone(&observed) as _);
    observed.fail_with("", Fault::LostReply, WRITERS - 2);
    check_put_if_absent(&store).await.unwrap();
    let store = over(Arc::clone(&observed) as _);
    for _ in 1..WRITERS {
        observed.fail_after("", Fault::LostReply, 1);
    }
    let error = check_put_if_absent(&store).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Store { retryable: true, .. }), "{error}");
    check_put_if_absent(&store).await.unwrap();
    assert!(is_empty(&store).await);
}

#[tokio::test]
async fn known_stores_are_not_probed() {
    let observed = ObservedStore::new(Arc::new(InMemory::new()));
    let url = Url::parse("memory://x/t").unwrap();
    check_put_if_absent(&Store::from_object_store(Arc::clone(&observed) as _, Path::from("t"), url)).await.unwrap();
    assert_eq!(observed.take_counts(), Counts::default());
    for url in ["/data/t", "memory://x/t", "s3://lake/t", "az://lake/t", "gs://lake/t", "hdfs://h:1/t"] {
        let options = [("azure_storage_account_name", "a"), ("azure_storage_account_key", "AAEC"), ("aws_region", "eu-west-1")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let store = Store::open(url, StoreOptions { options, ..StoreOptions::default() }).unwrap();
        assert_eq!(store.unproven(), None);
    }
}

#[test]
fn services_at_other_addresses_are_asked() {
    let gcs =
        r#"{"gcs_base_url":"http://127.0.0.1:1","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}"#;
    for (url, options, expected) in [
        ("s3://lake/t", vec![("aws_endpoint", "https://u:hunter2@s3.example.com")], Some("https://***@s3.example.com")),
        ("s3://lake/t", vec![("aws_endpoint", "https://amazonaws.com.example.com")], Some("https://amazonaws.com.example.com")),
        ("s3://lake/t", vec![("aws_endpoint", "https://s3.dualstack.eu-west-1.amazonaws.com")], None),
        ("https://acc.r2.cloudflarestorage.com/lake/t", vec![], Some("https://acc.r2.cloudflarestorage.com")),
        ("az://lake/t", vec![("azure_storage_endpoint", "https://blob.example.com/a")], Some("https://blob.example.com/a")),
        ("az://lake/t", vec![("azure_storage_use_emulator", "true")], Some("the emulator's address")),
        ("abfss://c@acc.dfs.core.chinacloudapi.cn/t", vec![], None),
        ("gs://lake/t", vec![("google_service_account_key", gcs)], Some("http://127.0.0.1:1")),
    ] {
        let basic = [("azure_storage_account_name", "a"), ("azure_storage_account_key", "AAEC"), ("aws_region", "eu-west-1")];
        let options = basic.into_iter().chain(options).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let store = Store::open(url, StoreOptions { options, ..StoreOptions::default() }).unwrap();
        let expected = expected.map(|address| format!("{} at {address}", store.url()));
        assert_eq!(store.unproven(), expected.as_deref(), "{url}");
    }
}

#[tokio::test]
async fn a_web_server_cannot_be_written() {
    let store = Store::open("http://127.0.0.1:1/t", StoreOptions::default()).unwrap();
    assert!(check_put_if_absent(&store).await.unwrap_err().to_string().contains("read-only"));
}
