//! Stores that lose answers, and commits that are refused.

use lakebed::ErrorKind;
use lakebed::transaction::{CommitSettings, Transaction};
use lakebed_core::action::Action;
use lakebed_tests::Fault;
use lakebed_tests::action::protocol;
use serde_json::json;

use super::kit::*;

const FIRST: &str = "00000000000000000001.json";

/// Checks an append to which the store answers with these faults. If `is_late`, another append
/// comes first. The append must be in the table at the expected version.
async fn check(is_late: bool, faults: &[(Fault, usize)], expected: u64) {
    let lake = two_files().await;
    let mut append = begin(&lake).await;
    append.add([to_add(&file("n", "1", 0))]);
    if is_late {
        lake.put_commit(1, &[json!({"commitInfo": {"txnId": "another"}})]).await;
    }
    faults.iter().for_each(|(fault, times)| lake.observed.fail_with(FIRST, fault.clone(), *times));
    let committed = commit(append).await.unwrap();
    assert_eq!((committed.version, committed.conflicts), (expected, u64::from(is_late)), "{faults:?}");
    assert_eq!(seen(&lake).await, (expected, ["a", "b", "n"].map(str::to_owned).into(), 30), "{faults:?}");
}

#[tokio::test]
async fn commit_after_lost_reply_writes_once() {
    check(false, &[], 1).await;
    check(false, &[(Fault::LostReply, 1)], 1).await;
    check(false, &[(Fault::LostReply, 1), (Fault::Unavailable, 2)], 1).await;
    check(false, &[(Fault::LostReply, 1), (Fault::Cut(5), 1)], 1).await;
    check(false, &[(Fault::Unavailable, 3)], 1).await;
    check(false, &[(Fault::Late, 1)], 1).await;
}

#[tokio::test]
async fn taken_version_after_lost_reply_is_recognized() {
    check(true, &[], 2).await;
    check(true, &[(Fault::LostReply, 1)], 2).await;
    check(true, &[(Fault::Unavailable, 2)], 2).await;
    check(true, &[(Fault::Late, 1)], 2).await;
}

#[tokio::test]
async fn commit_without_any_reply_is_unknown() {
    let lake = two_files().await;
    let mut append = begin(&lake).await;
    append.add([to_add(&file("n", "1", 0))]);
    lake.observed.fail_with(FIRST, Fault::LostReply, 1);
    lake.observed.fail_with(FIRST, Fault::Unavailable, usize::MAX);
    let error = commit(append).await.unwrap_err();
    let ErrorKind::CommitUnknown { txn_id } = error.kind() else { panic!("{error}") };
    let Action::CommitInfo(info) = lake.actions(1).await.unwrap().swap_remove(0) else { panic!("no commitInfo") };
    assert_eq!(info.text("txnId"), Some(txn_id.as_str()));
}

#[tokio::test]
async fn commit_refused_by_store_is_absent() {
    let lake = two_files().await;
    let mut append = begin(&lake).await;
    append.add([to_add(&file("n", "1", 0))]);
    lake.observed.fail_with(FIRST, Fault::Denied, 1);
    let error = commit(append).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Store { retryable: false, not_found: false, .. }), "{error}");
    assert_eq!(lake.actions(1).await, None);
}

#[tokio::test]
async fn unsupported_feature_is_refused_before_writing() {
    let lake = two_files_with(protocol(&[], &["icebergCompatV3", "novelty"]), &[]).await;
    let snapshot = lake.table.snapshot().await.unwrap();
    lake.observed.take_counts();
    let error = Transaction::begin(&snapshot, CommitSettings::default()).await.unwrap_err();
    let expected = "memory://kit/t: the table needs writer features that lakebed does not support: icebergCompatV3 (lakebed does not follow its rules yet), novelty (not known to this version)";
    assert_eq!(error.message(), expected);
    let features = vec!["icebergCompatV3".to_owned(), "novelty".to_owned()];
    assert_eq!(*error.kind(), ErrorKind::UnsupportedFeature { features });
    let counts = lake.observed.take_counts();
    assert_eq!(counts.total(), 0, "{counts:?}");
}

#[tokio::test]
async fn invalid_draft_is_refused_before_writing() {
    let lake = two_files_with(protocol(&[], &["appendOnly"]), &[("delta.appendOnly", "true")]).await;
    let mut delete = begin(&lake).await;
    delete.remove(batch(&[a()]), true);
    let mut raised = begin(&lake).await;
    let novelty = serde_json::from_value(protocol(&[], &["appendOnly", "novelty"])["protocol"].clone()).unwrap();
    raised.set_protocol(novelty);
    lake.observed.take_counts();
    assert_eq!(*commit(delete).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(matches!(commit(raised).await.unwrap_err().kind(), ErrorKind::UnsupportedFeature { .. }));
    let counts = lake.observed.take_counts();
    assert_eq!(counts.total(), 0, "{counts:?}");
}
