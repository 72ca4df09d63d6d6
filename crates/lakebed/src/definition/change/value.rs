//! The changes of a definition, as values. A caller builds a list of them, and one commit makes them
//! all. Begin with [`AlterChange`].

use std::collections::BTreeMap;

use lakebed_core::schema::char_varchar::CHAR_VARCHAR;
use lakebed_core::schema::field_metadata::{
    COMMENT, CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_ALLOW_GIVEN, IDENTITY_START, IDENTITY_STEP, check_own_metadata,
};
use lakebed_core::schema::sql::parse_sql_type;
use lakebed_core::schema::{DataType, StructField, StructType, parse};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::Result;

/// One change of the definition of a table.
///
/// A column is named by its path: `a`, `a.b`, `list.element.b`, `map.value`. A name that contains
/// dots is written in backticks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
pub enum AlterChange {
    /// Adds columns, or fields of structs.
    AddColumns {
        /// The new columns.
        columns: Vec<NewColumn>,
    },
    /// Gives a column another name. The table needs column mapping.
    RenameColumn {
        /// The path of the column.
        column: String,
        /// The new name, without the path before it.
        name: String,
    },
    /// Removes columns. The table needs column mapping.
    DropColumns {
        /// The paths of the columns.
        columns: Vec<String>,
    },
    /// Moves a column to another position in its struct.
    MoveColumn {
        /// The path of the column.
        column: String,
        /// The new position.
        position: Position,
    },
    /// Gives a column a wider type.
    ChangeType {
        /// The path of the column.
        column: String,
        /// The new type.
        #[serde(rename = "type")]
        data_type: ColumnType,
    },
    /// Allows or forbids null in a column.
    SetNullable {
        /// The path of the column.
        column: String,
        /// Whether null is allowed.
        nullable: bool,
    },
    /// Sets the value of rows that do not give one.
    SetDefault {
        /// The name of the column.
        column: String,
        /// The SQL expression. `None` removes the default.
        default: Option<String>,
    },
    /// Sets the comment of a column.
    SetComment {
        /// The path of the column.
        column: String,
        /// The comment. `None` removes it.
        comment: Option<String>,
    },
    /// Sets entries of a column's metadata, beside those that Delta keeps there.
    SetColumnMetadata {
        /// The path of the column.
        column: String,
        /// The values by their keys: strings, numbers or booleans. Null removes an entry.
        metadata: BTreeMap<String, Value>,
    },
    /// Sets the clustering columns. No columns end the clustering.
    ClusterBy {
        /// The paths of the columns.
        columns: Vec<String>,
    },
    /// Adds a condition that every row must meet.
    AddConstraint {
        /// The name of the constraint.
        name: String,
        /// The condition in SQL.
        condition: String,
    },
    /// Removes a constraint.
    DropConstraint {
        /// The name of the constraint.
        name: String,
        /// Whether the constraint may be missing.
        #[serde(default)]
        if_exists: bool,
    },
    /// Sets properties.
    SetProperties {
        /// The properties.
        properties: BTreeMap<String, String>,
    },
    /// Removes properties.
    UnsetProperties {
        /// The names of the properties.
        names: Vec<String>,
        /// Whether the properties may be missing.
        #[serde(default)]
        if_exists: bool,
    },
    /// Sets the name of the table.
    SetName {
        /// The name. `None` removes it.
        name: Option<String>,
    },
    /// Sets the description of the table.
    SetDescription {
        /// The description. `None` removes it.
        description: Option<String>,
    },
    /// Adds a table feature to the protocol.
    AddFeature {
        /// The name of the feature.
        name: String,
    },
}

/// A column that is added to a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewColumn {
    /// The path of the column. The struct around a field must exist.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub data_type: ColumnType,
    /// Whether null is allowed. Only a table without rows can get a column that forbids it.
    #[serde(default = "is_nullable")]
    pub nullable: bool,
    /// A comment for people.
    #[serde(default)]
    pub comment: Option<String>,
    /// Entries of the column's metadata, beside those that Delta keeps there: strings, numbers or
    /// booleans.
    #[serde(default)]
    pub metadata: BTreeMap<String, Value>,
    /// The SQL expression for the value of rows that do not give one. Only a table without rows can
    /// get a column with a default.
    #[serde(default)]
    pub default: Option<String>,
    /// The SQL expression that computes the column. Only a table without rows can get such a column.
    #[serde(default)]
    pub generated: Option<String>,
    /// The numbers of an identity column. Only a table without rows can get such a column.
    #[serde(default)]
    pub identity: Option<Identity>,
    /// The position. The default is the last one.
    #[serde(default)]
    pub position: Option<Position>,
}

/// The numbers of an identity column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Identity {
    /// The first number.
    pub start: i64,
    /// The step from each number to the next.
    pub step: i64,
    /// Whether rows may bring numbers of their own.
    pub allow_given: bool,
}

/// The position of a column among the columns of its struct.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Before all other columns.
    First,
    /// Behind the column of this name.
    After(String),
}

/// The type of a column, as the caller gives it.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnType {
    /// SQL text, such as `decimal(10,2)` or `varchar(10)`.
    Sql(String),
    /// A type.
    Type(DataType),
}

fn is_nullable() -> bool {
    true
}

impl Default for Identity {
    fn default() -> Self {
        Self { start: 1, step: 1, allow_given: false }
    }
}

impl NewColumn {
    /// Returns a column that allows null.
    pub fn new(name: impl Into<String>, data_type: impl Into<ColumnType>) -> Self {
        Self {
            name: name.into(),
            data_type: data_type.into(),
            nullable: true,
            comment: None,
            metadata: BTreeMap::new(),
            default: None,
            generated: None,
            identity: None,
            position: None,
        }
    }

    /// Returns the field of a schema that describes the column, under this name. The position is not
    /// part of it.
    ///
    /// # Errors
    /// If the type is not valid.
    pub fn field(&self, name: &str) -> Result<StructField> {
        let (data_type, lengths) = self.data_type.resolve()?;
        let mut field = StructField::new(name, data_type, self.nullable);
        check_own_metadata(&self.metadata)?;
        let own = self.metadata.iter().filter(|(_, value)| !value.is_null());
        field.metadata.extend(own.map(|(key, value)| (key.clone(), value.clone())));
        let mut note = |key: &str, text: Option<&String>| {
            if let Some(text) = text {
                field.metadata.insert(key.to_owned(), text.clone().into());
            }
        };
        note(CHAR_VARCHAR, lengths.as_ref());
        note(COMMENT, self.comment.as_ref());
        note(CURRENT_DEFAULT, self.default.as_ref());
        note(GENERATION_EXPRESSION, self.generated.as_ref());
        if let Some(identity) = self.identity {
            field.metadata.insert(IDENTITY_START.to_owned(), identity.start.into());
            field.metadata.insert(IDENTITY_STEP.to_owned(), identity.step.into());
            field.metadata.insert(IDENTITY_ALLOW_GIVEN.to_owned(), identity.allow_given.into());
        }
        Ok(field)
    }
}

impl ColumnType {
    /// Returns the type, and Spark's spelling of it if it has CHAR or VARCHAR strings.
    pub(super) fn resolve(&self) -> Result<(DataType, Option<String>)> {
        match self {
            Self::Sql(text) => parse_sql_type(text).map(|parsed| (parsed.data_type, parsed.lengths)),
            Self::Type(data_type) => Ok((data_type.clone(), None)),
        }
    }
}

impl From<&str> for ColumnType {
    fn from(text: &str) -> Self {
        Self::Sql(text.to_owned())
    }
}

impl From<DataType> for ColumnType {
    fn from(data_type: DataType) -> Self {
        Self::Type(data_type)
    }
}

/// Reads a type from `{"sql": text}` or `{"delta": type}`. The second form is that of schemas in the
/// log.
impl<'de> Deserialize<'de> for ColumnType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Given {
            Sql(String),
            Delta(Value),
        }
        match Given::deserialize(deserializer)? {
            Given::Sql(text) => Ok(Self::Sql(text)),
            Given::Delta(data_type) => {
                let field = json!({ "name": "column", "type": data_type, "nullable": true, "metadata": {} });
                let schema = parse(&json!({ "type": "struct", "fields": [field] }).to_string());
                let StructType { fields } = schema.map_err(D::Error::custom)?;
                fields.into_iter().next().map(|field| Self::Type(field.data_type)).ok_or_else(|| D::Error::custom("no type"))
            }
        }
    }
}
