use super::*;

/// Returns a hidden file that has a name, as on systems that do not support files without one.
fn named(target: &Path, unique: &str) -> HiddenFile {
    let name = target.with_file_name(format!(".lakebed-{unique}.tmp"));
    HiddenFile { file: File::create_new(&name).unwrap(), target: target.to_owned(), name, is_named: true }
}

fn create(target: &Path, unique: &str) -> io::Result<HiddenFile> {
    HiddenFile::create(target, unique, &Within::new(PathBuf::from("/"), false))
}

/// Returns whether the file got its name, which must be new.
fn is_published(file: HiddenFile) -> bool {
    file.publish(Existing::Refuse, Flush::Both).unwrap().is_some()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs the test with both kinds of hidden files, each in a new folder.
fn check(test: impl Fn(&Path, &dyn Fn(&Path, &str) -> HiddenFile)) {
    for make in [named, |target: &Path, unique: &str| create(target, unique).unwrap()] {
        let folder = tempfile::tempdir().unwrap();
        test(folder.path(), &make);
    }
}

#[test]
fn a_new_name_is_given_once() {
    check(|folder, make| {
        let target = folder.join("a");
        let mut first = make(&target, "1");
        let mut second = make(&target, "2");
        first.write(b"first").unwrap();
        second.write(b"second").unwrap();
        assert!(!target.exists());
        assert!(is_published(first));
        assert!(!is_published(second));
        assert_eq!(fs::read(&target).unwrap(), b"first");
        assert_eq!(names(folder), ["a"]);
    });
}

#[test]
fn a_name_is_taken_over() {
    check(|folder, make| {
        let target = folder.join("a");
        for text in ["first", "second", ""] {
            let mut file = make(&target, text);
            file.write(text.as_bytes()).unwrap();
            file.publish(Existing::Replace, Flush::Both).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
            assert_eq!(names(folder), ["a"]);
        }
    });
}

#[test]
fn abandoned_file_leaves_nothing() {
    check(|folder, make| {
        let mut file = make(&folder.join("a"), "1");
        file.write(b"some").unwrap();
        drop(file);
        assert_eq!(names(folder), [""; 0]);
    });
}

/// An NFS server carried out a request, but its reply was lost and the system repeated the request.
#[cfg(unix)]
#[test]
fn name_of_own_file_counts_as_done() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let mut file = named(&target, "1");
    file.write(b"x").unwrap();
    fs::hard_link(&file.name, &target).unwrap();
    assert!(is_published(file));
    assert_eq!(names(folder.path()), ["a"]);
}

/// A backup, or a tool that finds equal files, may link the hidden file too.
#[cfg(unix)]
#[test]
fn foreign_link_is_not_our_name() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a");
    let (mut first, mut second) = (named(&target, "1"), named(&target, "2"));
    first.write(b"first").unwrap();
    second.write(b"second").unwrap();
    fs::hard_link(&second.name, folder.path().join("backup")).unwrap();
    assert!(is_published(first));
    assert!(!is_published(second));
    assert_eq!(fs::read(&target).unwrap(), b"first");
    assert_eq!(names(folder.path()), ["a", "backup"]);
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
#[test]
fn moving_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, "from").unwrap();
    fs::write(&to, "to").unwrap();
    assert_eq!(outcome(move_to_new(&from, &to)).unwrap(), PutOutcome::Taken);
    assert_eq!(fs::read_to_string(&to).unwrap(), "to");
    fs::remove_file(&to).unwrap();
    assert_eq!(outcome(move_to_new(&from, &to)).unwrap(), PutOutcome::Done);
    assert_eq!(names(folder.path()), ["to"]);
}

#[test]
fn the_checksum_of_an_earlier_file_goes() {
    check(|folder, make| {
        for name in [".a.crc", ".b.crc"] {
            fs::write(folder.join(name), "old").unwrap();
        }
        assert!(is_published(make(&folder.join("a"), "1")));
        assert_eq!(names(folder), [".b.crc", "a"]);
        make(&folder.join("b"), "2").publish(Existing::Replace, Flush::Both).unwrap();
        assert_eq!(names(folder), ["a", "b"]);
    });
}

#[test]
fn checksum_of_kept_file_stays() {
    check(|folder, make| {
        for name in ["a", ".a.crc"] {
            fs::write(folder.join(name), "theirs").unwrap();
        }
        assert!(!is_published(make(&folder.join("a"), "1")));
        assert_eq!(names(folder), [".a.crc", "a"]);
        assert_eq!(fs::read(folder.join("a")).unwrap(), b"theirs");
    });
}

#[test]
fn folders_are_made_by_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let target = |number: usize| folder.path().join(format!("t/p=1/q=2/{number}"));
    std::thread::scope(|scope| {
        for number in 0..16 {
            scope.spawn(move || assert!(is_published(create(&target(number), &number.to_string()).unwrap())));
        }
    });
    assert_eq!(names(&folder.path().join("t/p=1/q=2")).len(), 16);
}

#[test]
fn file_instead_of_folder_is_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t"), "").unwrap();
    let error = create(&folder.path().join("t/a"), "1").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    let error = create(&folder.path().join("t/p/a"), "1").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
}
