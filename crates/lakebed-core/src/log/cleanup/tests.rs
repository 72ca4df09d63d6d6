use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::kit::listing::{checkpoint_file, commit_file, log_file};
use crate::log::segment::plan as segment_plan;

fn rules(cutoff_version: u64) -> CleanupRules {
    CleanupRules { cutoff_version, ..CleanupRules::default() }
}

fn readable(listed: &[ListedLogFile], version: u64) -> bool {
    segment_plan(listed, Some(version), &HashSet::new()).is_ok()
}

#[test]
fn retention_ends_at_a_midnight() {
    assert_eq!(cutoff_ms(10 * DAY_MS + 5, 3 * DAY_MS), 7 * DAY_MS);
    assert_eq!(cutoff_ms(10 * DAY_MS, 3 * DAY_MS), 7 * DAY_MS);
    assert_eq!(cutoff_ms(10 * DAY_MS - 1, 3 * DAY_MS), 6 * DAY_MS);
    assert_eq!(cutoff_ms(DAY_MS, 2 * DAY_MS), -DAY_MS);
    assert_eq!(cutoff_ms(0, i64::MAX), i64::MIN);
}

#[test]
fn plan_cleanup_deletes_older_files_by_version() {
    let mut listed: Vec<ListedLogFile> = (0..8).map(commit_file).collect();
    listed.extend([
        checkpoint_file(2),
        checkpoint_file(5),
        log_file("00000000000000000003.crc"),
        log_file("00000000000000000005.crc"),
    ]);
    listed.push(log_file("00000000000000000004.00000000000000000006.compacted.json"));
    listed.push(log_file("00000000000000000004.checkpoint.0000000001.0000000002.parquet"));
    let plan = plan(&listed, &rules(6)).unwrap();
    assert_eq!(plan.first_version, 5);
    let names: Vec<&str> = plan.files.iter().map(|path| path.name.trim_start_matches('0')).collect();
    let expected = [
        ".json",
        "1.json",
        "2.checkpoint.parquet",
        "2.json",
        "3.crc",
        "3.json",
        "4.checkpoint.0000000001.0000000002.parquet",
        "4.00000000000000000006.compacted.json",
        "4.json",
    ];
    assert_eq!(names, expected);
}

#[test]
fn plan_cleanup_keeps_files_of_pinned_versions() {
    let mut listed: Vec<ListedLogFile> = (0..9).map(commit_file).collect();
    listed.extend([checkpoint_file(2), checkpoint_file(4), checkpoint_file(6), log_file("00000000000000000003.crc")]);
    listed.push(log_file("00000000000000000003.00000000000000000005.compacted.json"));
    let names = |pinned: &[u64]| -> Vec<String> {
        let rules = CleanupRules { pinned: pinned.iter().copied().collect(), ..rules(7) };
        let plan = plan(&listed, &rules).unwrap();
        assert_eq!(plan.first_version, 6);
        plan.files.iter().map(|path| path.name.trim_start_matches('0').to_owned()).collect()
    };
    let compacted = "3.00000000000000000005.compacted.json";
    assert_eq!(names(&[3]), [".json", "1.json", compacted, "4.checkpoint.parquet", "4.json", "5.json"]);
    assert_eq!(
        names(&[0, 5]),
        ["1.json", "2.checkpoint.parquet", "2.json", compacted, "3.crc", "3.json"],
        "the first version needs no checkpoint"
    );
    assert_eq!(names(&[6, 8, 99]), names(&[]), "newer versions stay anyhow");
    // Without its commits, a pinned version cannot be kept.
    let mut torn = listed.clone();
    torn.retain(|file| file.path.name != commit_file(3).path.name);
    let pinned = CleanupRules { pinned: BTreeSet::from([3]), ..rules(7) };
    assert_eq!(plan(&torn, &pinned), plan(&torn, &rules(7)));
}

#[test]
fn without_ground_to_stand_on_nothing_goes() {
    let commits: Vec<ListedLogFile> = (0..8).map(commit_file).collect();
    assert_eq!(plan(&commits, &rules(6)), None, "no checkpoint");
    let with = |more: Vec<ListedLogFile>| [commits.clone(), more].concat();
    assert_eq!(plan(&with(vec![checkpoint_file(7)]), &rules(6)), None, "a checkpoint within the retention");
    assert_eq!(plan(&with(vec![checkpoint_file(0)]), &rules(6)), None, "nothing older than it");
    let protected = CleanupRules { protected_before: 6, ..rules(6) };
    assert_eq!(plan(&with(vec![checkpoint_file(5)]), &protected), None);
    assert!(plan(&with(vec![checkpoint_file(5)]), &CleanupRules { protected_before: 5, ..rules(6) }).is_some());
    let broken = CleanupRules { unusable: HashSet::from([checkpoint_file(5).path.name]), ..rules(6) };
    assert_eq!(plan(&with(vec![checkpoint_file(5)]), &broken), None);
    let mut without_its_commit = with(vec![checkpoint_file(5)]);
    without_its_commit.remove(5);
    assert_eq!(plan(&without_its_commit, &rules(6)), None);
}

/// Returns a listing of commits with gaps, and of checkpoints of all kinds, some of them
/// incomplete.
fn any_listing() -> impl Strategy<Value = Vec<ListedLogFile>> {
    let commits = prop::collection::vec(prop::bool::weighted(0.93), 1..24);
    let checkpoints = prop::collection::vec((0_u64..24, 0..5), 0..6);
    let compactions = prop::collection::vec((0_u64..20, 1_u64..5), 0..3);
    (commits, checkpoints, compactions).prop_map(|(commits, checkpoints, compactions)| {
        let commits = commits.into_iter().zip(0_u64..).filter(|(there, _)| *there).map(|(_, version)| commit_file(version));
        let checkpoints = checkpoints.into_iter().flat_map(|(version, form)| match form {
            0 => vec![checkpoint_file(version)],
            1 => vec![log_file(&format!("{version:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"))],
            2 => (1..=2).map(|part| log_file(&format!("{version:020}.checkpoint.{part:010}.0000000002.parquet"))).collect(),
            3 => vec![log_file(&format!("{version:020}.checkpoint.0000000001.0000000002.parquet"))],
            _ => vec![ListedLogFile { size: 0, ..checkpoint_file(version) }],
        });
        let compactions =
            compactions.into_iter().map(|(from, more)| log_file(&format!("{from:020}.{:020}.compacted.json", from + more)));
        commits.chain(checkpoints).chain(compactions).collect()
    })
}

/// Returns whether the error for a version reports that the version was deleted.
fn is_gone(listed: &[ListedLogFile], version: u64) -> bool {
    let planned = segment_plan(listed, Some(version), &HashSet::new());
    planned.is_err_and(|error| *error.kind() == ErrorKind::VersionNotFound)
}

#[test]
fn interrupted_cleanup_keeps_a_run_of_versions() {
    let mut listed: Vec<ListedLogFile> = (0..12).map(commit_file).collect();
    listed.extend([checkpoint_file(2), checkpoint_file(5), checkpoint_file(9)]);
    listed.extend((1..=2).map(|part| log_file(&format!("00000000000000000007.checkpoint.{part:010}.0000000002.parquet"))));
    let plan = plan(&listed, &rules(10)).unwrap();
    let mut oldest = 0;
    for done in 0..=plan.files.len() {
        let left: Vec<ListedLogFile> = listed.iter().filter(|file| !plan.files[..done].contains(&file.path)).cloned().collect();
        let readable = readable_versions(&left, &HashSet::new());
        let first = *readable.first().unwrap();
        assert_eq!(readable, (first..12).collect(), "{done} files are gone");
        assert!((0..first).all(|version| is_gone(&left, version)), "{done} files are gone");
        assert!(first >= oldest);
        oldest = first;
    }
    assert_eq!(oldest, 9);
}

proptest! {
    #[test]
    fn partial_cleanup_leaves_versions_readable_or_gone(
        listed in any_listing(),
        cutoff in 0_u64..24,
        deleted in prop::collection::vec(any::<bool>(), 64),
    ) {
        if let Some(plan) = plan(&listed, &rules(cutoff)) && segment_plan(&listed, None, &HashSet::new()).is_ok() {
            let gone: Vec<&LogPath> = plan.files.iter().zip(deleted).filter_map(|(path, gone)| gone.then_some(path)).collect();
            let left: Vec<ListedLogFile> = listed.iter().filter(|file| !gone.contains(&&file.path)).cloned().collect();
            let range = segment::reconstructible_range(&left).unwrap();
            for version in 0..*range.start() {
                prop_assert!(readable(&left, version) || is_gone(&left, version), "version {}", version);
            }
        }
    }

    #[test]
    fn partial_cleanup_never_loses_a_retained_version(listed in any_listing(), cutoff in 0_u64..24, done in 0.0..1.0) {
        if let Some(plan) = plan(&listed, &rules(cutoff)) {
            prop_assert!(plan.first_version <= cutoff);
            let deleted = &plan.files[..(plan.files.len() as f64 * done) as usize];
            for gone in [deleted, &plan.files] {
                let left: Vec<ListedLogFile> = listed.iter().filter(|file| !gone.contains(&file.path)).cloned().collect();
                for version in plan.first_version..26 {
                    prop_assert_eq!(readable(&left, version), readable(&listed, version), "version {}", version);
                }
            }
        }
    }

    #[test]
    fn readable_versions_are_those_with_a_plan(listed in any_listing()) {
        let found = readable_versions(&listed, &HashSet::new());
        for version in 0..26 {
            prop_assert_eq!(found.contains(&version), readable(&listed, version), "version {}", version);
        }
    }
}
