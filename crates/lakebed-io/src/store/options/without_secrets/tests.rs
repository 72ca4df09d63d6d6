use super::super::known::SPELLINGS;
use super::super::tests::options;
use super::*;

#[test]
fn only_known_harmless_options_are_kept() {
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
    // Proxies may also be written without a scheme.
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
fn hadoop_and_client_settings_are_kept() {
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
