//! Writers and readers in one table, with faults between them and the store. The versions of the
//! log must be one order of all changes: it contains every acknowledged change once, and it is the
//! same for every reader.

use std::collections::BTreeMap;

use lakebed::ErrorKind;

use super::faults::Faults;
use super::journal::Told;
use super::plan::Plan;
use super::seeds;
use super::world::Outcome;

/// The number of simulations in one run of the test.
const SEEDS: u64 = 1000;

fn judged(Outcome { trace, problems, .. }: Outcome) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(format!("{}\n\n{}\n", trace.join("\n"), problems.join("\n"))) }
}

#[test]
fn changes_are_serial_never_lost_or_doubled() {
    seeds::check_each("commits::changes_are_serial_never_lost_or_doubled", SEEDS, |seed| judged(Plan::random(seed).simulate()));
}

/// A put with a lost answer may still be carried out when a later put is refused. This is common
/// where commits meet the most faults.
#[test]
fn refused_commit_never_appears_later() {
    seeds::check_each("commits::refused_commit_never_appears_later", SEEDS, |seed| {
        let mut plan = Plan::random(seed);
        plan.ways.faults = Faults { rate: 0.05, on_commits: 12.0, ..plan.ways.faults };
        judged(plan.simulate())
    });
}

#[test]
fn a_seed_decides_everything() {
    for seed in 0..100 {
        let [first, again] = [(); 2].map(|()| Plan::random(seed).simulate().trace);
        let differs = first.iter().zip(&again).position(|(one, other)| one != other);
        assert_eq!(differs.map(|at| (&first[at], &again[at])), None, "seed {seed}");
        assert_eq!(first.len(), again.len(), "seed {seed}");
    }
}

/// Returns the names of the events of a simulation.
fn events(outcome: &Outcome) -> impl Iterator<Item = String> {
    let faults = outcome.trace.iter().filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0));
    let faults: Vec<String> = faults.filter(|fault| fault.chars().all(char::is_alphabetic)).map(str::to_owned).collect();
    let told = outcome.notes.attempts.iter().map(|attempt| match attempt.ended.as_ref().map(|ended| &ended.told) {
        None => "died".to_owned(),
        Some(Told::Committed(_)) => format!("committed {:?}", std::mem::discriminant(&attempt.work.deed.verb)),
        Some(Told::Known(_)) => "known".to_owned(),
        Some(Told::Nothing(_)) => "nothing".to_owned(),
        Some(Told::Failed(ErrorKind::CommitConflict { kind, .. }, _)) => kind.name().to_owned(),
        Some(Told::Failed(kind, _)) => format!("{kind:?}").chars().take_while(|letter| letter.is_alphabetic()).collect(),
    });
    faults.into_iter().chain(told.collect::<Vec<_>>()).chain(shared(outcome).map(|_| "shared".to_owned()).collect::<Vec<_>>())
}

/// Returns the versions that more than one writer got as its result.
fn shared(outcome: &Outcome) -> impl Iterator<Item = u64> {
    let mut told = BTreeMap::<u64, usize>::new();
    for attempt in &outcome.notes.attempts {
        if let Some(Told::Committed(version)) = attempt.ended.as_ref().map(|ended| &ended.told) {
            *told.entry(*version).or_default() += 1;
        }
    }
    told.into_iter().filter(|(_, count)| *count > 1).map(|(version, _)| version)
}

/// Checks that the simulations have events. A simulation without events would find no error.
#[test]
fn everything_that_may_happen_does() {
    let mut happened = BTreeMap::<String, usize>::new();
    for seed in 0..300 {
        events(&Plan::random(seed).simulate()).for_each(|event| *happened.entry(event).or_default() += 1);
    }
    let wanted = [
        "LostRequest",
        "LostReply",
        "Late",
        "Twice",
        "Retried",
        "Denied",
        "Garbled",
        "Crash",
        "died",
        "known",
        "nothing",
        "shared",
        "CommitUnknown",
        "Store",
        "ConcurrentAppend",
        "ConcurrentDeleteDelete",
        "VacuumedFull",
        "VacuumedLite",
    ];
    let missing: Vec<&str> = wanted.into_iter().filter(|event| !happened.contains_key(*event)).collect();
    assert!(missing.is_empty(), "{missing:?} never happened, but {happened:?}");
}
