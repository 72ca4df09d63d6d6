use std::collections::HashMap;

use super::super::credentials::{CredentialSource, Credentials};
use super::*;

fn options(pairs: &[(&str, &str)]) -> StoreOptions {
    let options = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<HashMap<_, _>>();
    StoreOptions { options, ..StoreOptions::default() }
}

fn open(url: &str, pairs: &[(&str, &str)]) -> Result<String> {
    connect(&StoreLocation::parse(url)?, &options(pairs), &[]).map(|connection| format!("{:?}", connection.store))
}

/// Checks the settings of the client, in the debugging text of object_store's client.
fn check(url: &str, pairs: &[(&str, &str)], expected: &[&str]) {
    let client = open(url, pairs).unwrap();
    for part in expected {
        assert!(client.contains(part), "{url}: {part} is not in {client}");
    }
}

const S3: [(&str, &str); 3] = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "hunter2"), ("AWS_REGION", "eu-west-1")];

#[test]
fn s3_accepts_options_of_both_libraries() {
    check("s3://lake/t", &S3, &[r#"region: "eu-west-1""#, r#"bucket: "lake""#, r#"https://s3.eu-west-1.amazonaws.com/lake"#]);
    let minio =
        [("AWS_ENDPOINT_URL", "http://127.0.0.1:9000"), ("aws_allow_http", "true"), ("max_retries", "3"), ("timeout", "7")];
    check("s3a://lake/t", &minio, &["http://127.0.0.1:9000/lake", "max_retries: 3", "timeout: Some(Deferred(\"7000ms\"))"]);
    check(
        "https://acc.r2.cloudflarestorage.com/lake/t",
        &S3[..2],
        &["https://acc.r2.cloudflarestorage.com/lake", r#"region: "auto""#],
    );
}

#[test]
fn azure_account_comes_from_url_or_options() {
    let key = ("azure_storage_account_key", "AAEC");
    check(
        "abfss://c@acc.dfs.core.windows.net/t",
        &[key],
        &[r#"account: "acc""#, r#"container: "c""#, "acc.blob.core.windows.net"],
    );
    check("az://c/t", &[key, ("account_name", "acc")], &[r#"account: "acc""#, "acc.blob.core.windows.net"]);
    check("abfss://c@acc.dfs.core.chinacloudapi.cn/t", &[key], &["acc.blob.core.chinacloudapi.cn"]);
    check("abfss://w@onelake.dfs.fabric.microsoft.com/t", &[("bearer_token", "x")], &["onelake.blob.fabric.microsoft.com"]);
    check("az://c/t", &[("use_emulator", "true")], &["devstoreaccount1"]);
    let error = open("az://c/t", &[key]).unwrap_err();
    assert!(error.to_string().contains("set azure_storage_account_name"), "{error}");
    let location = StoreLocation::parse("az://c/t").unwrap();
    let connection = connect(&location, &options(&[key, ("account_name", "acc")]), &[]).unwrap();
    assert_eq!(connection.service, Service::Azure { account: Some("acc".into()), container: "c".into() });
}

const GCS_KEY: &str =
    r#"{"gcs_base_url":"http://127.0.0.1:1","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}"#;

#[test]
fn gcs_hdfs_and_web_servers() {
    check("gs://lake/t", &[("google_service_account_key", GCS_KEY)], &["http://127.0.0.1:1", r#"bucket_name: "lake""#]);
    check("http://h:1/t", &[], &["h", "allow_http: Parsed(true)"]);
    check("https://h/t", &[("connect_timeout", "2s")], &["connect_timeout: Some(Deferred(\"2000ms\"))"]);
    check("hdfs://nn:9000/t", &[("dfs.client.use.datanode.hostname", "true")], &["HdfsObjectStore"]);
}

#[test]
fn refused_options_show_no_secrets() {
    for (url, pairs, said) in [
        ("s3://lake/t", &[("aws_acces_key_id", "hunter2")][..], "similar: aws_access_key_id"),
        ("s3://lake/t", &[("endpoint", "http://u:hunter2@127.0.0.1:9000")], "allow_http=true"),
        ("s3://lake/t", &[("allow_http", "perhaps")], "are not valid"),
        ("s3://lake/t", &[("timeout", "soon")], "a duration such as 30s"),
        ("az://c/t", &[("account_name", "acc"), ("account_key", "hunter2!")], "are not valid"),
        ("gs://lake/t", &[("google_service_account_key", "hunter2")], "not the JSON text"),
        ("gs://lake/t", &[("google_service_account_key", r#"{"private_key":"hunter2"}"#)], "are not valid"),
        ("gs://lake/t", &[("google_service_account", "/none.json")], "/none.json"),
    ] {
        let error = open(url, pairs).unwrap_err();
        assert_eq!(*error.kind(), lakebed_core::error::ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn the_environment_fills_in() {
    let environment = [("AWS_REGION", "us-west-2"), ("AWS_ENDPOINT_URL", "https://env"), ("PATH", "/bin")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()));
    let client = format!(
        "{:?}",
        connect(&StoreLocation::parse("s3://lake/t").unwrap(), &options(&[("endpoint", "https://mine")]), &environment)
            .unwrap()
            .store
    );
    assert!(client.contains("us-west-2") && client.contains("https://mine/lake") && !client.contains("https://env"), "{client}");
}

struct Fixed;

impl CredentialSource for Fixed {
    fn get(&self) -> Result<Credentials> {
        let options = [("aws_access_key_id", "from source"), ("aws_secret_access_key", "x")];
        Ok(Credentials { options: options.map(|(k, v)| (k.to_owned(), v.to_owned())).into(), expires_at_ms: None })
    }
}

#[test]
fn a_source_replaces_other_credentials() {
    for url in ["s3://lake/t", "abfss://c@acc.dfs.core.windows.net/t", "gs://lake/t"] {
        let with = StoreOptions { credentials: Some(Arc::new(Fixed)), ..options(&[]) };
        let client = format!("{:?}", connect(&StoreLocation::parse(url).unwrap(), &with, &[]).unwrap().store);
        assert!(client.contains("credentials: Refreshing"), "{client}");
    }
    let with = StoreOptions { credentials: Some(Arc::new(Fixed)), ..options(&[]) };
    assert!(
        connect(&StoreLocation::parse("http://h/t").unwrap(), &with, &[])
            .is_err_and(|error| error.to_string().contains("does not use credentials"))
    );
    assert!(connect(&StoreLocation::parse("/t").unwrap(), &with, &[]).is_ok());
}

#[test]
fn secrets_are_known_by_their_names() {
    let location = StoreLocation::parse("https://u:pass12@h/t?x=query1").unwrap();
    let with = options(&[("timeout", "30s"), ("proxy_url", "http://proxy")]);
    let environment = [("AWS_SECRET_ACCESS_KEY", "secret1"), ("AWS_REGION", "eu-west-1"), ("HOME_KEY", "home")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()));
    let mut secrets = connect(&location, &with, &environment).unwrap().secrets;
    secrets.sort();
    assert_eq!(secrets, ["pass12", "secret1", "x=query1"]);
}
