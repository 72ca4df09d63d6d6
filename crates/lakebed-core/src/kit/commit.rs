//! Builds the lines of commits, and the files that they add.

use serde_json::{Value, json};

use super::action::{add, remove, vector, with, with_vector};
use crate::action::json::CommitLines;
use crate::log::files::FileBatch;
use crate::log::replay::{Layer, Layers};

/// Returns an `add` of a file, with a deletion vector of this id or without one.
pub fn add_line(path: &str, dv: Option<&str>) -> String {
    with_dv(add(path), dv)
}

/// Returns a `remove` of a file, with a deletion vector of this id or without one.
pub fn remove_line(path: &str, dv: Option<&str>) -> String {
    with_dv(remove(path), dv)
}

/// Returns an `add` of the file `a` with these statistics.
pub fn add_line_with_stats(stats: &str) -> String {
    with(add("a"), json!({"stats": stats})).to_string()
}

/// Returns the files that a commit of these lines adds.
pub fn added_files(lines: &[String]) -> FileBatch {
    let text = lines.join("\n");
    let layers = Layers::new(Layer::fold([CommitLines::whole(text.as_bytes(), "x")]).unwrap());
    let added = layers.visible_files().next().unwrap().unwrap();
    added.into_files([]).unwrap().remove(0)
}

fn with_dv(action: Value, dv: Option<&str>) -> String {
    match dv {
        Some(id) => with_vector(action, vector("u", id, 1)).to_string(),
        None => action.to_string(),
    }
}
