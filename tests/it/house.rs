//! The house: crates depend one way, and inside a crate a module uses only those listed above it in `lib.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 4] = ["lakebed-core", "lakebed-io", "lakebed", "lakebed-python"];

/// Of this checkout: asked for now, since one that shares the target directory may have compiled the test.
fn crates_dir() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).parent().unwrap().join("crates")
}

/// The modules of a crate, in the order of its `lib.rs`.
fn modules(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let declared = text.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    declared.map(str::to_owned).collect()
}

fn rust_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut files: Vec<_> = entries.flat_map(|entry| rust_files(&entry.unwrap().path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    files
}

/// Whether a file holds tests only: those may use anything.
fn is_test(file: &Path) -> bool {
    let stem = file.file_stem().unwrap().to_string_lossy();
    stem == "tests" || stem.ends_with("_tests") || file.components().any(|part| part.as_os_str() == "tests")
}

/// The names after `crate::` in a text, also inside `crate::{a, b::c}`.
fn used(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut start = true;
            for (index, c) in list.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 1 => start = true,
                    c if c.is_whitespace() => {}
                    _ if start => {
                        names.insert(name(&list[index..]));
                        start = false;
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        } else {
            names.insert(name(rest));
        }
    }
    names
}

/// What each module of a crate uses of the others, outside of tests.
fn graph(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules(root);
    let mut graph = BTreeMap::new();
    for module in &modules {
        let mut files = rust_files(&root.join("src").join(module));
        files.extend(rust_files(&root.join("src").join(format!("{module}.rs"))));
        let mut uses = BTreeSet::new();
        for file in files.iter().filter(|file| !is_test(file)) {
            let text = fs::read_to_string(file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            uses.extend(used(code).into_iter().filter(|name| modules.contains(name) && name != module));
        }
        graph.insert(module.clone(), uses);
    }
    graph
}

#[test]
fn modules_use_only_those_above_them() {
    let mut backward = Vec::new();
    for name in CRATES {
        let root = crates_dir().join(name);
        let order = modules(&root);
        assert!(!order.is_empty(), "{name} lists no modules");
        println!("{name}");
        let graph = graph(&root);
        assert!(graph.values().any(|uses| !uses.is_empty()), "{name}: no arrow was found at all");
        for (place, module) in order.iter().enumerate() {
            println!("  {module} -> {}", graph[module].iter().cloned().collect::<Vec<_>>().join(", "));
            let later = order[place + 1..].iter().filter(|later| graph[module].contains(*later));
            backward.extend(later.map(|later| format!("{name}: {module} uses {later}, which stands below it")));
        }
    }
    assert!(backward.is_empty(), "backward arrows:\n{}", backward.join("\n"));
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

#[test]
fn uses_are_found_in_every_spelling() {
    let text = "use crate::a::b;\nuse crate::{c, d::{e, f}, g as h};\nlet x = crate::i::j();";
    assert_eq!(used(text).into_iter().collect::<Vec<_>>(), ["a", "c", "d", "g", "i"]);
}
