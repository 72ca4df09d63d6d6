use std::collections::HashSet;

use lakebed_core::Result;
use object_store::memory::InMemory;
use url::Url;

use super::super::{Credentials, StoreOptions};
use super::*;

fn around(objects: &Arc<dyn ObjectStore>, root: &str, url: &str) -> StoreIdentity {
    Store::from_object_store(Arc::clone(objects), Path::from(root), Url::parse(url).unwrap()).identity()
}

fn opened(url: &str, options: StoreOptions) -> StoreIdentity {
    Store::open(url, options).unwrap().identity()
}

fn memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

#[test]
fn given_stores_are_equal_by_implementation() {
    let (here, there) = (memory(), memory());
    let same = [(); 2].map(|()| around(&here, "t", "memory://m/t"));
    let others = [
        around(&there, "t", "memory://m/t"),
        around(&here, "t2", "memory://m/t"),
        around(&here, "t", "memory://m/t2"),
        opened("memory://m/t", StoreOptions::default()),
    ];
    assert!(same[0] == same[1]);
    assert_eq!(same.into_iter().chain(others).collect::<HashSet<_>>().len(), 5);
}

/// An allocator may reuse the address of a dropped store for a later store. It does not if a weak
/// reference is left.
#[test]
fn dropped_store_never_equals_later_store() {
    let mut gone = HashSet::new();
    for _ in 0..100 {
        let objects = memory();
        assert!(gone.insert(around(&objects, "t", "memory://m/t")));
        assert_eq!(Arc::strong_count(&objects), 1);
    }
}

#[test]
fn opened_stores_are_equal_by_options() {
    struct Nobody;
    impl CredentialSource for Nobody {
        fn get(&self) -> Result<Credentials> {
            Ok(Credentials::default())
        }
    }
    let source = Arc::new(Nobody) as Arc<dyn CredentialSource>;
    let with_source = |source: &Arc<dyn CredentialSource>| StoreOptions {
        credentials: Some(Arc::clone(source)),
        options: [("aws_region".to_owned(), "eu".to_owned())].into(),
        ..StoreOptions::default()
    };
    let with_option =
        |value: &str| StoreOptions { options: [("aws_region".to_owned(), value.to_owned())].into(), ..StoreOptions::default() };
    let all = || {
        [
            opened("s3://lake/t", with_option("eu")),
            opened("s3://lake/t2", with_option("eu")),
            opened("s3://lake/t", with_option("us")),
            opened("s3://lake/t", with_source(&source)),
        ]
    };
    let another = opened("s3://lake/t", with_source(&(Arc::new(Nobody) as Arc<dyn CredentialSource>)));
    assert_eq!(all().into_iter().chain(all()).chain([another]).collect::<HashSet<_>>().len(), 5);
}
