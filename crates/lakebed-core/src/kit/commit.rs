//! Builds the lines of commits, and the files that they add.

use crate::action::json::CommitLines;
use crate::log::files::FileBatch;
use crate::log::replay::{Layer, Layers};

/// Returns an `add` of a file, with a deletion vector of this id or without one.
pub fn add_line(path: &str, dv: Option<&str>) -> String {
    file_line("add", path, dv)
}

/// Returns a `remove` of a file, with a deletion vector of this id or without one.
pub fn remove_line(path: &str, dv: Option<&str>) -> String {
    file_line("remove", path, dv)
}

/// Returns an `add` of the file `a` with these statistics.
pub fn add_line_with_stats(stats: &str) -> String {
    let stats = serde_json::Value::from(stats);
    format!(r#"{{"add":{{"path":"a","partitionValues":{{}},"size":1,"modificationTime":2,"dataChange":true,"stats":{stats}}}}}"#)
}

/// Returns the files that a commit of these lines adds.
pub fn added_files(lines: &[String]) -> FileBatch {
    let text = lines.join("\n");
    let layers = Layers::new(Layer::fold([CommitLines::whole(text.as_bytes(), "x")]).unwrap());
    let added = layers.visible_files().next().unwrap().unwrap();
    added.into_files([]).unwrap().remove(0)
}

fn file_line(action: &str, path: &str, dv: Option<&str>) -> String {
    let dv = dv.map_or(String::new(), |id| {
        format!(r#","deletionVector":{{"storageType":"u","pathOrInlineDv":"{id}","sizeInBytes":1,"cardinality":1}}"#)
    });
    format!(r#"{{"{action}":{{"path":"{path}","partitionValues":{{}},"size":1,"modificationTime":0,"dataChange":true{dv}}}}}"#)
}
