use super::super::tests::options;
use super::*;

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
