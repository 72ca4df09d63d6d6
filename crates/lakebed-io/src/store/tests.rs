use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use lakebed_core::error::ErrorKind;
use lakebed_core::path::FilePath;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStoreExt, PutMultipartOptions, PutOptions,
    PutPayload, PutResult,
};
use proptest::prelude::*;

use super::*;

mod files;
/// The store of the workspace's test kit, which counts requests and injects faults.
#[expect(dead_code, reason = "the kit is larger than what is used of it here")]
#[path = "../../../../tests/kit/store.rs"]
pub(crate) mod kit;
mod requests;
mod writes;

fn memory() -> Store {
    over(Arc::new(InMemory::new()))
}

fn over(objects: Arc<dyn ObjectStore>) -> Store {
    Store::from_object_store(objects, Path::parse("lake/t").unwrap(), Url::parse("memory://test/lake/t").unwrap())
}

async fn put(store: &Store, name: &str, bytes: impl Into<Bytes>) -> Path {
    let path = store.path_of(name).unwrap();
    store.object_store().put(&path, bytes.into().into()).await.unwrap();
    path
}

fn names(found: &[ObjectMeta]) -> Vec<&str> {
    found.iter().map(|object| object.location.filename().unwrap()).collect()
}

#[tokio::test]
async fn one_memory_name_is_one_store() {
    let here = Store::open("memory://one/t", StoreOptions::default()).unwrap();
    put(&here, "a", "x").await;
    let again = Store::open("memory://one/t", StoreOptions::default()).unwrap();
    assert_eq!(again.get(&again.path_of("a").unwrap()).await.unwrap(), "x");
    let other = Store::open("memory://two/t", StoreOptions::default()).unwrap();
    assert!(other.get(&other.path_of("a").unwrap()).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn errors_name_the_object() {
    let store = memory();
    let error = store.get(&store.path_of("a b.json").unwrap()).await.unwrap_err();
    assert_eq!(error.to_string(), "memory://test/lake/t/a b.json: not found");
    let kind = ErrorKind::Store { object: "memory://test/lake/t/a b.json".into(), retryable: false, not_found: true };
    assert_eq!(*error.kind(), kind);
}

#[tokio::test]
async fn ranges_are_complete_or_object_is_corrupt() {
    let store = memory();
    let path = put(&store, "a", "0123456789").await;
    assert_eq!(store.get_ranges(&path, &[2..5, 9..10, 0..0]).await.unwrap(), ["234", "9", ""]);
    for range in [8..11, 10..12, 500..501] {
        let error = store.get_ranges(&path, std::slice::from_ref(&range)).await.unwrap_err();
        assert!(error.is_corrupt(), "{error:?}");
        let message =
            format!("memory://test/lake/t/a: bytes {} to {} were requested, but it has only 10 bytes", range.start, range.end);
        assert_eq!(error.message(), message);
    }
    let missing = store.path_of("b").unwrap();
    assert!(store.get_ranges(&missing, std::slice::from_ref(&(0..1))).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn listing_is_sorted_without_subfolders() {
    let store = memory();
    for name in ["log/0", "log/1", "log/10", "log/2/x", "log/_s/y", "log/a", "log2/5", "log.d/5"] {
        put(&store, name, "x").await;
    }
    let folder = store.path_of("log").unwrap();
    assert_eq!(names(&store.list_after(&folder, "0").await.unwrap()), ["1", "10", "a"]);
    assert_eq!(names(&store.list_between(&folder, "0", Some(":")).await.unwrap()), ["1", "10"]);
    assert_eq!(names(&store.list_after(&folder, "1").await.unwrap()), ["10", "a"]);
    assert_eq!(store.list_after(&store.path_of("none").unwrap(), "0").await.unwrap(), []);
}

#[test]
fn names_are_taken_as_they_are() {
    let store = memory();
    for name in ["p=a%2Fb/x", "a b/ü€.parquet", "a#b?c+d&e=f", "x~`^{}|[]\"'\\"] {
        assert_eq!(store.path_of(name).unwrap().as_ref(), format!("lake/t/{name}"));
    }
    assert_eq!(store.path_of("/a//b/").unwrap().as_ref(), "lake/t/a/b");
    assert_eq!(store.path_of("").unwrap(), *store.root());
    for name in ["../x", "a/./b", "a\nb", "a\0b"] {
        let error = store.path_of(name).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidInput, "{name:?}");
    }
}

fn check_resolve(root: &str, path: &str, allow: bool, expected: Result<(&str, &str), &str>) {
    let options = [("azure_storage_account_name", "acc"), ("azure_storage_account_key", "AAEC"), ("aws_region", "eu")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let store = Store::open(root, StoreOptions { options, allow_absolute_paths: allow, ..StoreOptions::default() }).unwrap();
    let found = FilePath::parse(path).and_then(|path| store.resolve(&path));
    match (found, expected) {
        (Ok((store, path)), Ok((described, raw))) => {
            assert_eq!(store.describe(&path), described, "{root} {path}");
            assert_eq!(path.as_ref(), raw, "{root} {path}");
        }
        (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{root} {path}: {error}"),
        (found, expected) => panic!("{root} {path}: {found:?}, not {expected:?}"),
    }
}

#[test]
fn relative_paths_stay_below_the_root() {
    check_resolve(
        "s3://lake/t",
        "p=a%252Fb/x%20y.parquet",
        false,
        Ok(("s3://lake/t/p=a%2Fb/x y.parquet", "t/p=a%2Fb/x y.parquet")),
    );
    check_resolve("s3://lake/t", "../x", false, Err("lead out"));
    check_resolve("/data/t", "x%09y", false, Err("the store allows no object of this name"));
}

#[test]
fn absolute_paths_below_root_act_as_relative() {
    check_resolve("s3://lake/t", "s3a://lake/t/x%20y", false, Ok(("s3://lake/t/x y", "t/x y")));
    check_resolve("s3://lake/t", "/t/x", false, Ok(("s3://lake/t/x", "t/x")));
    check_resolve("s3://lake", "s3://lake/t/x", false, Ok(("s3://lake/t/x", "t/x")));
    check_resolve("/data/t", "file:/data/t/a%2525b", false, Ok(("/data/t/a%25b", "data/t/a%25b")));
    check_resolve("file:///data/t", "/data/t/x", false, Ok(("/data/t/x", "data/t/x")));
    check_resolve("az://c/t", "abfss://c@acc.dfs.core.windows.net/t/x", false, Ok(("az://c/t/x", "t/x")));
    check_resolve(
        "abfss://c@acc.dfs.core.windows.net/t",
        "wasbs://c@acc.blob.core.windows.net/t/x",
        false,
        Ok(("abfss://c@acc.dfs.core.windows.net/t/x", "t/x")),
    );
}

#[test]
fn given_store_knows_its_absolute_paths() {
    let found = memory().resolve(&FilePath::parse("memory://test/lake/t/x").unwrap()).unwrap();
    assert_eq!(found.1.as_ref(), "lake/t/x");
    let error = memory().resolve(&FilePath::parse("memory://other/lake/t/x").unwrap()).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().starts_with("memory://other/lake/t/x: "), "{error}");
    assert!(error.message().contains("memory://test/lake/t"), "{error}");
}

#[test]
fn absolute_paths_elsewhere_need_leave() {
    for (root, path, described, raw) in [
        ("s3://lake/t", "s3://lake/other/x", "s3://lake/other/x", "other/x"),
        ("s3://lake/t", "s3://lake/t2/x", "s3://lake/t2/x", "t2/x"),
        ("s3://lake/t", "s3://pond/t/x", "s3://pond/t/x", "t/x"),
        ("s3://lake/t", "file:/data/x", "/data/x", "data/x"),
        ("/data/t", "/data/x", "/data/x", "data/x"),
        (
            "abfss://c@acc.dfs.core.windows.net/t",
            "abfss://c@other.dfs.core.windows.net/t/x",
            "abfss://c@other.dfs.core.windows.net/t/x",
            "t/x",
        ),
    ] {
        check_resolve(root, path, false, Err("lies outside the table"));
        check_resolve(root, path, true, Ok((described, raw)));
    }
    check_resolve("s3://lake/t", "dbfs:/x", true, Err("unknown scheme dbfs"));
}

#[test]
fn other_stores_are_opened_once() {
    let store = Store::open("/data/t", StoreOptions { allow_absolute_paths: true, ..StoreOptions::default() }).unwrap();
    let at = |path: &str| store.resolve(&FilePath::parse(path).unwrap()).unwrap().0;
    assert!(Arc::ptr_eq(at("memory://elsewhere/a/x").object_store(), at("memory://elsewhere/b/y").object_store()));
    assert!(Arc::ptr_eq(&at("memory://elsewhere/a/x").0, &at("memory://elsewhere/b/y").0));
}

#[test]
fn nothing_shows_secrets() {
    let options = HashMap::from([
        ("aws_secret_access_key".to_owned(), "hunter2".to_owned()),
        ("aws_access_key_id".to_owned(), "id".to_owned()),
    ]);
    let options = StoreOptions { options, ..StoreOptions::default() };
    let store = Store::open("s3://lake/t", options.clone()).unwrap();
    let shown = format!("{store:?} {options:?} {} {}", store.url(), store.describe(store.root()));
    assert!(!shown.contains("hunter2"), "{shown}");
    let store = Store::open("abfss://c@acc.dfs.core.windows.net/t?sv=1&sig=hunter2", StoreOptions::default()).unwrap();
    assert_eq!(store.url(), "abfss://c@acc.dfs.core.windows.net/t");
}
