//! Circles among files: sets in which every file leads to every other.

use std::collections::{BTreeMap, BTreeSet};

use super::arrows::Arrows;

/// Returns the strongly connected components of more than one file.
pub fn circles(arrows: &Arrows) -> BTreeSet<BTreeSet<String>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        next.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|file| (*file, reached_from(file, &next))).collect();
    let leads = |from: &str, to: &str| reached.get(from).is_some_and(|files| files.contains(to));
    let mut circles = BTreeSet::new();
    for (file, files) in &reached {
        if files.contains(file) {
            circles.insert(files.iter().filter(|other| leads(other, file)).map(|other| (*other).to_owned()).collect());
        }
    }
    circles
}

fn reached_from<'a>(file: &'a str, next: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut todo = vec![file];
    while let Some(file) = todo.pop() {
        for other in next.get(file).into_iter().flatten() {
            if reached.insert(*other) {
                todo.push(other);
            }
        }
    }
    reached
}
