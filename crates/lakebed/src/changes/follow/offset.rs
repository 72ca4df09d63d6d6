//! The offset of a stream, in Delta Spark's format. The checkpoint of a query stores it as JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// An offset: everything up to here is done. This includes all commits below `version`, and of
/// `version` itself everything up to `position`.
///
/// ```
/// use lakebed::changes::{Offset, Position};
///
/// let text = r#"{"sourceVersion":1,"reservoirId":"5fba94ed","reservoirVersion":7,"index":-1,"isStartingVersion":false}"#;
/// let offset: Offset = text.parse()?;
/// assert_eq!((offset.version, offset.position), (7, Position::Base));
/// assert_eq!(offset.to_string(), text);
/// # Ok::<_, lakebed::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offset {
    /// `metaData.id` of the table.
    pub table_id: String,
    /// The version of the commit, or of the initial snapshot while that is read.
    pub version: u64,
    /// The position in the commit or in the initial snapshot.
    pub position: Position,
    /// Whether the files are those of the snapshot of this version rather than those that its
    /// commit added.
    pub is_initial: bool,
}

/// A position in a commit or in the initial snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// Before everything.
    Base,
    /// At a schema change, before the files. This position occurs only with a schema log.
    SchemaChange,
    /// The second offset of the same schema change. Engines commit an offset only after they have
    /// seen another one.
    AfterSchemaChange,
    /// At a file; files are counted from 0.
    File(u64),
}

const BASE: i64 = -100;
/// The value of `BASE` in the format that older readers know.
const OLD_BASE: i64 = -1;
const SCHEMA_CHANGE: i64 = -20;
const AFTER_SCHEMA_CHANGE: i64 = -19;
/// The end of a commit. This value is never written.
const END: i64 = i64::MAX - 100;

/// The format version of offsets at files.
const FORM: i64 = 1;
/// The format version of offsets at schema changes. Version 2 is reserved.
const SCHEMA_FORM: i64 = 3;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OffsetJson {
    source_version: i64,
    reservoir_id: String,
    reservoir_version: i64,
    index: i64,
    #[serde(default)]
    is_starting_version: bool,
}

impl Offset {
    /// Checks that an offset does not come before the previous one of its stream. Initial snapshots
    /// come before the commits of their version.
    pub(super) fn check_follows(&self, previous: &Self) -> Result<()> {
        let moved_back = (self.version, self.position) < (previous.version, previous.position);
        if moved_back || (self.is_initial && !previous.is_initial) {
            return Err(Error::internal(format!("a stream would go back from {previous} to {self}")));
        }
        Ok(())
    }
}

impl Position {
    fn of_index(index: i64) -> Result<Self, String> {
        match index {
            BASE => Ok(Self::Base),
            SCHEMA_CHANGE => Ok(Self::SchemaChange),
            AFTER_SCHEMA_CHANGE => Ok(Self::AfterSchemaChange),
            0..END => Ok(Self::File(index.unsigned_abs())),
            _ => Err(format!("there is no index {index}")),
        }
    }

    /// Returns the index that is written.
    fn index(self) -> i64 {
        match self {
            Self::Base => OLD_BASE,
            Self::SchemaChange => SCHEMA_CHANGE,
            Self::AfterSchemaChange => AFTER_SCHEMA_CHANGE,
            Self::File(index) => i64::try_from(index).unwrap_or(END),
        }
    }

    /// Returns whether this is the position of a schema change.
    pub(super) fn is_schema_change(self) -> bool {
        matches!(self, Self::SchemaChange | Self::AfterSchemaChange)
    }
}

impl std::str::FromStr for Offset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused =
            |reason: String| Error::invalid_input(format!("not an offset of a stream of a Delta table: {reason}: {text}"));
        let json: OffsetJson = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        match json.source_version {
            FORM | SCHEMA_FORM => {}
            form if form > SCHEMA_FORM => {
                let reason = format!(
                    "its format is {form}, and this version of lakebed reads formats up to {SCHEMA_FORM}; upgrade lakebed"
                );
                return Err(refused(reason));
            }
            form => return Err(refused(format!("there is no format {form}"))),
        }
        let index = if json.source_version == FORM && json.index == OLD_BASE { BASE } else { json.index };
        Ok(Self {
            table_id: json.reservoir_id,
            version: json.reservoir_version.try_into().map_err(|_| refused("its version is negative".to_owned()))?,
            position: Position::of_index(index).map_err(refused)?,
            is_initial: json.is_starting_version,
        })
    }
}

/// Writes the offset as Delta Spark does, key by key.
impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = OffsetJson {
            source_version: if self.position.is_schema_change() { SCHEMA_FORM } else { FORM },
            reservoir_id: self.table_id.clone(),
            reservoir_version: self.version.cast_signed(),
            index: self.position.index(),
            is_starting_version: self.is_initial,
        };
        f.write_str(&serde_json::to_string(&json).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(form: i64, version: &str, index: i64) -> String {
        format!(
            r#"{{"sourceVersion":{form},"reservoirId":"t","reservoirVersion":{version},"index":{index},"isStartingVersion":true}}"#
        )
    }

    #[track_caller]
    fn check(text: &str, expected: (u64, Position)) {
        let offset: Offset = text.parse().unwrap();
        assert_eq!(
            (offset.table_id.as_str(), offset.version, offset.position, offset.is_initial),
            ("t", expected.0, expected.1, true)
        );
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let error = text.parse::<Offset>().unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(text), "{error}");
    }

    #[test]
    fn both_forms_of_every_place_are_understood() {
        check(&text(1, "5", -1), (5, Position::Base));
        check(&text(1, "5", -100), (5, Position::Base));
        check(&text(3, "5", -100), (5, Position::Base));
        check(&text(1, "5", 0), (5, Position::File(0)));
        check(&text(3, "5", 17), (5, Position::File(17)));
        check(&text(3, "5", -20), (5, Position::SchemaChange));
        check(&text(3, "5", -19), (5, Position::AfterSchemaChange));
        check(&text(3, "5", -19).replace(",\"isStarting", ",\"other\":[1],\"isStarting"), (5, Position::AfterSchemaChange));
    }

    #[test]
    fn what_delta_spark_refuses_is_refused() {
        check_refused(&text(0, "5", 0), "no format 0");
        check_refused(&text(2, "5", 0), "no format 2");
        check_refused(&text(4, "5", 0), "format is 4, and this version of lakebed reads formats up to 3");
        check_refused(&text(3, "5", -1), "no index -1");
        check_refused(&text(1, "5", -2), "no index -2");
        check_refused(&text(1, "5", END), "no index 9223372036854775707");
        check_refused(&text(1, "-5", 0), "version is negative");
        check_refused("{}", "sourceVersion");
        check_refused("7", "invalid type");
        check_refused("", "EOF");
    }

    #[test]
    fn positions_sort_in_order_of_stream() {
        let places = [Position::Base, Position::SchemaChange, Position::AfterSchemaChange, Position::File(0), Position::File(1)];
        assert!(places.is_sorted());
    }

    proptest! {
        #[test]
        fn an_offset_comes_back_from_its_text(
            version in 0_u64..=i64::MAX.unsigned_abs(),
            position in prop_oneof![
                Just(Position::Base),
                Just(Position::SchemaChange),
                Just(Position::AfterSchemaChange),
                (0..END.unsigned_abs()).prop_map(Position::File),
            ],
            is_initial: bool,
            table_id in ".*",
        ) {
            let offset = Offset { table_id, version, position, is_initial };
            prop_assert_eq!(offset.to_string().parse::<Offset>().unwrap(), offset);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = text.parse::<Offset>();
        }
    }
}
