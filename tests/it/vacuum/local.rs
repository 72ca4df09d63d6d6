//! Vacuums of a local folder, in which files have ages, folders exist, and links lead to other
//! places.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use lakebed::Table;
use lakebed::vacuum::{VacuumOptions, VacuumOutcome};
use lakebed_tests::action::{add, metadata, protocol, text};
use serde_json::Value;
use tempfile::TempDir;

#[expect(clippy::disallowed_methods, reason = "the ages of files are those of the machine")]
fn days_ago(days: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(days * 86_400)
}

fn put(root: &Path, name: &str, days: u64) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "x").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(days_ago(days)).unwrap();
}

/// Sets the age of a folder. This comes last, because a new entry changes the folder's time.
fn age(root: &Path, folder: &str, days: u64) {
    File::open(root.join(folder)).unwrap().set_modified(days_ago(days)).unwrap();
}

fn table(actions: &[Value]) -> TempDir {
    let root = TempDir::new().unwrap();
    let head = [protocol(&[], &[]), metadata(&["id long"], &[], &[])];
    fs::create_dir(root.path().join("_delta_log")).unwrap();
    fs::write(root.path().join("_delta_log/00000000000000000000.json"), text(&[&head, actions].concat())).unwrap();
    root
}

async fn vacuum(root: &Path) -> VacuumOutcome {
    let table = Table::at(root.to_str().unwrap()).build().unwrap();
    table.vacuum().options(VacuumOptions { log_commits: false, ..VacuumOptions::default() }).run().await.unwrap()
}

#[tokio::test]
async fn what_is_younger_than_the_retention_stays() {
    let root = table(&[]);
    put(root.path(), "old.parquet", 8);
    put(root.path(), "young.parquet", 6);
    let outcome = vacuum(root.path()).await;
    assert_eq!((outcome.metrics.deleted_files, outcome.metrics.young_files), (1, 1));
    assert!(root.path().join("young.parquet").exists() && !root.path().join("old.parquet").exists());
}

#[tokio::test]
async fn hadoops_checksums_go_with_their_files() {
    let root = table(&[add("live.parquet")]);
    for name in ["live.parquet", ".live.parquet.crc", "p=1/gone.parquet", "p=1/.gone.parquet.crc", ".other.crc"] {
        put(root.path(), name, 9);
    }
    let outcome = vacuum(root.path()).await;
    assert_eq!((outcome.metrics.found_files, outcome.metrics.deleted_files), (1, 1));
    let left = ["live.parquet", ".live.parquet.crc", ".other.crc"];
    assert!(left.iter().all(|name| root.path().join(name).exists()));
    assert!(!root.path().join("p=1/.gone.parquet.crc").exists());
}

#[tokio::test]
async fn old_empty_folders_go_and_others_stay() {
    let root = table(&[]);
    for folder in ["old/deep/deeper", "young", "_hidden/old", "holds/nothing"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    put(root.path(), "holds/live/.hidden", 9);
    put(root.path(), "emptied/f.parquet", 9);
    for folder in
        ["old/deep/deeper", "old/deep", "old", "_hidden/old", "_hidden", "holds/nothing", "holds/live", "holds", "emptied"]
    {
        age(root.path(), folder, 9);
    }
    let outcome = vacuum(root.path()).await;
    assert_eq!((outcome.metrics.deleted_files, outcome.metrics.deleted_folders), (1, 4));
    // The folder that the vacuum emptied has been young since then.
    let there = |name: &str| root.path().join(name).exists();
    assert!(!there("old") && !there("holds/nothing"));
    assert!(there("young") && there("_hidden/old") && there("holds/live/.hidden") && there("emptied"));
}

#[cfg(unix)]
#[tokio::test]
async fn vacuum_leaves_links_and_their_targets() {
    use std::os::unix::fs::symlink;
    let root = table(&[add("link/a.parquet"), add("b-link.parquet")]);
    let elsewhere = TempDir::new().unwrap();
    put(elsewhere.path(), "theirs.parquet", 9);
    put(root.path(), "real/a.parquet", 9);
    put(root.path(), "other/b.parquet", 9);
    put(root.path(), "other/c.parquet", 9);
    symlink(root.path().join("real"), root.path().join("link")).unwrap();
    symlink("other/b.parquet", root.path().join("b-link.parquet")).unwrap();
    symlink(elsewhere.path(), root.path().join("out")).unwrap();
    let outcome = vacuum(root.path()).await;
    assert_eq!(outcome.metrics.deleted_files, 1);
    assert!(!root.path().join("other/c.parquet").exists() && elsewhere.path().join("theirs.parquet").exists());
    let left = ["real/a.parquet", "other/b.parquet", "link/a.parquet", "b-link.parquet", "out"];
    assert!(left.iter().all(|name| root.path().join(name).exists()));
}
