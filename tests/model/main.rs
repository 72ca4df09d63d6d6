//! The commit protocol, checked in every state that it can come to.
//!
//! The simulations run the real code in a few thousand ways. This model of the protocol is small
//! enough to be checked in all ways: with three writers, with and without partitions, deletion
//! vectors, lost answers and crashes. If a protection is removed, the check must find the error
//! that it prevents. Otherwise the model would prove nothing.

mod protocol;
mod table;

use protocol::Protocol;
use stateright::{Checker, Model};
use table::{ALL, FEW, Layout};

const CONSISTENT: &str = "every version reads as its history";
const ONCE: &str = "what was told is in the log, once";
const LIVE: &str = "whoever starts comes to an end";

/// A protocol with put-if-absent alone and all faults.
const SOUND: Protocol = Protocol {
    writers: 3,
    layout: Layout { is_partitioned: true, merges_on_read: true },
    put_if_absent: true,
    has_lock: false,
    loses_answers: false,
    most_deaths: 0,
    operations: &ALL,
    looks_for_own: true,
    believes_refusals: false,
    frees_locks: true,
    checks_conflicts: true,
};

const LAYOUTS: [Layout; 4] = [
    Layout { is_partitioned: false, merges_on_read: false },
    Layout { is_partitioned: false, merges_on_read: true },
    Layout { is_partitioned: true, merges_on_read: false },
    Layout { is_partitioned: true, merges_on_read: true },
];

fn check(protocol: Protocol) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let checker = protocol.checker().threads(threads).spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    checker.assert_properties();
}

/// Returns the names of the violated properties.
fn broken(protocol: Protocol) -> Vec<&'static str> {
    let checker = protocol.checker().spawn_bfs().join();
    [CONSISTENT, ONCE, LIVE].into_iter().filter(|property| checker.discovery(property).is_some()).collect()
}

#[test]
fn put_if_absent_suffices() {
    for layout in LAYOUTS {
        check(Protocol { layout, ..SOUND });
    }
}

#[test]
fn a_lock_suffices_while_nothing_arrives_late() {
    for layout in LAYOUTS {
        check(Protocol { layout, put_if_absent: false, has_lock: true, most_deaths: 3, ..SOUND });
    }
}

#[test]
fn put_if_absent_and_lock_work_together() {
    for layout in LAYOUTS {
        check(Protocol { layout, has_lock: true, most_deaths: 3, ..SOUND });
    }
}

#[test]
fn crashes_and_lost_answers_do_no_harm() {
    for layout in LAYOUTS {
        check(Protocol { layout, loses_answers: true, most_deaths: 3, operations: &FEW, ..SOUND });
    }
}

#[test]
fn unprotected_put_overwrites_version() {
    for layout in LAYOUTS {
        let found = broken(Protocol { layout, writers: 2, put_if_absent: false, ..SOUND });
        assert!(found.contains(&CONSISTENT), "{layout:?}: {found:?}");
    }
}

#[test]
fn lock_alone_loses_to_late_put() {
    let found = broken(Protocol { writers: 2, put_if_absent: false, has_lock: true, loses_answers: true, ..SOUND });
    assert!(found.contains(&CONSISTENT), "{found:?}");
}

#[test]
fn writer_ignoring_own_commit_doubles_it() {
    let found = broken(Protocol { writers: 1, loses_answers: true, looks_for_own: false, ..SOUND });
    assert!(found.contains(&ONCE), "{found:?}");
}

#[test]
fn trusted_refusal_meets_late_put() {
    let found = broken(Protocol { writers: 1, loses_answers: true, believes_refusals: true, ..SOUND });
    assert_eq!(found, [ONCE]);
}

#[test]
fn writer_without_conflict_check_undoes_others() {
    for layout in LAYOUTS {
        let found = broken(Protocol { layout, writers: 2, checks_conflicts: false, ..SOUND });
        assert!(found.contains(&CONSISTENT), "{layout:?}: {found:?}");
    }
}

#[test]
fn lock_of_dead_writer_stops_others() {
    let found = broken(Protocol { writers: 2, has_lock: true, most_deaths: 1, frees_locks: false, ..SOUND });
    assert_eq!(found, [LIVE]);
}
