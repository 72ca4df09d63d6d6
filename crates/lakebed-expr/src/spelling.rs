//! How SQL spells names, and suggestions for misspelled ones.

/// Returns a path as SQL spells it, with each name in backticks.
pub fn quoted_path(path: &[String]) -> String {
    path.iter().map(|name| format!("`{}`", name.replace('`', "``"))).collect::<Vec<_>>().join(".")
}

/// Returns the name that is most similar to `name`, if one is similar enough.
pub fn nearest_name<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = name.to_lowercase();
    let allowed = (wanted.chars().count() / 3).max(1);
    let distance = |other: &str| {
        let other = other.to_lowercase();
        if wanted.len() >= 3 && (other.starts_with(&wanted) || other.ends_with(&wanted)) { 1 } else { edits(&wanted, &other) }
    };
    names
        .map(|other| (distance(other), other))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// Returns the edit distance of two words: how many letters must be changed, added or removed.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut above_left = i;
        let mut left = i + 1;
        for (place, y) in row.iter_mut().skip(1).zip(&b) {
            let above = *place;
            left = (above_left + usize::from(x != *y)).min(above + 1).min(left + 1);
            above_left = above;
            *place = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
