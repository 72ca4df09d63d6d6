//! The place of a file that Iceberg's metadata names. Iceberg writes absolute paths, and never
//! escapes them.

use lakebed_core::path::FilePath;
use lakebed_io::store::Store;

use crate::{Error, Result};

/// The spellings of the table's folder in its metadata.
#[derive(Debug)]
pub(super) struct Location {
    roots: Vec<String>,
}

impl Location {
    /// Returns the folder that the metadata calls `location`. Its files lie in the folder of the
    /// store, also if the whole folder was moved after it was written.
    pub(super) fn new(location: &str, store: &Store) -> Self {
        let root = |location: &str| plain(location).trim_end_matches('/').to_owned();
        Self { roots: vec![root(location), root(&store.hadoop_path())] }
    }

    /// Returns the name of a data file or a manifest below the folder of the table.
    pub(super) fn below(&self, path: &str) -> Result<String> {
        let name = self.name_below(path).ok_or_else(|| {
            let root = self.roots.first().map_or("", String::as_str);
            Error::invalid_input(format!(
                "{path}: this file of the Iceberg table lies outside of the table's folder {root}, and readers of Delta tables \
                 would refuse it: rewrite the table into one folder with Iceberg"
            ))
        })?;
        match FilePath::parse(&FilePath::encode(&name)) {
            Ok(FilePath::Relative(parsed)) if parsed == name => Ok(parsed),
            _ => Err(Error::invalid_input(format!("{path}: a Delta table cannot name this file: rename it with Iceberg"))),
        }
    }

    /// Returns the name of a file below the folder of the table. It is `None` for other files.
    pub(super) fn name_below(&self, path: &str) -> Option<String> {
        let whole = plain(path);
        let below = |root: &String| whole.strip_prefix(root.as_str())?.strip_prefix('/').map(str::to_owned);
        self.roots.iter().find_map(below)
    }
}

/// Returns a path with one spelling of its scheme.
fn plain(path: &str) -> String {
    let is_scheme = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let (scheme, rest) = path.split_once(":/").filter(|(scheme, _)| is_scheme(scheme)).unwrap_or(("", path));
    match scheme.to_ascii_lowercase().as_str() {
        "" => path.to_owned(),
        "file" => format!("/{}", rest.trim_start_matches('/')),
        "s3" | "s3a" | "s3n" => format!("s3:/{rest}"),
        "gs" | "gcs" => format!("gs:/{rest}"),
        "abfs" | "abfss" | "wasb" | "wasbs" => format!("abfs:/{rest}"),
        other => format!("{other}:/{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(location: &str, path: &str, expected: Option<&str>) {
        let location = Location { roots: vec![plain(location).trim_end_matches('/').to_owned()] };
        assert_eq!(location.below(path).ok().as_deref(), expected);
    }

    #[test]
    fn paths_have_several_spellings() {
        check("file:///a/t", "file:/a/t/data/x.parquet", Some("data/x.parquet"));
        check("/a/t/", "file:///a/t/p=a%2Fb/x.parquet", Some("p=a%2Fb/x.parquet"));
        check("s3://bucket/t", "s3a://bucket/t/data/x.parquet", Some("data/x.parquet"));
        check("s3://bucket/t", "s3://bucket/t2/x.parquet", None);
        check("s3://bucket/t", "s3://other/t/x.parquet", None);
        check("/a/t", "/a/t/../u/x.parquet", None);
        check("/a/t", "/a/t//x.parquet", None);
        check("/a/t", "data/x.parquet", None);
        check("/A/t", "/A/t/p=b:/x.parquet", Some("p=b:/x.parquet"));
    }
}
