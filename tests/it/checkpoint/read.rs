//! Checkpoints in all their forms, read by `lakebed_io`.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lakebed_core::action::Action;
use lakebed_core::log::checkpoint::columns;
use lakebed_core::log::segment::{CheckpointFiles, plan};
use lakebed_io::{checkpoint, log};
use lakebed_tests::action::{add, remove, stats_of_ids, with};
use lakebed_tests::{Counts, Form, TableBuilder};
use serde_json::{Value, json};

const FORMS: [Form; 9] = [
    Form::Classic,
    Form::MultiPart(2),
    Form::MultiPart(7),
    Form::ClassicV2(0),
    Form::ClassicV2(3),
    Form::UuidParquet(0),
    Form::UuidParquet(3),
    Form::UuidJson(0),
    Form::UuidJson(3),
];

/// Returns twenty files, three tombstones, two applications and one domain.
fn actions() -> Vec<Value> {
    let mut actions: Vec<Value> = (0..20).map(|file| add(&format!("f{file}"))).collect();
    actions.extend((0..3).map(|file| remove(&format!("gone{file}"))));
    actions.push(json!({"txn": {"appId": "a", "version": 1}}));
    actions.push(json!({"txn": {"appId": "b", "version": 2, "lastUpdated": 5}}));
    actions.push(json!({"domainMetadata": {"domain": "d", "configuration": "{}", "removed": false}}));
    actions
}

async fn table(form: Form, group_rows: usize) -> TableBuilder {
    let builder = TableBuilder::new();
    builder.commit(&actions()).await;
    builder.checkpoint_as(0, form, &actions(), group_rows).await;
    builder
}

async fn files(builder: &TableBuilder) -> CheckpointFiles {
    let listed = log::list_log(&builder.store(), None).await.unwrap();
    let files = plan(&listed, None, &HashSet::new()).unwrap().checkpoint.unwrap();
    builder.observed().take_counts();
    files
}

async fn head(builder: &TableBuilder) -> (Vec<Action>, Counts) {
    let files = files(builder).await;
    let found = checkpoint::read_head_actions(&builder.store(), &files).await.unwrap();
    (found, builder.observed().take_counts())
}

#[tokio::test]
async fn every_form_gives_protocol_and_metadata() {
    for form in FORMS {
        let (found, counts) = head(&table(form, 100).await).await;
        let protocols: Vec<_> =
            found.iter().filter_map(|action| if let Action::Protocol(found) = action { Some(found) } else { None }).collect();
        assert_eq!((protocols.len(), protocols[0].min_reader_version), (1, 3), "{form:?}");
        let metadata: Vec<_> =
            found.iter().filter_map(|action| if let Action::Metadata(found) = action { Some(found) } else { None }).collect();
        assert_eq!((metadata.len(), metadata[0].id.as_str()), (1, "5fba94ed-9794-4965-ba6e-6ee3c0d22af9"), "{form:?}");
        assert!(!found.iter().any(|action| matches!(action, Action::Add(_) | Action::Remove(_))), "{form:?}");
        assert!(!counts.objects.keys().any(|name| name.contains("_sidecars")), "{form:?}: opening reads no sidecar");
        // A small file and its footer are read with one request.
        let parts = if let Form::MultiPart(_) = form { 2 } else { 1 };
        assert_eq!(counts.gets, parts, "{form:?}: {counts:?}");
    }
}

#[tokio::test]
async fn every_form_gives_its_file_actions_once() {
    for form in FORMS {
        let builder = table(form, 4).await;
        let files = files(&builder).await;
        let content = checkpoint::open(&builder.store(), &files).await.unwrap();
        let in_json = content.json.map_or(0, |(name, bytes)| {
            assert!(name.ends_with(".json"));
            bytes
                .split(|byte| *byte == b'\n')
                .filter(|line| line.starts_with(b"{\"add\"") || line.starts_with(b"{\"remove\""))
                .count()
        });
        let groups = |part: &lakebed_io::parquet::ParquetFile| part.num_rows();
        let rows: u64 = content.parts.iter().map(groups).sum();
        let others = match form {
            Form::ClassicV2(0) | Form::UuidParquet(0) => 6,
            Form::Classic | Form::MultiPart(_) => 5,
            _ => 0,
        };
        assert_eq!((in_json as u64 + rows) - others, 23, "{form:?}");
    }
}

#[tokio::test]
async fn other_actions_are_found_in_every_form() {
    for form in FORMS {
        let builder = table(form, 4).await;
        let files = files(&builder).await;
        let found = checkpoint::read_other_actions(&builder.store(), &files, columns::OTHERS).await.unwrap();
        let mut applications: Vec<_> = found
            .iter()
            .filter_map(|action| {
                if let Action::SetTransaction(found) = action {
                    Some((found.app_id.as_str(), found.version, found.last_updated))
                } else {
                    None
                }
            })
            .collect();
        applications.sort_unstable();
        assert_eq!(applications, [("a", 1, None), ("b", 2, Some(5))], "{form:?}");
        let domains =
            found.iter().filter(|action| matches!(action, Action::DomainMetadata(found) if found.domain == "d")).count();
        assert_eq!(domains, 1, "{form:?}");
    }
}

#[tokio::test]
async fn of_a_large_checkpoint_opening_reads_little() {
    let builder = TableBuilder::new();
    let many: Vec<Value> = (0..20_000).map(|file| add(&format!("part-{:032}.parquet", file * 7919 % 20_011))).collect();
    builder.commit(&[]).await;
    builder.checkpoint_as(0, Form::Classic, &many, 2000).await;
    let (found, counts) = head(&builder).await;
    assert_eq!(found.len(), 2);
    assert!(counts.gets <= 3, "the footer, the rest of a long footer, and one row group: {counts:?}");
    assert!(counts.bytes < 200_000, "{counts:?}");
}

async fn error_of(builder: &TableBuilder) -> lakebed_core::Error {
    let files = files(builder).await;
    match checkpoint::open(&builder.store(), &files).await {
        Err(error) => error,
        Ok(content) => panic!("{content:?}"),
    }
}

#[tokio::test]
async fn what_is_missing_or_torn_is_named() {
    let sidecar = "_sidecars/00000000000000000000.checkpoint.0000000002.0000000003.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet";
    let builder = table(Form::UuidJson(3), 4).await;
    builder.delete_log(sidecar).await;
    let error = error_of(&builder).await;
    assert!(error.is_not_found() && error.to_string().contains(sidecar), "{error}");

    let builder = table(Form::UuidParquet(3), 4).await;
    builder.put_log(sidecar, b"PAR1 no more".to_vec()).await;
    let error = error_of(&builder).await;
    assert!(error.is_corrupt() && error.to_string().contains(sidecar), "{error}");

    let top = "00000000000000000000.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json";
    for (lines, said) in [
        (r#"{"checkpointMetadata":{"version":7}}"#, "version 7"),
        (r#"{"sidecar":{"path":"x","sizeInBytes":1,"modificationTime":1}}"#, "without checkpointMetadata"),
        ("{\"checkpointMetadata\":{\"version\":0}}\n{\"sidecar\":", "line 2"),
        (
            "{\"checkpointMetadata\":{\"version\":0}}\n{\"sidecar\":{\"path\":\"../x\",\"sizeInBytes\":1,\"modificationTime\":1}}",
            "lead out",
        ),
    ] {
        let builder = table(Form::UuidJson(0), 4).await;
        builder.put_log(top, lines.as_bytes().to_vec()).await;
        let error = error_of(&builder).await;
        assert!(error.is_corrupt() && error.to_string().contains(said), "{lines}: {error}");
    }
}

#[tokio::test]
async fn listing_takes_one_request_without_sidecars() {
    let builder = table(Form::UuidJson(3), 4).await;
    for sidecar in 0..3000 {
        builder.put_log(&format!("_sidecars/{sidecar}.parquet"), b"x".to_vec()).await;
    }
    builder.observed().take_counts();
    assert_eq!(log::list_log(&builder.store(), None).await.unwrap().len(), 2);
    assert_eq!(builder.observed().take_counts(), Counts { lists: 1, ..Counts::default() });
}

#[tokio::test]
async fn json_statistics_alone_skip_files() {
    // Each file has ids from 0, 10 and so on to 9 more. Three files have no statistics in the
    // struct, and the last one has no statistics at all.
    let actions: Vec<Value> = (0..8_i64)
        .map(|file| {
            let stats = stats_of_ids(file * 10..=file * 10 + 9);
            let fields = match file {
                1 | 4 | 6 => json!({"stats": stats.to_string()}),
                7 => json!({}),
                _ => json!({"stats_parsed": stats}),
            };
            with(add(&format!("f{file}")), fields)
        })
        .collect();
    // A checkpoint of JSON lines has statistics only as text.
    for form in FORMS.into_iter().filter(|form| *form != Form::UuidJson(0)) {
        let builder = TableBuilder::new();
        builder.commit(&actions).await;
        builder.checkpoint_as(0, form, &actions, 3).await;
        let snapshot = builder.table().snapshot().await.unwrap();
        let scan = snapshot.scan().filter("id BETWEEN 35 AND 41");
        let files = scan.files().await.unwrap().collect_all().await.unwrap();
        let mut kept: Vec<String> =
            files.iter().flat_map(|batch| batch["path"].as_string::<i32>().iter().flatten().map(str::to_owned)).collect();
        kept.sort();
        assert_eq!(kept, ["f3", "f4", "f7"], "{form:?}");
        assert_eq!(scan.explain().await.unwrap().skipped_by_statistics, 5, "{form:?}");
        let counts = files.iter().flat_map(|batch| batch["num_records"].as_primitive::<Int64Type>().iter());
        assert_eq!(counts.flatten().sum::<i64>(), 20, "{form:?}");
    }
}

#[tokio::test]
async fn missing_statistics_leave_other_json_unread() {
    let mut random = 1_u64;
    let mut noise = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{random:016x}")
    };
    let actions: Vec<Value> = (0..20_000_i64)
        .map(|file| {
            let action = add(&format!("f{file}"));
            if file == 7 {
                return action;
            }
            let stats = stats_of_ids(file..=file);
            let noise: String = (0..16).map(|_| noise()).collect();
            let text = format!("{},\"noise\":\"{noise}\"}}", stats.to_string().strip_suffix('}').unwrap());
            with(action, json!({"stats_parsed": stats, "stats": text}))
        })
        .collect();
    let builder = TableBuilder::new();
    builder.commit(&actions).await;
    builder.checkpoint_as(0, Form::Classic, &actions, 500).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    builder.observed().take_counts();
    let files = snapshot.scan().filter("id = 12345").files().await.unwrap().collect_all().await.unwrap();
    let mut kept: Vec<&str> = files.iter().flat_map(|batch| batch["path"].as_string::<i32>().iter().flatten()).collect();
    kept.sort_unstable();
    assert_eq!(kept, ["f12345", "f7"]);
    let read = builder.observed().take_counts().bytes;
    assert!(read < 20_000 * 128, "{read} bytes: the noise alone has as many");
}
