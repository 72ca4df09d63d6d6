use std::os::unix::fs::symlink;

use super::*;

/// Returns a folder with a table `t`, another table `other`, and a link `here` to `t`. Both tables
/// have one file.
fn tables() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t", "other"] {
        fs::create_dir_all(folder.path().join(name).join("p=1")).unwrap();
        fs::write(folder.path().join(name).join("p=1/f"), name).unwrap();
    }
    symlink("t", folder.path().join("here")).unwrap();
    folder
}

fn said(result: io::Result<File>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "opened".to_owned())
}

#[test]
fn links_inside_table_are_followed() {
    let folder = tables();
    let root = folder.path().join("t");
    symlink("f", root.join("p=1/inside")).unwrap();
    symlink("p=1", root.join("inside")).unwrap();
    symlink(folder.path().join("here/p=1/f"), root.join("round")).unwrap();
    symlink("../../other/p=1/f", root.join("p=1/outside")).unwrap();
    symlink("../other/p=1", root.join("outside")).unwrap();
    for root in [root, folder.path().join("here")] {
        let within = Within::new(root.clone(), false);
        for name in ["p=1/f", "p=1/inside", "inside/f", "round"] {
            assert_eq!(said(within.open(&root.join(name))), "opened", "{name}");
        }
        for name in ["p=1/outside", "outside/f"] {
            let said = said(within.open(&root.join(name)));
            assert!(said.contains(&format!("{name}: a symbolic link leads from this file out of the table")), "{said}");
            assert_eq!(said.matches("absolute_paths=True").count(), 1);
        }
        assert_eq!(within.open(&root.join("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
        let trusting = Within::new(root.clone(), true);
        assert_eq!(said(trusting.open(&root.join("p=1/outside"))), "opened");
    }
}

#[test]
fn replaced_root_is_resolved_again() {
    let folder = tables();
    let (link, within) = (folder.path().join("here"), Within::new(folder.path().join("here"), false));
    assert_eq!(said(within.open(&link.join("p=1/f"))), "opened");
    fs::remove_file(&link).unwrap();
    symlink("other", &link).unwrap();
    assert_eq!(said(within.open(&link.join("p=1/f"))), "opened");
    symlink("../t/p=1/f", folder.path().join("other/f")).unwrap();
    assert_ne!(said(within.open(&link.join("f"))), "opened");
}

#[test]
fn folders_are_held_without_links_alone() {
    let folder = tables();
    let root = folder.path().join("t");
    symlink("../other", root.join("outside")).unwrap();
    for follows_links in [false, true] {
        let within = Within::new(root.clone(), follows_links);
        for (name, is_held) in [("", true), ("p=1", true), ("nothing", true), ("outside", false), ("outside/p=1", false)] {
            assert_eq!(within.holds_folder(&root.join(name)), is_held, "{name}");
        }
        assert_eq!(within.check_folders_above(&root.join("outside/p=2/f")).is_ok(), follows_links);
        assert!(within.check_folders_above(&root.join("p=1/q=2/f")).is_ok());
    }
    let new = Within::new(folder.path().join("new/t"), false);
    assert!(new.check_folders_above(&folder.path().join("new/t/p=1/f")).is_ok());
}
