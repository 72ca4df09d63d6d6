use proptest::prelude::*;

use super::*;

fn offset(version: u64, position: Position, is_initial: bool) -> Offset {
    Offset { table_id: "t".to_owned(), version, position, is_initial }
}

fn limits(files: u64, bytes: u64) -> ReadLimits {
    let some = |limit| Some(limit).filter(|limit| *limit > 0);
    ReadLimits { max_files: some(files), max_bytes: some(bytes), until: None }
}

/// Returns an offset as `version:index`, with `-` for the beginning, `!` for a schema change, and
/// `*` in the initial snapshot.
fn show(offset: Option<Offset>) -> String {
    let Some(offset) = offset else { return "nothing".to_owned() };
    let position = match offset.position {
        Position::Base => "-".to_owned(),
        Position::File(index) => index.to_string(),
        Position::SchemaChange | Position::AfterSchemaChange => "!".to_owned(),
    };
    format!("{}:{position}{}", offset.version, if offset.is_initial { "*" } else { "" })
}

/// Checks how far a batch gets through commits with files of these sizes. The first commit is
/// version 1.
#[track_caller]
fn check(commits: &[&[u64]], start: Offset, limits: &ReadLimits, expected: &str) {
    let mut walk = BatchWalk::new(&start, limits);
    for (version, sizes) in (1..).zip(commits).filter(|(version, _)| *version >= start.version) {
        if walk.pass_files(version, false, sizes.iter().copied()).is_break() {
            break;
        }
    }
    assert_eq!(show(walk.reached()), expected);
}

#[test]
fn batch_ends_before_file_without_room() {
    let commits: [&[u64]; 3] = [&[10, 10, 10], &[], &[10, 10]];
    let base = || offset(1, Position::Base, false);
    check(&commits, base(), &limits(0, 0), "4:-");
    check(&commits, base(), &limits(1, 0), "1:0");
    check(&commits, base(), &limits(2, 0), "1:1");
    // Beginnings and ends of commits are passed up to the next file.
    check(&commits, base(), &limits(3, 0), "3:-");
    check(&commits, base(), &limits(4, 0), "3:0");
    check(&commits, base(), &limits(5, 0), "4:-");
    check(&commits, offset(1, Position::File(1), false), &limits(1, 0), "3:-");
    check(&commits, offset(3, Position::File(1), false), &limits(1, 0), "4:-");
    check(&commits, offset(4, Position::Base, false), &limits(1, 0), "nothing");
}

#[test]
fn file_is_admitted_while_room_is_left() {
    let commits: [&[u64]; 1] = [&[100, 1, 1]];
    let base = || offset(1, Position::Base, false);
    check(&commits, base(), &limits(0, 1), "1:0");
    check(&commits, base(), &limits(0, 101), "1:1");
    check(&commits, base(), &limits(0, 102), "2:-");
    check(&commits, base(), &limits(1, 1000), "1:0");
}

#[test]
fn file_behind_end_of_run_is_refused() {
    let commits: [&[u64]; 3] = [&[1], &[1], &[1]];
    let until = |version, position| ReadLimits { until: Some(offset(version, position, false)), ..limits(9, 0) };
    check(&commits, offset(1, Position::Base, false), &until(3, Position::Base), "3:-");
    check(&commits, offset(1, Position::Base, false), &until(2, Position::File(0)), "2:0");
    check(&commits, offset(3, Position::Base, false), &until(3, Position::Base), "nothing");
}

#[test]
fn last_file_ends_initial_snapshot() {
    let sizes: [&[u64]; 2] = [&[1, 1], &[1]];
    check(&sizes, offset(1, Position::Base, true), &limits(1, 0), "1:0*");
    check(&sizes, offset(1, Position::File(0), true), &limits(1, 0), "2:-");
    check(&sizes, offset(1, Position::Base, true), &limits(3, 0), "3:-");
    check(&[&[]], offset(1, Position::Base, true), &limits(1, 0), "2:-");
}

#[test]
fn a_change_of_schema_ends_a_batch() {
    let mut walk = BatchWalk::new(&offset(1, Position::Base, false), &limits(9, 0));
    assert!(walk.pass_files(1, false, [1]).is_continue());
    assert!(walk.pass_files(2, true, [1]).is_break());
    assert_eq!(show(walk.reached()), "2:!");
    let mut walk = BatchWalk::new(&offset(2, Position::AfterSchemaChange, false), &limits(9, 0));
    assert!(walk.pass_files(2, false, [1]).is_continue());
    assert_eq!(show(walk.reached()), "3:-");
}

/// Returns a change feed commit with files of these sizes.
fn feed<'a>(version: u64, files: &'a [FileSize], are_changes: bool, have_vectors: bool) -> FeedCommit<'a> {
    FeedCommit { version, files, are_changes, have_vectors, is_skipped: false, changes_schema: false }
}

fn sizes(sizes: &[u64]) -> Vec<FileSize> {
    sizes.iter().map(|size| FileSize { size: *size, is_excluded: false }).collect()
}

#[test]
fn changed_rows_of_a_commit_stay_together() {
    let (first, second) = (sizes(&[5, 5]), sizes(&[5, 5]));
    let through = |limits: &ReadLimits, are_changes, have_vectors| {
        let mut walk = BatchWalk::new(&offset(1, Position::Base, false), limits);
        for (version, files) in [(1, &first), (2, &second)] {
            let commit = feed(version, files, are_changes, have_vectors);
            if !walk.has_room() || walk.pass_feed_commit(&commit).is_break() {
                break;
            }
        }
        show(walk.reached())
    };
    // The first commit always fits. The second is taken as a whole or not at all.
    assert_eq!(through(&limits(1, 0), true, false), "1:1");
    assert_eq!(through(&limits(3, 0), true, false), "1:1");
    assert_eq!(through(&limits(4, 0), true, false), "2:1");
    assert_eq!(through(&limits(0, 0), true, false), "3:-");
    // With deletion vectors, the end of a commit counts too.
    assert_eq!(through(&limits(6, 0), false, true), "2:-");
    assert_eq!(through(&limits(7, 0), false, true), "3:-");
    // Files that are added or removed with all their rows do not belong together.
    assert_eq!(through(&limits(3, 0), false, false), "2:0");
}

#[test]
fn skipped_files_take_no_room_in_batch() {
    let files = [
        FileSize { size: 5, is_excluded: true },
        FileSize { size: 5, is_excluded: false },
        FileSize { size: 5, is_excluded: false },
    ];
    let mut walk = BatchWalk::new(&offset(1, Position::Base, false), &limits(1, 0));
    assert!(walk.pass_feed_commit(&feed(1, &files, false, false)).is_break());
    assert_eq!(show(walk.reached()), "1:1");
    let mut walk = BatchWalk::new(&offset(1, Position::Base, false), &limits(1, 0));
    let skipped = FeedCommit { is_skipped: true, ..feed(1, &files, false, false) };
    assert!(walk.pass_feed_commit(&skipped).is_continue());
    assert_eq!(show(walk.reached()), "2:-");
}

proptest! {
    #[test]
    fn any_limits_pass_every_file_once(
        commits in prop::collection::vec(prop::collection::vec(0_u64..30, 0..5), 0..8),
        batches in prop::collection::vec((0_u64..4, 0_u64..40), 1..60),
        is_initial: bool,
    ) {
        let end = commits.len() as u64 + 1;
        let mut start = offset(1, Position::Base, is_initial);
        let mut passed: Vec<(u64, u64)> = Vec::new();
        for (files, bytes) in batches.into_iter().chain([(0, 0)]) {
            let mut walk = BatchWalk::new(&start, &limits(files, bytes));
            for (version, sizes) in (1..).zip(&commits).filter(|(version, _)| *version >= start.version) {
                if walk.pass_files(version, false, sizes.iter().copied()).is_break() {
                    break;
                }
            }
            let Some(next) = walk.reached() else { continue };
            next.check_follows(&start).unwrap();
            let before = passed.len();
            for (version, sizes) in (1..).zip(&commits) {
                for index in 0..sizes.len() as u64 {
                    let place = (version, Position::File(index));
                    if place > (start.version, start.position) && place <= (next.version, next.position) {
                        passed.push((version, index));
                    }
                }
            }
            if files > 0 {
                prop_assert!((passed.len() - before) as u64 <= files);
            }
            start = next;
        }
        let all: Vec<(u64, u64)> =
            (1..).zip(&commits).flat_map(|(version, sizes)| (0..sizes.len() as u64).map(move |index| (version, index))).collect();
        prop_assert_eq!(passed, all);
        prop_assert!(commits.is_empty() || start.version == end);
    }
}
