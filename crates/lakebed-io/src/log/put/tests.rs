use std::sync::Arc;

use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::path::Path;
use url::Url;

use super::*;
use crate::store::StoreOptions;
use crate::store::tests::kit::{Fault, ObservedStore};

const COMMIT: &str = "00000000000000000007.json";

/// Returns a commit as lakebed writes it.
fn commit(txn_id: &str) -> Bytes {
    format!("{{\"commitInfo\":{{\"operation\":\"WRITE\",\"txnId\":\"{txn_id}\"}}}}\n{{\"add\":{{\"path\":\"{txn_id}\"}}}}\n")
        .into()
}

/// The writer of the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    Others,
}

async fn put(store: &Store, version: u64, txn_id: &str) -> Result<Whose> {
    Ok(match put_commit(store, version, commit(txn_id), txn_id, &[]).await? {
        PutCommit::Done(_) => Whose::Ours,
        PutCommit::Taken(_) => Whose::Others,
    })
}

struct Case {
    observed: Arc<ObservedStore>,
    store: Store,
}

impl Case {
    fn new() -> Self {
        let observed = ObservedStore::new(Arc::new(InMemory::new()));
        let options = StoreOptions { env: Env::seeded(1), ..StoreOptions::default() };
        let url = Url::parse("memory://test/t").unwrap();
        let store = Store::from_object_store_with(Arc::clone(&observed) as _, Path::from("t"), url, options);
        Self { observed, store }
    }

    /// Creates a case in which another writer already has the version.
    async fn taken(text: impl Into<Bytes>) -> Self {
        let case = Self::new();
        case.store.put(&case.store.log_path(COMMIT).unwrap(), text.into()).await.unwrap();
        case
    }

    fn fail(self, faults: &[(Fault, usize)]) -> Self {
        faults.iter().for_each(|(fault, times)| self.observed.fail_with(COMMIT, fault.clone(), *times));
        self
    }

    async fn put(&self) -> Result<Whose> {
        put(&self.store, 7, "ours").await
    }

    /// Writes the version, and checks that the outcome is expected and true.
    #[track_caller]
    fn check(self, expected: Whose) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            assert_eq!(self.put().await.unwrap(), expected, "{caller}");
            assert_eq!(self.is_there().await, expected == Whose::Ours, "{caller}");
        }
    }

    async fn is_there(&self) -> bool {
        let found = self.store.get(&self.store.log_path(COMMIT).unwrap()).await;
        found.is_ok_and(|found| found == commit("ours"))
    }
}

#[tokio::test]
async fn version_is_written_with_one_request() {
    let case = Case::new();
    assert_eq!(case.put().await.unwrap(), Whose::Ours);
    assert_eq!(case.observed.take_counts().total(), 1);
    assert!(case.is_there().await);
    let other = put(&case.store, 7, "other").await.unwrap();
    assert_eq!(other, Whose::Others);
    assert!(case.is_there().await);
}

#[tokio::test]
async fn any_content_of_others_is_taken() {
    for text in ["no JSON", "{\"add\":{}}\n", "{\"commitInfo\":{\"txnId\":\"other\"}}", "{\"commitInfo\":{\"txnId\":7}}"] {
        let case = Case::taken(text).await;
        assert_eq!(case.put().await.unwrap(), Whose::Others, "{text}");
    }
    for blank in ["", "\n"] {
        let error = Case::taken(blank).await.put().await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt { path } if path.ends_with(COMMIT)), "{error}");
    }
    // The commit has our identifier, but not in the place where lakebed writes it.
    Case::taken("{\"add\":{}}\n{\"commitInfo\":{\"txnId\":\"ours\"}}").await.check(Whose::Others).await;
}

#[tokio::test]
async fn a_lost_answer_is_found_out() {
    Case::new().fail(&[(Fault::LostReply, 1)]).check(Whose::Ours).await;
    // The client retries on its own, and the reply is about its own commit.
    Case::taken(commit("ours")).await.check(Whose::Ours).await;
    // Neither the reply nor the first read of the version arrives.
    Case::new().fail(&[(Fault::LostReply, 1), (Fault::Unavailable, 3)]).check(Whose::Ours).await;
    Case::new().fail(&[(Fault::LostReply, 1), (Fault::Cut(10), 1)]).check(Whose::Ours).await;
    Case::taken(commit("other")).await.fail(&[(Fault::LostReply, 1)]).check(Whose::Others).await;
}

#[tokio::test]
async fn damaged_version_after_lost_answer_is_ours() {
    Case::new().fail(&[(Fault::LostReply, 1), (Fault::Blank, 2)]).check(Whose::Ours).await;
    let case = Case::new().fail(&[(Fault::LostReply, 1), (Fault::Blank, usize::MAX)]);
    let error = case.put().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::CommitUnknown { txn_id: "ours".to_owned() });
}

#[tokio::test]
async fn what_was_not_written_is_written_again() {
    Case::new().fail(&[(Fault::Unavailable, 1)]).check(Whose::Ours).await;
    Case::new().fail(&[(Fault::Unavailable, 6)]).check(Whose::Ours).await;
    Case::taken(commit("other")).await.fail(&[(Fault::Unavailable, 5)]).check(Whose::Others).await;
}

#[tokio::test]
async fn late_request_counts_once() {
    Case::new().fail(&[(Fault::Late, 1)]).check(Whose::Ours).await;
    let case = Case::new().fail(&[(Fault::Late, 1)]);
    let unclear = case.store.put_if_absent(&case.store.log_path(COMMIT).unwrap(), commit("other")).await.unwrap_err();
    let object = format!("memory://test/t/_delta_log/{COMMIT}");
    assert_eq!(*unclear.kind(), ErrorKind::Store { object, retryable: true, not_found: false });
    // Another's late request comes before ours or after; either way one of both counts.
    let outcome = case.put().await.unwrap();
    assert_eq!(case.is_there().await, outcome == Whose::Ours);
}

#[tokio::test]
async fn refused_put_writes_nothing() {
    let case = Case::new().fail(&[(Fault::Denied, 1)]);
    let error = case.put().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Store { retryable: false, .. }), "{error}");
    assert!(!case.is_there().await);
    // The client's second attempt may be refused after the first one succeeded.
    let case = Case::taken(commit("ours")).await.fail(&[(Fault::Denied, 1)]);
    assert_eq!(case.put().await.unwrap(), Whose::Ours);
}

#[tokio::test]
async fn unreadable_outcome_is_commit_unknown() {
    let case = Case::new().fail(&[(Fault::LostReply, 1), (Fault::Unavailable, usize::MAX)]);
    let begun = case.store.options().env.monotonic();
    let error = case.put().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::CommitUnknown { txn_id: "ours".to_owned() });
    assert!(error.message().starts_with("memory://test/t/_delta_log/00000000000000000007.json: "), "{error}");
    assert!(error.message().contains("txnId ours"), "{error}");
    let took = case.store.options().env.monotonic() - begun;
    assert!((BUDGET..BUDGET + Duration::from_secs(5)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn own_commit_of_any_size_is_recognised() {
    let mut text = format!("{{\"commitInfo\":{{\"note\":\"{}\",\"txnId\":\"ours\"}}}}\n", "x".repeat(6 << 20));
    text.push_str(&"{\"add\":{}}\n".repeat(500_000));
    let case = Case::taken(text).await;
    assert_eq!(case.put().await.unwrap(), Whose::Ours);
}

#[tokio::test]
async fn writers_share_versions_under_faults() {
    let case = Case::new();
    for fault in [Fault::LostReply, Fault::Unavailable, Fault::Late, Fault::LostReply] {
        case.observed.fail_with(".json", fault.clone(), 3);
    }
    let write = |writer: usize| {
        let store = case.store.clone();
        async move {
            let mut won = Vec::new();
            for version in 0..10 {
                let id = format!("{writer}-{version}");
                if put(&store, version, &id).await.unwrap() == Whose::Ours {
                    won.push((version, id));
                }
            }
            won
        }
    };
    let won: Vec<_> = futures::future::join_all((0..8).map(write)).await.concat();
    assert_eq!(won.len(), 10, "{won:?}");
    for (version, id) in won {
        let path = case.store.log_path(&LogPath::commit(version).name).unwrap();
        assert_eq!(case.store.get(&path).await.unwrap(), commit(&id));
    }
}

#[tokio::test]
async fn local_commits_are_done_or_taken() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap(), StoreOptions::default()).unwrap();
    assert_eq!(put(&store, 0, "a").await.unwrap(), Whose::Ours);
    assert_eq!(put(&store, 0, "b").await.unwrap(), Whose::Others);
}

#[tokio::test]
async fn winner_read_for_answer_is_returned() {
    let case = Case::taken(commit("other")).await;
    case.observed.take_counts();
    let PutCommit::Taken(Some(parts)) = put_commit(&case.store, 7, commit("ours"), "ours", &[]).await.unwrap() else {
        panic!("not taken");
    };
    assert_eq!(parts.into_iter().map(|part| part.lines).collect::<Vec<_>>(), [commit("other")]);
    // The requests are the put and one read of the version.
    assert_eq!(case.observed.take_counts().total(), 2);
}
