//! The commit protocol as a state machine. Writers start, write their files and race for the next
//! version. The store has put-if-absent or not, with a lock or without. Answers get lost and
//! writers die.
//!
//! Begin with [`Protocol::next_state`]. Reads and writes of data files affect no other writer, so
//! they are one step with the start.

use std::collections::BTreeMap;

use stateright::{Model, Property};

use super::table::{Entry, Files, Layout, Operation, Row, read, replay};

/// The protections of the protocol and the faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Protocol {
    pub(crate) writers: u8,
    pub(crate) layout: Layout,
    /// Whether the store refuses to overwrite a log entry.
    pub(crate) put_if_absent: bool,
    /// Whether writers check and write versions under a lock of the table.
    pub(crate) has_lock: bool,
    /// Whether answers get lost and requests arrive late, once for each writer.
    pub(crate) loses_answers: bool,
    /// The most writers that die.
    pub(crate) most_deaths: usize,
    /// The operations that a writer may choose.
    pub(crate) operations: &'static [Operation],
    /// Whether a writer that does not know the outcome of its commit looks whether the version is
    /// its own. Otherwise it takes an existing version for another writer's.
    pub(crate) looks_for_own: bool,
    /// Whether a refused writer reports that nothing was committed, though an earlier put of its
    /// own may still arrive.
    pub(crate) believes_refusals: bool,
    /// Whether other writers get the lock of a dead writer.
    pub(crate) frees_locks: bool,
    /// Whether a writer that loses the race checks for conflicts with the winner.
    pub(crate) checks_conflicts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The entries, by version.
    log: Vec<Entry>,
    files: Files,
    writers: Vec<Writer>,
    locked_by: Option<u8>,
    /// Puts for which no writer waits any more.
    late: BTreeMap<u8, (usize, Entry)>,
    /// The expected rows of every version, as of its write.
    history: Vec<(usize, Vec<Row>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Writer {
    step: Step,
    operation: Operation,
    /// The commit, and the version that it is based on.
    entry: Option<Entry>,
    base: usize,
    /// Whether an answer was lost.
    has_lost: bool,
}

/// The progress of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Idle,
    /// The writer has written its files.
    Ready,
    /// The writer waited for an answer that did not come.
    Unclear,
    Committed,
    Abandoned,
    Dead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Start(u8, Operation),
    Lock(u8),
    /// The writer puts the next version, and gets the answer.
    Put(u8),
    /// The writer puts the next version, but gets no answer.
    PutUnheard(u8),
    /// The store refuses the writer's put, and a retry does not help.
    Refused(u8),
    /// The writer reads the version that it put, after it got no answer.
    Look(u8),
    /// A late put arrives.
    Arrive(u8),
    Die(u8),
}

impl State {
    fn rows(&self, version: usize) -> Vec<Row> {
        read(&replay(&self.log[..=version]), &self.files)
    }

    /// Returns the number of log entries of a writer.
    fn count(&self, writer: u8) -> usize {
        self.log.iter().filter(|entry| entry.writer == writer).count()
    }

    fn writer(&mut self, writer: u8) -> &mut Writer {
        &mut self.writers[usize::from(writer) - 1]
    }

    fn end(&mut self, writer: u8, step: Step) {
        self.writer(writer).step = step;
        if self.locked_by == Some(writer) {
            self.locked_by = None;
        }
    }

    /// Writes an entry as a version, and overwrites an existing one.
    fn write(&mut self, version: usize, entry: Entry) {
        let before = self.rows(version - 1);
        let operation = self.writer(entry.writer).operation;
        self.history.push((version, operation.apply(&before, entry.writer)));
        match self.log.get_mut(version) {
            Some(there) => *there = entry,
            None => self.log.push(entry),
        }
    }
}

impl Protocol {
    fn start(&self, state: &mut State, id: u8, operation: Operation) {
        let live = replay(&state.log);
        let entry = operation.plan(id, &live, &mut state.files, self.layout);
        *state.writer(id) =
            Writer { step: Step::Ready, operation, entry: Some(entry), base: state.log.len() - 1, has_lost: false };
    }

    /// Writes the next version if the protections allow it.
    fn put(&self, state: &mut State, id: u8) {
        let writer = state.writer(id).clone();
        let (version, Some(entry)) = (writer.base + 1, writer.entry) else { return };
        let is_taken = version < state.log.len();
        // Under the lock, the writer first checks whether the version exists.
        if is_taken && (self.put_if_absent || self.has_lock) {
            return self.look(state, id);
        }
        state.write(version, entry);
        state.end(id, Step::Committed);
    }

    /// Rebases the writer on the commits of others, or ends it with a conflict.
    fn meet(&self, state: &mut State, id: u8) {
        let writer = state.writer(id).clone();
        let touches = |other: &Entry| match writer.operation {
            Operation::Insert(_) => false,
            Operation::Update(key) | Operation::Delete(key) => other.touches.contains(&key),
        };
        if self.checks_conflicts && state.log[writer.base + 1..].iter().any(touches) {
            return state.end(id, Step::Abandoned);
        }
        let newest = state.log.len() - 1;
        let writer = state.writer(id);
        (writer.base, writer.step) = (newest, Step::Ready);
    }

    fn look(&self, state: &mut State, id: u8) {
        let version = state.writer(id).base + 1;
        match state.log.get(version).map(|entry| entry.writer) {
            Some(owner) if owner == id && self.looks_for_own => state.end(id, Step::Committed),
            Some(_) => self.meet(state, id),
            None => state.writer(id).step = Step::Ready,
        }
    }

    fn arrive(&self, state: &mut State, id: u8) {
        if let Some((version, entry)) = state.late.remove(&id)
            && (version == state.log.len() || !self.put_if_absent)
        {
            state.write(version, entry);
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut files = Files::new();
        let mut adds = std::collections::BTreeSet::new();
        let kept: &[&[Row]] = if self.layout.is_partitioned { &[&[(0, 0)], &[(1, 0)]] } else { &[&[(0, 0), (1, 0)]] };
        for (number, rows) in (0..).zip(kept) {
            files.insert((0, number), rows.to_vec());
            adds.insert(((0, number), Default::default()));
        }
        let first = Entry { writer: 0, adds, removes: Default::default(), touches: Default::default() };
        let idle = Writer { step: Step::Idle, operation: Operation::Insert(0), entry: None, base: 0, has_lost: false };
        vec![State {
            log: vec![first],
            files,
            writers: vec![idle; usize::from(self.writers)],
            locked_by: None,
            late: BTreeMap::new(),
            history: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let may_die = state.writers.iter().filter(|writer| writer.step == Step::Dead).count() < self.most_deaths;
        for (id, writer) in (1..).zip(&state.writers) {
            let may_put = !self.has_lock || state.locked_by == Some(id);
            match writer.step {
                Step::Idle => actions.extend(self.operations.iter().map(|operation| Action::Start(id, *operation))),
                Step::Ready if may_put => {
                    actions.push(Action::Put(id));
                    if self.loses_answers && !writer.has_lost {
                        actions.push(Action::PutUnheard(id));
                    }
                    if self.believes_refusals {
                        actions.push(Action::Refused(id));
                    }
                }
                Step::Ready if state.locked_by.is_none() => actions.push(Action::Lock(id)),
                Step::Unclear => actions.push(Action::Look(id)),
                _ => {}
            }
            // Without one of these, the writer looks like one that never started.
            let is_known = writer.has_lost || state.locked_by == Some(id);
            if may_die && is_known && matches!(writer.step, Step::Ready | Step::Unclear) {
                actions.push(Action::Die(id));
            }
        }
        actions.extend(state.late.keys().map(|id| Action::Arrive(*id)));
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Start(id, operation) => self.start(&mut state, id, operation),
            Action::Lock(id) => state.locked_by = Some(id),
            Action::Put(id) => self.put(&mut state, id),
            Action::PutUnheard(id) => {
                let writer = state.writer(id);
                (writer.step, writer.has_lost) = (Step::Unclear, true);
                let late = (writer.base + 1, writer.entry.clone()?);
                state.late.insert(id, late);
            }
            Action::Refused(id) => state.end(id, Step::Abandoned),
            Action::Look(id) => self.look(&mut state, id),
            Action::Arrive(id) => self.arrive(&mut state, id),
            Action::Die(id) if self.frees_locks => state.end(id, Step::Dead),
            Action::Die(id) => state.writer(id).step = Step::Dead,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every version reads as its history", |_, state: &State| {
                state.history.iter().all(|(version, rows)| state.rows(*version) == *rows)
            }),
            Property::always("what was told is in the log, once", |_, state: &State| {
                (1..).zip(&state.writers).all(|(id, writer)| match writer.step {
                    Step::Committed => state.count(id) == 1,
                    Step::Abandoned => state.count(id) == 0,
                    _ => state.count(id) <= 1,
                })
            }),
            Property::eventually("whoever starts comes to an end", |_, state: &State| {
                state.writers.iter().all(|writer| !matches!(writer.step, Step::Idle | Step::Ready | Step::Unclear))
            }),
            Property::sometimes("somebody commits on top of another", |_, state: &State| state.log.len() > 2),
            Property::sometimes("somebody gives way", |_, state: &State| {
                state.writers.iter().any(|writer| writer.step == Step::Abandoned)
            }),
        ]
    }
}
