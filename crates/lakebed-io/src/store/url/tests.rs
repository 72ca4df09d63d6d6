use lakebed_core::ErrorKind;
use proptest::prelude::*;

use super::location::{Service, StoreLocation};
use super::parse::{absolute_location, url_without_secrets};
use super::spelling::is_relative;

fn check(text: &str, service: Service, path: &str, url: &str) -> StoreLocation {
    let location = StoreLocation::parse(text).unwrap();
    assert_eq!(location.service, service, "{text}");
    assert_eq!(location.path.as_ref(), path, "{text}");
    assert_eq!(location.url.as_str(), url, "{text}");
    location
}

fn s3(bucket: &str) -> Service {
    Service::S3 { bucket: bucket.into() }
}

fn azure(account: Option<&str>, container: &str) -> Service {
    Service::Azure { account: account.map(str::to_owned), container: container.into() }
}

#[test]
fn urls_of_every_service() {
    check("file:///data/t", Service::Local, "data/t", "file:///data/t");
    check("file:/data/t/", Service::Local, "data/t", "file:///data/t");
    check("file://localhost/data/a%20b", Service::Local, "data/a b", "file:///data/a%20b");
    check("memory://name/t", Service::Memory { name: "name".into() }, "t", "memory://name/t");
    check("memory:///t", Service::Memory { name: String::new() }, "t", "memory:///t");
    check("s3://lake/a/b/", s3("lake"), "a/b", "s3://lake/a/b");
    check("s3a://lake//a//b", s3("lake"), "a/b", "s3a://lake/a/b");
    check("s3://lake", s3("lake"), "", "s3://lake");
    check("gs://bucket/t", Service::Gcs { bucket: "bucket".into() }, "t", "gs://bucket/t");
    check("az://container/t", azure(None, "container"), "t", "az://container/t");
    check("adl://container/t", azure(None, "container"), "t", "adl://container/t");
    check("abfss://c@acc.dfs.core.windows.net/t", azure(Some("acc"), "c"), "t", "abfss://c@acc.dfs.core.windows.net/t");
    check("wasbs://c@acc.blob.core.windows.net/t", azure(Some("acc"), "c"), "t", "wasbs://c@acc.blob.core.windows.net/t");
    check("hdfs://nn:9000/t", Service::Hdfs { url: "hdfs://nn:9000".into() }, "t", "hdfs://nn:9000/t");
    check("http://h:8080/a/t", Service::Http { origin: "http://h:8080/".into() }, "a/t", "http://h:8080/a/t");
}

#[test]
fn web_addresses_of_cloud_stores() {
    let location = check("https://s3.eu-west-1.amazonaws.com/lake/t", s3("lake"), "t", "s3://lake/t");
    assert_eq!(location.embedded, [("region", "eu-west-1".to_owned())]);
    let location = check("https://my.lake.s3.eu-west-1.amazonaws.com/t", s3("my.lake"), "t", "s3://my.lake/t");
    assert_eq!(location.embedded, [("region", "eu-west-1".to_owned()), ("virtual_hosted_style_request", "true".to_owned())]);
    let location = check("https://acc.r2.cloudflarestorage.com/lake/t", s3("lake"), "t", "s3://lake/t");
    assert_eq!(
        location.embedded,
        [("region", "auto".to_owned()), ("endpoint", "https://acc.r2.cloudflarestorage.com".to_owned())]
    );
    check("https://acc.blob.core.windows.net/c/t", azure(Some("acc"), "c"), "t", "abfss://c@acc.blob.core.windows.net/t");
}

#[test]
fn azure_clouds_and_fabric() {
    let location = check(
        "abfss://ws@onelake.dfs.fabric.microsoft.com/l.Lakehouse/Tables/t",
        azure(Some("onelake"), "ws"),
        "l.Lakehouse/Tables/t",
        "abfss://ws@onelake.dfs.fabric.microsoft.com/l.Lakehouse/Tables/t",
    );
    assert_eq!(location.embedded, [("use_fabric_endpoint", "true".to_owned())]);
    let location = StoreLocation::parse("abfss://c@acc.dfs.core.chinacloudapi.cn/t").unwrap();
    assert_eq!(location.embedded, [("endpoint", "https://acc.blob.core.chinacloudapi.cn".to_owned())]);
}

#[test]
fn url_signature_becomes_hidden_option() {
    let location = check(
        "abfss://c@acc.dfs.core.windows.net/t?sv=2024&sig=hunter2",
        azure(Some("acc"), "c"),
        "t",
        "abfss://c@acc.dfs.core.windows.net/t",
    );
    assert_eq!(location.embedded, [("sas_key", "sv=2024&sig=hunter2".to_owned())]);
    let location = check("https://u:hunter2@h/t?token=x", Service::Http { origin: "https://h/".into() }, "t", "https://h/t");
    assert_eq!(location.embedded.len(), 3);
    for text in
        ["s3://key:hunter2@lake/t", "gs://b/t?sig=hunter2", "ftp://u:hunter2@h/t", "abfss://c:hunter2@acc.dfs.core.windows.net/t"]
    {
        let error = StoreLocation::parse(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn bad_location_is_refused_with_reason() {
    for (text, reason) in [
        ("", "empty"),
        ("file://data/t", "three slashes: file:///data/"),
        ("s3:///t", "names no bucket"),
        ("ftp://h/t", "unknown scheme ftp"),
        ("s3://lake/a?b", "%3F"),
        ("s3://lake/a#b", "%23"),
        ("s3://lake/a%2Fb", "would be a slash"),
        ("s3://lake/%ff", "UTF-8"),
        ("abfss://c@acc.example/t", "account"),
        ("   ", "empty"),
        ("a\0b", "NUL"),
        (" s3://lake/t", "whitespace"),
        ("s3:/lake/t", "write s3://lake/t, or ./s3:/lake/t"),
        ("S3:/lake/t", "has two slashes"),
        ("S3:/lake/t", "write s3://lake/t, or ./S3:/lake/t"),
        ("hdfs:/lake/t", "write hdfs:///lake/t, or ./hdfs:/lake/t"),
        ("viewfs:/lake/t", "write viewfs:///lake/t, or ./viewfs:/lake/t"),
        ("memory:/t", "write memory:///t, or ./memory:/t"),
        ("http:/h/t", "write http://h/t"),
        ("dbfs:/t", "as /dbfs/t, or use the URL of the store"),
        ("dbfs:t", "as /dbfs/t, or use the URL of the store"),
        ("word:/t", "write ./word:/t"),
        ("oss:b/t", "unknown scheme oss"),
        ("dbfs://t", "unknown scheme dbfs"),
        ("s3:lake/t", "two slashes: write s3://lake/t, or ./s3:lake/t"),
        ("file:t", "absolute: write file:///folder/table"),
        ("FILE:t/u", "absolute"),
        ("C:\\lake\\t", "a drive of Windows"),
        ("c:/lake/t", "a drive of Windows"),
        ("~root/t", "home folder"),
    ] {
        let error = StoreLocation::parse(text).unwrap_err();
        assert!(error.to_string().contains(reason), "{text}: {error}");
    }
}

#[test]
fn schemes_are_found_in_any_case() {
    check("S3://Lake/T", s3("Lake"), "T", "s3://Lake/T");
    check("FILE:/data/t", Service::Local, "data/t", "file:///data/t");
    check("Memory:///t", Service::Memory { name: String::new() }, "t", "memory:///t");
}

#[test]
fn a_tilde_is_the_home_folder() {
    let home = std::env::home_dir().unwrap();
    for (text, expected) in [("~", home.clone()), ("~/", home.clone()), ("~/lake/t", home.join("lake/t"))] {
        assert_eq!(StoreLocation::parse(text).unwrap().url.to_file_path().unwrap(), expected, "{text}");
    }
    let here = std::env::current_dir().unwrap();
    assert_eq!(StoreLocation::parse("./~/t").unwrap().url.to_file_path().unwrap(), here.join("~/t"));
}

#[test]
fn relative_location_becomes_absolute() {
    let here = std::env::current_dir().unwrap().to_str().unwrap().to_owned();
    let home = std::env::home_dir().unwrap().to_str().unwrap().to_owned();
    for (text, relative, expected) in [
        ("no/such table", true, format!("{here}/no/such table")),
        ("./~/t", true, format!("{here}/~/t")),
        ("~/no/such", true, format!("{home}/no/such")),
        ("/data/a%20b/", false, "/data/a%20b".to_owned()),
        ("file:///data/a%20b", false, "/data/a b".to_owned()),
        ("file:/data/t", false, "/data/t".to_owned()),
        ("Memory://name/t/", false, "memory://name/t".to_owned()),
        ("S3://lake/a b/", false, "S3://lake/a b/".to_owned()),
        ("abfss://c@a.dfs.core.windows.net/t?sig=hunter2", false, "abfss://c@a.dfs.core.windows.net/t?sig=hunter2".to_owned()),
    ] {
        assert_eq!((is_relative(text), absolute_location(text).unwrap()), (relative, expected), "{text}");
    }
    let error = absolute_location("s3:/lake/t").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("s3:/lake/t"), "{error}");
}

#[test]
fn log_folder_is_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    std::fs::write(folder.path().join("a.parquet"), "x").unwrap();
    std::fs::create_dir(folder.path().join("b.parquet")).unwrap();
    for (text, reason) in [
        (format!("{root}/a.parquet"), "it is a file; a table is a folder"),
        (format!("file://{root}/a.parquet"), "it is a file; a table is a folder"),
        (format!("{root}/_delta_log"), "leads into the log"),
        ("s3://lake/t/_delta_log/".to_owned(), "leads into the log"),
        ("s3://lake/t/_delta_log/00000000000000000000.json".to_owned(), "leads into the log"),
    ] {
        let error = StoreLocation::of_table(&text).unwrap_err();
        assert!(error.to_string().contains(reason), "{text}: {error}");
    }
    StoreLocation::of_table(&format!("{root}/b.parquet")).unwrap();
}

#[test]
fn url_without_secrets_keeps_location() {
    for (text, expected) in [
        ("s3://lake/a b", "s3://lake/a%20b"),
        ("https://u:hunter2@h/t?token=hunter2", "https://h/t"),
        ("https://acc.blob.core.windows.net/c/t?sig=hunter2", "https://acc.blob.core.windows.net/c/t"),
        ("abfss://c@acc.dfs.core.windows.net/t?sig=hunter2", "abfss://c@acc.dfs.core.windows.net/t"),
        ("https://acc.r2.cloudflarestorage.com/lake/t", "https://acc.r2.cloudflarestorage.com/lake/t"),
        ("/data/t/", "file:///data/t"),
    ] {
        assert_eq!(url_without_secrets(text).unwrap(), expected);
    }
    assert!(url_without_secrets("t").unwrap().starts_with("file:///"));
}

#[test]
fn paths_without_scheme_are_kept() {
    check("/data/a%20b/p=x%2Fy", Service::Local, "data/a%20b/p=x%2Fy", "file:///data/a%2520b/p=x%252Fy");
    check("/data/#1?x y/ü", Service::Local, "data/#1?x y/ü", "file:///data/%231%3Fx%20y/%C3%BC");
    check("/data//t/./", Service::Local, "data/t", "file:///data/t");
    check("/", Service::Local, "", "file:///");
    let here = std::env::current_dir().unwrap();
    let expected = here.join("a:b/t").to_str().unwrap().trim_start_matches('/').to_owned();
    assert_eq!(StoreLocation::parse("a:b/t").unwrap().path.as_ref(), expected);
}

#[cfg(unix)]
#[test]
fn dot_dot_follows_links() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::os::unix::fs::symlink(root.join("a/b"), root.join("link")).unwrap();
    let location = StoreLocation::parse(root.join("link/../t").to_str().unwrap()).unwrap();
    assert_eq!(location.url.to_file_path().unwrap(), root.join("a/t"));
}

proptest! {
    /// Parsing the URL of a location gives the same location.
    #[test]
    fn the_clean_url_leads_back(names in proptest::collection::vec("[ -.0-~äß€]{1,8}", 0..4)) {
        prop_assume!(names.iter().all(|name| name != "." && name != ".."));
        let path = format!("/{}", names.join("/"));
        let local = StoreLocation::parse(&path).unwrap();
        prop_assert_eq!(local.path.as_ref(), names.join("/"));
        let again = StoreLocation::parse(local.url.as_str()).unwrap();
        prop_assert_eq!(&again.path, &local.path);
        prop_assert_eq!(again.url, local.url);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}") {
        let _ = StoreLocation::parse(&text);
        let _ = StoreLocation::parse(&format!("s3://{text}"));
        let _ = StoreLocation::parse(&format!("abfss://{text}"));
        let _ = StoreLocation::parse(&format!("https://{text}"));
    }
}
