use std::fs;

use super::*;
use crate::store::StoreOptions;

fn hint(version: u64) -> Hint {
    Hint { version, size: Some(3), ..Hint::default() }
}

#[tokio::test]
async fn hint_replaces_older_hint_and_hadoop_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("_delta_log");
    fs::create_dir(&log).unwrap();
    fs::write(log.join("_last_checkpoint"), r#"{"version":4,"size":1}"#).unwrap();
    fs::write(log.join("._last_checkpoint.crc"), b"crc").unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), StoreOptions::default()).unwrap();
    assert!(!write_hint(&store, &hint(3)).await.unwrap());
    assert!(log.join("._last_checkpoint.crc").exists(), "nothing was overwritten");
    for version in [4, 5] {
        assert!(write_hint(&store, &hint(version)).await.unwrap());
        assert_eq!(read_hint(&store).await.unwrap(), ReadHint::Sound(Box::new(hint(version))));
    }
    assert!(!log.join("._last_checkpoint.crc").exists());
}

#[tokio::test]
async fn a_damaged_hint_is_replaced() {
    let store = Store::open("memory://damaged_hint", StoreOptions::default()).unwrap();
    store.put(&store.log_path(HINT_NAME).unwrap(), "{\"version\":".into()).await.unwrap();
    assert!(write_hint(&store, &hint(1)).await.unwrap());
    assert_eq!(read_hint(&store).await.unwrap(), ReadHint::Sound(Box::new(hint(1))));
}
