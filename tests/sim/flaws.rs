//! That the judge notices: stores that break their promises, or do what a careless writer would, each of which must lead to a verdict.

use super::objects::Flaw;
use super::plan::Plan;

/// Among so many seeds one must show it.
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
fn a_store_that_forgets_a_commit_has_told_its_writer_a_lie() {
    check(Flaw::ForgetsPut, "was told that it is version");
}

#[test]
fn a_store_that_loses_a_commit_leaves_writers_without_an_answer() {
    check(Flaw::LosesCommit, "failed without need: CommitUnknown");
}

#[test]
fn a_writer_that_does_not_know_its_own_commit_makes_it_twice() {
    check(Flaw::DisownsCommits, "is added, but was there");
}

#[test]
fn a_store_that_lists_the_past_takes_readers_back() {
    check(Flaw::ListsThePast, "after version");
}

#[test]
fn a_store_that_swaps_files_shows_other_rows() {
    check(Flaw::SwapsDataFiles, "read [");
}

#[test]
fn a_leader_that_forgets_a_member_has_told_it_a_lie() {
    check(Flaw::ForgetsMember, "was told that it is version");
}

#[test]
fn a_leader_that_commits_a_member_again_has_it_twice() {
    check(Flaw::RepeatsMember, "was committed 2 times");
}

#[test]
fn a_store_that_dates_files_back_has_them_vacuumed_before_they_are_committed() {
    check(Flaw::DatesBack, "auditor could not read: Store");
}
