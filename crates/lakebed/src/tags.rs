//! Tags: names of versions that stay readable.
//!
//! A tag is a property of the table, `lakebed.tag.<name>`, with the version and the time of the tag
//! as JSON. So every engine that keeps properties keeps tags, and no engine has to know them.
//! lakebed's vacuum keeps the files of tagged versions, and its cleanup keeps their log files. This
//! module reads tags; `tagging` sets them.
//!
//! A vacuum can keep versions without tags. Their numbers are another property, for the cleanup.

use std::collections::BTreeSet;

use lakebed_core::action::Metadata;
use lakebed_core::commit::conflict::{KEPT_VERSIONS, TAG_PREFIX, names_versions};
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result, Snapshot};

/// The most characters of a tag's name.
const LONGEST_NAME: usize = 200;

/// The name of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The name.
    pub name: String,
    /// The version.
    pub version: u64,
    /// The time when the tag was set, in milliseconds since the epoch.
    pub created_at_ms: i64,
}

/// The value of the property.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TagValue {
    version: u64,
    created_at: i64,
}

impl Tag {
    /// Returns the property that keeps the tag.
    pub(crate) fn property(&self) -> Result<(String, String)> {
        let value = TagValue { version: self.version, created_at: self.created_at_ms };
        let value = serde_json::to_string(&value).map_err(|error| Error::internal("a tag as JSON").with_source(error))?;
        Ok((format!("{TAG_PREFIX}{}", self.name), value))
    }

    fn parse(name: &str, value: &str) -> Result<Self> {
        let TagValue { version, created_at } = serde_json::from_str(value).map_err(|error| {
            let message = format!(
                "the property {TAG_PREFIX}{name} is not a tag, because its value is {value:?}: unset the property, and set the tag again"
            );
            Error::invalid_input(message).with_source(error)
        })?;
        Ok(Self { name: name.to_owned(), version, created_at_ms: created_at })
    }
}

/// Refuses a name that other engines may not keep, or that cannot be told from another name.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "tag {name:?}: a name has 1 to {LONGEST_NAME} of the characters a-z, A-Z, 0-9, `.`, `_` and `-`"
    )))
}

impl Snapshot {
    /// Returns the tags that this version of the table has, by name. A tag is mostly of an older
    /// version.
    pub fn tags(&self) -> Result<Vec<Tag>> {
        tags_of(self.metadata()).map_err(|error| error.within(self.url()))
    }

    /// Returns the older versions that stay readable: those that tags name, and those that the last
    /// vacuum kept.
    pub(crate) fn kept_versions(&self) -> Result<BTreeSet<u64>> {
        let mut versions = self.recorded_versions()?;
        versions.extend(self.tags()?.into_iter().map(|tag| tag.version));
        Ok(versions)
    }

    /// Returns the versions that the last vacuum kept.
    pub(crate) fn recorded_versions(&self) -> Result<BTreeSet<u64>> {
        let Some(text) = self.metadata().property(KEPT_VERSIONS) else { return Ok(BTreeSet::new()) };
        text.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|error| {
            let message = format!(
                "{}: the property {KEPT_VERSIONS} is no list of versions, because its value is {text:?}: unset the property",
                self.url()
            );
            Error::invalid_input(message).with_source(error)
        })
    }

    /// Returns the tag of this name.
    pub(crate) fn find_tag(&self, name: &str) -> Result<Tag> {
        check_name(name)?;
        let tags = self.tags()?;
        let names = tags.iter().map(|tag| tag.name.as_str()).collect::<Vec<_>>().join(", ");
        tags.into_iter().find(|tag| tag.name == name).ok_or_else(|| {
            let there =
                if names.is_empty() { "the table has no tags".to_owned() } else { format!("the table has the tags {names}") };
            Error::new(ErrorKind::VersionNotFound, format!("{}: there is no tag {name:?}: {there}", self.url()))
        })
    }
}

fn tags_of(metadata: &Metadata) -> Result<Vec<Tag>> {
    let set = metadata.configuration.iter().filter_map(|(key, value)| Some((key.strip_prefix(TAG_PREFIX)?, value.as_deref()?)));
    let mut tags = set.map(|(name, value)| Tag::parse(name, value)).collect::<Result<Vec<Tag>>>()?;
    tags.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(tags)
}

/// Returns the value of the property with the versions that a vacuum kept.
pub(crate) fn kept_versions_text(versions: &BTreeSet<u64>) -> String {
    versions.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Gives metadata the tags and the kept versions of other metadata, and no others. They belong to the
/// table and not to one version of it.
pub(crate) fn take_over_kept_versions(metadata: &mut Metadata, from: &Metadata) {
    metadata.configuration.retain(|key, _| !names_versions(key));
    let kept = from.configuration.iter().filter(|(key, _)| names_versions(key));
    metadata.configuration.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_property_parses_back() {
        let tag = Tag { name: "audit-2026.q3".to_owned(), version: 7, created_at_ms: 1_790_000_000_000 };
        let (key, value) = tag.property().unwrap();
        assert_eq!((key.as_str(), value.as_str()), ("lakebed.tag.audit-2026.q3", r#"{"version":7,"createdAt":1790000000000}"#));
        assert_eq!(Tag::parse("audit-2026.q3", &value).unwrap(), tag);
    }

    #[test]
    fn check_name_refuses_unusual_characters() {
        for name in ["a", "audit-2026-q3", "v1.2_x"] {
            check_name(name).unwrap();
        }
        for name in ["", " ", "a b", "ä", "a/b", "a'b", &"x".repeat(201)] {
            let message = format!("tag {name:?}: a name has 1 to 200 of the characters a-z, A-Z, 0-9, `.`, `_` and `-`");
            assert_eq!(check_name(name).unwrap_err().message(), message);
        }
    }
}
