//! Group commit: appends that arrive while another one of this process is being committed become one version together.
//!
//! Appends that read nothing need not know of each other, so their files may share a commit. Nobody waits for company: whoever comes first
//! commits at once, and those who come meanwhile are committed together afterwards. The version, its checksum and its round trips are then
//! paid once. Who wants a version for himself gives it words or an application of his own. Read [`commit`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use lakebed_io::store::StoreIdentity;
use tokio::sync::oneshot;

use super::{Committed, Operation, Transaction};
use crate::{Error, ErrorKind, Result};

/// More appends do not go into one version.
const MOST_MEMBERS: usize = 256;

type Groups = HashMap<StoreIdentity, Weak<Group>>;

/// The groups of this process. A forked child has none of its parent's threads, so nobody would lead the parent's groups there.
static GROUPS: RwLock<Option<(u32, Arc<Mutex<Groups>>)>> = RwLock::new(None);

/// The appends of this process to one table.
#[derive(Default)]
struct Group(Mutex<State>);

#[derive(Default)]
struct State {
    /// Somebody commits.
    is_led: bool,
    waiting: Vec<Member>,
}

/// An append that waits for its version.
struct Member {
    transaction: Transaction,
    operation: Operation,
    answer: oneshot::Sender<Result<Committed>>,
}

/// Commits an append, with others if there are some.
pub(super) async fn commit(transaction: Transaction, operation: Operation) -> Result<Committed> {
    let Some(group) = Group::of(transaction.store.identity()) else { return transaction.commit_alone(operation).await };
    let table = transaction.store.url().to_owned();
    let (answer, outcome) = oneshot::channel();
    if group.join(Member { transaction, operation, answer }) {
        // Others depend on it, so it goes on if its caller gives up.
        #[expect(clippy::disallowed_methods, reason = "the task ends by itself, and nobody may end it")]
        tokio::spawn(lead(group));
    }
    outcome.await.map_err(|_| given_up(&table))?
}

/// The runtime that committed was shut down meanwhile, or a bug ended it: its last request may have been carried out.
fn given_up(table: &str) -> Error {
    let kind = ErrorKind::CommitUnknown { txn_id: String::new() };
    Error::new(kind, format!("{table}: committing was broken off; look for the files of this append in the newest versions"))
}

impl Transaction {
    /// Whether others may share its version: it adds files, and nothing else.
    pub(super) fn may_share(&self) -> bool {
        let draft = &self.draft;
        let only_adds = draft.is_blind_append(&self.reads)
            && draft.protocol.is_none()
            && draft.metadata.is_none()
            && draft.transactions.is_empty()
            && draft.domains.is_empty();
        only_adds && self.snapshot.is_some() && self.settings.user_metadata.is_none() && self.settings.tags.is_empty()
    }
}

impl Group {
    fn of(identity: StoreIdentity) -> Option<Arc<Self>> {
        let groups = groups()?;
        let mut groups = lock(&groups);
        if let Some(group) = groups.get(&identity).and_then(Weak::upgrade) {
            return Some(group);
        }
        groups.retain(|_, group| group.strong_count() > 0);
        let group = Arc::new(Self::default());
        groups.insert(identity, Arc::downgrade(&group));
        Some(group)
    }

    /// Whether the newcomer has to see to it that the group commits.
    fn join(&self, member: Member) -> bool {
        let mut state = lock(&self.0);
        state.waiting.push(member);
        !std::mem::replace(&mut state.is_led, true)
    }

    /// Those that can share a version; none if nobody waits, and then nobody leads.
    fn next(&self) -> Vec<Member> {
        let mut state = lock(&self.0);
        let mut waiting = std::mem::take(&mut state.waiting).into_iter();
        let Some(first) = waiting.next() else {
            state.is_led = false;
            return Vec::new();
        };
        let mut members = vec![first];
        for member in waiting {
            match members.first() {
                Some(first) if members.len() < MOST_MEMBERS && first.goes_with(&member) => members.push(member),
                _ => state.waiting.push(member),
            }
        }
        members
    }
}

impl Member {
    /// Appends that know the same protocol and metadata are right on top of each other's versions.
    fn goes_with(&self, other: &Self) -> bool {
        let (own, others) = (&self.transaction.base, &other.transaction.base);
        let same_operation =
            self.operation.name == other.operation.name && self.operation.parameters == other.operation.parameters;
        same_operation && own.protocol == others.protocol && own.metadata == others.metadata
    }
}

async fn lead(group: Arc<Group>) {
    loop {
        let members = group.next();
        if members.is_empty() {
            return;
        }
        commit_together(members).await;
    }
}

/// On top of the newest version that one of them knows.
async fn commit_together(members: Vec<Member>) {
    let (mut transactions, mut answers, mut operation) = (Vec::new(), Vec::new(), None);
    for member in members {
        let Member { transaction, operation: own, answer } = member;
        answers.push(answer);
        transactions.push(transaction);
        operation = Some(match operation {
            None => own,
            Some(sum) => together(sum, &own),
        });
    }
    transactions.sort_by_key(|transaction| transaction.base.version);
    let (Some(mut leader), Some(operation)) = (transactions.pop(), operation) else { return };
    for follower in transactions {
        leader.draft.adds.extend(follower.draft.adds);
        leader.unflushed.extend(follower.unflushed);
        leader.settings.patience = leader.settings.patience.max(follower.settings.patience);
    }
    let outcome = leader.commit_alone(operation).await;
    for answer in answers {
        let copy = match &outcome {
            Ok(committed) => Ok(committed.clone()),
            Err(error) => Err(Error::new(error.kind().clone(), error.to_string())),
        };
        // Who gave up does not want to know.
        let _ = answer.send(copy);
    }
}

/// None where a fork left a lock behind, which must not be waited for: then everybody commits alone.
fn groups() -> Option<Arc<Mutex<Groups>>> {
    let process = std::process::id();
    if let Some((owner, groups)) = GROUPS.try_read().ok()?.as_ref()
        && *owner == process
    {
        return Some(Arc::clone(groups));
    }
    let mut slot = GROUPS.try_write().ok()?;
    match slot.as_ref() {
        Some((owner, groups)) if *owner == process => Some(Arc::clone(groups)),
        _ => {
            let fresh = Arc::new(Mutex::default());
            *slot = Some((process, Arc::clone(&fresh)));
            Some(fresh)
        }
    }
}

fn together(mut sum: Operation, more: &Operation) -> Operation {
    for (name, value) in &more.metrics {
        *sum.metrics.entry(name.clone()).or_default() += value;
    }
    sum
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
