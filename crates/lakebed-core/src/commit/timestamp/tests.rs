use proptest::prelude::*;

use super::*;

fn times(first: u64, timestamps: &[i64]) -> Vec<VersionTime> {
    timestamps.iter().zip(first..).map(|(&timestamp_ms, version)| VersionTime { version, timestamp_ms }).collect()
}

fn monotonised(timestamps: &[i64]) -> Vec<i64> {
    let mut commits = times(0, timestamps);
    monotonise(&mut commits);
    commits.into_iter().map(|commit| commit.timestamp_ms).collect()
}

/// Runs a search to its end. `in_commit` has the in-commit timestamps by version. Also returns the
/// number of commits that the search read.
fn run(
    timestamp_ms: i64,
    commits: &[VersionTime],
    ict: Option<IctEnablement>,
    in_commit: impl Fn(u64) -> i64,
) -> Result<(u64, usize)> {
    let mut search = Search::new(timestamp_ms, commits, ict)?;
    let mut reads = 0;
    loop {
        match search.step() {
            Step::Done(version) => return Ok((version, reads)),
            Step::Read(version) => {
                reads += 1;
                search.learn(in_commit(version))?;
            }
        }
    }
}

fn by_file_times(timestamp_ms: i64, commits: &[VersionTime]) -> Result<u64> {
    run(timestamp_ms, commits, None, |version| panic!("asked for the in-commit timestamp of {version}"))
        .map(|(version, _)| version)
}

#[track_caller]
fn check_error<T: std::fmt::Debug>(result: Result<T>, expected: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.message()), (&ErrorKind::VersionNotFound, expected));
}

#[test]
fn monotonise_moves_backward_times_forward() {
    assert_eq!(monotonised(&[5, 3, 3, 10, 6, 7, 20]), [5, 6, 7, 10, 11, 12, 20]);
    assert_eq!(monotonised(&[]), [0_i64; 0]);
    assert_eq!(monotonised(&[i64::MAX, 0, 0]), [i64::MAX; 3]);
}

#[test]
fn find_timestamp_gives_latest_version_before_it() {
    let commits = times(4, &[1000, 2000, 3000]);
    assert_eq!(by_file_times(1000, &commits).unwrap(), 4);
    assert_eq!(by_file_times(1999, &commits).unwrap(), 4);
    assert_eq!(by_file_times(2000, &commits).unwrap(), 5);
    assert_eq!(by_file_times(3000, &commits).unwrap(), 6);
}

#[test]
fn searches_go_by_the_adjusted_times() {
    // The adjusted times are 1000, 1001, 1002, 5000.
    let commits = times(0, &[1000, 400, 300, 5000]);
    assert_eq!(by_file_times(1000, &commits).unwrap(), 0);
    assert_eq!(by_file_times(1001, &commits).unwrap(), 1);
    assert_eq!(by_file_times(4999, &commits).unwrap(), 2);
}

#[test]
fn find_timestamp_outside_commits_names_nearest() {
    let commits = times(4, &[0, 1_767_225_600_000]);
    check_error(
        by_file_times(-1, &commits),
        "timestamp 1969-12-31T23:59:59.999Z is before the earliest commit that can be read, version 4 at 1970-01-01T00:00:00.000Z",
    );
    check_error(
        by_file_times(1_767_225_600_001, &commits),
        "timestamp 2026-01-01T00:00:00.001Z is after the latest commit, version 5 at 2026-01-01T00:00:00.000Z: open that version, or the latest one",
    );
    check_error(by_file_times(1, &[]), "the log has no commits, so no version has a timestamp");
    check_error(
        by_file_times(i64::MIN, &commits),
        "timestamp -9223372036854775808 ms is before the earliest commit that can be read, version 4 at 1970-01-01T00:00:00.000Z",
    );
}

#[test]
fn find_uses_in_commit_timestamps_after_enablement() {
    // The list has the file times of versions 0 to 3. The in-commit timestamps of versions 2 and 3
    // are 500 and 600. The file times of these two are wrong on purpose.
    let commits = times(0, &[100, 200, 9000, 50]);
    let ict = Some(IctEnablement { version: 2, timestamp_ms: 500 });
    let version_at =
        |timestamp| run(timestamp, &commits, ict, |version| [0, 0, 500, 600][version as usize]).map(|(version, _)| version);
    assert_eq!(version_at(100).unwrap(), 0);
    assert_eq!(version_at(200).unwrap(), 1);
    assert_eq!(version_at(499).unwrap(), 1);
    assert_eq!(version_at(500).unwrap(), 2);
    assert_eq!(version_at(599).unwrap(), 2);
    assert_eq!(version_at(600).unwrap(), 3);
    check_error(
        version_at(601),
        "timestamp 1970-01-01T00:00:00.601Z is after the latest commit, version 3 at 1970-01-01T00:00:00.600Z: open that version, or the latest one",
    );
    check_error(
        version_at(99),
        "timestamp 1970-01-01T00:00:00.099Z is before the earliest commit that can be read, version 0 at 1970-01-01T00:00:00.100Z",
    );
}

#[test]
fn find_timestamp_before_remaining_enablement_fails() {
    let commits = times(7, &[0, 0]);
    for (ict_version, ict_timestamp) in [(7, 500), (3, 500), (0, i64::MIN)] {
        let ict = Some(IctEnablement { version: ict_version, timestamp_ms: ict_timestamp });
        let version_at =
            |timestamp| run(timestamp, &commits, ict, |version| [700, 800][version as usize - 7]).map(|(version, _)| version);
        check_error(
            version_at(499),
            "timestamp 1970-01-01T00:00:00.499Z is before the earliest commit that can be read, version 7 at 1970-01-01T00:00:00.700Z",
        );
        assert_eq!(version_at(799).unwrap(), 7);
        assert_eq!(version_at(800).unwrap(), 8);
    }
}

#[test]
fn find_before_later_enablement_uses_file_times() {
    let ict = Some(IctEnablement { version: 9, timestamp_ms: 500 });
    let found = run(150, &times(0, &[100, 200]), ict, |_| unreachable!()).unwrap();
    assert_eq!(found, (0, 0));
}

#[test]
fn a_search_among_many_commits_reads_few() {
    let commits = times(0, &vec![0; 10_000]);
    let ict = Some(IctEnablement { version: 0, timestamp_ms: i64::MIN });
    let (version, reads) = run(61_235, &commits, ict, |version| i64::try_from(version).unwrap() * 10).unwrap();
    assert_eq!(version, 6123);
    assert!(reads <= 16, "{reads}");
    let (version, reads) = run(99_990, &commits, ict, |version| i64::try_from(version).unwrap() * 10).unwrap();
    assert_eq!((version, reads), (9999, 1));
}

/// A table: its versions from some version on, the file times of all of them, and the in-commit
/// timestamps since the enablement.
#[derive(Debug, Clone)]
struct Table {
    commits: Vec<VersionTime>,
    ict: Option<IctEnablement>,
    in_commit: Vec<i64>,
}

impl Table {
    /// Returns for each version the in-commit timestamp or the adjusted file time.
    fn times(&self) -> Vec<i64> {
        let enabled = self.ict.map_or(u64::MAX, |ict| ict.version);
        let (mut old, new): (Vec<VersionTime>, Vec<VersionTime>) =
            self.commits.iter().partition(|commit| commit.version < enabled);
        monotonise(&mut old);
        let old = old.into_iter().map(|commit| commit.timestamp_ms);
        old.chain(new.into_iter().map(|commit| self.in_commit_of(commit.version))).collect()
    }

    fn in_commit_of(&self, version: u64) -> i64 {
        self.in_commit[usize::try_from(version - self.commits[0].version).unwrap()]
    }

    fn version_at(&self, timestamp_ms: i64) -> Result<u64> {
        run(timestamp_ms, &self.commits, self.ict, |version| self.in_commit_of(version)).map(|(version, _)| version)
    }
}

prop_compose! {
    fn any_table()(
        first in 0_u64..5,
        file_times in proptest::collection::vec(0_i64..100, 1..12),
        steps in proptest::collection::vec(1_i64..20, 12),
        enabled in proptest::option::of(0_usize..12),
    ) -> Table {
        let commits = times(first, &file_times);
        let enabled = enabled.filter(|at| *at < commits.len());
        // In-commit timestamps begin above every adjusted file time. The protocol requires this for
        // the commit that enables them.
        let mut clock = 200;
        let in_commit: Vec<i64> = steps.iter().map(|step| { clock += step; clock }).collect();
        let ict = enabled.map(|at| IctEnablement { version: commits[at].version, timestamp_ms: in_commit[at] });
        Table { commits, ict, in_commit }
    }
}

proptest! {
    #[test]
    fn adjusted_times_increase_and_never_go_back(timestamps in proptest::collection::vec(-50_i64..50, 0..20)) {
        let adjusted = monotonised(&timestamps);
        prop_assert!(adjusted.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(adjusted.iter().zip(&timestamps).all(|(after, before)| after >= before));
        prop_assert_eq!(monotonised(&adjusted), adjusted);
    }

    #[test]
    fn find_own_timestamp_gives_each_version(table in any_table()) {
        for (commit, time) in table.commits.iter().zip(table.times()) {
            prop_assert_eq!(table.version_at(time).unwrap(), commit.version);
        }
    }

    #[test]
    fn find_agrees_with_linear_search(table in any_table(), timestamp in -10_i64..500) {
        let times = table.times();
        let expected = times.iter().zip(&table.commits).filter(|(time, _)| **time <= timestamp).map(|(_, commit)| commit.version).max();
        let expected = expected.filter(|_| timestamp <= *times.last().unwrap());
        prop_assert_eq!(table.version_at(timestamp).ok(), expected);
    }

    #[test]
    fn later_timestamps_never_mean_older_versions(table in any_table(), one in 0_i64..500, other in 0_i64..500) {
        if let (Ok(one_version), Ok(other_version)) = (table.version_at(one), table.version_at(other)) {
            prop_assert_eq!(one_version.cmp(&other_version).then(one.cmp(&other)), one.cmp(&other).then(one_version.cmp(&other_version)));
        }
    }
}
