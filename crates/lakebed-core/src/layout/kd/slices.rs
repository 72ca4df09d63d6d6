//! Cuts sorted rows between two values.

/// The limits by which the size of a file may differ from the mean: a share of the mean, and a
/// number of rows.
const UNEVEN: f64 = 0.5;
const FEW: f64 = 2.0;

/// The end of a slice, in rows and in files.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Slice {
    pub(super) end: usize,
    pub(super) file: usize,
}

/// Cuts sorted ranks into slices of about equally many files, at most as many slices as `count`. A
/// slice has whole files, none of them with too few or too many rows, and no rank is in two slices.
/// Returns `None` if there is no such cut.
pub(super) fn slices(ranks: &[u16], files: usize, count: usize, mean: f64) -> Option<Vec<Slice>> {
    let end = Slice { end: ranks.len(), file: files };
    let mut slices: Vec<Slice> = Vec::with_capacity(count);
    for slice in 1..count {
        let file = (files * slice + count / 2) / count;
        let goal = ranks.len() * file / files;
        let last = slices.last().copied().unwrap_or_default();
        let cuts = near(ranks, goal).map(|place| {
            let nearest = (place * files + ranks.len() / 2) / ranks.len().max(1);
            // If no value has several rows, the cut is exactly at the goal. The number of files is
            // not rounded a second time in this case.
            let file = if place == goal { file } else { nearest.max(last.file + 1).min(files - 1) };
            Slice { end: place, file }
        });
        slices.extend(cuts.into_iter().find(|cut| is_fair(last, *cut, mean) && is_fair(*cut, end, mean)));
    }
    if slices.is_empty() {
        return None;
    }
    slices.push(end);
    Some(slices)
}

/// Returns the beginning and the end of the run of equal ranks at a position, the nearer one first.
fn near(ranks: &[u16], place: usize) -> [usize; 2] {
    let Some(rank) = ranks.get(place) else { return [place; 2] };
    let start = ranks.partition_point(|other| other < rank);
    let end = ranks.partition_point(|other| other <= rank);
    if place - start <= end - place { [start, end] } else { [end, start] }
}

/// Returns whether the files between two cuts have neither too few nor too many rows. In very small
/// files, a few additional rows are not too many.
fn is_fair(from: Slice, to: Slice, mean: f64) -> bool {
    if to.file <= from.file || to.end <= from.end {
        return false;
    }
    let (rows, share) = ((to.end - from.end) as f64, (to.file - from.file) as f64 * mean);
    (rows - share).abs() <= UNEVEN * share + FEW
}
