//! Tests of the checker. Each store here breaks a guarantee, or acts like a careless writer. The
//! checker must report each.

use super::objects::Flaw;
use super::plan::Plan;

/// The number of seeds, of which at least one must show the flaw.
const SEEDS: u64 = 100;

fn check(flaw: Flaw, verdict: &str) {
    let problems = (0..SEEDS).flat_map(|seed| Plan { flaw: Some(flaw), ..Plan::random(seed) }.simulate().problems);
    let mut others = Vec::new();
    for problem in problems {
        if problem.contains(verdict) {
            return;
        }
        others.push(problem);
    }
    panic!("{flaw:?} went unnoticed; of other problems there were {others:#?}");
}

#[test]
fn a_store_that_ignores_conditions_loses_commits() {
    check(Flaw::IgnoresConditions, "was told that it is version");
}

#[test]
fn forgotten_commit_is_found() {
    check(Flaw::ForgetsPut, "was told that it is version");
}

#[test]
fn lost_commit_is_found() {
    check(Flaw::LosesCommit, "failed without need: CommitUnknown");
}

#[test]
fn doubled_commit_is_found() {
    check(Flaw::DisownsCommits, "is added, but was there");
}

#[test]
fn stale_listing_is_found() {
    check(Flaw::ListsThePast, "after version");
}

#[test]
fn swapped_files_are_found() {
    check(Flaw::SwapsDataFiles, "read [");
}

#[test]
fn forgotten_group_member_is_found() {
    check(Flaw::ForgetsMember, "was told that it is version");
}

#[test]
fn doubled_group_member_is_found() {
    check(Flaw::RepeatsMember, "was committed 2 times");
}

#[test]
fn backdated_files_are_found() {
    check(Flaw::DatesBack, "auditor could not read: Store");
}
