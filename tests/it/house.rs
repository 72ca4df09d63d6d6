//! The rules for modules: crates depend on each other in one direction, a module of a crate uses
//! only modules above it in `lib.rs`, and no two files use each other.
//!
//! `cargo test --quiet --workspace -- house --nocapture` prints which file uses which.

mod arrows;
mod circles;
mod resolve;
mod tests;
mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use arrows::{Arrows, arrows};
use circles::circles;
use tree::{Sources, Tree};

const CRATES: [&str; 5] = ["lakebed-core", "lakebed-expr", "lakebed-io", "lakebed", "lakebed-python"];

/// Returns the crates of this checkout. The path is read at run time, because another checkout with
/// the same target directory may have compiled the test.
fn crates_dir() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).parent().unwrap().join("crates")
}

fn read_sources(root: &Path, folder: &str, sources: &mut Sources) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            read_sources(root, &format!("{path}/"), sources);
        } else if path.ends_with(".rs") {
            sources.insert(path, fs::read_to_string(entry.path()).unwrap());
        }
    }
}

fn read_tree(name: &str) -> Tree {
    let mut sources = Sources::new();
    read_sources(&crates_dir().join(name).join("src"), "", &mut sources);
    Tree::parse(&sources)
}

/// Returns the module of `lib.rs` to which a file belongs.
fn top_module(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

/// Returns the arrows from a module to a module below it in `lib.rs`.
fn backward(tree: &Tree, arrows: &Arrows) -> Vec<String> {
    let place = |file: &str| tree.modules[0].children.iter().position(|(name, _)| name == top_module(file));
    let mut backward = Vec::new();
    for ((from, to), items) in arrows {
        if let (Some(user), Some(used)) = (place(from), place(to))
            && used > user
        {
            backward.push(format!("{from} -> {to}: {}", list(items)));
        }
    }
    backward
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn print_graph(name: &str, arrows: &Arrows) {
    println!("{name}");
    let files: BTreeSet<_> = arrows.keys().map(|(from, _)| from).collect();
    for file in files {
        println!("  {file} -> {}", list(arrows.keys().filter(|(from, _)| from == file).map(|(_, to)| to)));
    }
}

/// Prints a circle with its arrows. The pairs of files that use each other come first, because they
/// are the shortest way to break the circle.
fn print_circle(name: &str, circle: &BTreeSet<String>, arrows: &Arrows) {
    println!("circle of {} files in {name}:", circle.len());
    println!("  {}", list(circle));
    let inside = arrows.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
    for ((from, to), items) in inside {
        let mutual = if arrows.contains_key(&(to.clone(), from.clone())) { "<->" } else { "->" };
        println!("    {from} {mutual} {to}: {}", list(items));
    }
}

#[test]
fn modules_use_only_those_above_them() {
    let mut found = Vec::new();
    for name in CRATES {
        let tree = read_tree(name);
        let arrows = arrows(&tree);
        assert!(!arrows.is_empty(), "{name}: no arrow was found at all");
        print_graph(name, &arrows);
        found.extend(backward(&tree, &arrows).into_iter().map(|arrow| format!("{name}: {arrow}")));
    }
    assert!(found.is_empty(), "these files use a module that stands below their own in lib.rs:\n{}", found.join("\n"));
}

#[test]
fn files_make_no_circles() {
    let mut found = Vec::new();
    for name in CRATES {
        let arrows = arrows(&read_tree(name));
        for circle in circles(&arrows) {
            print_circle(name, &circle, &arrows);
            found.push(format!("{name}: {}", circle.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    assert!(found.is_empty(), "these files use each other:\n{}", found.join("\n"));
}

#[test]
fn crates_depend_one_way() {
    for (place, name) in CRATES.iter().enumerate() {
        let manifest = fs::read_to_string(crates_dir().join(name).join("Cargo.toml")).unwrap();
        for above in &CRATES[place + 1..] {
            let depends = manifest.lines().any(|line| line.split(['.', ' ', '=']).next() == Some(above));
            assert!(!depends, "{name} depends on {above}, which stands above it");
        }
    }
    for pure in ["tokio", "object_store", "datafusion", "rand"] {
        let manifest = fs::read_to_string(crates_dir().join("lakebed-core/Cargo.toml")).unwrap();
        assert!(!manifest.lines().any(|line| line.starts_with(pure)), "lakebed-core is pure and does not need {pure}");
    }
}
