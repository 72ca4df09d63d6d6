//! What goes wrong on the way between a client and its store, and how often.

use rand::Rng;
use rand::rngs::SmallRng;

/// What becomes of a request, or of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It never arrives; the client waits until its time limit.
    LostRequest,
    /// It is carried out, and the answer does not come.
    LostReply,
    /// The client's time is up before it arrives, which it does later.
    Late,
    /// It is carried out, and once more later.
    Twice,
    /// The client asks again by itself, and gets the answer to the second request.
    Retried,
    /// The store refuses, for good.
    Denied,
    /// It is carried out; of the answer the client understands nothing, and not that trying again
    /// might help.
    Garbled,
    /// The client dies. What it had asked for arrives, or not, or later.
    Crash,
}

const OF_CHANGES: [Fault; 7] =
    [Fault::LostRequest, Fault::LostReply, Fault::Late, Fault::Twice, Fault::Retried, Fault::Denied, Fault::Garbled];

/// Of reads it does not matter whether they are carried out.
const OF_READS: [Fault; 2] = [Fault::LostRequest, Fault::Denied];

/// How often requests go wrong.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// Of requests, how many meet a fault.
    pub(crate) rate: f64,
    /// Of requests, with how many the client dies.
    pub(crate) crash_rate: f64,
    /// Of requests, how many take long.
    pub(crate) slow_rate: f64,
    /// Commits meet so many more faults than other requests.
    pub(crate) on_commits: f64,
    /// Of requests, with how many it begins that the client hears nothing for a while.
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

    /// What happens to a request.
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

    /// What happens to a request while the client hears nothing.
    pub(crate) fn silence(random: &mut SmallRng, changes_store: bool) -> Fault {
        let all: &[Fault] =
            if changes_store { &[Fault::LostRequest, Fault::LostReply, Fault::Late] } else { &[Fault::LostRequest] };
        all[random.random_range(0..all.len())]
    }

    /// For how many requests the client is going to hear nothing.
    pub(crate) fn outage(&self, random: &mut SmallRng) -> u32 {
        if random.random_bool(self.outage_rate) { random.random_range(3..30) } else { 0 }
    }

    /// So many steps a request takes before it arrives.
    pub(crate) fn slowness(&self, random: &mut SmallRng) -> u64 {
        if random.random_bool(self.slow_rate) { random.random_range(1..80) } else { 0 }
    }
}
