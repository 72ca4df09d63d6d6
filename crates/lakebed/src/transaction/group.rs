//! Group commit: appends that arrive while another append of this process is being committed become
//! one version together.
//!
//! Appends that read nothing do not depend on each other, so their files may share a commit. No
//! append waits for others to arrive: the first one commits at once, and those that arrive
//! meanwhile are committed together afterwards. The version, its checksum and its round trips are
//! then paid once. A caller gets a version of its own by setting user metadata or a transaction
//! identifier.
//!
//! A process may have several async runtimes, and a runtime in which no caller waits may not be
//! driven. So each version is committed in the runtime of the first append in the group. That
//! append leads the group, and then passes the lead to the next one. Begin with [`commit`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lakebed_core::commit::validate;
use lakebed_io::store::StoreIdentity;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::committed::Committed;
use super::{Operation, Transaction};
use crate::runtime::process::PerProcess;
use crate::upkeep::UpkeepOptions;
use crate::{Error, ErrorKind, Result};

/// The maximum number of appends in one version.
const MOST_MEMBERS: usize = 256;

type Groups = HashMap<StoreIdentity, Weak<Group>>;

/// The groups of this process. A forked child does not take over the groups of its parent, because
/// nothing in the child would lead them.
static GROUPS: PerProcess<Arc<Mutex<Groups>>> = PerProcess::new();

/// The appends of this process to one table.
#[derive(Default)]
struct Group(Mutex<State>);

#[derive(Default)]
struct State {
    /// Whether a member is committing now.
    is_led: bool,
    waiting: Vec<Member>,
}

/// An append that waits for its version.
struct Member {
    transaction: Transaction,
    operation: Operation,
    answer: oneshot::Sender<Result<Committed>>,
    /// The runtime in which the caller waits. It is driven as long as the caller waits.
    runtime: Handle,
}

/// The right to commit a version for the group. When it is dropped, even by a failure, the next
/// member gets it.
struct Lead {
    group: Arc<Group>,
    first: Option<Member>,
}

/// Commits an append, together with other appends if there are some.
pub(super) async fn commit(transaction: Transaction, operation: Operation) -> Result<Committed> {
    // An invalid append must not fail other appends, so it is checked on its own first.
    validate::check(&transaction.draft, &transaction.base, transaction.store.url())?;
    let Some(group) = Group::of(transaction.store.identity()) else { return transaction.commit_alone(operation).await };
    let table = transaction.store.url().to_owned();
    let (answer, outcome) = oneshot::channel();
    group.join(Member { transaction, operation, answer, runtime: Handle::current() });
    outcome.await.map_err(|_| given_up(&table))?
}

/// Returns the error for a commit that ended because its runtime was shut down or because of a bug.
/// Its last request may have been carried out.
fn given_up(table: &str) -> Error {
    let kind = ErrorKind::CommitUnknown { txn_id: String::new() };
    Error::new(
        kind,
        format!(
            "{table}: the commit was interrupted, and may have succeeded; look for the files of this append in the newest \
             versions"
        ),
    )
}

impl Transaction {
    /// Returns whether other appends may share the version of this transaction: it adds files, and
    /// nothing else.
    pub(super) fn may_share(&self) -> bool {
        let draft = &self.draft;
        let only_adds = !draft.adds.is_empty()
            && draft.is_blind_append(&self.read.reads)
            && draft.protocol.is_none()
            && draft.metadata.is_none()
            && draft.transactions.is_empty()
            && draft.domains.is_empty();
        only_adds
            && self.snapshot.is_some()
            && self.settings.user_metadata.is_none()
            && self.settings.commit_info.is_empty()
            && self.settings.upkeep == UpkeepOptions::default()
            && self.settings.tags.is_empty()
    }
}

impl Group {
    /// Returns the group of a table. It is `None` where groups are not available now; then each
    /// append commits alone.
    fn of(identity: StoreIdentity) -> Option<Arc<Self>> {
        let groups = GROUPS.get(Arc::default)?;
        let mut groups = lock(&groups);
        if let Some(group) = groups.get(&identity).and_then(Weak::upgrade) {
            return Some(group);
        }
        groups.retain(|_, group| group.strong_count() > 0);
        let group = Arc::new(Self::default());
        groups.insert(identity, Arc::downgrade(&group));
        Some(group)
    }

    /// Adds a member, which leads if no other member does.
    fn join(self: &Arc<Self>, member: Member) {
        let is_led = {
            let mut state = lock(&self.0);
            state.waiting.push(member);
            std::mem::replace(&mut state.is_led, true)
        };
        if !is_led {
            self.go_on();
        }
    }

    /// Passes the lead to the first waiting member.
    fn go_on(self: &Arc<Self>) {
        let first = {
            let mut state = lock(&self.0);
            // If the caller of a member gave up before the member was taken in, the member is not
            // committed.
            state.waiting.retain(|member| !member.answer.is_closed());
            if state.waiting.is_empty() {
                state.is_led = false;
                return;
            }
            state.waiting.remove(0)
        };
        let runtime = first.runtime.clone();
        let lead = Lead { group: Arc::clone(self), first: Some(first) };
        // Other members depend on this task, so it continues even if its caller gives up. A runtime
        // that was shut down drops the task at once.
        drop(runtime.spawn(lead.take()));
    }

    /// Returns the first member and the waiting members that can share its version.
    fn with_followers(&self, first: Member) -> Vec<Member> {
        let mut state = lock(&self.0);
        let mut members = vec![first];
        for member in std::mem::take(&mut state.waiting) {
            match members.first() {
                Some(first) if members.len() < MOST_MEMBERS && first.goes_with(&member) => members.push(member),
                _ => state.waiting.push(member),
            }
        }
        members
    }
}

impl Lead {
    async fn take(mut self) {
        if let Some(first) = self.first.take() {
            commit_together(self.group.with_followers(first)).await;
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.group.go_on();
    }
}

impl Member {
    /// Returns whether two appends know the same protocol and metadata. Then each of them is valid
    /// on top of the other's version.
    fn goes_with(&self, other: &Self) -> bool {
        let (own, others) = (&self.transaction.base, &other.transaction.base);
        let same_operation =
            self.operation.name == other.operation.name && self.operation.parameters == other.operation.parameters;
        same_operation && own.protocol == others.protocol && own.metadata == others.metadata
    }
}

/// Commits the members on top of the newest version that one of them knows.
async fn commit_together(members: Vec<Member>) {
    let (mut transactions, mut answers, mut operation) = (Vec::new(), Vec::new(), None);
    for member in members {
        let Member { transaction, operation: own, answer, .. } = member;
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
        leader.settings.timeout = leader.settings.timeout.max(follower.settings.timeout);
    }
    let outcome = leader.commit_alone(operation).await;
    for answer in answers {
        let copy = match &outcome {
            Ok(committed) => Ok(committed.clone()),
            Err(error) => Err(Error::new(error.kind().clone(), error.to_string())),
        };
        // A caller that gave up does not receive the answer.
        let _ = answer.send(copy);
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
