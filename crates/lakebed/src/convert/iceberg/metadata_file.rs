//! Finds the metadata file of the current version of an Iceberg table.
//!
//! A catalog knows which file is current. Without it, the file with the highest number is current,
//! as for tables without a catalog. If several files could be it, the caller has to choose.

use bytes::Bytes;
use lakebed_io::store::Store;
use object_store::path::Path;

use super::location::Location;
use crate::{Error, Result};

const FOLDER: &str = "metadata";
/// The file with the current number, in tables without a catalog.
const HINT: &str = "version-hint.text";
const ENDINGS: [&str; 3] = [".gz.metadata.json", ".metadata.json.gz", ".metadata.json"];

/// Returns the current metadata file: the given one, if there is one, or else the last one. It is
/// `None` if the folder is not an Iceberg table.
pub(in super::super) async fn find_metadata_file(store: &Store, given: Option<&str>) -> Result<Option<Path>> {
    if let Some(given) = given {
        let is_relative = !given.starts_with('/') && !given.contains(":/");
        let name = if is_relative { Some(given.to_owned()) } else { Location::new(store.url(), store).name_below(given) };
        let name = name.ok_or_else(|| {
            Error::invalid_input(format!("iceberg_metadata: {given} does not lie in the folder {}", store.url()))
        })?;
        return store.path_of(&name).map(Some).map_err(|error| error.of_caller().within("iceberg_metadata"));
    }
    let folder = store.path_of(FOLDER)?;
    let listed = store.list_after(&folder, "").await?;
    let names: Vec<&str> = listed.iter().filter_map(|file| file.location.filename()).collect();
    if !names.iter().any(|name| version_of(name).is_some()) {
        return Ok(None);
    }
    let hint = match names.contains(&HINT) {
        true => Some(store.get(&store.path_of(&format!("{FOLDER}/{HINT}"))?).await?),
        false => None,
    };
    let name = current(&names, hint.as_ref()).map_err(|error| error.within(store.describe(&folder)))?;
    store.path_of(&format!("{FOLDER}/{name}")).map(Some)
}

/// Returns whether a folder has a metadata file of Iceberg.
pub(in super::super) fn is_metadata_file(name: &str) -> bool {
    version_of(name).is_some()
}

fn current(names: &[&str], hint: Option<&Bytes>) -> Result<String> {
    let hint = hint.map(|hint| String::from_utf8_lossy(hint).trim().to_owned());
    if let Some(hint) = hint.as_deref().filter(|hint| version_of(hint).is_some()) {
        return match names.contains(&hint) {
            true => Ok(hint.to_owned()),
            false => Err(Error::invalid_input(format!("{HINT} names {hint}, and there is no such file"))),
        };
    }
    let versions: Vec<(Version, &str)> = names.iter().filter_map(|name| Some((version_of(name)?, *name))).collect();
    let number = |version: &Version| match version {
        Version::Hadoop(number) | Version::Catalog(number) => *number,
    };
    let highest = versions.iter().map(|(version, _)| number(version)).max().unwrap_or_default();
    let is_mixed = versions.iter().any(|(version, _)| matches!(version, Version::Hadoop(_)))
        && versions.iter().any(|(version, _)| matches!(version, Version::Catalog(_)));
    let candidates: Vec<&str> = match is_mixed {
        true => versions.iter().map(|(_, name)| *name).collect(),
        false => versions.iter().filter(|(version, _)| number(version) == highest).map(|(_, name)| *name).collect(),
    };
    match (candidates.as_slice(), hint.map(|hint| hint.parse::<u64>())) {
        (_, Some(Err(_))) => Err(Error::invalid_input(format!("{HINT} holds neither a number nor the name of a metadata file"))),
        ([_], Some(Ok(hinted))) if hinted > highest => {
            Err(Error::invalid_input(format!("{HINT} names version {hinted}, and the last version here is {highest}")))
        }
        ([only], _) => Ok((*only).to_owned()),
        (several, _) => Err(Error::invalid_input(format!(
            "each of these files may be the current metadata of the Iceberg table: {}; the catalog knows which one is: pass it \
             as iceberg_metadata",
            several.join(", ")
        ))),
    }
}

/// The number of a metadata file.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Version {
    /// `v3.metadata.json`, of a table without a catalog.
    Hadoop(u64),
    /// `00003-<uuid>.metadata.json`, of a table in a catalog.
    Catalog(u64),
}

fn version_of(name: &str) -> Option<Version> {
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    match stem.strip_prefix('v').and_then(digits) {
        Some(number) => Some(Version::Hadoop(number)),
        None => digits(stem.split_once('-')?.0).map(Version::Catalog),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], hint: Option<&'static str>, expected: Result<&str, &str>) {
        let found = current(names, hint.map(|hint| Bytes::from_static(hint.as_bytes())).as_ref());
        assert_eq!(found.as_deref().map_err(|error| error.message()), expected);
    }

    #[test]
    fn highest_number_is_current() {
        check(&["v9.metadata.json", "v10.metadata.json", "snap-1.avro"], None, Ok("v10.metadata.json"));
        check(&["v1.metadata.json", "v2.gz.metadata.json"], Some("1\n"), Ok("v2.gz.metadata.json"));
        check(&["00002-a.metadata.json", "00010-b.metadata.json.gz"], None, Ok("00010-b.metadata.json.gz"));
        check(&["00001-a.metadata.json", "00002-b.metadata.json"], Some("00001-a.metadata.json"), Ok("00001-a.metadata.json"));
    }

    #[test]
    fn several_candidates_are_told() {
        let told = "each of these files may be the current metadata of the Iceberg table: 00002-a.metadata.json, \
                    00002-b.metadata.json; the catalog knows which one is: pass it as iceberg_metadata";
        check(&["00001-c.metadata.json", "00002-a.metadata.json", "00002-b.metadata.json"], None, Err(told));
        let told = "each of these files may be the current metadata of the Iceberg table: v1.metadata.json, \
                    00002-b.metadata.json; the catalog knows which one is: pass it as iceberg_metadata";
        check(&["v1.metadata.json", "00002-b.metadata.json"], None, Err(told));
        check(&["v1.metadata.json"], Some("2"), Err("version-hint.text names version 2, and the last version here is 1"));
        check(&["v1.metadata.json"], Some("x"), Err("version-hint.text holds neither a number nor the name of a metadata file"));
    }
}
