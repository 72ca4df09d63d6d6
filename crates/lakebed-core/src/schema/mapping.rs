//! Column mapping: the physical name and the field id of each logical column. PROTOCOL "Column
//! Mapping".
//!
//! Data files, statistics, partition values and clustering columns use physical names. The names in
//! the schema and in `metaData.partitionColumns` are logical. [`to_physical`] translates a whole
//! schema, and [`physical_path`] translates one column.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use super::types::{ArrayType, DataType, MapType, StructField, StructType};
use crate::{Error, Result};

/// The key of the physical name in a field's metadata.
pub const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";
/// The key of the field id in a field's metadata.
pub const FIELD_ID: &str = "delta.columnMapping.id";
/// The key of the ids of elements, keys and values in the metadata of the field above them.
pub const NESTED_IDS: &str = "delta.columnMapping.nested.ids";
/// The property with the way in which columns of data files are found.
pub const MODE: &str = "delta.columnMapping.mode";
/// The property with the highest id of a column that the table ever had.
pub const MAX_COLUMN_ID: &str = "delta.columnMapping.maxColumnId";
/// The property of a table whose columns were dropped or renamed. It stays true.
pub const DROPPED_OR_RENAMED: &str = "delta.columnMapping.hasDroppedOrRenamed";

/// The way in which columns of data files are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MappingMode {
    /// Columns are found by the names of the schema.
    #[default]
    None,
    /// Columns are found by the Parquet field ids that the schema's metadata holds.
    Id,
    /// Columns are found by the physical names that the schema's metadata holds.
    Name,
}

impl FromStr for MappingMode {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "none" => Ok(Self::None),
            "id" => Ok(Self::Id),
            "name" => Ok(Self::Name),
            _ => Err("must be none, id or name".to_owned()),
        }
    }
}

impl fmt::Display for MappingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Id => "id",
            Self::Name => "name",
        })
    }
}

/// Returns the name that data files, statistics and partition values use for a field.
///
/// Without column mapping, physical names in the schema have no meaning. They may be left over from
/// a time when the table had a mapping.
pub fn physical_name(field: &StructField, mode: MappingMode) -> &str {
    match mode {
        MappingMode::None => &field.name,
        MappingMode::Id | MappingMode::Name => {
            field.metadata.get(PHYSICAL_NAME).and_then(|name| name.as_str()).unwrap_or(&field.name)
        }
    }
}

/// Returns the field id that the schema's metadata holds. The id has a meaning only in a schema of
/// [`to_physical`], or when the mode is not `none`.
pub fn field_id(field: &StructField) -> Option<i32> {
    field.metadata.get(FIELD_ID)?.as_i64()?.try_into().ok()
}

/// Refuses a schema in which two columns claim the same data: the same field id anywhere in it, or
/// the same physical path.
pub fn check_mapping(schema: &StructType, mode: MappingMode) -> Result<()> {
    if mode == MappingMode::None {
        return Ok(());
    }
    Claims { mode, ids: HashMap::new() }.check_struct(schema, "")
}

/// The columns that have claimed ids.
struct Claims {
    mode: MappingMode,
    ids: HashMap<i32, String>,
}

impl Claims {
    /// Checks the fields of one struct. Fields of structs below different parents may have the same
    /// physical names, but fields of one struct must have different ones.
    fn check_struct(&mut self, fields: &StructType, place: &str) -> Result<()> {
        let mut names: HashMap<&str, &str> = HashMap::with_capacity(fields.fields.len());
        for field in &fields.fields {
            let column = format!("{place}{}", field.name);
            let physical = physical_name(field, self.mode);
            if let Some(other) = names.insert(physical, &field.name) {
                return Err(claimed(&column, &format!("{place}{other}"), &format!("physical name {physical:?}")));
            }
            if let Some(id) = field_id(field)
                && let Some(other) = self.ids.insert(id, column.clone())
            {
                return Err(claimed(&column, &other, &format!("field id {id}")));
            }
            self.check_parts(&field.data_type, &column)?;
        }
        Ok(())
    }

    fn check_parts(&mut self, data_type: &DataType, column: &str) -> Result<()> {
        match data_type {
            DataType::Primitive(_) => Ok(()),
            DataType::Struct(fields) => self.check_struct(fields, &format!("{column}.")),
            DataType::Array(array) => self.check_parts(&array.element, &format!("{column}.element")),
            DataType::Map(map) => {
                self.check_parts(&map.key, &format!("{column}.key"))?;
                self.check_parts(&map.value, &format!("{column}.value"))
            }
        }
    }
}

fn claimed(column: &str, other: &str, what: &str) -> Error {
    Error::corrupt(format!("schema: column {column}"), format!("has the {what}, which is that of column {other}"))
}

/// Returns the schema as data files have it: with physical names at every level, and with the field
/// ids still in the metadata. Without column mapping, the names stay and leftover mapping metadata
/// is removed.
pub fn to_physical(schema: &StructType, mode: MappingMode) -> StructType {
    StructType { fields: schema.fields.iter().map(|field| field_to_physical(field, mode)).collect() }
}

/// Returns the physical path of a column given by logical names, or `None` if there is no such
/// column. Inside arrays and maps the path continues with `element`, `key` and `value`.
pub fn physical_path(schema: &StructType, logical: &[&str], mode: MappingMode) -> Option<Vec<String>> {
    let (first, rest) = logical.split_first()?;
    let field = schema.field(first)?;
    let mut path = vec![physical_name(field, mode).to_owned()];
    let mut data_type = &field.data_type;
    for name in rest {
        data_type = match (data_type, *name) {
            (DataType::Struct(fields), name) => {
                let field = fields.field(name)?;
                path.push(physical_name(field, mode).to_owned());
                &field.data_type
            }
            (part, name) => {
                path.push(name.to_owned());
                match (part, name) {
                    (DataType::Array(array), "element") => &array.element,
                    (DataType::Map(map), "key") => &map.key,
                    (DataType::Map(map), "value") => &map.value,
                    _ => return None,
                }
            }
        };
    }
    Some(path)
}

fn field_to_physical(field: &StructField, mode: MappingMode) -> StructField {
    let mut metadata = field.metadata.clone();
    if mode == MappingMode::None {
        metadata.retain(|key, _| !matches!(key.as_str(), PHYSICAL_NAME | FIELD_ID | NESTED_IDS));
    }
    StructField {
        name: physical_name(field, mode).to_owned(),
        data_type: type_to_physical(&field.data_type, mode),
        nullable: field.nullable,
        metadata,
    }
}

fn type_to_physical(data_type: &DataType, mode: MappingMode) -> DataType {
    match data_type {
        DataType::Primitive(primitive) => DataType::Primitive(*primitive),
        DataType::Struct(fields) => DataType::Struct(to_physical(fields, mode)),
        DataType::Array(array) => {
            ArrayType { element: type_to_physical(&array.element, mode), contains_null: array.contains_null }.into()
        }
        DataType::Map(map) => MapType {
            key: type_to_physical(&map.key, mode),
            value: type_to_physical(&map.value, mode),
            value_contains_null: map.value_contains_null,
        }
        .into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::arbitrary::any_struct;
    use super::*;
    use crate::kit::schema::{array_of, field_with, map_of, schema, struct_of};

    /// Returns a schema with column mapping: `id` as `c1` (1), `s` as `c2` (2) with `x` as `c3`
    /// (3), `a` as `c4` (4), an array of a struct with `y` as `c5` (5), and `m` as `c6` (6), a map.
    fn mapped() -> StructType {
        let field = |name: &str, id: u8, data_type: &str| {
            let metadata = format!(r#""comment":"k","delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"c{id}""#);
            field_with(name, data_type, &metadata)
        };
        let list = array_of(&struct_of(&[field("y", 5, "long")]));
        let map = map_of("string", &struct_of(&[field("z", 7, "long")]));
        schema(&[
            field("id", 1, "long"),
            field("s", 2, &struct_of(&[field("x", 3, "string")])),
            field("a", 4, &list),
            field("m", 6, &map),
        ])
    }

    #[test]
    fn map_schema_renames_every_level_keeps_ids() {
        for mode in [MappingMode::Id, MappingMode::Name] {
            let json = to_physical(&mapped(), mode).to_json();
            let names: Vec<&str> = json.split(r#""name":""#).skip(1).filter_map(|rest| rest.split('"').next()).collect();
            assert_eq!(names, ["c1", "c2", "c3", "c4", "c5", "c6", "c7"]);
            let physical = to_physical(&mapped(), mode);
            assert_eq!(physical.fields.iter().map(field_id).collect::<Vec<_>>(), [Some(1), Some(2), Some(4), Some(6)]);
        }
    }

    #[test]
    fn without_mapping_stray_metadata_means_nothing() {
        let physical = to_physical(&mapped(), MappingMode::None);
        let json = physical.to_json();
        assert!(!json.contains("columnMapping"), "{json}");
        assert_eq!(json.matches(r#""comment":"k""#).count(), 7);
        assert_eq!(physical.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["id", "s", "a", "m"]);
        assert_eq!(physical.fields.iter().filter_map(field_id).count(), 0);
    }

    #[test]
    fn map_field_without_physical_name_keeps_name() {
        let field = StructField::new("plain", super::super::PrimitiveType::Long, true);
        assert_eq!(physical_name(&field, MappingMode::Name), "plain");
        assert_eq!(field_id(&field), None);
    }

    #[track_caller]
    fn check_path(logical: &[&str], mode: MappingMode, expected: Option<&[&str]>) {
        let path = physical_path(&mapped(), logical, mode);
        assert_eq!(path, expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect()));
    }

    #[test]
    fn paths_go_through_structs_arrays_and_maps() {
        check_path(&["ID"], MappingMode::Name, Some(&["c1"]));
        check_path(&["s", "x"], MappingMode::Id, Some(&["c2", "c3"]));
        check_path(&["a", "element", "y"], MappingMode::Name, Some(&["c4", "element", "c5"]));
        check_path(&["m", "value", "z"], MappingMode::Name, Some(&["c6", "value", "c7"]));
        check_path(&["m", "key"], MappingMode::Name, Some(&["c6", "key"]));
        check_path(&["S", "X"], MappingMode::None, Some(&["s", "x"]));
        for missing in [&[][..], &["nope"], &["s", "nope"], &["id", "x"], &["a", "y"], &["m", "element"]] {
            check_path(missing, MappingMode::Name, None);
        }
    }

    /// Checks a schema with the columns `a` and `s`, and `x` and `y` in `s`, which have these ids
    /// and physical names.
    #[track_caller]
    fn check_claims(fields: [(u8, &str); 4], expected: Option<&str>) {
        let [a, s, x, y] = fields;
        let field = |name: &str, (id, physical): (u8, &str), data_type: &str| {
            let metadata = format!(r#""delta.columnMapping.id":{id},"delta.columnMapping.physicalName":"{physical}""#);
            field_with(name, data_type, &metadata)
        };
        let inner = struct_of(&[field("x", x, "long"), field("y", y, "long")]);
        let list = array_of(&inner);
        let schema = schema(&[field("a", a, "long"), field("s", s, &list)]);
        for mode in [MappingMode::Id, MappingMode::Name] {
            let found = check_mapping(&schema, mode).map_err(|error| (error.is_corrupt(), error.message().to_owned()));
            assert_eq!(found.err(), expected.map(|expected| (true, expected.to_owned())));
        }
        check_mapping(&schema, MappingMode::None).unwrap();
    }

    #[test]
    fn no_two_columns_claim_the_same_data() {
        check_claims([(1, "p"), (2, "q"), (3, "p"), (4, "q")], None);
        check_claims(
            [(1, "p"), (2, "p"), (3, "x"), (4, "y")],
            Some("schema: column s: has the physical name \"p\", which is that of column a"),
        );
        check_claims(
            [(1, "p"), (2, "q"), (3, "r"), (4, "r")],
            Some("schema: column s.element.y: has the physical name \"r\", which is that of column s.element.x"),
        );
        check_claims(
            [(1, "p"), (2, "q"), (3, "r"), (1, "t")],
            Some("schema: column s.element.y: has the field id 1, which is that of column a"),
        );
    }

    #[test]
    fn modes_are_read_without_regard_to_case() {
        for mode in [MappingMode::None, MappingMode::Id, MappingMode::Name] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(mode.to_string().to_uppercase().parse(), Ok(mode));
        }
        assert_eq!("ids".parse::<MappingMode>(), Err("must be none, id or name".to_owned()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn map_schema_without_mapping_changes_nothing(schema in any_struct()) {
            for mode in [MappingMode::None, MappingMode::Id, MappingMode::Name] {
                prop_assert_eq!(&to_physical(&schema, mode), &schema);
            }
        }
    }
}
