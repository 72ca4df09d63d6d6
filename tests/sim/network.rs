//! The scheduler of a simulation. Requests wait here, and the scheduler lets one at a time through.
//! The seed alone decides which one.
//!
//! The scheduler lets no request through before every task that can compute waits for one
//! ([`run`](super::run)), so the course of a simulation does not depend on the speed of threads.
//! Begin with [`Network::step`]: it decides which client is next, how long a request takes and
//! which fault it meets.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lakebed::Env;
use object_store::Error;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use tokio::sync::oneshot;

use super::faults::{Fault, Faults};
use super::objects::{Moment, Objects, is_commit};
use super::request::{Answer, Request};

/// The time at which all clocks begin.
const START_MS: i64 = 1_700_000_000_000;
/// The time that passes between two days of a simulation.
const NIGHT_MS: i64 = 3 * 86_400_000;
/// The limit for steps. A simulation that takes more does not end.
const MOST_STEPS: u64 = 60_000;
/// The most steps by which the listings of a store lag behind, if the store has stale listings.
const MOST_STALE_STEPS: u64 = 120;
/// The most steps after which an abandoned request arrives, if it arrives.
const MOST_LATE_STEPS: u64 = 60;

/// The time for which a client waits for an answer.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A client of the store: one life of an actor.
pub(crate) type ClientId = usize;

/// How the scheduler lets requests through.
#[derive(Debug, Clone)]
pub(crate) struct Ways {
    pub(crate) faults: Faults,
    /// The probability that the next request is from the same client again.
    pub(crate) stickiness: f64,
    /// Whether listings lag behind.
    pub(crate) has_stale_listings: bool,
}

impl Ways {
    /// Returns settings without faults.
    pub(crate) fn calm() -> Self {
        Self { faults: Faults::default(), stickiness: 0.0, has_stale_listings: false }
    }
}

/// The network between clients and objects.
#[derive(Debug)]
pub(crate) struct Network(Mutex<State>);

#[derive(Debug)]
struct State {
    random: SmallRng,
    ways: Ways,
    objects: Objects,
    clients: Vec<Client>,
    waiting: Vec<Waiting>,
    late: Vec<Late>,
    /// The number of actors that have not ended.
    running: usize,
    step: u64,
    clock_ms: i64,
    /// The step with which the day began. Every client has seen what happened before it.
    morning: u64,
    /// A counter that grows with every mark.
    marks: u64,
    last: Option<ClientId>,
    trace: Vec<String>,
    stuck: Option<oneshot::Sender<String>>,
}

#[derive(Debug)]
struct Client {
    name: String,
    /// The environments of the client's handles.
    envs: Vec<Env>,
    crash: Option<oneshot::Sender<()>>,
    /// The faults that the client met.
    hurt: u64,
    /// The number of further requests to which the client gets no answer.
    outage: u32,
}

#[derive(Debug)]
struct Waiting {
    client: ClientId,
    request: Request,
    /// The step at which the request arrives. The scheduler draws it when it first sees the
    /// request.
    due: Option<u64>,
    reply: oneshot::Sender<Result<Answer, Error>>,
}

/// A request for which no client waits any more.
#[derive(Debug)]
struct Late {
    client: ClientId,
    request: Request,
    due: u64,
}

impl Network {
    pub(crate) fn new(seed: u64, objects: Objects) -> Self {
        Self(Mutex::new(State {
            random: SmallRng::seed_from_u64(seed),
            ways: Ways::calm(),
            objects,
            clients: Vec::new(),
            waiting: Vec::new(),
            late: Vec::new(),
            running: 0,
            step: 0,
            clock_ms: START_MS,
            morning: 0,
            marks: 0,
            last: None,
            trace: Vec::new(),
            stuck: None,
        }))
    }

    /// Adds a client with a clock of its own, which is ahead of others by some milliseconds. The
    /// receiver gets a message when the client dies.
    pub(crate) fn join(&self, name: &str, env_seed: u64, ahead_ms: u64) -> (ClientId, Env, oneshot::Receiver<()>) {
        let mut state = self.state();
        let env = Env::seeded(env_seed);
        let since_start = u64::try_from(state.clock_ms - START_MS).unwrap();
        env.advance(Duration::from_millis(since_start + ahead_ms));
        let (crash, crashed) = oneshot::channel();
        state.clients.push(Client { name: name.to_owned(), envs: vec![env.clone()], crash: Some(crash), hurt: 0, outage: 0 });
        (state.clients.len() - 1, env, crashed)
    }

    /// Returns another clock of a client, with the time of its first one.
    pub(crate) fn another_env(&self, client: ClientId, seed: u64) -> Env {
        let client = &mut self.state().clients[client];
        let env = Env::seeded(seed);
        env.advance(client.envs[0].monotonic());
        client.envs.push(env.clone());
        env
    }

    /// Sends a request and waits for the answer. A dead client never gets one.
    pub(crate) async fn ask(&self, client: ClientId, request: Request) -> Result<Answer, Error> {
        let answer = self.send(client, request);
        match answer.await {
            Ok(answer) => answer,
            Err(_) => std::future::pending().await,
        }
    }

    fn send(&self, client: ClientId, request: Request) -> oneshot::Receiver<Result<Answer, Error>> {
        let mut state = self.state();
        let (reply, answer) = oneshot::channel();
        if state.clients[client].crash.is_some() {
            state.waiting.push(Waiting { client, request, due: None, reply });
        }
        answer
    }

    /// Lets requests through until a caller has its answer. It is called when no task can run.
    /// Returns whether a caller has one.
    pub(crate) fn step(&self) -> bool {
        let mut state = self.state();
        while state.running > 0 {
            if state.let_one_through() {
                return true;
            }
        }
        false
    }

    /// Begins with this number of actors. `stuck` gets a message if they do not end.
    pub(crate) fn begin(&self, actors: usize, stuck: oneshot::Sender<String>) {
        let mut state = self.state();
        (state.running, state.stuck) = (actors, Some(stuck));
    }

    /// Records that an actor has ended.
    pub(crate) fn end(&self) {
        self.state().running -= 1;
    }

    /// Changes how later requests are let through. Requests on their way arrive first.
    pub(crate) fn change(&self, ways: Ways) {
        let mut state = self.state();
        state.ways = ways;
        state.let_all_arrive();
    }

    /// Lets days pass. No request stays on its way: after such a time it would reach a table that
    /// has cleaned up the versions that the request is about.
    pub(crate) fn sleep_over(&self) {
        let mut state = self.state();
        state.let_all_arrive();
        // Clients that left get no answer, and their requests are lost.
        state.waiting.clear();
        state.clock_ms += NIGHT_MS;
        state.morning = state.step;
    }

    /// Returns a point in time that is later than all before.
    pub(crate) fn mark(&self) -> u64 {
        let mut state = self.state();
        state.marks += 1;
        state.marks
    }

    /// Returns how many faults a client met.
    pub(crate) fn hurt(&self, client: ClientId) -> u64 {
        self.state().clients[client].hurt
    }

    /// Returns whether any client met a fault.
    pub(crate) fn has_hurt(&self) -> bool {
        self.state().clients.iter().any(|client| client.hurt > 0)
    }

    pub(crate) fn trace(&self) -> Vec<String> {
        self.state().trace.clone()
    }

    /// Calls `look` with the objects themselves.
    pub(crate) fn with_objects<T>(&self, look: impl FnOnce(&Objects) -> T) -> T {
        look(&self.state().objects)
    }

    /// Adds a line to the trace.
    pub(crate) fn note(&self, client: ClientId, text: &str) {
        let mut state = self.state();
        let line = state.line(client, text);
        state.trace.push(line);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Lets one request through. Returns whether a caller has its answer since.
    fn let_one_through(&mut self) -> bool {
        self.step += 1;
        self.pass_time();
        if self.step > MOST_STEPS {
            return self.is_stuck("it does not end");
        }
        match self.choose() {
            Choice::Waiting(index) => {
                let waiting = self.waiting.remove(index);
                self.last = Some(waiting.client);
                self.deliver(waiting)
            }
            Choice::Late(index) => {
                let late = self.late.remove(index);
                self.arrive_late(&late);
                false
            }
            Choice::Nothing => self.is_stuck("nobody can go on"),
        }
    }

    fn is_stuck(&mut self, why: &str) -> bool {
        self.running = 0;
        if let Some(stuck) = self.stuck.take() {
            let _ = stuck.send(why.to_owned());
        }
        true
    }

    fn pass_time(&mut self) {
        let passed = self.random.random_range(1..20);
        self.clock_ms += passed;
        let passed = Duration::from_millis(passed.unsigned_abs());
        self.clients.iter().filter(|client| client.crash.is_some()).for_each(|client| client.advance(passed));
    }

    /// Chooses the request that arrives next. Requests have a sort order of their own, because the
    /// order in which they were made may depend on threads.
    fn choose(&mut self) -> Choice {
        self.waiting.sort_by(|a, b| (a.client, &a.request).cmp(&(b.client, &b.request)));
        let (step, faults, random) = (self.step, &self.ways.faults, &mut self.random);
        for waiting in &mut self.waiting {
            waiting.due.get_or_insert_with(|| step + faults.slowness(random));
        }
        let late: Vec<usize> = (0..self.late.len()).filter(|index| self.late[*index].due <= step).collect();
        if let Some(index) = late.choose(&mut self.random).filter(|_| self.random.random_bool(0.3)) {
            return Choice::Late(*index);
        }
        match (self.choose_waiting(), self.late.is_empty()) {
            (Some(index), _) => Choice::Waiting(index),
            (None, false) => Choice::Late(0),
            (None, true) => Choice::Nothing,
        }
    }

    fn choose_waiting(&mut self) -> Option<usize> {
        let due = |index: &usize| self.waiting[*index].due.unwrap_or(0);
        let all = 0..self.waiting.len();
        let ready: Vec<usize> = all.clone().filter(|index| due(index) <= self.step).collect();
        if ready.is_empty() {
            return all.min_by_key(due);
        }
        let of_client = |client: ClientId| ready.iter().copied().filter(|index| self.waiting[*index].client == client).collect();
        let again: Vec<usize> = self.last.map(of_client).unwrap_or_default();
        if !again.is_empty() && self.random.random_bool(self.ways.stickiness) {
            return again.choose(&mut self.random).copied();
        }
        let mut clients: Vec<ClientId> = ready.iter().map(|index| self.waiting[*index].client).collect();
        clients.dedup();
        let client = *clients.choose(&mut self.random)?;
        let own: Vec<usize> = ready.into_iter().filter(|index| self.waiting[*index].client == client).collect();
        own.choose(&mut self.random).copied()
    }

    fn deliver(&mut self, waiting: Waiting) -> bool {
        // A request that goes on without its caller also ends when the client dies.
        if waiting.reply.is_closed() || self.clients[waiting.client].crash.is_none() {
            self.abandon(waiting.client, waiting.request);
            return false;
        }
        let request = &waiting.request;
        let fault = self.strike(waiting.client, request.changes_store(), is_commit(request.path()));
        let fault_name = fault.map_or(String::new(), |fault| format!(" [{fault:?}]"));
        let line = self.line(waiting.client, &format!("{request}{fault_name}"));
        if let Some(fault) = fault {
            self.clients[waiting.client].hurt += 1;
            self.trace.push(line);
            return self.deliver_badly(waiting, fault);
        }
        let answer = self.apply(request);
        self.trace.push(line + said(&answer));
        let _ = waiting.reply.send(answer);
        true
    }

    fn strike(&mut self, client: ClientId, changes_store: bool, is_commit: bool) -> Option<Fault> {
        let (faults, random, client) = (&self.ways.faults, &mut self.random, &mut self.clients[client]);
        if client.outage > 0 {
            client.outage -= 1;
            return Some(Faults::silence(random, changes_store));
        }
        client.outage = faults.outage(random);
        faults.strike(random, changes_store, is_commit)
    }

    fn deliver_badly(&mut self, waiting: Waiting, fault: Fault) -> bool {
        let Waiting { client, request, reply, .. } = waiting;
        if matches!(fault, Fault::LostRequest | Fault::LostReply | Fault::Late) {
            self.clients[client].advance(TIME_LIMIT);
        }
        let answer = match fault {
            Fault::LostRequest => Err(passing(std::io::ErrorKind::TimedOut)),
            Fault::LostReply => self.apply(&request).and(Err(passing(std::io::ErrorKind::ConnectionReset))),
            Fault::Late => {
                self.send_late(client, request);
                Err(passing(std::io::ErrorKind::TimedOut))
            }
            Fault::Twice => {
                let answer = self.apply(&request);
                self.send_late(client, request);
                answer
            }
            Fault::Retried => {
                let _ = self.apply(&request);
                self.apply(&request)
            }
            Fault::Denied => Err(Error::PermissionDenied { path: request.path().to_owned(), source: "as simulated".into() }),
            Fault::Garbled => {
                let _ = self.apply(&request);
                Err(Error::Generic { store: "simulated", source: "an answer that makes no sense".into() })
            }
            Fault::Crash => {
                self.abandon(client, request);
                if let Some(crash) = self.clients[client].crash.take() {
                    let _ = crash.send(());
                }
                return true;
            }
        };
        let _ = reply.send(answer);
        true
    }

    /// Abandons a request. No client waits for its answer: it arrives later or never.
    fn abandon(&mut self, client: ClientId, request: Request) {
        if request.changes_store() && self.random.random_bool(0.6) {
            self.send_late(client, request);
        }
    }

    fn send_late(&mut self, client: ClientId, request: Request) {
        let due = self.step + self.random.random_range(0..MOST_LATE_STEPS);
        self.late.push(Late { client, request, due });
    }

    fn let_all_arrive(&mut self) {
        for late in std::mem::take(&mut self.late) {
            self.arrive_late(&late);
        }
    }

    fn arrive_late(&mut self, late: &Late) {
        let answer = self.apply(&late.request);
        let line = self.line(late.client, &format!("{} [arrives late]{}", late.request, said(&answer)));
        self.trace.push(line);
    }

    fn apply(&mut self, request: &Request) -> Result<Answer, Error> {
        let stale = if self.ways.has_stale_listings { self.random.random_range(0..MOST_STALE_STEPS) } else { 0 };
        let listed_step = self.step.saturating_sub(stale).max(self.morning);
        let now = Moment { step: self.step, clock_ms: self.clock_ms, listed_step };
        self.objects.apply(request, now)
    }

    fn line(&self, client: ClientId, text: &str) -> String {
        format!("{:>5} {:<10} {text}", self.step, self.clients[client].name)
    }
}

impl Client {
    fn advance(&self, passed: Duration) {
        self.envs.iter().for_each(|env| env.advance(passed));
    }
}

enum Choice {
    Waiting(usize),
    Late(usize),
    Nothing,
}

fn said(answer: &Result<Answer, Error>) -> &'static str {
    match answer {
        Ok(_) => "",
        Err(Error::NotFound { .. }) => ": not found",
        Err(Error::AlreadyExists { .. }) => ": exists",
        Err(_) => ": error",
    }
}

/// Returns an error after which a retry may succeed.
fn passing(kind: std::io::ErrorKind) -> Error {
    Error::Generic { store: "simulated", source: std::io::Error::new(kind, "as simulated").into() }
}
