//! The faults between a client and its store, and their rates.

use rand::Rng;
use rand::rngs::SmallRng;

/// The fault of a request or of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The request never arrives, and the client waits until its time limit.
    LostRequest,
    /// The request is carried out, and the answer is lost.
    LostReply,
    /// The time limit of the client passes before the request arrives.
    Late,
    /// The request is carried out, and once more later.
    Twice,
    /// The client retries by itself, and gets the answer to the second request.
    Retried,
    /// The store refuses the request, and a retry does not help.
    Denied,
    /// The request is carried out. The client cannot read the answer, and cannot see that a retry
    /// might help.
    Garbled,
    /// The client dies. Its request arrives now, later or never.
    Crash,
}

const OF_CHANGES: [Fault; 7] =
    [Fault::LostRequest, Fault::LostReply, Fault::Late, Fault::Twice, Fault::Retried, Fault::Denied, Fault::Garbled];

/// The faults of reads. For a read it does not matter whether it is carried out.
const OF_READS: [Fault; 2] = [Fault::LostRequest, Fault::Denied];

/// The rates of faults.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// The share of requests that meet a fault.
    pub(crate) rate: f64,
    /// The share of requests with which the client dies.
    pub(crate) crash_rate: f64,
    /// The share of requests that are slow.
    pub(crate) slow_rate: f64,
    /// The factor by which commits meet more faults than other requests.
    pub(crate) on_commits: f64,
    /// The share of requests that begin an outage, in which the client gets no answers.
    pub(crate) outage_rate: f64,
}

impl Faults {
    pub(crate) fn random(random: &mut SmallRng) -> Self {
        let pick = |random: &mut SmallRng, rates: &[f64]| rates[random.random_range(0..rates.len())];
        Self {
            rate: pick(random, &[0.0, 0.01, 0.03, 0.1]),
            crash_rate: pick(random, &[0.0, 0.0, 0.01, 0.04]),
            slow_rate: pick(random, &[0.0, 0.05, 0.2]),
            on_commits: pick(random, &[1.0, 4.0]),
            outage_rate: pick(random, &[0.0, 0.0, 0.01]),
        }
    }

    /// Draws the fault of a request.
    pub(crate) fn strike(&self, random: &mut SmallRng, changes_store: bool, is_commit: bool) -> Option<Fault> {
        let more = if is_commit && changes_store { self.on_commits } else { 1.0 };
        let dice: f64 = random.random();
        if dice < self.crash_rate * more {
            return Some(Fault::Crash);
        }
        if dice >= (self.crash_rate + self.rate) * more {
            return None;
        }
        let all: &[Fault] = if changes_store { &OF_CHANGES } else { &OF_READS };
        Some(all[random.random_range(0..all.len())])
    }

    /// Draws the fault of a request during an outage.
    pub(crate) fn silence(random: &mut SmallRng, changes_store: bool) -> Fault {
        let all: &[Fault] =
            if changes_store { &[Fault::LostRequest, Fault::LostReply, Fault::Late] } else { &[Fault::LostRequest] };
        all[random.random_range(0..all.len())]
    }

    /// Draws the number of requests of an outage; 0 for none.
    pub(crate) fn outage(&self, random: &mut SmallRng) -> u32 {
        if random.random_bool(self.outage_rate) { random.random_range(3..30) } else { 0 }
    }

    /// Draws the number of steps before a request arrives.
    pub(crate) fn slowness(&self, random: &mut SmallRng) -> u64 {
        if random.random_bool(self.slow_rate) { random.random_range(1..80) } else { 0 }
    }
}
