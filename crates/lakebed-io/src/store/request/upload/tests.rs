use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use lakebed_core::error::ErrorKind;
use object_store::memory::InMemory;
use object_store::{MultipartUpload, PutPayload, PutResult, UploadPart};
use proptest::prelude::*;
use url::Url;

use super::file::BLOCK_BYTES;
use super::parts::{AT_ONCE, FIRST_PART_BYTES, SentParts, part_bytes};
use super::pending::Pending;
use super::*;
use crate::store::StoreOptions;
use crate::store::tests::kit::{Counts, Fault, ObservedStore};

fn local(folder: &std::path::Path) -> Store {
    Store::open(folder.to_str().unwrap(), StoreOptions::default()).unwrap()
}

fn observed() -> (Arc<ObservedStore>, Store) {
    let observed = ObservedStore::new(Arc::new(InMemory::new()));
    let store = Store::from_object_store(Arc::clone(&observed) as _, Path::from("t"), Url::parse("memory://test/t").unwrap());
    (observed, store)
}

/// Returns bytes in which no two parts are equal.
fn bytes(size: usize) -> Bytes {
    (0..size as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect::<Vec<u8>>().into()
}

/// Uploads in pieces of this size, and reads the result.
async fn check(store: &Store, size: usize, piece: usize) {
    let path = store.path_of("d/a").unwrap();
    let wanted = bytes(size);
    let mut upload = store.upload(&path, Existing::Replace).await.unwrap();
    for at in (0..size).step_by(piece) {
        upload.write(wanted.slice(at..size.min(at + piece))).await.unwrap();
    }
    assert_eq!(upload.finish().await.unwrap(), size as u64);
    assert_eq!(store.get(&path).await.unwrap(), wanted, "{size} bytes in pieces of {piece}");
}

fn left_in(folder: &std::path::Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[tokio::test]
async fn objects_of_all_sizes_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    for store in [local(folder.path()), observed().1] {
        for edge in [0, BLOCK_BYTES, FIRST_PART_BYTES, 3 * FIRST_PART_BYTES] {
            for size in [edge.saturating_sub(1), edge, edge + 1] {
                check(&store, size, 1 << 20).await;
                check(&store, size, 5_000_000).await;
            }
        }
        check(&store, 20 << 20, 20 << 20).await;
        check(&store, 100_000, 7).await;
    }
    assert_eq!(left_in(&folder.path().join("d")), 1);
}

#[tokio::test]
async fn upload_below_part_size_is_one_request() {
    for (size, puts) in [(0, 1), (FIRST_PART_BYTES, 1), (FIRST_PART_BYTES + 1, 4), (2 * FIRST_PART_BYTES, 4)] {
        let (observed, store) = observed();
        check(&store, size, 300_000).await;
        assert_eq!(observed.take_counts().puts, puts, "{size}");
    }
}

#[test]
fn ten_thousand_parts_hold_the_largest_object() {
    let parts: Vec<u64> = (0..10_000).map(|begun| part_bytes(begun) as u64).collect();
    assert!(parts.iter().sum::<u64>() >= 5 << 40);
    assert!(parts.iter().all(|part| (5 << 20..=5 << 30).contains(part)));
    assert!(parts.iter().take(1000).all(|part| *part == FIRST_PART_BYTES as u64));
}

#[tokio::test]
async fn unfinished_upload_is_invisible_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for size in [0, 1000, 3 * FIRST_PART_BYTES] {
        let store = local(folder.path());
        for is_aborted in [true, false] {
            let path = store.path_of("d/a").unwrap();
            let mut upload = store.upload(&path, Existing::Refuse).await.unwrap();
            upload.write(bytes(size)).await.unwrap();
            assert!(store.head(&path).await.unwrap_err().is_not_found());
            if is_aborted {
                upload.abort().await;
                assert!(!folder.path().join("d").exists() || left_in(&folder.path().join("d")) == 0);
            } else {
                drop(upload);
            }
            assert!(store.head(&path).await.unwrap_err().is_not_found());
        }
    }
}

#[tokio::test]
async fn parts_of_unfinished_upload_are_removed() {
    for size in [1000, 3 * FIRST_PART_BYTES] {
        let in_parts = usize::from(size > FIRST_PART_BYTES);
        for way in ["abort", "drop"] {
            let (observed, store) = observed();
            let mut upload = store.upload(&store.path_of("a").unwrap(), Existing::Refuse).await.unwrap();
            upload.write(bytes(size)).await.unwrap();
            if way == "abort" {
                upload.abort().await;
            } else {
                drop(upload);
                tokio::task::yield_now().await;
            }
            assert_eq!(observed.take_counts().deletes, in_parts, "{way} {size}");
        }
    }
    let (observed, store) = observed();
    observed.fail_with("t/a", Fault::Denied, 1);
    let mut upload = store.upload(&store.path_of("a").unwrap(), Existing::Refuse).await.unwrap();
    let written = upload.write(bytes(3 * FIRST_PART_BYTES)).await;
    let error = match written {
        Ok(()) => upload.finish().await.unwrap_err(),
        Err(error) => {
            let again = upload.write(bytes(9 << 20)).await.unwrap_err();
            assert_eq!(*again.kind(), ErrorKind::Internal);
            error
        }
    };
    assert!(error.message().starts_with("memory://test/t/a: the store denies access"), "{error}");
    assert_eq!(observed.take_counts().deletes, 1);
    assert!(store.head(&store.path_of("a").unwrap()).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn lost_answer_to_completion_is_resolved() {
    let (observed, store) = observed();
    let path = store.path_of("a").unwrap();
    let mut upload = store.upload(&path, Existing::Refuse).await.unwrap();
    upload.write(bytes(FIRST_PART_BYTES + 1)).await.unwrap();
    // `finish` sends the second part, and ends the upload.
    observed.fail_after("t/a", Fault::LostReply, 1);
    assert_eq!(upload.finish().await.unwrap(), FIRST_PART_BYTES as u64 + 1);
    assert_eq!(observed.take_counts(), Counts { puts: 4, heads: 1, ..Counts::default() });
    assert_eq!(store.head(&path).await.unwrap().size, FIRST_PART_BYTES as u64 + 1);
}

#[tokio::test]
async fn unwritable_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("d"), "").unwrap();
    let store = local(folder.path());
    let mut upload = store.upload(&store.path_of("d/a").unwrap(), Existing::Refuse).await.unwrap();
    for _ in 0..2 {
        let _ = upload.write(bytes(BLOCK_BYTES)).await;
    }
    let error = upload.write(bytes(BLOCK_BYTES)).await.unwrap_err();
    assert!(error.message().contains("d/a: "), "{error}");
    let small = store.upload(&store.path_of("d/a").unwrap(), Existing::Refuse).await.unwrap();
    let error = small.finish().await.unwrap_err();
    assert!(error.message().ends_with("d/a: a part of this path is a file, not a directory"), "{error}");
}

/// Parts that end only when the test allows it.
#[derive(Debug)]
struct Slow {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

#[async_trait]
impl MultipartUpload for Slow {
    fn put_part(&mut self, _: PutPayload) -> UploadPart {
        let (now, most) = (Arc::clone(&self.now), Arc::clone(&self.most));
        Box::pin(async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        })
    }
    async fn complete(&mut self) -> object_store::Result<PutResult> {
        Ok(PutResult { e_tag: None, version: None })
    }
    async fn abort(&mut self) -> object_store::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn concurrent_parts_are_limited() {
    let (_, store) = observed();
    let most = Arc::new(AtomicUsize::new(0));
    let slow = Slow { now: Arc::default(), most: Arc::clone(&most) };
    let begun = parts::Multipart::Begun(Box::new(slow), SentParts::default());
    let mut upload = PartsUpload::begin(&store, &store.path_of("a").unwrap(), Existing::Refuse).with_multipart(begun);
    for _ in 0..20 {
        upload.write(bytes(FIRST_PART_BYTES)).await.unwrap();
    }
    upload.finish(0).await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), AT_ONCE);
}

/// Writes an object, uploads another to its name, and checks which of them stays.
async fn put_twice(store: &Store, first: &'static str, second: &'static str, existing: Existing) -> Result<u64> {
    let path = store.path_of("d/a").unwrap();
    store.put(&path, Bytes::from_static(first.as_bytes())).await.unwrap();
    let mut upload = store.upload(&path, existing).await.unwrap();
    upload.write(Bytes::from_static(second.as_bytes())).await.unwrap();
    let finished = upload.finish().await;
    let expected = if existing == Existing::Replace { second } else { first };
    assert_eq!(store.get(&path).await.unwrap(), expected);
    finished
}

#[tokio::test]
async fn existing_object_is_kept_unless_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for store in [local(folder.path()), observed().1] {
        let error = put_twice(&store, "theirs", "ours", Existing::Refuse).await.unwrap_err();
        assert!(error.message().contains("d/a: this name should be new, but an object has it already"), "{error}");
        assert_eq!(put_twice(&store, "theirs", "ours", Existing::Replace).await.unwrap(), 4);
        let path = store.path_of("d/b").unwrap();
        store.put_new(&path, Bytes::from_static(b"first")).await.unwrap();
        let error = store.put_new(&path, Bytes::from_static(b"other")).await.unwrap_err();
        let kind = ErrorKind::Store { object: store.describe(&path), retryable: true, not_found: false };
        assert_eq!(*error.kind(), kind);
        assert_eq!(store.get(&path).await.unwrap(), "first");
    }
    assert_eq!(left_in(&folder.path().join("d")), 2);
}

#[tokio::test]
async fn own_object_is_recognised_after_lost_answer() {
    let (observed, store) = observed();
    let path = store.path_of("a").unwrap();
    // The client retries on its own, and the store replies that the object exists.
    store.put(&path, Bytes::from_static(b"ours")).await.unwrap();
    observed.take_counts();
    let mut upload = store.upload(&path, Existing::Refuse).await.unwrap();
    upload.write(Bytes::from_static(b"ou")).await.unwrap();
    upload.write(Bytes::from_static(b"rs")).await.unwrap();
    assert_eq!(upload.finish().await.unwrap(), 4);
    let Counts { puts, gets, heads, .. } = observed.take_counts();
    assert_eq!((puts, gets, heads), (1, 1, 0));
}

proptest! {
    #[test]
    fn pending_bytes_are_taken_in_order(pieces in prop::collection::vec(0_usize..50, 0..20), sizes in prop::collection::vec(0_usize..80, 0..20)) {
        let whole = bytes(pieces.iter().sum());
        let (mut pending, mut at) = (Pending::default(), 0);
        for piece in pieces {
            pending.push(whole.slice(at..at + piece));
            at += piece;
        }
        let mut taken = Vec::new();
        for size in sizes {
            let part = pending.take(size).concat();
            prop_assert_eq!(part.len(), size.min(whole.len() - taken.len()));
            taken.extend(part);
            prop_assert_eq!(pending.size, whole.len() - taken.len());
        }
        prop_assert_eq!(taken.as_slice(), whole.get(..taken.len()).unwrap());
    }
}
