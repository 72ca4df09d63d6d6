//! Changes of the types of columns: wider types, and longer strings.

use lakebed_core::schema::char_varchar::CHAR_VARCHAR;
use lakebed_core::schema::field_metadata::{GENERATION_EXPRESSION, IDENTITY_START};
use lakebed_core::schema::widen::{TYPE_CHANGES, is_widening};
use lakebed_core::schema::{DataType, PrimitiveType, StructField};
use serde_json::{Value, json};

use super::columns::refuse_used;
use super::dependents::uses;
use super::draft::ChangeDraft;
use super::iceberg::is_widening_of_iceberg;
use super::place::ColumnPlace;
use super::value::ColumnType;
use crate::{Error, Result};

impl ChangeDraft {
    pub(super) fn change_type(&mut self, column: &str, new: &ColumnType) -> Result<()> {
        let place = ColumnPlace::find(&self.schema, column)?;
        let name = place.name();
        let (data_type, lengths) = new.resolve().map_err(|error| error.within(format!("column {name}")))?;
        let old = place.data_type(&mut self.schema)?.clone();
        let (DataType::Primitive(from), DataType::Primitive(to)) = (&old, &data_type) else {
            return Err(nested(&name, &old, &data_type));
        };
        if is_text(*from) && is_text(*to) {
            return self.change_length(&place, &data_type, lengths.as_deref());
        }
        if from == to {
            return Ok(());
        }
        self.check_widening(&name, *from, *to)?;
        self.refuse_computed(&place)?;
        refuse_used(&name, &format!("changed to {to}"), uses(self, &place, &[])?)?;
        self.with_lengths(&place, |draft| {
            *place.data_type(&mut draft.schema)? = data_type.clone();
            Ok(())
        })?;
        let (nearest, rest) = place.nearest_field(&self.schema)?;
        let field = nearest.field(&mut self.schema, "types")?;
        let mut change = json!({ "toType": to.to_string(), "fromType": from.to_string() });
        if !rest.is_empty() {
            change["fieldPath"] = rest.join(".").into();
        }
        match field.metadata.entry(TYPE_CHANGES).or_insert_with(|| json!([])) {
            Value::Array(changes) => changes.push(change),
            _ => return Err(Error::corrupt(format!("schema: column {name}"), format!("{TYPE_CHANGES} is not a list"))),
        }
        let changed = match rest.last() {
            None => field.clone(),
            Some(part) => StructField::new(part, data_type, part != "key"),
        };
        self.changed(&place, &changed, None);
        Ok(())
    }

    /// Refuses another type for a column that the table computes. Its values have the type of the
    /// expression, or of identity numbers.
    fn refuse_computed(&mut self, place: &ColumnPlace) -> Result<()> {
        if !place.is_top_level() {
            return Ok(());
        }
        let field = place.field(&mut self.schema, "types")?;
        let computed = [(GENERATION_EXPRESSION, "generated column"), (IDENTITY_START, "identity column")];
        match computed.into_iter().find(|(key, _)| field.metadata.contains_key(*key)) {
            Some((_, what)) => {
                Err(Error::invalid_input(format!("column {}: the type of a {what} cannot be changed", place.name())))
            }
            None => Ok(()),
        }
    }

    fn check_widening(&self, name: &str, from: PrimitiveType, to: PrimitiveType) -> Result<()> {
        if !is_widening(from, to) {
            return Err(Error::invalid_input(format!(
                "column {name}: its type {from} cannot become {to}, because old values might not fit; only wider types are allowed"
            )));
        }
        let properties = self.properties()?;
        if !properties.type_widening {
            return Err(Error::invalid_input(format!(
                "column {name}: its type {from} can become {to} only if the table allows it; set the property \
                 delta.enableTypeWidening to true first"
            )));
        }
        let is_iceberg = properties.iceberg_compat_v1 || properties.iceberg_compat_v2;
        if is_iceberg && !is_widening_of_iceberg(from, to) {
            return Err(Error::invalid_input(format!(
                "column {name}: its type {from} cannot become {to}, because Iceberg does not know this change"
            )));
        }
        Ok(())
    }

    /// Changes the greatest length of a column of strings.
    fn change_length(&mut self, place: &ColumnPlace, data_type: &DataType, lengths: Option<&str>) -> Result<()> {
        let name = place.name();
        let top = place.top_level();
        let old = top.field(&mut self.schema, "lengths")?.metadata.get(CHAR_VARCHAR).cloned();
        if !place.is_top_level() {
            return match (&old, lengths) {
                (None, None) => Ok(()),
                _ => Err(Error::invalid_input(format!(
                    "column {name}: the length of strings inside other columns cannot be changed"
                ))),
            };
        }
        let field = top.field(&mut self.schema, "lengths")?;
        let old = old.as_ref().and_then(Value::as_str).map(str::to_lowercase);
        let is_allowed = match (old.as_deref(), lengths) {
            (old, new) if old == new => return Ok(()),
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(old), Some(new)) => match (bound(old), bound(new)) {
                (Some((_, old)), Some(("varchar", new))) => new >= old,
                _ => false,
            },
        };
        if !is_allowed {
            let (old, new) = (old.as_deref().unwrap_or("string"), lengths.unwrap_or("string"));
            return Err(Error::invalid_input(format!(
                "column {name}: its type {old} cannot become {new}, because old values might not fit; a char or varchar can \
                 become a varchar that is not shorter, or string"
            )));
        }
        match lengths {
            Some(lengths) => field.metadata.insert(CHAR_VARCHAR.to_owned(), lengths.into()),
            None => field.metadata.remove(CHAR_VARCHAR),
        };
        field.data_type = data_type.clone();
        let field = field.clone();
        self.changed(place, &field, None);
        Ok(())
    }
}

fn is_text(primitive: PrimitiveType) -> bool {
    matches!(primitive, PrimitiveType::String | PrimitiveType::Char { .. })
}

/// Returns the kind and the length of `char(n)` or `varchar(n)`.
fn bound(words: &str) -> Option<(&str, u32)> {
    let (kind, length) = words.trim().strip_suffix(')')?.split_once('(')?;
    Some((kind.trim(), length.trim().parse().ok()?))
}

fn nested(name: &str, old: &DataType, new: &DataType) -> Error {
    let place = match old {
        DataType::Struct(_) => format!("; name the field to change, as in {name}.field"),
        DataType::Array(_) => format!("; name its elements as {name}.element"),
        DataType::Map(_) => format!("; name its keys or values as {name}.key or {name}.value"),
        DataType::Primitive(_) => String::new(),
    };
    Error::invalid_input(format!("column {name}: its type {old} cannot become {new}{place}"))
}
