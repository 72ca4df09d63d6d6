use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;

use super::*;

/// Returns options with these names and values.
pub(super) fn options(pairs: &[(&str, &str)]) -> HashMap<String, String> {
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
fn keys_match_any_case_and_prefix() {
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
fn url_wins_over_environment_only() {
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
    assert_eq!(
        error.message(),
        "storage options AWS_REGION and region mean the same but have different values: keep one of them"
    );
}
