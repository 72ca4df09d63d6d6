use super::*;

fn options(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn environment_of(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn check<K: Key + std::fmt::Debug>(env: &[(&str, &str)], opts: &[(&str, &str)], expected: &[(K, &str)]) {
    let found = settings::<K>(&environment_of(env), &[], &options(opts), false).unwrap();
    let expected: Settings<K> = expected.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    assert_eq!(found, expected);
}

#[test]
fn keys_in_any_case_with_and_without_prefix() {
    use AmazonS3ConfigKey as K;
    check(
        &[],
        &[("AWS_ACCESS_KEY_ID", "a"), ("secret_access_key", "b"), ("Region", "eu")],
        &[(K::AccessKeyId, "a"), (K::SecretAccessKey, "b"), (K::Region, "eu")],
    );
    check(
        &[],
        &[("AWS_ENDPOINT_URL", "http://h"), ("AWS_ALLOW_HTTP", "true")],
        &[(K::Endpoint, "http://h"), (K::Client(ClientConfigKey::AllowHttp), "true")],
    );
    check(
        &[],
        &[("timeout", "5s"), ("aws_connect_timeout", "1s")],
        &[(K::Client(ClientConfigKey::Timeout), "5s"), (K::Client(ClientConfigKey::ConnectTimeout), "1s")],
    );
    use AzureConfigKey as A;
    check(
        &[],
        &[("AZURE_STORAGE_ACCOUNT_NAME", "a"), ("account_key", "k"), ("azure_storage_sas_token", "s")],
        &[(A::AccountName, "a"), (A::AccessKey, "k"), (A::SasKey, "s")],
    );
    use GoogleConfigKey as G;
    check(&[], &[("GOOGLE_SERVICE_ACCOUNT", "/k.json"), ("aws_region", "eu")], &[(G::ServiceAccount, "/k.json")]);
}

#[test]
fn options_win_over_the_environment() {
    use AmazonS3ConfigKey as K;
    check(
        &[("AWS_REGION", "us"), ("AWS_ENDPOINT_URL", "http://env"), ("HOME", "/x"), ("AWS_ROLE_ARN", "")],
        &[("region", "eu")],
        &[(K::Region, "eu"), (K::Endpoint, "http://env")],
    );
    // object_store prefers AWS_ENDPOINT_URL_S3 to any endpoint, and a region to a default region.
    check(
        &[("AWS_ENDPOINT_URL_S3", "http://env"), ("AWS_REGION", "us")],
        &[("endpoint", "http://mine"), ("AWS_DEFAULT_REGION", "eu")],
        &[(K::Endpoint, "http://mine"), (K::DefaultRegion, "eu")],
    );
}

#[test]
fn two_variables_have_names_of_their_own() {
    check(&[("SERVICE_ACCOUNT", "/k.json")], &[], &[(GoogleConfigKey::ServiceAccount, "/k.json")]);
    check(&[("IDENTITY_ENDPOINT", "http://m")], &[], &[(AzureConfigKey::MsiEndpoint, "http://m")]);
    check::<AmazonS3ConfigKey>(&[("SERVICE_ACCOUNT", "/k.json"), ("IDENTITY_ENDPOINT", "http://m")], &[], &[]);
}

#[test]
fn identities_are_not_mixed() {
    use AmazonS3ConfigKey as K;
    let env =
        [("AWS_ACCESS_KEY_ID", "env"), ("AWS_SECRET_ACCESS_KEY", "env"), ("AWS_SESSION_TOKEN", "env"), ("AWS_REGION", "us")];
    check(
        &env,
        &[("access_key_id", "a"), ("secret_access_key", "b")],
        &[(K::AccessKeyId, "a"), (K::SecretAccessKey, "b"), (K::Region, "us")],
    );
    let found = settings::<K>(&environment_of(&env), &[], &HashMap::new(), true).unwrap();
    assert_eq!(found, Settings::from([(K::Region, "us".to_owned())]));
    use AzureConfigKey as A;
    check(
        &[("AZURE_STORAGE_TOKEN", "env"), ("AZURE_STORAGE_ACCOUNT_NAME", "acc")],
        &[("account_key", "k")],
        &[(A::AccountName, "acc"), (A::AccessKey, "k")],
    );
}

#[test]
fn what_the_url_implies_stands_between_environment_and_options() {
    use AmazonS3ConfigKey as K;
    let embedded = [("region", "url".to_owned()), ("endpoint", "https://url".to_owned())];
    let found =
        settings::<K>(&environment_of(&[("AWS_REGION", "env")]), &embedded, &options(&[("endpoint", "https://mine")]), false)
            .unwrap();
    assert_eq!(found, Settings::from([(K::Region, "url".to_owned()), (K::Endpoint, "https://mine".to_owned())]));
}

#[test]
fn two_spellings_must_agree() {
    assert!(settings::<AmazonS3ConfigKey>(&[], &[], &options(&[("region", "eu"), ("AWS_REGION", "eu")]), false).is_ok());
    let error = settings::<AmazonS3ConfigKey>(&[], &[], &options(&[("region", "eu"), ("AWS_REGION", "us")]), false).unwrap_err();
    assert_eq!(error.message(), "storage options AWS_REGION and region mean the same and have different values: keep one");
}

#[test]
fn unknown_keys_are_named_with_similar_ones() {
    let refused = |key: &str| check_known(&options(&[(key, "hunter2")])).unwrap_err().to_string();
    assert_eq!(refused("aws_acces_key_id"), "storage option aws_acces_key_id is not known; similar: aws_access_key_id");
    assert_eq!(refused("AWS_REGOIN"), "storage option AWS_REGOIN is not known; similar: aws_region");
    assert_eq!(refused("zzzzzz"), "storage option zzzzzz is not known");
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
fn retries_are_configurable() {
    let config = retry(&options(&[
        ("max_retries", "3"),
        ("retry_timeout", "90s"),
        ("backoff_config.init_backoff", "50ms"),
        ("backoff_config.max_backoff", "2"),
        ("backoff_config.base", "3"),
    ]))
    .unwrap();
    assert_eq!((config.max_retries, config.retry_timeout), (3, Duration::from_secs(90)));
    assert_eq!(
        (config.backoff.init_backoff, config.backoff.max_backoff, config.backoff.base),
        (Duration::from_millis(50), Duration::from_secs(2), 3.0)
    );
    for (key, value) in [
        ("max_retries", "many"),
        ("retry_timeout", "-1s"),
        ("retry_timeout", "3 parsecs"),
        ("backoff_config.base", "1"),
        ("backoff_config.base", "NaN"),
    ] {
        let error = retry(&options(&[(key, value)])).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(value), "{error}");
    }
}

#[test]
fn distances() {
    for (a, b, expected) in [("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("same", "same", 0)] {
        assert_eq!(distance(a, b), expected, "{a} {b}");
        assert_eq!(distance(b, a), expected, "{b} {a}");
    }
}

#[test]
fn only_what_is_known_to_be_no_secret_is_sent_around() {
    let kept = |pairs: &[(&str, &str)]| {
        let mut kept: Vec<_> = options_without_secrets(&options(pairs)).into_iter().collect();
        kept.sort();
        kept
    };
    let same = |pairs: &[(&str, &str)]| {
        let mut all: Vec<_> = options(pairs).into_iter().collect();
        all.sort();
        assert_eq!(kept(pairs), all);
    };
    for name in SPELLINGS {
        let is_secret = ["secret", "key", "token", "sas"].iter().any(|word| name.contains(word)) && !name.ends_with("_file");
        assert_eq!(kept(&[(name, "value1")]).is_empty(), is_secret, "{name}");
    }
    for name in [
        "azure_storage_master_key",
        "AWS_SSE_CUSTOMER_KEY_BASE64",
        "fabric_session_token",
        "nobody_knows",
        "fs.s3a.secret.key",
        "user_agent",
    ] {
        assert_eq!(kept(&[(name, "value1")]), [], "{name}");
    }
    same(&[("AWS_REGION", "eu"), ("endpoint", "https://h:9000"), ("aws_allow_http", "true"), ("dfs.ha.namenodes.ns", "a,b")]);
    same(&[("aws_web_identity_token_file", "/run/token"), ("aws_role_arn", "arn:aws:iam::1:role/r")]);
    same(&[("google_service_account", "/run/key.json")]);
}

#[test]
fn passwords_in_addresses_stay_behind() {
    let kept = |name: &str, value: &str| options_without_secrets(&options(&[(name, value)])).remove(name);
    assert_eq!(kept("proxy_url", "http://u:hunter2@proxy:3128").as_deref(), Some("http://proxy:3128/"));
    assert_eq!(kept("proxy_url", "http://hunter2@proxy:3128").as_deref(), Some("http://proxy:3128/"));
    assert_eq!(kept("proxy_url", "http://proxy:3128").as_deref(), Some("http://proxy:3128"));
    assert_eq!(kept("endpoint", "https://h/?sig=hunter2").as_deref(), Some("https://h/"));
    // Proxies are written without a scheme, too.
    assert_eq!(kept("proxy_url", "alice:hunter2@proxy:3128").as_deref(), Some("http://proxy:3128/"));
    assert_eq!(kept("proxy_url", "alice:hunter2@proxy").as_deref(), Some("http://proxy/"));
    assert_eq!(kept("proxy_url", "proxy:3128").as_deref(), Some("proxy:3128"));
    for no_address in
        ["alice:hun/ter2@proxy:3128", "http://alice:12/ter2@proxy", "alice:12/ter2@proxy", "http://alice:hun/ter2@proxy", ""]
    {
        assert_eq!(kept("proxy_url", no_address), None, "{no_address}");
    }
}

#[test]
fn settings_of_hadoop_and_of_clients_hold_no_secrets() {
    let plain = options(&[
        ("hadoop.security.authentication", "kerberos"),
        ("hadoop.rpc.protection", "privacy"),
        ("dfs.data.transfer.protection", "privacy"),
        ("dfs.encrypt.data.transfer", "true"),
        ("dfs.namenode.kerberos.principal", "nn/_HOST@EXAMPLE.COM"),
        ("dfs.ha.namenodes.lake", "nn1,nn2"),
        ("fs.defaultFS", "hdfs://lake"),
    ]);
    assert_eq!(options_without_secrets(&plain), plain);
    let secret = options(&[("hadoop.security.credential.provider.path", "x"), ("dfs.client.https.keystore.password", "x")]);
    assert_eq!(options_without_secrets(&secret), HashMap::new());
}

#[test]
fn halves_of_identities_stay_behind() {
    let kept = |pairs: &[(&str, &str)]| options_without_secrets(&options(pairs));
    assert_eq!(kept(&[("azure_client_id", "id"), ("azure_client_secret", "hunter2")]), HashMap::new());
    assert_eq!(kept(&[("google_service_account", "{\"private_key\": \"hunter2\"}")]), HashMap::new());
    assert_eq!(kept(&[("azure_client_id", "id"), ("azure_tenant_id", "t"), ("azure_federated_token_file", "/run/t")]).len(), 3);
}
