use super::super::tests::options;
use super::*;

#[test]
fn unknown_keys_are_named_with_similar_ones() {
    let refused = |key: &str| check_known(&options(&[(key, "hunter2")])).unwrap_err().to_string();
    assert_eq!(refused("aws_acces_key_id"), "there is no storage option aws_acces_key_id; similar: aws_access_key_id");
    assert_eq!(refused("AWS_REGOIN"), "there is no storage option AWS_REGOIN; similar: aws_region");
    assert_eq!(refused("zzzzzz"), "there is no storage option zzzzzz");
    assert!(refused("AWS_PROFILE").contains("profiles"));
    for known in [
        "AWS_S3_ALLOW_UNSAFE_RENAME",
        "azure_storage_account_key",
        "GOOGLE_BUCKET",
        "timeout",
        "max_retries",
        "dfs.ha.namenodes.ns",
    ] {
        check_known(&options(&[(known, "x")])).unwrap();
    }
}

#[test]
fn every_suggestion_is_a_key() {
    for name in SPELLINGS {
        assert!(is_known(name), "{name}");
    }
}

#[test]
fn distances() {
    for (a, b, expected) in [("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("same", "same", 0)] {
        assert_eq!(distance(a, b), expected, "{a} {b}");
        assert_eq!(distance(b, a), expected, "{b} {a}");
    }
}
