use std::sync::Arc;

use futures::TryStreamExt;
use lakebed_core::log::replay::CommitRange;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use url::Url;

use super::*;
use crate::store::StoreOptions;

async fn store_with(files: &[(&str, &str)]) -> Store {
    let objects = Arc::new(InMemory::new());
    for (name, text) in files {
        objects.put(&Path::parse(format!("t/{name}")).unwrap(), (*text).to_owned().into()).await.unwrap();
    }
    Store::from_object_store(objects, Path::from("t"), Url::parse("memory://test/t").unwrap())
}

fn log_name(version: u64, rest: &str) -> String {
    format!("_delta_log/{version:020}{rest}")
}

#[tokio::test]
async fn listing_has_only_files_of_versions() {
    let names: Vec<String> =
        [".json", ".crc", ".checkpoint.parquet", ".checkpoint.0000000001.0000000002.parquet", ".checkpoint.a-b.json"]
            .iter()
            .map(|rest| log_name(3, rest))
            .chain([log_name(2, ".json"), log_name(10, ".json"), log_name(3, ".00000000000000000010.compacted.json")])
            .collect();
    let ignored = [
        log_name(3, ".json.tmp"),
        format!("_delta_log/.{:020}.json.crc", 3),
        "_delta_log/_last_checkpoint".into(),
        "_delta_log/_sidecars/00000000000000000003.checkpoint.parquet".into(),
        "_delta_log/_staged_commits/00000000000000000004.x.json".into(),
        "_delta_log/5.json/x".into(),
        "_delta_log2/00000000000000000011.json".into(),
        "00000000000000000012.json".into(),
        "_delta_log/notes.json".into(),
    ];
    let files: Vec<(&str, &str)> = names.iter().chain(&ignored).map(|name| (name.as_str(), "12345")).collect();
    let store = store_with(&files).await;

    let mut expected: Vec<&str> = names.iter().map(|name| name.strip_prefix("_delta_log/").unwrap()).collect();
    expected.sort_unstable();
    let listed = list_log(&store, None).await.unwrap();
    assert_eq!(listed.iter().map(|file| file.path.name.as_str()).collect::<Vec<_>>(), expected);
    assert!(listed.iter().all(|file| file.size == 5 && file.modified_ms > 1_600_000_000_000));
    let later = list_log(&store, Some(3)).await.unwrap();
    assert_eq!(later.iter().map(|file| file.path.name.as_str()).collect::<Vec<_>>(), expected[1..]);
    assert_eq!(list_log(&store, Some(11)).await.unwrap(), []);
}

#[tokio::test]
async fn missing_log_is_empty() {
    assert_eq!(list_log(&store_with(&[("x", "y")]).await, None).await.unwrap(), []);
    let folder = tempfile::tempdir().unwrap();
    for place in [folder.path().join("none"), folder.path().to_owned()] {
        let store = Store::open(place.to_str().unwrap(), StoreOptions::default()).unwrap();
        assert_eq!(list_log(&store, None).await.unwrap(), []);
        assert_eq!(read_hint(&store).await.unwrap(), ReadHint::Missing);
    }
}

#[tokio::test]
async fn short_versions_are_sorted_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("_delta_log");
    std::fs::create_dir(&log).unwrap();
    for version in [0_u64, 9, 10, 11] {
        std::fs::write(log.join(format!("{version:020}.json")), "{}").unwrap();
    }
    std::fs::write(log.join("2.json"), "{}").unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), StoreOptions::default()).unwrap();
    let versions: Vec<u64> = list_log(&store, None).await.unwrap().iter().map(|file| file.path.version).collect();
    assert_eq!(versions, [0, 2, 9, 10, 11]);
}

#[tokio::test]
async fn a_hint_is_sound_missing_or_unusable() {
    let hint = "_delta_log/_last_checkpoint";
    match read_hint(&store_with(&[(hint, r#"{"version":7,"size":3}"#)]).await).await.unwrap() {
        ReadHint::Sound(found) => assert_eq!(found.version, 7),
        other => panic!("{other:?}"),
    }
    for torn in ["", r#"{"version":7"#, r#"{"size":3}"#] {
        assert!(matches!(read_hint(&store_with(&[(hint, torn)]).await).await.unwrap(), ReadHint::Unusable(_)), "{torn}");
    }
}

/// Returns a store in memory and one on the local disk with these files. The latter exists as long
/// as the folder.
async fn stores_with(files: &[(&str, &str)]) -> (tempfile::TempDir, [Store; 2]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("_delta_log")).unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let local = Store::open(folder.path().to_str().unwrap(), StoreOptions::default()).unwrap();
    (folder, [store_with(files).await, local])
}

#[tokio::test]
async fn commits_come_in_requested_order() {
    let files: Vec<(String, String)> = (0..50).map(|version| (log_name(version, ".json"), format!("{version}"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (_folder, stores) = stores_with(&files).await;
    for store in stores {
        let wanted: Vec<LogPath> = (0..50).rev().map(LogPath::commit).collect();
        let read: Vec<CommitPart> = read_commits(&store, &wanted).try_collect().await.unwrap();
        let read: Vec<(&str, &[u8], bool)> = read.iter().map(|part| (&*part.name, &*part.lines, part.is_last)).collect();
        let names: Vec<(String, String)> =
            (0..50).rev().map(|version| (format!("{version:020}.json"), format!("{version}"))).collect();
        assert_eq!(read, names.iter().map(|(name, text)| (name.as_str(), text.as_bytes(), true)).collect::<Vec<_>>());
        let missing = [LogPath::commit(49), LogPath::commit(50)];
        let error = read_commits(&store, &missing).try_collect::<Vec<_>>().await.unwrap_err();
        assert!(error.message().ends_with(&format!("/_delta_log/{:020}.json: not found", 50)), "{error}");
    }
}

/// The lines have 0 to 99,999 bytes, and one alone is larger than a part. They come with and
/// without a line break at the end. The other commits are small.
#[tokio::test]
async fn large_commits_come_in_whole_lines() {
    let mut lines: Vec<String> = (0..400).map(|number| number.to_string().repeat(number * 83)).collect();
    lines.insert(100, "x".repeat(9 << 20));
    for end in ["", "\n"] {
        let text = lines.join("\n") + end;
        let names: Vec<String> = (0..4).map(|version| log_name(version, ".json")).collect();
        let (_folder, stores) =
            stores_with(&[(&names[0], "first"), (&names[1], &text), (&names[2], &text), (&names[3], "last")]).await;
        for store in stores {
            let wanted: Vec<LogPath> = (0..4).rev().map(LogPath::commit).collect();
            let parts: Vec<CommitPart> = read_commits(&store, &wanted).try_collect().await.unwrap();
            let mut commits: Vec<Vec<&str>> = vec![Vec::new()];
            for part in &parts {
                let seen = commits.last_mut().unwrap();
                assert_eq!(part.lines_before, seen.len());
                seen.extend(std::str::from_utf8(&part.lines).unwrap().lines());
                if part.is_last {
                    commits.push(Vec::new());
                }
            }
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert!(commits == [vec!["last"], lines.clone(), lines, vec!["first"], vec![]], "{} parts", parts.len());

            let places: Vec<CommitRange> = parts.iter().map(CommitPart::place).collect();
            let again = read_places(&store, &places).await.unwrap();
            assert!(again.iter().zip(&parts).all(|(again, part)| *again == part.lines), "other lines");
        }
    }
}

#[test]
fn file_times_are_made_increasing() {
    let listed = |version: u64, rest: &str, modified_ms: i64| ListedLogFile {
        path: LogPath::parse(&format!("{version:020}{rest}")).unwrap(),
        size: 1,
        modified_ms,
        e_tag: None,
    };
    let files = [
        listed(0, ".json", 50),
        listed(1, ".json", 50),
        listed(1, ".checkpoint.parquet", 99),
        listed(2, ".json", 40),
        listed(3, ".json", 60),
    ];
    let times: Vec<(u64, i64)> = adjusted_times(&files).into_iter().map(|(path, time)| (path.version, time)).collect();
    assert_eq!(times, [(0, 50), (1, 51), (2, 52), (3, 60)]);
}

mod without_listing {
    //! A web server that serves files and nothing else.

    use std::collections::HashMap;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn answer(mut stream: TcpStream, files: Arc<HashMap<String, String>>) {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let Ok(byte) = stream.read_u8().await else { return };
            request.push(byte);
        }
        let text = String::from_utf8(request).unwrap();
        let mut words = text.split_whitespace();
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let (status, body) = match (method, files.get(path)) {
            ("GET" | "HEAD", Some(body)) => ("200 OK", body.as_str()),
            ("GET" | "HEAD", None) => ("404 Not Found", ""),
            _ => ("501 Not Implemented", ""),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nlast-modified: Tue, 14 Nov 2023 22:13:20 GMT\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        if method == "GET" {
            stream.write_all(body.as_bytes()).await.unwrap();
        }
    }

    async fn serve(files: &[(&str, &str)]) -> (Store, tokio::task::JoinSet<()>) {
        let files: HashMap<String, String> =
            files.iter().map(|(name, text)| (format!("/t%201/{name}"), (*text).to_owned())).collect();
        let (files, listener) = (Arc::new(files), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let store = Store::open(&format!("http://{}/t%201", listener.local_addr().unwrap()), StoreOptions::default()).unwrap();
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move {
            let mut answers = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                answers.spawn(answer(stream, Arc::clone(&files)));
            }
        });
        (store, server)
    }

    #[tokio::test]
    async fn the_log_is_found_by_its_names() {
        let names: Vec<String> = (3..25)
            .map(|version| log_name(version, ".json"))
            .chain([log_name(3, ".checkpoint.parquet"), log_name(24, ".crc"), log_name(26, ".json")])
            .collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "{}")).collect();
        let (store, _server) = serve(&files).await;
        let listed = list_log(&store, Some(3)).await.unwrap();
        let commits: Vec<u64> =
            listed.iter().filter(|file| file.path.kind == LogKind::Commit).map(|file| file.path.version).collect();
        assert_eq!(commits, (3..25).collect::<Vec<_>>());
        assert_eq!(listed.len(), 24);
        assert!(listed.iter().all(|file| file.size == 2 && file.modified_ms == 1_700_000_000_000));
        assert_eq!(list_log(&store, None).await.unwrap(), []);
        let read: Vec<CommitPart> = read_commits(&store, &[LogPath::commit(3)]).try_collect().await.unwrap();
        assert_eq!(read[0].lines, "{}");
    }

    #[tokio::test]
    async fn ranges_are_cut_out_of_whole_files() {
        let (store, _server) = serve(&[("a", "0123456789")]).await;
        let path = store.path_of("a").unwrap();
        assert_eq!(store.get_ranges(&path, &[2..4, 9..10]).await.unwrap(), ["23", "9"]);
        assert_eq!(store.get_with_readahead(&path, 1..2).await.unwrap(), "1");
        assert!(store.get_ranges(&path, std::slice::from_ref(&(9..11))).await.unwrap_err().is_corrupt());
        assert!(store.get(&store.path_of("b").unwrap()).await.unwrap_err().is_not_found());
    }
}
