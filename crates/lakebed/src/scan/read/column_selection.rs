//! Selects the output columns and their order. The paths that a caller names become a smaller
//! schema.
//!
//! `a` is a column, and `a.b` is a field of a struct. Inside arrays and maps, a path continues with
//! `element`, `key` and `value`. A name that contains dots is written in backticks, or is the whole
//! path. If only some fields of a struct are named, the struct has these fields in the order of the
//! table. Begin with [`ColumnSelection::select`].

use std::collections::BTreeMap;

use lakebed_core::schema::{ArrayType, DataType, MapType, StructField, StructType};

use crate::{Error, Result};

/// The number of names that an error lists at most.
const LISTED: usize = 20;

/// The output columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnSelection {
    schema: StructType,
}

/// The selected part of a column.
#[derive(Debug, Clone, PartialEq)]
enum FieldSelection {
    Whole,
    /// Parts by their position in the struct. The position of an array's element is 0. The position
    /// of a map's key is 0 and that of its value is 1.
    Parts(BTreeMap<usize, FieldSelection>),
}

impl ColumnSelection {
    /// Returns the part of `schema` that these paths name. Without paths it is the whole schema.
    pub(crate) fn select(schema: &StructType, paths: Option<&[String]>) -> Result<Self> {
        let Some(paths) = paths else { return Ok(Self { schema: schema.clone() }) };
        let mut order: Vec<usize> = Vec::new();
        let mut wanted: BTreeMap<usize, FieldSelection> = BTreeMap::new();
        for (index, path) in paths.iter().enumerate() {
            if paths.iter().take(index).any(|before| before == path) {
                return Err(Error::invalid_input(format!("column {path} is selected twice")));
            }
            let positions = resolve(schema, path)?;
            let Some((first, rest)) = positions.split_first() else { continue };
            if !order.contains(first) {
                order.push(*first);
            }
            add(&mut wanted, *first, rest);
        }
        let field = |index: &usize| Some(prune(schema.fields.get(*index)?, wanted.get(index)?));
        Ok(Self { schema: StructType { fields: order.iter().filter_map(field).collect() } })
    }

    /// Returns the part of `schema` at these paths, in the order of the table. The names must be
    /// exact, and the paths lead through structs only.
    pub(crate) fn at_paths(schema: &StructType, paths: &[Vec<String>]) -> Result<Self> {
        let mut wanted = BTreeMap::new();
        for path in paths {
            let positions = walk(schema, &path.join("."), path)?;
            if let Some((first, rest)) = positions.split_first() {
                add(&mut wanted, *first, rest);
            }
        }
        let fields = wanted.iter().filter_map(|(index, wanted)| Some(prune(schema.fields.get(*index)?, wanted)));
        Ok(Self { schema: StructType { fields: fields.collect() } })
    }

    /// Returns the smaller schema, in the order of the output.
    pub(crate) fn schema(&self) -> &StructType {
        &self.schema
    }

    /// Returns the smaller schema and consumes the selection.
    pub(crate) fn into_schema(self) -> StructType {
        self.schema
    }
}

fn add(wanted: &mut BTreeMap<usize, FieldSelection>, first: usize, rest: &[usize]) {
    let entry = wanted.entry(first).or_insert_with(|| FieldSelection::Parts(BTreeMap::new()));
    match (rest.split_first(), entry) {
        (None, entry) => *entry = FieldSelection::Whole,
        (Some((next, rest)), FieldSelection::Parts(parts)) => add(parts, *next, rest),
        (Some(_), FieldSelection::Whole) => {}
    }
}

fn prune(field: &StructField, wanted: &FieldSelection) -> StructField {
    StructField { data_type: prune_type(&field.data_type, wanted), ..field.clone() }
}

fn prune_type(data_type: &DataType, wanted: &FieldSelection) -> DataType {
    let FieldSelection::Parts(parts) = wanted else { return data_type.clone() };
    let part = |index: usize, whole: &DataType| match parts.get(&index) {
        Some(wanted) => prune_type(whole, wanted),
        // A map needs its keys, and its values cannot be left out either.
        None => whole.clone(),
    };
    match data_type {
        DataType::Primitive(primitive) => (*primitive).into(),
        DataType::Struct(fields) => {
            let kept = fields.fields.iter().enumerate().filter_map(|(index, field)| Some(prune(field, parts.get(&index)?)));
            StructType { fields: kept.collect() }.into()
        }
        DataType::Array(array) => ArrayType { element: part(0, &array.element), contains_null: array.contains_null }.into(),
        DataType::Map(map) => {
            MapType { key: map.key.clone(), value: part(1, &map.value), value_contains_null: map.value_contains_null }.into()
        }
    }
}

/// Returns the positions that lead to a path.
pub(crate) fn resolve(schema: &StructType, path: &str) -> Result<Vec<usize>> {
    if let Some(index) = schema.index_of(path) {
        return Ok(vec![index]);
    }
    let names = split(path).ok_or_else(|| Error::invalid_input(format!("column {path}: a backtick is not closed")))?;
    walk(schema, path, &names)
}

/// Returns the positions that lead to a path of these names.
fn walk(schema: &StructType, path: &str, names: &[String]) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(names.len());
    let whole = DataType::Struct(schema.clone());
    let mut data_type = &whole;
    for name in names {
        let (position, next) = match (data_type, name.as_str()) {
            (DataType::Struct(fields), name) => {
                let found = fields.index_of(name).and_then(|index| Some((index, &fields.fields.get(index)?.data_type)));
                found.ok_or_else(|| unknown(path, name, fields))?
            }
            (DataType::Array(array), "element") => (0, &array.element),
            (DataType::Map(map), "key") => (0, &map.key),
            (DataType::Map(map), "value") => (1, &map.value),
            (DataType::Array(_), _) => {
                return Err(Error::invalid_input(format!("column {path}: inside an array only `element` follows")));
            }
            (DataType::Map(_), _) => {
                return Err(Error::invalid_input(format!("column {path}: inside a map only `key` or `value` follows")));
            }
            (DataType::Primitive(primitive), name) => {
                return Err(Error::invalid_input(format!("column {path}: a {primitive} has no field {name}")));
            }
        };
        positions.push(position);
        data_type = next;
    }
    Ok(positions)
}

fn unknown(path: &str, name: &str, fields: &StructType) -> Error {
    let names: Vec<&str> = fields.fields.iter().map(|field| field.name.as_str()).collect();
    let twins = names.iter().filter(|other| other.to_lowercase() == name.to_lowercase()).count();
    if twins > 1 {
        return Error::invalid_input(format!(
            "column {path}: {twins} columns have the name {name} in different case; write it exactly"
        ));
    }
    let listed = names.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > LISTED { ", …" } else { "" };
    Error::invalid_input(format!("there is no column {path}; there are: {listed}{more}"))
}

/// Splits a path at its dots, except at dots in backticks. A doubled backtick stands for one.
pub(crate) fn split(path: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut quoted = false;
    let mut letters = path.chars().peekable();
    while let Some(letter) = letters.next() {
        let name = names.last_mut()?;
        match letter {
            '`' if quoted && letters.peek() == Some(&'`') => name.extend(letters.next()),
            '`' => quoted = !quoted,
            '.' if !quoted => names.push(String::new()),
            letter => name.push(letter),
        }
    }
    (!quoted).then_some(names)
}

#[cfg(test)]
mod tests {
    use lakebed_core::schema::parse;

    use super::*;

    /// `id long, s struct<x long, y struct<p string, q string>>, list array<struct<u long, v
    /// long>>, m map<string, struct<k long, l long>>, a.b long, Ä string`.
    fn schema() -> StructType {
        let field =
            |name: &str, data_type: &str| format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#);
        let fields = |fields: &[String]| format!(r#"{{"type":"struct","fields":[{}]}}"#, fields.join(","));
        let y = fields(&[field("p", "\"string\""), field("q", "\"string\"")]);
        let list = format!(
            r#"{{"type":"array","elementType":{},"containsNull":true}}"#,
            fields(&[field("u", "\"long\""), field("v", "\"long\"")])
        );
        let map = format!(
            r#"{{"type":"map","keyType":"string","valueType":{},"valueContainsNull":true}}"#,
            fields(&[field("k", "\"long\""), field("l", "\"long\"")])
        );
        parse(&fields(&[
            field("id", "\"long\""),
            field("s", &fields(&[field("x", "\"long\""), field("y", &y)])),
            field("list", &list),
            field("m", &map),
            field("a.b", "\"long\""),
            field("Ä", "\"string\""),
        ]))
        .unwrap()
    }

    /// Writes a schema as `name`, `name{fields}`, `name[element]`, `name<key,value>`.
    fn print(schema: &StructType) -> String {
        fn print_type(data_type: &DataType) -> String {
            match data_type {
                DataType::Primitive(_) => String::new(),
                DataType::Struct(fields) => format!("{{{}}}", print(fields)),
                DataType::Array(array) => format!("[{}]", print_type(&array.element)),
                DataType::Map(map) => format!("<{},{}>", print_type(&map.key), print_type(&map.value)),
            }
        }
        schema.fields.iter().map(|field| format!("{}{}", field.name, print_type(&field.data_type))).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(paths: &[&str], expected: &str) {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(print(ColumnSelection::select(&schema(), Some(&paths)).unwrap().schema()), expected);
    }

    #[track_caller]
    fn check_error(paths: &[&str], expected: &str) {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(ColumnSelection::select(&schema(), Some(&paths)).unwrap_err().message(), expected);
    }

    #[test]
    fn without_paths_everything_comes_out() {
        assert_eq!(ColumnSelection::select(&schema(), None).unwrap().schema(), &schema());
        check(&[], "");
    }

    #[test]
    fn columns_keep_order_of_selection() {
        check(&["m", "id"], "m<,{k l}> id");
        check(&["ID", "ä"], "id Ä");
    }

    #[test]
    fn parts_of_structs_keep_their_struct() {
        check(&["s.y.q"], "s{y{q}}");
        check(&["s.y.q", "id", "s.x"], "s{x y{q}} id");
        check(&["s.x", "s"], "s{x y{p q}}");
        check(&["s", "s.x"], "s{x y{p q}}");
        check(&["list.element.v"], "list[{v}]");
        check(&["m.value.l"], "m<,{l}>");
        check(&["m.key"], "m<,{k l}>");
    }

    #[test]
    fn dotted_name_matches_whole_or_in_backticks() {
        check(&["a.b"], "a.b");
        check(&["`a.b`", "`s`.x"], "a.b s{x}");
    }

    #[test]
    fn exact_paths_keep_order_of_table() {
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let paths = [path(&["a.b"]), path(&["s", "y", "q"]), path(&["id"]), path(&["s", "x"])];
        assert_eq!(print(ColumnSelection::at_paths(&schema(), &paths).unwrap().schema()), "id s{x y{q}} a.b");
        let error = ColumnSelection::at_paths(&schema(), &[path(&["nope"])]).map(|_| ()).unwrap_err();
        assert_eq!(error.message(), "there is no column nope; there are: id, s, list, m, a.b, Ä");
    }

    #[test]
    fn missing_column_error_lists_columns() {
        check_error(&["nope"], "there is no column nope; there are: id, s, list, m, a.b, Ä");
        check_error(&["s.z"], "there is no column s.z; there are: x, y");
        check_error(&["id.x"], "column id.x: a long has no field x");
        check_error(&["list.u"], "column list.u: inside an array only `element` follows");
        check_error(&["m.k"], "column m.k: inside a map only `key` or `value` follows");
        check_error(&["`a.b"], "column `a.b: a backtick is not closed");
        check_error(&["id", "id"], "column id is selected twice");
    }
}
