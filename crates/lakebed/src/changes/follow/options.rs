//! The options of a stream, which are Delta Spark's reader options.

use std::collections::HashMap;

use lakebed_core::property::parse_size_bytes;
use lakebed_core::schema::PrimitiveType;
use lakebed_core::value::Scalar;
use regex::Regex;

use super::admission::ReadLimits;
use crate::{Error, Result};

/// The most files of a batch, if no option limits files or bytes.
const DEFAULT_MAX_FILES: u64 = 1000;

/// The options of a stream. [`FollowOptions::parse`] reads them from Delta Spark's option names.
#[derive(Debug, Clone, Default)]
pub struct FollowOptions {
    /// The start of a new stream.
    pub start: Start,
    /// `maxFilesPerTrigger`: the most files of a batch.
    pub max_files: Option<u64>,
    /// `maxBytesPerTrigger`: the most bytes of a batch. A batch has at least one file.
    pub max_bytes: Option<u64>,
    /// `ignoreDeletes`: commits that only remove files are accepted.
    pub ignore_deletes: bool,
    /// `ignoreChanges`: a rewritten file is returned as a whole, with the rows that were copied.
    pub ignore_changes: bool,
    /// `ignoreFileDeletion`: an old option with nearly the same meaning.
    pub ignore_file_deletion: bool,
    /// `skipChangeCommits`: commits that remove anything are skipped, including their added files.
    pub skip_change_commits: bool,
    /// `excludeRegex`: files are left out if their path in the log contains a match.
    pub exclude: Option<Regex>,
    /// `failOnDataLoss` is false: missing commits are skipped.
    pub tolerate_data_loss: bool,
    /// `readChangeFeed`: rows are changes.
    pub read_change_feed: bool,
    /// `schemaTrackingLocation`: a folder below the checkpoint of the query that stores the schemas
    /// with which the stream reads.
    pub schema_location: Option<String>,
    /// `streamingSourceTrackingId`: distinguishes two streams of one table in one query.
    pub tracking_id: Option<String>,
    /// `allowSourceColumnRename`: whether to continue after a column was renamed.
    pub allow_rename: Allowed,
    /// `allowSourceColumnDrop`: whether to continue after a column was dropped.
    pub allow_drop: Allowed,
    /// `allowSourceColumnTypeChange`: whether to continue after a type was widened.
    pub allow_type_change: Allowed,
}

/// The start of a new stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// The stream starts with all existing rows and continues with the commits after them.
    #[default]
    Snapshot,
    /// The stream starts with the commit of this version.
    Version(u64),
    /// The stream starts with the first commit that does not exist yet.
    Latest,
    /// The stream starts with the first commit at or after this time, in milliseconds since the
    /// epoch.
    Timestamp(i64),
}

/// Whether a stream continues after a change that affects readers of the old columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allowed {
    /// The stream stops with an error.
    #[default]
    Never,
    /// The stream continues after changes up to this version.
    UpTo(u64),
    /// The stream continues after all changes.
    Always,
}

impl Allowed {
    /// Returns whether a change that was complete at this version is allowed.
    pub(super) fn allows(self, version: u64) -> bool {
        match self {
            Self::Never => false,
            Self::UpTo(allowed) => allowed == version,
            Self::Always => true,
        }
    }
}

impl FollowOptions {
    /// Parses options with Delta Spark's names, in any case. Other options are ignored.
    pub fn parse(options: &HashMap<String, String>) -> Result<Self> {
        let given = OptionMap(options.iter().map(|(name, value)| (name.to_lowercase(), value.as_str())).collect());
        Ok(Self {
            start: given.start()?,
            max_files: given.parsed("maxFilesPerTrigger", |text| positive(text.parse().ok(), "must be a number above 0"))?,
            max_bytes: given
                .parsed("maxBytesPerTrigger", |text| positive(parse_size_bytes(text).ok(), "must be a size such as 10g"))?,
            ignore_deletes: given.flag("ignoreDeletes", false)?,
            ignore_changes: given.flag("ignoreChanges", false)?,
            ignore_file_deletion: given.flag("ignoreFileDeletion", false)?,
            skip_change_commits: given.flag("skipChangeCommits", false)?,
            exclude: given.parsed("excludeRegex", |text| Regex::new(text).map_err(|error| error.to_string()))?,
            tolerate_data_loss: !given.flag("failOnDataLoss", true)?,
            read_change_feed: given.flag("readChangeFeed", false)? || given.flag("readChangeData", false)?,
            schema_location: given.text("schemaTrackingLocation").or(given.text("schemaLocation")).map(str::to_owned),
            tracking_id: given.text("streamingSourceTrackingId").map(str::to_owned),
            allow_rename: given.allowed("allowSourceColumnRename")?,
            allow_drop: given.allowed("allowSourceColumnDrop")?,
            allow_type_change: given.allowed("allowSourceColumnTypeChange")?,
        })
    }

    /// Returns the limits of a batch, with the default if no option limits files or bytes.
    pub fn limits(&self) -> ReadLimits {
        let default = self.max_bytes.is_none().then_some(DEFAULT_MAX_FILES);
        ReadLimits { max_files: self.max_files.or(default), max_bytes: self.max_bytes, until: None }
    }

    /// Returns whether commits that change rows are accepted.
    pub(super) fn lets_changes_pass(&self) -> bool {
        self.ignore_changes || self.ignore_file_deletion || self.skip_change_commits
    }
}

/// Options by their names in lower case.
struct OptionMap<'a>(HashMap<String, &'a str>);

impl<'a> OptionMap<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(&name.to_lowercase()).copied()
    }

    fn parsed<T>(&self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>> {
        let parse = |text| parse(text).map_err(|reason| Error::invalid_input(format!("option {name}={text}: {reason}")));
        self.text(name).map(parse).transpose()
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool> {
        let flag = self.parsed(name, |text| text.to_lowercase().parse().map_err(|_| "must be true or false".to_owned()))?;
        Ok(flag.unwrap_or(default))
    }

    fn allowed(&self, name: &str) -> Result<Allowed> {
        let allowed = self.parsed(name, |text| match text.to_lowercase().as_str() {
            "always" => Ok(Allowed::Always),
            version => version.parse().map(Allowed::UpTo).map_err(|_| "must be always or a version".to_owned()),
        })?;
        Ok(allowed.unwrap_or_default())
    }

    fn start(&self) -> Result<Start> {
        let version = self.parsed("startingVersion", |text| match text {
            "latest" => Ok(Start::Latest),
            version => version.parse().map(Start::Version).map_err(|_| "must be latest or a version".to_owned()),
        })?;
        let timestamp =
            self.parsed("startingTimestamp", |text| match Scalar::parse_partition(Some(text), PrimitiveType::Timestamp) {
                Ok(Scalar::Timestamp(micros)) => Ok(Start::Timestamp(micros.div_euclid(1000))),
                _ => Err("must be a date or a timestamp such as 2026-11-21T12:00:00Z".to_owned()),
            })?;
        match (version, timestamp) {
            (Some(_), Some(_)) => Err(Error::invalid_input(
                "give startingVersion or startingTimestamp, not both: each determines where the stream begins",
            )),
            (start, other) => Ok(start.or(other).unwrap_or_default()),
        }
    }
}

fn positive(number: Option<u64>, expected: &str) -> Result<u64, String> {
    number.filter(|number| *number > 0).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &[(&str, &str)]) -> Result<FollowOptions> {
        FollowOptions::parse(&options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[track_caller]
    fn check_refused(options: &[(&str, &str)], expected: &str) {
        assert_eq!(parse(options).unwrap_err().message(), expected);
    }

    #[test]
    fn names_may_be_written_in_any_case() {
        let options = parse(&[("IGNOREDELETES", "True"), ("startingversion", "latest"), ("somethingElse", "x")]).unwrap();
        assert!(options.ignore_deletes && !options.ignore_changes);
        assert_eq!(options.start, Start::Latest);
    }

    #[test]
    fn batch_without_limits_has_thousand_files() {
        let limits = |options: &[(&str, &str)]| {
            let limits = parse(options).unwrap().limits();
            (limits.max_files, limits.max_bytes)
        };
        assert_eq!(limits(&[]), (Some(1000), None));
        assert_eq!(limits(&[("maxFilesPerTrigger", "5")]), (Some(5), None));
        assert_eq!(limits(&[("maxBytesPerTrigger", "10g")]), (None, Some(10 << 30)));
        assert_eq!(limits(&[("maxBytesPerTrigger", "1k"), ("maxFilesPerTrigger", "2")]), (Some(2), Some(1024)));
    }

    #[test]
    fn stream_begins_at_version_or_time() {
        let start = |name, value| parse(&[(name, value)]).unwrap().start;
        assert_eq!(start("startingVersion", "0"), Start::Version(0));
        assert_eq!(start("startingTimestamp", "1970-01-02"), Start::Timestamp(86_400_000));
        assert_eq!(start("startingTimestamp", "1970-01-01T01:00:00.5+01:00"), Start::Timestamp(500));
        check_refused(
            &[("startingVersion", "1"), ("startingTimestamp", "1970-01-02")],
            "give startingVersion or startingTimestamp, not both: each determines where the stream begins",
        );
    }

    #[test]
    fn invalid_option_is_refused_by_name() {
        check_refused(&[("maxFilesPerTrigger", "0")], "option maxFilesPerTrigger=0: must be a number above 0");
        check_refused(&[("maxBytesPerTrigger", "ten")], "option maxBytesPerTrigger=ten: must be a size such as 10g");
        check_refused(&[("ignoreDeletes", "yes")], "option ignoreDeletes=yes: must be true or false");
        check_refused(&[("startingVersion", "-1")], "option startingVersion=-1: must be latest or a version");
        check_refused(&[("allowSourceColumnDrop", "true")], "option allowSourceColumnDrop=true: must be always or a version");
        assert!(parse(&[("excludeRegex", "(")]).unwrap_err().message().starts_with("option excludeRegex=(: "));
    }
}
