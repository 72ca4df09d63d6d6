//! The bytes of effects. The format is JSON, because most of the content is log actions, and
//! because a reader of another version can name the parts that it does not know.
//!
//! The bytes are untrusted input, so reading validates them. Deleted rows are named by the paths of
//! their files, and are resolved when the effects are registered. As in a commit, unknown fields of
//! a log action are ignored. Unknown fields of all other parts are refused.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lakebed_core::action::{Add, Cdc};
use lakebed_core::dv::DeletionVector;
use lakebed_core::path::FilePath;
use serde::{Deserialize, Serialize};

use super::Effects;
use crate::rows::deleted::{DeletedRows, NamedRows};
use crate::write::data_file::WrittenFile;
use crate::write::file_names::CHANGES_DIR;
use crate::{Error, Result};

/// The version of the form. It increases when another version would commit wrongly, or would report
/// the new form as damage.
const FORM: u32 = 1;

/// The directory of the log.
const LOG_DIR: &str = "_delta_log";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    effects: u32,
    added: Vec<Add>,
    changes: Vec<Cdc>,
    deleted: Vec<InFile>,
    new_rows: u64,
    copied_rows: u64,
    keeps_row_ids: bool,
    marks: Vec<(usize, i64)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InFile {
    path: String,
    /// The unique id of the deletion vector that the file had when it was read.
    vector: Option<String>,
    rows: Rows,
}

/// No variant is the default: if it were, a lost field would delete rows.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Rows {
    All,
    Some {
        /// The number of rows, which shows most damage of the bitmap.
        count: u64,
        /// The portable form of a deletion vector, in Base64.
        bitmap: String,
    },
}

impl Effects {
    /// Returns the effects as bytes, in the form of this version of lakebed. The bytes do not hold
    /// the read set: the process that plans distributed work knows the predicate.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let deleted = self.deleted.to_named()?.into_iter().map(InFile::try_from);
        crate::wire::to_bytes(&Content {
            effects: FORM,
            added: self.added.iter().map(|file| file.add.clone()).collect(),
            changes: self.changes.iter().map(WrittenFile::to_cdc).collect(),
            deleted: deleted.collect::<Result<_>>()?,
            new_rows: self.new_rows,
            copied_rows: self.copied_rows,
            keeps_row_ids: self.keeps_row_ids,
            marks: self.marks.clone(),
        })
    }

    /// Reads effects from bytes that [`Self::to_bytes`] wrote, possibly in another version of
    /// lakebed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let content: Content = crate::wire::from_bytes(bytes, "effects", FORM)?;
        content.check()?;
        let named = content.deleted.into_iter().map(NamedRows::try_from).collect::<Result<_>>()?;
        Ok(Self {
            added: content.added.into_iter().map(WrittenFile::safe).collect(),
            changes: content.changes.into_iter().map(WrittenFile::of_changes).collect(),
            deleted: DeletedRows { named, ..DeletedRows::default() },
            new_rows: content.new_rows,
            copied_rows: content.copied_rows,
            keeps_row_ids: content.keeps_row_ids,
            marks: content.marks,
            ..Self::default()
        })
    }
}

impl Content {
    fn check(&self) -> Result<()> {
        self.added.iter().try_for_each(check_added)?;
        self.changes.iter().try_for_each(check_changes)?;
        let new = self.added.iter().map(|file| &file.path).chain(self.changes.iter().map(|file| &file.path));
        check_once(new, "is added twice")?;
        check_once(self.deleted.iter().map(|file| &file.path), "has deleted rows twice")?;
        self.deleted.iter().try_for_each(|file| FilePath::parse(&file.path).map(|_| ()))
    }
}

impl TryFrom<NamedRows> for InFile {
    type Error = Error;

    fn try_from(NamedRows { path, vector, rows }: NamedRows) -> Result<Self> {
        let rows = match rows {
            Some(rows) => Rows::Some { count: rows.len(), bitmap: STANDARD.encode(rows.serialize()?) },
            None => Rows::All,
        };
        Ok(Self { path, vector, rows })
    }
}

impl TryFrom<InFile> for NamedRows {
    type Error = Error;

    fn try_from(InFile { path, vector, rows }: InFile) -> Result<Self> {
        let rows = match rows {
            Rows::Some { count, bitmap } => Some(read_bitmap(&bitmap, count).map_err(|error| error.within(&path))?),
            Rows::All => None,
        };
        Ok(Self { path, vector, rows })
    }
}

fn read_bitmap(bitmap: &str, count: u64) -> Result<DeletionVector> {
    let refuse = |why: &str| Error::invalid_input(format!("its deleted rows cannot be read: {why}"));
    let bytes = STANDARD.decode(bitmap).map_err(|error| refuse("the bitmap is not Base64").with_source(error))?;
    let rows = DeletionVector::parse(&bytes).map_err(|error| refuse("the bitmap is damaged").with_source(error))?;
    match rows.len() {
        0 => Err(refuse("the bitmap is empty")),
        rows if rows != count => Err(refuse(&format!("the bitmap has {rows} rows, {count} were announced"))),
        _ => Ok(rows),
    }
}

/// Checks that a new data file is below the table's root and has no deleted rows.
fn check_added(add: &Add) -> Result<()> {
    let refuse = |why: &str| refused(&add.path, why);
    check_place(&add.path, add.size)?;
    match add {
        _ if !add.data_change => refuse("its rows are marked as unchanged (dataChange is false)"),
        _ if add.base_row_id.is_some() || add.default_row_commit_version.is_some() => {
            refuse("its rows have row ids already, but only the commit assigns them")
        }
        _ if add.deletion_vector.is_some() => refuse("some of its rows are deleted"),
        _ => Ok(()),
    }
}

/// Checks that a change data file is in its directory below the table's root.
fn check_changes(cdc: &Cdc) -> Result<()> {
    let refuse = |why: &str| refused(&cdc.path, why);
    match check_place(&cdc.path, cdc.size)?.split('/').next() {
        Some(CHANGES_DIR) if cdc.data_change => refuse("it is change data, but says that its rows are new"),
        Some(CHANGES_DIR) if cdc.tags.is_some() => refuse("it is change data, but has tags"),
        Some(CHANGES_DIR) => Ok(()),
        _ => refuse(&format!("it is change data, but is not in {CHANGES_DIR}")),
    }
}

/// Returns the decoded path of a new file. Its size makes sense, and it is below the table's root,
/// but not in the log.
fn check_place(path: &str, size: i64) -> Result<String> {
    match FilePath::parse(path)? {
        FilePath::Absolute(_) => refused(path, "it is outside the table"),
        FilePath::Relative(place) if place.split('/').next() == Some(LOG_DIR) => refused(path, "it is a file of the log"),
        FilePath::Relative(_) if size < 0 => refused(path, "its size is negative"),
        FilePath::Relative(place) => Ok(place),
    }
}

fn check_once<'a>(paths: impl Iterator<Item = &'a String>, what: &str) -> Result<()> {
    let mut known = HashSet::new();
    match { paths }.find(|path| !known.insert(*path)) {
        Some(path) => refused(path, &format!("it {what}")),
        None => Ok(()),
    }
}

fn refused<T>(path: &str, why: &str) -> Result<T> {
    Err(Error::invalid_input(format!("{path}: effects cannot contain this file: {why}")))
}
