//! Assignments of values to columns: evaluates the expressions of SET and casts the values to the
//! types of the columns.
//!
//! A value for a primitive column is cast with CAST. For any other type, the value must have the
//! fields of the column by name, and CAST converts the values of the fields. All values are
//! computed from the rows before the change. Begin with [`Assignments::new`], then
//! [`Assignments::apply`].

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema};
use lakebed_core::feature::upgrade::{CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_START};
use lakebed_core::schema::arrow::{schema_from_arrow, type_to_arrow};
use lakebed_core::schema::assign::{Difference, DifferenceKind, compare};
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};
use lakebed_expr::{Expression, can_cast, field_index, nearest_name, parse_path, struct_fields};
use serde_json::Value;

use crate::write::OnLossy;
use crate::write::convert::fit;
use crate::{Error, Result};

/// Parses the text of a value to an expression.
pub(crate) type Parse<'p> = dyn Fn(&str) -> Result<Expression> + 'p;

/// The assignments of an UPDATE or of a merge clause that updates.
#[derive(Debug)]
pub(crate) struct Assignments {
    schema: StructType,
    absent: Absent,
    sets: Vec<Set>,
}

/// One column or field and the value that is assigned to it.
#[derive(Debug)]
struct Set {
    /// The path of indexes that leads to the field, from the column down.
    places: Vec<usize>,
    /// The name of the column or field, for messages.
    name: String,
    value: Expression,
}

/// The treatment of fields of a struct that a new value lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// A value that lacks fields is refused.
    Refused,
    /// The fields become null.
    Null,
    /// The fields keep their values.
    Kept,
}

impl Assignments {
    /// Parses assignments: the names of columns and fields, with fields as `a.b`, and the texts of
    /// their values. `DEFAULT` means the default of a column.
    ///
    /// # Errors
    /// If a column does not exist or is assigned twice, or if a value cannot be parsed or does not
    /// fit.
    pub(crate) fn new(schema: &StructType, given: &[(String, String)], parse: &Parse<'_>) -> Result<Self> {
        Self::with(schema, given, Absent::Refused, parse)
    }

    /// Parses assignments as [`Self::new`] does. `absent` determines how missing fields of a value
    /// are treated.
    pub(crate) fn with(schema: &StructType, given: &[(String, String)], absent: Absent, parse: &Parse<'_>) -> Result<Self> {
        let mut seen: Vec<(Vec<usize>, String)> = Vec::with_capacity(given.len());
        let mut sets = Vec::with_capacity(given.len());
        for (column, text) in given {
            let (places, field) = find(schema, &column_path(column)?)?;
            let name = name_of(schema, &places);
            if let Some((_, other)) = seen.iter().find(|(other, _)| places.starts_with(other) || other.starts_with(&places)) {
                return Err(Error::predicate(match *other == name {
                    true => format!("column {name} is assigned more than once"),
                    false => format!("columns {other} and {name} are both assigned, but one is a part of the other"),
                }));
            }
            if field.metadata.contains_key(IDENTITY_START) {
                return Err(Error::invalid_input(format!("column {name} is an identity column, which cannot be assigned")));
            }
            if let Some(value) = value(field, text, absent, parse).map_err(|error| error.within(format!("column {name}")))? {
                sets.push(Set { places: places.clone(), name: name.clone(), value });
            }
            seen.push((places, name));
        }
        Ok(Self { schema: schema.clone(), absent, sets })
    }

    /// Returns the indexes of the columns that are assigned, in full or in part.
    pub(crate) fn columns(&self) -> BTreeSet<usize> {
        self.sets.iter().filter_map(|set| set.places.first().copied()).collect()
    }

    /// Returns the paths of the columns from which the values are computed.
    pub(crate) fn reads(&self) -> Vec<Vec<String>> {
        let paths: BTreeSet<Vec<String>> = self.sets.iter().flat_map(|set| set.value.columns()).collect();
        paths.into_iter().collect()
    }

    /// Returns the columns after the assignments. `before` are all columns of the table as [`fit`]
    /// returns them. `over` has the input columns of the values for the same rows.
    pub(crate) fn apply(&self, before: &[ArrayRef], over: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let mut after = before.to_vec();
        for set in &self.sets {
            let value = set.value.evaluate(over).map_err(|error| error.within(format!("column {}", set.name)))?;
            let (place, below) = set.places.split_first().ok_or_else(|| Error::internal("an assignment has no column"))?;
            let (Some(column), Some(field)) = (after.get_mut(*place), self.schema.fields.get(*place)) else {
                return Err(Error::internal("an assignment has an unknown column"));
            };
            *column = self.put(set, column, &field.data_type, below, &value)?;
        }
        Ok(after)
    }

    /// Returns the column with the value at the path `below` it.
    fn put(&self, set: &Set, column: &ArrayRef, data_type: &DataType, below: &[usize], value: &ArrayRef) -> Result<ArrayRef> {
        let Some((place, below)) = below.split_first() else {
            return match self.absent {
                Absent::Kept => laid_over(value, column, data_type, &set.name),
                Absent::Refused | Absent::Null => fit(value, data_type, OnLossy::Error, &set.name),
            };
        };
        let (DataType::Struct(fields), Some(of_struct)) = (data_type, column.as_struct_opt()) else {
            return Err(Error::internal(format!("column {}: the column of an assigned field is not a struct", set.name)));
        };
        let mut children = struct_fields(of_struct)?;
        let (Some(field), Some(child)) = (fields.fields.get(*place), children.get_mut(*place)) else {
            return Err(Error::internal(format!("column {}: an assigned field does not exist", set.name)));
        };
        *child = self.put(set, child, &field.data_type, below, value)?;
        // A struct that was null is no longer null, because a field is assigned.
        Ok(Arc::new(StructArray::try_new_with_length(of_struct.fields().clone(), children, None, of_struct.len())?))
    }
}

/// Parses the path of a column, such as `a.b`; names that are not identifiers have backticks. A
/// text that is not a path is one name.
pub(crate) fn column_path(text: &str) -> Result<Vec<String>> {
    match parse_path(text) {
        Ok(path) => Ok(path.unwrap_or_else(|| vec![text.to_owned()])),
        Err(_) if !text.trim().is_empty() && !text.contains(['.', '`']) => Ok(vec![text.to_owned()]),
        Err(error) => Err(error),
    }
}

/// Returns a column or field of a table and the path of indexes that leads to it.
pub(crate) fn find<'s>(schema: &'s StructType, path: &[String]) -> Result<(Vec<usize>, &'s StructField)> {
    let (mut fields, mut places, mut found) = (schema, Vec::with_capacity(path.len()), None::<&StructField>);
    for name in path {
        if let Some(above) = found {
            let DataType::Struct(below) = &above.data_type else {
                let message = format!("`{}` is not a struct, so it has no fields that can be assigned", name_of(schema, &places));
                return Err(Error::predicate(message));
            };
            fields = below;
        }
        let place = fields.index_of(name).ok_or_else(|| unknown(fields, name, found))?;
        found = fields.fields.get(place);
        places.push(place);
    }
    found.map(|field| (places, field)).ok_or_else(|| Error::predicate("an assignment has an empty column name"))
}

fn unknown(fields: &StructType, name: &str, above: Option<&StructField>) -> Error {
    let names = || fields.fields.iter().map(|field| field.name.as_str());
    let what = match above {
        Some(above) => format!("column {} has no field `{name}`", above.name),
        None => format!("the table has no column `{name}`"),
    };
    Error::predicate(match nearest_name(name, names()) {
        Some(near) => format!("{what}; did you mean `{near}`?"),
        None => format!("{what}; it has {}", names().take(12).collect::<Vec<_>>().join(", ")),
    })
}

/// Returns the name of a column or field for messages.
fn name_of(schema: &StructType, places: &[usize]) -> String {
    let (mut fields, mut names) = (Some(schema), Vec::with_capacity(places.len()));
    for place in places {
        let Some(field) = fields.and_then(|fields| fields.fields.get(*place)) else { break };
        names.push(field.name.as_str());
        fields = if let DataType::Struct(below) = &field.data_type { Some(below) } else { None };
    }
    names.join(".")
}

/// Returns the value for a column, cast to the column's type as far as CAST can; None if the table
/// computes the value.
pub(crate) fn value(field: &StructField, text: &str, absent: Absent, parse: &Parse<'_>) -> Result<Option<Expression>> {
    if !text.trim().eq_ignore_ascii_case("default") {
        return typed(parse(text)?, field, absent).map(Some);
    }
    if is_computed(field) {
        return Ok(None);
    }
    let default = field.metadata.get(CURRENT_DEFAULT).and_then(Value::as_str).unwrap_or("NULL");
    typed(parse(default)?, field, absent).map(Some)
}

/// Returns whether the table computes the values of a column.
pub(crate) fn is_computed(field: &StructField) -> bool {
    [GENERATION_EXPRESSION, IDENTITY_START].iter().any(|key| field.metadata.contains_key(*key))
}

fn typed(mut value: Expression, field: &StructField, absent: Absent) -> Result<Expression> {
    use PrimitiveType as P;
    match &field.data_type {
        DataType::Primitive(P::Variant | P::Void | P::YearMonthInterval | P::DayTimeInterval) => {}
        DataType::Primitive(_) => return value.cast_to(&type_to_arrow(&field.data_type)?),
        DataType::Struct(_) | DataType::Array(_) | DataType::Map(_) => {
            let wanted = with_parts_of(&value.data_type, &field.data_type)?;
            if wanted != value.data_type && can_cast(&value.data_type, &wanted) {
                value = value.cast_to(&wanted)?;
            }
        }
    }
    check_shape(&value, field, absent)?;
    Ok(value)
}

/// Returns the type of a value in which each part has the type of the same part of the column, if
/// the column has that part.
fn with_parts_of(given: &ArrowType, to: &DataType) -> Result<ArrowType> {
    use PrimitiveType as P;
    let field = |given: &FieldRef, to: &DataType| {
        let part = with_parts_of(given.data_type(), to)?;
        Ok::<_, Error>(Arc::new(given.as_ref().clone().with_data_type(part)))
    };
    Ok(match (given, to) {
        (ArrowType::Struct(fields), DataType::Struct(to)) => {
            let part = |given: &FieldRef| match to.index_of(given.name()).and_then(|place| to.fields.get(place)) {
                Some(to) => field(given, &to.data_type),
                None => Ok(Arc::clone(given)),
            };
            ArrowType::Struct(fields.iter().map(part).collect::<Result<_>>()?)
        }
        (ArrowType::List(element), DataType::Array(to)) => ArrowType::List(field(element, &to.element)?),
        (ArrowType::Map(entries, sorted), DataType::Map(to)) => {
            let ArrowType::Struct(fields) = entries.data_type() else { return Ok(given.clone()) };
            let parts = fields.iter().zip([&to.key, &to.value]).map(|(given, to)| field(given, to));
            let entries = entries.as_ref().clone().with_data_type(ArrowType::Struct(parts.collect::<Result<_>>()?));
            ArrowType::Map(Arc::new(entries), *sorted)
        }
        (_, DataType::Primitive(P::Variant | P::Void | P::YearMonthInterval | P::DayTimeInterval)) => given.clone(),
        (ArrowType::Null, _) | (_, DataType::Primitive(_)) => type_to_arrow(to)?,
        _ => given.clone(),
    })
}

/// Refuses a value if its parts differ from the parts of the column.
fn check_shape(value: &Expression, field: &StructField, absent: Absent) -> Result<()> {
    let data = schema_from_arrow(&Schema::new(vec![Field::new(&field.name, value.data_type.clone(), true)]))?;
    let table = StructType { fields: vec![StructField::new(&field.name, field.data_type.clone(), true)] };
    let keeps = |difference: &Difference| match &difference.kind {
        DifferenceKind::NotInData(_) => absent == Absent::Kept,
        // A variant is a struct of binaries. Only its values show whether a struct is a variant.
        DifferenceKind::Type { table, data } => *table == PrimitiveType::Variant.into() && matches!(data, DataType::Struct(_)),
        DifferenceKind::NotInTable(_) => false,
    };
    let differences: Vec<String> = compare(&table, &data, |_| true)
        .iter()
        .filter(|difference| !keeps(difference))
        .map(|difference| format!("\n  {difference}"))
        .collect();
    if !differences.is_empty() {
        return Err(Error::schema_mismatch(format!("the value `{}` does not fit:{}", value.text, differences.concat())));
    }
    match data.fields.first().and_then(|data| lacking(&field.data_type, &data.data_type, &field.name)) {
        Some(place) if absent == Absent::Refused => {
            Err(Error::schema_mismatch(format!("the value `{}` lacks the field {place}", value.text)))
        }
        _ => Ok(()),
    }
}

/// Returns a field of the column's type that the value's type lacks.
fn lacking(table: &DataType, data: &DataType, place: &str) -> Option<String> {
    match (table, data) {
        (DataType::Struct(table), DataType::Struct(data)) => table.fields.iter().find_map(|field| {
            let place = format!("{place}.{}", field.name);
            match data.field(&field.name) {
                Some(given) => lacking(&field.data_type, &given.data_type, &place),
                None => Some(place),
            }
        }),
        (DataType::Array(table), DataType::Array(data)) => lacking(&table.element, &data.element, &format!("{place}.element")),
        (DataType::Map(table), DataType::Map(data)) => lacking(&table.key, &data.key, &format!("{place}.key"))
            .or_else(|| lacking(&table.value, &data.value, &format!("{place}.value"))),
        _ => None,
    }
}

/// Returns the value with its missing fields taken from the column. A row in which both are null
/// stays null.
fn laid_over(value: &ArrayRef, column: &ArrayRef, to: &DataType, name: &str) -> Result<ArrayRef> {
    let (DataType::Struct(fields), Some(given), Some(own)) = (to, value.as_struct_opt(), column.as_struct_opt()) else {
        return fit(value, to, OnLossy::Error, name);
    };
    if !is_partial(fields, given.fields()) {
        return fit(value, to, OnLossy::Error, name);
    }
    let (given_parts, mut own_parts) = (struct_fields(given)?, struct_fields(own)?);
    for (field, part) in fields.fields.iter().zip(&mut own_parts) {
        let given = field_index(given.fields(), &field.name).and_then(|place| given_parts.get(place));
        if let Some(given) = given {
            *part = laid_over(given, part, &field.data_type, &format!("{name}.{}", field.name))?;
        }
    }
    let nulls = match (given.nulls(), own.nulls()) {
        (Some(given), Some(own)) => Some(NullBuffer::new(given.inner() | own.inner())),
        _ => None,
    };
    Ok(Arc::new(StructArray::try_new_with_length(own.fields().clone(), own_parts, nulls, own.len())?))
}

/// Returns whether a struct, or a struct in it, lacks fields.
fn is_partial(to: &StructType, given: &Fields) -> bool {
    to.fields.iter().any(|field| match field_index(given, &field.name).and_then(|place| given.get(place)) {
        None => true,
        Some(given) => match (&field.data_type, given.data_type()) {
            (DataType::Struct(below), ArrowType::Struct(given)) => is_partial(below, given),
            _ => false,
        },
    })
}
