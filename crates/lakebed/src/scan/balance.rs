//! Groups files into pieces of about equal size and keeps their order. Large files are cut, and
//! small files are combined.

use super::ScanFile;

/// The cost of opening a file, in bytes read. Small files have a cost, too.
const OPEN_COST_BYTES: u64 = 1 << 20;

/// Groups the files into pieces of about this many bytes at most.
pub(crate) fn balanced(files: impl IntoIterator<Item = ScanFile>, target_task_size_bytes: u64) -> Vec<Vec<ScanFile>> {
    let target = target_task_size_bytes.max(1);
    let mut pieces = Vec::new();
    let (mut piece, mut cost) = (Vec::new(), 0);
    for file in files.into_iter().flat_map(|file| cut(file, target)) {
        let size = file.range.as_ref().map_or(file.size, |range| range.end - range.start);
        let more = size.max(OPEN_COST_BYTES);
        if !piece.is_empty() && cost + more > target {
            pieces.push(std::mem::take(&mut piece));
            cost = 0;
        }
        cost += more;
        piece.push(file);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Returns the file, or parts of it that have equal size and do not exceed the target.
fn cut(file: ScanFile, target: u64) -> Vec<ScanFile> {
    let parts = file.size.div_ceil(target.max(OPEN_COST_BYTES));
    if parts < 2 {
        return vec![file];
    }
    // The first byte of a part. The product is computed in 128 bits because it may be large.
    let start = |part: u64| (u128::from(file.size) * u128::from(part) / u128::from(parts)) as u64;
    (0..parts).map(|part| ScanFile { range: Some(start(part)..start(part + 1)), ..file.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Compares the pieces of files of these sizes in MiB, written as `size` or `start..end` in
    /// MiB.
    #[track_caller]
    fn check(sizes: &[u64], target: u64, expected: &[&[&str]]) {
        let files = sizes.iter().map(|size| ScanFile { size: size * MIB, ..ScanFile::default() });
        let show = |file: &ScanFile| match &file.range {
            Some(range) => format!("{}..{}", range.start / MIB, range.end / MIB),
            None => (file.size / MIB).to_string(),
        };
        let pieces: Vec<Vec<String>> =
            balanced(files, target * MIB).iter().map(|piece| piece.iter().map(show).collect()).collect();
        assert_eq!(pieces, expected);
    }

    #[test]
    fn small_files_lie_together_in_their_order() {
        check(&[], 10, &[]);
        check(&[3, 3, 3, 3], 10, &[&["3", "3", "3"], &["3"]]);
        check(&[9, 2, 9], 10, &[&["9"], &["2"], &["9"]]);
        // An empty file has a cost, too.
        check(&[0, 0, 0], 2, &[&["0", "0"], &["0"]]);
    }

    #[test]
    fn large_files_are_cut_evenly() {
        check(&[30, 1], 10, &[&["0..10"], &["10..20"], &["20..30"], &["1"]]);
        check(&[1, 12, 2], 10, &[&["1", "0..6"], &["6..12", "2"]]);
        check(&[10], 10, &[&["10"]]);
    }

    #[test]
    fn task_size_of_zero_makes_bounded_parts() {
        assert_eq!(balanced([ScanFile { size: 5 * MIB, ..ScanFile::default() }], 0).len(), 5);
    }
}
