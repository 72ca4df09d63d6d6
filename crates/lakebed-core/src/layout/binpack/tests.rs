use proptest::prelude::*;

use super::*;

const RULES: PackRules = PackRules { target_file_size_bytes: 100, min_files: 2, max_deleted_share: 0.05 };

fn file(size_bytes: u64) -> PackedFile {
    PackedFile { size_bytes, rows: Some(100), deleted_rows: 0 }
}

/// Checks the sizes of the files in each bin, for files of these sizes.
#[track_caller]
fn check(sizes: &[u64], expected: &[&[u64]]) {
    let files: Vec<PackedFile> = sizes.iter().map(|size| file(*size)).collect();
    let bins: Vec<Vec<u64>> =
        plan(&files, &RULES).into_iter().map(|bin| bin.into_iter().map(|place| sizes[place]).collect()).collect();
    assert_eq!(bins, expected);
}

#[test]
fn small_files_fill_bins_in_their_order() {
    check(&[], &[]);
    check(&[10], &[]);
    check(&[40, 40, 40, 40], &[&[40, 40], &[40, 40]]);
    // 60 is too large to be combined with 50, but 30 is not.
    check(&[50, 60, 30, 20], &[&[50, 30, 20]]);
}

#[test]
fn large_files_are_left_alone() {
    check(&[75, 10, 20], &[&[10, 20]]);
    check(&[500, 100, 99], &[]);
}

#[test]
fn plan_skips_rewrites_with_little_gain() {
    check(&[70, 17], &[]);
    check(&[70, 18], &[&[70, 18]]);
    // The small files are combined, and the larger one waits until there are more of them.
    check(&[70, 1, 2, 3], &[&[1, 2, 3]]);
}

#[test]
fn plan_rewrites_file_with_many_deleted_rows() {
    let deleted = |size, rows, deleted_rows| PackedFile { size_bytes: size, rows, deleted_rows };
    let large = deleted(400, Some(100), 6);
    assert_eq!(plan(&[large], &RULES), [[0]]);
    assert!(plan(&[deleted(400, Some(100), 5)], &RULES).is_empty());
    // The number of rows of the file is not known.
    assert_eq!(plan(&[deleted(400, None, 1)], &RULES), [[0]]);
    // The size of a file is its size without the deleted rows.
    assert_eq!(plan(&[deleted(400, Some(100), 90), file(50)], &RULES), [[0, 1]]);
    let rules = PackRules { min_files: 5, ..RULES };
    assert_eq!(plan(&[file(10), large, file(10)], &rules), [[1]]);
}

#[test]
fn fewer_files_than_asked_for_are_left() {
    let files = [file(10); 4];
    assert!(plan(&files, &PackRules { min_files: 5, ..RULES }).is_empty());
    assert_eq!(plan(&files, &PackRules { min_files: 4, ..RULES }), [[0, 1, 2, 3]]);
}

proptest! {
    #[test]
    fn plan_uses_files_once_and_converges(
        sizes in prop::collection::vec((0_u64..120, 0_u64..30), 0..200), min_files in 0_usize..6,
    ) {
        let rules = PackRules { min_files, ..RULES };
        let mut files: Vec<PackedFile> =
            sizes.iter().map(|(size, deleted)| PackedFile { size_bytes: *size, rows: Some(100), deleted_rows: *deleted / 3 }).collect();
        let mut rounds = 0;
        loop {
            let bins = plan(&files, &rules);
            let mut places: Vec<usize> = bins.iter().flatten().copied().collect();
            places.sort_unstable();
            prop_assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
            if bins.is_empty() {
                break;
            }
            // Each round leaves fewer files, or fewer with deleted rows.
            rounds += 1;
            prop_assert!(rounds <= 2 * sizes.len());
            for bin in &bins {
                let live: u64 = bin.iter().map(|place| files[*place].live_bytes()).sum();
                prop_assert!(live <= rules.target_file_size_bytes || bin.len() == 1);
                prop_assert!(bin.len() >= min_files.max(2) || bin.iter().all(|place| rules.purges(&files[*place])));
            }
            let merged = bins.iter().map(|bin| file(bin.iter().map(|place| files[*place].live_bytes()).sum()));
            let stay = files.iter().enumerate().filter(|(place, _)| places.binary_search(place).is_err()).map(|(_, file)| *file);
            files = stay.chain(merged).collect();
        }
    }

    /// Simulates a table that grows by one small file at a time and is packed after each. A byte is
    /// rewritten about as often as the table doubles.
    #[test]
    fn bytes_are_not_written_again_for_ever(size in 1_u64..20) {
        let (mut files, mut written) = (Vec::new(), 0);
        let rounds = 200;
        for _ in 0..rounds {
            files.push(file(size));
            let bins = plan(&files, &RULES);
            let packed: Vec<usize> = bins.iter().flatten().copied().collect();
            let merged: Vec<PackedFile> =
                bins.iter().map(|bin| file(bin.iter().map(|place| files[*place].size_bytes).sum())).collect();
            written += merged.iter().map(|file| file.size_bytes).sum::<u64>();
            let stay = files.iter().enumerate().filter(|(place, _)| !packed.contains(place)).map(|(_, file)| *file);
            files = stay.chain(merged).collect();
        }
        // Each rewrite makes a file in which a quarter of the bytes, or more, are newer.
        let most = rounds * size * 12;
        prop_assert!(written <= most, "{written} of {}", rounds * size);
        prop_assert!(files.len() as u64 <= rounds * size / 50 + 12, "{} files", files.len());
    }
}
