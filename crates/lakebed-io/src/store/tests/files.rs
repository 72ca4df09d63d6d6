//! Tests of the file system of this machine.

use std::fs;

use super::*;

fn open(folder: &std::path::Path) -> Store {
    Store::open(folder.to_str().unwrap(), StoreOptions::default()).unwrap()
}

/// Names that stores and URLs tend to change, in the form in which they are on the disk.
const NAMES: [&str; 14] = [
    "p=a%2Fb",
    "a b",
    "ü€😀",
    "a#b",
    "a#1",
    "a?b",
    "a+b",
    "a&b=c",
    "%41",
    "a%",
    "~a^`{}|[]",
    "a\\b",
    "a'\"b",
    "p=2024-01-01 00%3A00",
];

#[tokio::test]
async fn odd_names_are_kept_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for name in NAMES {
        let file = folder.path().join("d").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, name).unwrap();
        let path = store.path_of(&format!("d/{name}")).unwrap();
        assert_eq!(store.get(&path).await.unwrap(), name.as_bytes(), "{name}");
        assert_eq!(store.get_ranges(&path, std::slice::from_ref(&(0..1))).await.unwrap(), [&name.as_bytes()[..1]], "{name}");
        assert_eq!(store.head(&path).await.unwrap().size, name.len() as u64, "{name}");
        assert_eq!(store.local_path(&path).unwrap(), file.as_path());
        assert!(store.describe(&path).ends_with(&format!("/d/{name}")));
        // The name is one that object_store uses for its own uploads.
        if name != "a#1" {
            store.object_store().put(&path, "written".into()).await.unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "written", "{name}");
        }
    }
    let mut sorted = NAMES;
    sorted.sort_unstable();
    assert_eq!(names(&store.list_after(&store.path_of("d").unwrap(), "").await.unwrap()), sorted);
}

#[tokio::test]
async fn root_with_odd_letters_works() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a b%20c", "ü#1", "x?y", "tail ", "p=a%2Fb"] {
        let root = folder.path().join(name);
        fs::create_dir(&root).unwrap();
        fs::write(root.join("f"), name).unwrap();
        let store = open(&root);
        assert_eq!(store.get(&store.path_of("f").unwrap()).await.unwrap(), name.as_bytes());
        let by_url = Store::open(store.url(), StoreOptions::default()).unwrap();
        assert_eq!(by_url.get(&by_url.path_of("f").unwrap()).await.unwrap(), name.as_bytes());
    }
}

#[tokio::test]
async fn local_listing_skips_all_but_files() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    fs::create_dir_all(log.join("2.json")).unwrap();
    fs::create_dir_all(log.join("_sidecars")).unwrap();
    for name in ["1.json", "3.json", "_last", ".1.json.crc", "0.json"] {
        fs::write(log.join(name), name).unwrap();
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(log.join("1.json"), log.join("4.json")).unwrap();
        std::os::unix::fs::symlink(log.join("gone"), log.join("5.json")).unwrap();
        std::os::unix::fs::symlink(&log, log.join("6.json")).unwrap();
    }
    let store = open(folder.path());
    let listed = store.list_between(&store.path_of("log").unwrap(), "0.json", Some(":")).await.unwrap();
    let expected: &[&str] = if cfg!(unix) { &["1.json", "3.json", "4.json"] } else { &["1.json", "3.json"] };
    assert_eq!(names(&listed), expected);
    assert_eq!(listed[0].size, 6);
    let written = fs::metadata(log.join("1.json")).unwrap().modified().unwrap();
    assert_eq!(listed[0].last_modified, chrono::DateTime::<chrono::Utc>::from(written));
    assert_eq!(store.list_after(&store.path_of("log/1.json").unwrap(), "").await.unwrap(), []);
}

#[tokio::test]
async fn missing_files_folders_and_short_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("f"), "0123").unwrap();
    let store = open(folder.path());
    let at = |name: &str| store.path_of(name).unwrap();
    let error = store.get(&at("x.json")).await.unwrap_err();
    assert!(error.is_not_found());
    assert!(
        error.to_string().starts_with(&format!("{}/x.json: not found", folder.path().canonicalize().unwrap().display())),
        "{error}"
    );
    assert!(store.get(&at("d")).await.unwrap_err().to_string().contains("is a directory"));
    assert!(store.head(&at("d")).await.unwrap_err().to_string().contains("is a directory"));
    let error = store.get_ranges(&at("f"), &[0..2, 3..5]).await.unwrap_err();
    assert!(error.is_corrupt() && error.message().ends_with("bytes 3 to 5 were requested, but it has only 4 bytes"), "{error}");
    // No memory is reserved for the length of a requested range.
    assert!(store.get_ranges(&at("f"), std::slice::from_ref(&(0..u64::MAX))).await.unwrap_err().is_corrupt());
}

#[cfg(unix)]
#[tokio::test]
async fn a_refused_permission_is_said_plainly() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    fs::write(&file, "x").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    // A user with all permissions does not get the error.
    if fs::read(&file).is_ok() {
        return;
    }
    let store = open(folder.path());
    let error = store.get(&store.path_of("f").unwrap()).await.unwrap_err();
    assert!(error.message().ends_with("/f: permission denied"), "{error}");
    assert!(matches!(error.kind(), ErrorKind::Store { retryable: false, not_found: false, .. }));
}

#[cfg(unix)]
#[test]
fn absolute_paths_below_linked_root_are_inside() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    fs::create_dir_all(real.join("t")).unwrap();
    fs::create_dir_all(folder.path().join("elsewhere")).unwrap();
    fs::write(real.join("t/x"), "x").unwrap();
    fs::write(folder.path().join("elsewhere/y"), "y").unwrap();
    std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), real.join("t/inside")).unwrap();
    let store = open(&folder.path().join("link/t"));
    let resolve = |path: std::path::PathBuf| store.resolve(&FilePath::parse(&format!("file:{}", path.display())).unwrap());
    assert!(resolve(real.join("t/x")).is_ok());
    assert!(resolve(folder.path().join("link/t/x")).is_ok());
    let error = resolve(folder.path().join("elsewhere/y")).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("elsewhere/y"), "{error}");
    // A link inside the table belongs to whoever made the table.
    assert!(store.resolve(&FilePath::parse("inside/y").unwrap()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A file is found under the name that it has on the disk.
    #[test]
    fn every_name_makes_the_round_trip(name in "[^/\\\\\\pC]{1,20}") {
        prop_assume!(name != "." && name != "..");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(&name), "x").unwrap();
        let store = open(folder.path());
        let path = store.path_of(&name).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert_eq!(store.get(&path).await.unwrap(), "x");
            assert_eq!(store.list_after(store.root(), "").await.unwrap()[0].location, path);
        });
    }
}
