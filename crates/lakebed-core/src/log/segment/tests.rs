use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::kit::listing::{checkpoint_file, commit_file, log_file, log_file_with_size};
use crate::path::{CheckpointKind, LogKind, checkpoint_name, checksum_name, commit_name};

fn commits(versions: impl IntoIterator<Item = u64>) -> Vec<ListedLogFile> {
    versions.into_iter().map(commit_file).collect()
}

fn part(version: u64, part: u32, parts: u32) -> ListedLogFile {
    log_file(&format!("{version:020}.checkpoint.{part:010}.{parts:010}.parquet"))
}

fn compaction(start: u64, end: u64) -> ListedLogFile {
    log_file(&format!("{start:020}.{end:020}.compacted.json"))
}

fn listing(files: &[&[ListedLogFile]]) -> Vec<ListedLogFile> {
    let mut listed = files.concat();
    listed.sort_by(|a, b| a.path.name.cmp(&b.path.name));
    listed
}

fn names(paths: &[LogPath]) -> Vec<&str> {
    paths.iter().map(|path| path.name.as_str()).collect()
}

fn plan_latest(listed: &[ListedLogFile]) -> Result<LogSegment> {
    plan(listed, None, &HashSet::new())
}

/// Checks the version, the checkpoint's version, and the versions of the commits, newest first.
#[track_caller]
fn check(listed: &[ListedLogFile], target: Option<u64>, version: u64, checkpoint: Option<u64>, commits: &[u64]) {
    let segment = plan(listed, target, &HashSet::new()).unwrap();
    let found: Vec<u64> = segment.commits.iter().map(|path| path.version).collect();
    assert_eq!(
        (segment.version, segment.checkpoint.map(|files| files.version), found.as_slice()),
        (version, checkpoint, commits)
    );
}

#[track_caller]
fn check_error(listed: &[ListedLogFile], target: Option<u64>, kind: &ErrorKind, message: &str) {
    let error = plan(listed, target, &HashSet::new()).unwrap_err();
    assert_eq!((error.kind(), error.message()), (kind, message));
}

fn corrupt() -> ErrorKind {
    ErrorKind::Corrupt { path: "_delta_log".to_owned() }
}

#[test]
fn commits_alone_make_a_version() {
    check(&commits(0..=3), None, 3, None, &[3, 2, 1, 0]);
    check(&commits(0..=3), Some(1), 1, None, &[1, 0]);
    check(&commits(0..=0), None, 0, None, &[0]);
}

#[test]
fn plan_takes_newest_checkpoint_up_to_target() {
    let listed = listing(&[&commits(0..=25), &[checkpoint_file(10), checkpoint_file(20)]]);
    check(&listed, None, 25, Some(20), &[25, 24, 23, 22, 21]);
    check(&listed, Some(20), 20, Some(20), &[]);
    check(&listed, Some(19), 19, Some(10), &[19, 18, 17, 16, 15, 14, 13, 12, 11]);
    check(&listed, Some(2), 2, None, &[2, 1, 0]);
}

#[test]
fn a_checkpoint_needs_no_commit_beside_it() {
    check(&[checkpoint_file(10)], None, 10, Some(10), &[]);
    check(&listing(&[&[checkpoint_file(10)], &commits(11..=12)]), None, 12, Some(10), &[12, 11]);
}

#[test]
fn a_listing_may_begin_at_the_checkpoint() {
    check(&listing(&[&[checkpoint_file(10)], &commits(10..=12)]), None, 12, Some(10), &[12, 11]);
}

#[test]
fn incomplete_and_empty_checkpoints_are_passed_over() {
    let incomplete = listing(&[&commits(0..=5), &[checkpoint_file(2), part(4, 1, 3), part(4, 3, 3)]]);
    check(&incomplete, None, 5, Some(2), &[5, 4, 3]);
    let empty = listing(&[&commits(0..=5), &[checkpoint_file(2), log_file_with_size(&checkpoint_name(4), 0)]]);
    check(&empty, None, 5, Some(2), &[5, 4, 3]);
    let empty_part = listing(&[&commits(0..=5), &[part(4, 1, 2), log_file_with_size(&part(4, 2, 2).path.name, 0)]]);
    check(&empty_part, None, 5, None, &[5, 4, 3, 2, 1, 0]);
}

#[test]
fn plan_never_mixes_multi_part_checkpoints() {
    let listed = listing(&[&commits(0..=5), &[part(4, 1, 3), part(4, 2, 3), part(4, 3, 4), part(4, 1, 2), part(4, 2, 2)]]);
    let segment = plan_latest(&listed).unwrap();
    let files = segment.checkpoint.unwrap().files;
    let parts: Vec<LogKind> = files.iter().map(|file| file.path.kind).collect();
    let expected = [1, 2].map(|part| LogKind::Checkpoint(CheckpointKind::MultiPart { part, parts: 2 }));
    assert_eq!(parts, expected);
}

#[test]
fn plan_ignores_huge_number_of_parts() {
    let listed = listing(&[&commits(0..=1), &[log_file("00000000000000000001.checkpoint.1.4294967295.parquet")]]);
    check(&listed, None, 1, None, &[1, 0]);
}

#[test]
fn plan_prefers_uuid_then_classic_then_parts() {
    let (a, b) = (log_file("00000000000000000004.checkpoint.aa.parquet"), log_file("00000000000000000004.checkpoint.bb.json"));
    let all = [part(4, 1, 1), part(4, 1, 2), part(4, 2, 2), checkpoint_file(4), a.clone(), b.clone()];
    let chosen = |without: &[&ListedLogFile]| {
        let unusable = without.iter().map(|file| file.path.name.clone()).collect();
        plan(&all, None, &unusable).unwrap().checkpoint.unwrap()
    };
    assert_eq!(chosen(&[]).name(), b.path.name);
    assert_eq!(chosen(&[]).kind, CheckpointKind::Uuid { json: true });
    assert_eq!(chosen(&[&b]).name(), a.path.name);
    assert_eq!(chosen(&[&b, &a]).name(), checkpoint_name(4));
    assert_eq!(chosen(&[&b, &a, &checkpoint_file(4)]).files, [part(4, 1, 1)]);
    assert_eq!(chosen(&[&b, &a, &checkpoint_file(4), &part(4, 1, 1)]).files, [part(4, 1, 2), part(4, 2, 2)]);
}

#[test]
fn plan_replaces_unusable_checkpoint_by_older_files() {
    let listed = listing(&[&commits(0..=25), &[checkpoint_file(10), part(20, 1, 2), part(20, 2, 2)]]);
    let without = |names: &[String]| plan(&listed, None, &names.iter().cloned().collect()).unwrap();
    let second_part = part(20, 2, 2).path.name;
    assert_eq!(without(std::slice::from_ref(&second_part)).checkpoint.unwrap().version, 10);
    let neither = without(&[second_part, checkpoint_name(10)]);
    assert_eq!((neither.checkpoint, neither.commits.len()), (None, 26));
}

#[test]
fn plan_with_gap_names_missing_commits() {
    let torn = listing(&[&commits(0..=4), &commits(8..=9)]);
    check_error(&torn, None, &corrupt(), "_delta_log: version 9 cannot be rebuilt: the commits of versions 5 to 7 are missing");
    check_error(
        &torn,
        Some(6),
        &corrupt(),
        "_delta_log: version 6 cannot be rebuilt: the commits of versions 5 to 6 are missing",
    );
    check(&torn, Some(4), 4, None, &[4, 3, 2, 1, 0]);
    let above = listing(&[&[checkpoint_file(10)], &commits(10..=11), &commits(13..=13)]);
    check_error(&above, None, &corrupt(), "_delta_log: version 13 cannot be rebuilt: the commit of version 12 is missing");
    check_error(
        &commits(3..=4),
        None,
        &corrupt(),
        "_delta_log: version 4 cannot be rebuilt: the commits of versions 0 to 2 are missing",
    );
}

#[test]
fn a_checkpoint_above_a_gap_heals_it() {
    let listed = listing(&[&commits(0..=4), &commits(8..=9), &[checkpoint_file(7)]]);
    check(&listed, None, 9, Some(7), &[9, 8]);
}

#[test]
fn plan_fails_when_newest_commit_is_lost() {
    let listed = listing(&[&commits(0..=9), &[log_file_with_size(&checkpoint_name(10), 0)]]);
    check_error(
        &listed,
        None,
        &corrupt(),
        "_delta_log: version 10 cannot be rebuilt: the commit of version 10 is missing and checkpoint 00000000000000000010.checkpoint.parquet is unusable",
    );
}

#[test]
fn versions_beyond_the_log_are_not_found() {
    let cleaned = listing(&[&commits(8..=12), &[checkpoint_file(10)]]);
    check_error(
        &cleaned,
        Some(13),
        &ErrorKind::VersionNotFound,
        "version 13 does not exist; the log can rebuild versions 10 to 12",
    );
    check_error(
        &cleaned,
        Some(9),
        &ErrorKind::VersionNotFound,
        "version 9 can no longer be rebuilt: the commits of versions 0 to 7 are missing; the log can rebuild versions 10 to 12",
    );
    check(&cleaned, Some(10), 10, Some(10), &[]);
}

#[test]
fn plan_without_commits_finds_no_table() {
    check_error(&[], None, &ErrorKind::TableNotFound, "there are no commits in _delta_log");
    check_error(&[log_file(&checksum_name(3))], None, &ErrorKind::TableNotFound, "there are no commits in _delta_log");
}

#[test]
fn plan_replaces_commits_by_compactions() {
    let names_of = |extra: &[ListedLogFile], target: Option<u64>| {
        let listed = listing(&[&commits(0..=12), &[checkpoint_file(4)], extra]);
        plan(&listed, target, &HashSet::new()).unwrap().commits.iter().map(|path| (path.version, path.kind)).collect::<Vec<_>>()
    };
    let commit = |version| (version, LogKind::Commit);
    let compact = |start, end| (start, LogKind::Compaction { end });
    // The plan takes the longest compaction among those that begin after the last one.
    assert_eq!(
        names_of(&[compaction(5, 7), compaction(5, 8), compaction(6, 12), compaction(9, 11)], None),
        [commit(12), compact(9, 11), compact(5, 8)]
    );
    // A compaction may not cross the checkpoint or the target.
    assert_eq!(names_of(&[compaction(3, 6), compaction(6, 9)], Some(8)), [commit(8), commit(7), commit(6), commit(5)]);
    assert_eq!(names_of(&[compaction(5, 12)], None), [compact(5, 12)]);
}

#[test]
fn empty_and_unusable_compactions_are_passed_over() {
    let listed = listing(&[&commits(0..=3), &[compaction(0, 3), log_file_with_size(&compaction(1, 2).path.name, 0)]]);
    assert_eq!(names(&plan_latest(&listed).unwrap().commits), [compaction(0, 3).path.name]);
    let unusable = HashSet::from([compaction(0, 3).path.name]);
    check(&listing(&[&commits(0..=3)]), None, 3, None, &[3, 2, 1, 0]);
    assert_eq!(plan(&listed, None, &unusable).unwrap().commits, plan_latest(&commits(0..=3)).unwrap().commits);
}

#[test]
fn plan_with_compaction_reports_missing_commit() {
    let listed = listing(&[&commits(0..=1), &commits(3..=4), &[compaction(1, 3)]]);
    check_error(&listed, None, &corrupt(), "_delta_log: version 4 cannot be rebuilt: the commit of version 2 is missing");
}

#[test]
fn the_checksum_lies_between_checkpoint_and_version() {
    let crc = |version| log_file(&checksum_name(version));
    let listed =
        listing(&[&commits(0..=12), &[checkpoint_file(10), crc(3), crc(10), crc(11), log_file_with_size(&checksum_name(12), 0)]]);
    let checksum = |target: Option<u64>, unusable: &[String]| {
        let segment = plan(&listed, target, &unusable.iter().cloned().collect()).unwrap();
        segment.checksum.map(|path| path.version)
    };
    assert_eq!(checksum(None, &[]), Some(11));
    assert_eq!(checksum(None, &[checksum_name(11)]), Some(10));
    assert_eq!(checksum(None, &[checksum_name(11), checksum_name(10)]), None);
    assert_eq!(checksum(Some(9), &[]), Some(3));
    assert_eq!(checksum(Some(2), &[]), None);
}

#[test]
fn plan_prefers_commit_name_of_twenty_digits() {
    let listed = [log_file(&commit_name(0)), log_file(&commit_name(1)), log_file("1.json")];
    assert_eq!(names(&plan_latest(&listed).unwrap().commits), [commit_name(1), commit_name(0)]);
}

#[test]
fn range_reaches_back_to_checkpoint_or_zero() {
    assert_eq!(reconstructible_range(&[]), None);
    assert_eq!(reconstructible_range(&commits(0..=7)), Some(0..=7));
    assert_eq!(reconstructible_range(&commits(3..=7)), None);
    assert_eq!(reconstructible_range(&listing(&[&commits(0..=7), &[checkpoint_file(5)]])), Some(0..=7));
    assert_eq!(reconstructible_range(&listing(&[&commits(3..=7), &[checkpoint_file(5)]])), Some(5..=7));
    assert_eq!(reconstructible_range(&listing(&[&commits(0..=4), &commits(6..=7), &[checkpoint_file(5)]])), Some(0..=7));
    assert_eq!(reconstructible_range(&listing(&[&commits(0..=4), &commits(9..=9), &[checkpoint_file(8)]])), Some(8..=9));
    assert_eq!(reconstructible_range(&[checkpoint_file(5), checkpoint_file(8)]), Some(8..=8));
    assert_eq!(reconstructible_range(&listing(&[&commits(0..=4), &commits(6..=7)])), None);
    assert_eq!(reconstructible_range(&listing(&[&commits(5..=7), &[part(5, 1, 2)]])), None);
}

prop_compose! {
    fn any_log()(
        commits in proptest::collection::btree_set(0_u64..20, 0..20),
        classic in proptest::collection::btree_set(0_u64..20, 0..3),
        first_halves in proptest::collection::btree_set(0_u64..20, 0..3),
        second_halves in proptest::collection::btree_set(0_u64..20, 0..3),
        compactions in proptest::collection::vec((0_u64..20, 1_u64..6), 0..6),
    ) -> Vec<ListedLogFile> {
        let mut listed = Vec::new();
        listed.extend(commits.into_iter().map(commit_file));
        listed.extend(classic.into_iter().map(checkpoint_file));
        listed.extend(first_halves.into_iter().map(|version| part(version, 1, 2)));
        listed.extend(second_halves.into_iter().map(|version| part(version, 2, 2)));
        listed.extend(compactions.into_iter().map(|(start, width)| compaction(start, start + width)));
        listing(&[&listed])
    }
}

/// Returns whether a version can be rebuilt. It checks the definition, version by version.
fn rebuildable(listed: &[ListedLogFile], version: u64) -> bool {
    let has = |name: String| listed.iter().any(|file| file.path.name == name);
    let is_base = |version: u64| {
        has(checkpoint_name(version)) || (has(part(version, 1, 2).path.name) && has(part(version, 2, 2).path.name))
    };
    match (is_base(version), has(commit_name(version)), version) {
        (true, ..) => true,
        (false, true, 0) => true,
        (false, true, _) => rebuildable(listed, version - 1),
        (false, false, _) => false,
    }
}

proptest! {
    #[test]
    fn plan_exists_exactly_for_rebuildable_versions(listed in any_log(), version in 0_u64..20) {
        prop_assert_eq!(plan(&listed, Some(version), &HashSet::new()).is_ok(), rebuildable(&listed, version));
    }

    #[test]
    fn plan_covers_each_version_once(listed in any_log(), version in 0_u64..20) {
        if let Ok(segment) = plan(&listed, Some(version), &HashSet::new()) {
            let covered: Vec<u64> = segment.commits.iter().rev().flat_map(|path| match path.kind {
                LogKind::Compaction { end } => path.version..=end,
                _ => path.version..=path.version,
            }).collect();
            let first = segment.checkpoint.map_or(0, |checkpoint| checkpoint.version + 1);
            prop_assert_eq!(covered, (first..=version).collect::<Vec<_>>());
        }
    }

    #[test]
    fn range_holds_versions_joined_to_the_latest(listed in any_log()) {
        let good: BTreeSet<u64> = (0..20).filter(|version| rebuildable(&listed, *version)).collect();
        let traces = listed.iter().filter(|file| match file.path.kind {
            LogKind::Commit => true,
            LogKind::Checkpoint(_) => good.contains(&file.path.version),
            _ => false,
        });
        let latest = traces.map(|file| file.path.version).max();
        let expected = latest.filter(|latest| good.contains(latest)).map(|latest| {
            let start = (0..=latest).rev().take_while(|version| good.contains(version)).last().unwrap();
            start..=latest
        });
        prop_assert_eq!(reconstructible_range(&listed), expected);
    }

    #[test]
    fn plan_ignores_order_of_listing(listed in any_log(), rotate in 0_usize..20) {
        let mut rotated = listed.clone();
        rotated.rotate_left(rotate.min(listed.len()));
        let (one, other) = (plan_latest(&listed), plan_latest(&rotated));
        prop_assert_eq!(one.ok(), other.ok());
    }
}
