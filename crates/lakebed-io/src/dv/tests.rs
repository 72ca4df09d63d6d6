use std::sync::Arc;

use lakebed_core::action::DvStorage;
use lakebed_core::dv::frame;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use url::Url;

use super::*;

fn vector(rows: &[u64]) -> DeletionVector {
    let mut vector = DeletionVector::default();
    for row in rows {
        vector.insert(*row);
    }
    vector
}

async fn store_with(name: &str, bytes: Vec<u8>) -> Store {
    let objects = Arc::new(InMemory::new());
    objects.put(&Path::parse(format!("t/{name}")).unwrap(), bytes.into()).await.unwrap();
    Store::from_object_store(objects, Path::from("t"), Url::parse("memory://test/t").unwrap())
}

const ID: &str = "a8b2b1b0-3c1d-4c57-9f0e-0123456789ab";

#[tokio::test]
async fn vectors_sharing_file_are_read_separately() {
    let vectors = [vector(&[0]), vector(&[3, 5, 1 << 40]), vector(&(0..1000).collect::<Vec<_>>())];
    let (bytes, descriptors) = frame(&vectors, ID.parse().unwrap(), "ab").unwrap();
    let store = store_with(&format!("ab/deletion_vector_{ID}.bin"), bytes).await;
    for (descriptor, expected) in descriptors.iter().zip(&vectors) {
        let read = read_deletion_vector(&store, descriptor).await.unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn an_inline_vector_needs_no_store() {
    // This is the example of the protocol's section on inline vectors.
    let descriptor = DeletionVectorDescriptor {
        storage_type: DvStorage::Inline,
        path_or_inline_dv: "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L".to_owned(),
        offset: None,
        size_in_bytes: 40,
        cardinality: 6,
    };
    let store = store_with("x", Vec::new()).await;
    assert_eq!(read_deletion_vector(&store, &descriptor).await.unwrap().iter().collect::<Vec<_>>(), [3, 4, 7, 11, 18, 29]);
}

#[tokio::test]
async fn missing_torn_wrong_files_differ() {
    let (bytes, descriptors) = frame(&[vector(&[1, 2, 3])], ID.parse().unwrap(), "").unwrap();
    let name = format!("deletion_vector_{ID}.bin");
    let error = read_deletion_vector(&store_with("x", Vec::new()).await, &descriptors[0]).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.message(), format!("a deletion vector cannot be read: memory://test/t/{name}: not found"));
    let torn = bytes[..bytes.len() - 1].to_vec();
    let error = read_deletion_vector(&store_with(&name, torn).await, &descriptors[0]).await.unwrap_err();
    assert!(error.is_corrupt() && error.message().contains(&name), "{error}");
    let mut flipped = bytes.clone();
    flipped[12] ^= 1;
    let error = read_deletion_vector(&store_with(&name, flipped).await, &descriptors[0]).await.unwrap_err();
    assert!(error.is_corrupt() && error.message().contains("checksum"), "{error}");
}

#[tokio::test]
async fn other_file_version_is_refused_by_name() {
    let (mut bytes, descriptors) = frame(&[vector(&[1]), vector(&[2])], ID.parse().unwrap(), "").unwrap();
    bytes[0] = 2;
    let name = format!("deletion_vector_{ID}.bin");
    let store = store_with(&name, bytes).await;
    for descriptor in &descriptors {
        let error = read_deletion_vector(&store, descriptor).await.unwrap_err();
        assert!(error.is_corrupt(), "{error}");
        let expected = format!("{name}: this file of deletion vectors is of version 2, but lakebed supports only version 1");
        assert_eq!(error.message(), expected);
    }
}

#[tokio::test]
async fn distant_vector_is_read_alone() {
    let many = vector(&(0..200_000).step_by(7).collect::<Vec<_>>());
    let vectors = [many.clone(), many.clone(), many.clone(), many, vector(&[2])];
    let (mut bytes, descriptors) = frame(&vectors, ID.parse().unwrap(), "").unwrap();
    assert!(descriptors[4].offset.unwrap() > 64 * 1024);
    bytes[0] = 2;
    let store = store_with(&format!("deletion_vector_{ID}.bin"), bytes).await;
    assert_eq!(read_deletion_vector(&store, &descriptors[4]).await.unwrap().iter().collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn vector_outside_table_needs_permission() {
    let (_, mut descriptors) = frame(&[vector(&[1])], ID.parse().unwrap(), "").unwrap();
    let descriptor = &mut descriptors[0];
    descriptor.storage_type = DvStorage::AbsolutePath;
    descriptor.path_or_inline_dv = "s3://elsewhere/t/dv.bin".to_owned();
    let error = read_deletion_vector(&store_with("x", Vec::new()).await, descriptor).await.unwrap_err();
    assert!(error.message().contains("outside the table"), "{error}");
}
