//! Checks the columns that a table may have: their names, their types, and their metadata. The
//! columns come from a caller, so an error names the change that the caller has to make. Begin with
//! [`check_columns`].

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::Schema;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::char_varchar::{CHAR_VARCHAR, limits};
use lakebed_core::schema::field_metadata::{
    CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_ALLOW_GIVEN, IDENTITY_START, IDENTITY_STEP, INVARIANTS,
};
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};
use lakebed_expr::{Options, filter_schema, parse_expr, parse_filter};
use serde_json::Value;

use crate::{Error, Result};

/// Characters that no column name may contain without column mapping.
const SPECIAL: &[char] = &[' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '='];

/// The columns that the change data feed adds to the columns of the table.
const CHANGE_COLUMNS: [&str; 3] = ["_change_type", "_commit_version", "_commit_timestamp"];

/// The metadata keys that determine how a column gets its values.
const FILLING: [&str; 5] = [GENERATION_EXPRESSION, CURRENT_DEFAULT, IDENTITY_START, IDENTITY_STEP, IDENTITY_ALLOW_GIVEN];

/// Refuses columns that no table with these properties can have.
pub(super) fn check_columns(schema: &StructType, properties: &TableProperties) -> Result<()> {
    if schema.fields.is_empty() {
        return Err(Error::invalid_input("a table needs at least one column"));
    }
    check_names(schema, "", properties.column_mapping_mode)?;
    let is_of_changes = |field: &&StructField| CHANGE_COLUMNS.contains(&field.name.to_lowercase().as_str());
    match schema.fields.iter().find(is_of_changes).filter(|_| properties.change_data_feed) {
        Some(field) => Err(Error::invalid_input(format!(
            "column {}: the change data feed adds a column of this name; rename the column, or leave delta.enableChangeDataFeed \
             off",
            field.name
        ))),
        None => Ok(()),
    }
}

fn check_names(schema: &StructType, place: &str, mode: MappingMode) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for field in &schema.fields {
        let name = format!("{place}{}", field.name);
        if !seen.insert(field.name.to_lowercase()) {
            let message = format!("column {name} appears more than once (names that differ only in case are the same)");
            return Err(Error::schema_mismatch(message));
        }
        if field.name.is_empty() || (mode == MappingMode::None && field.name.contains(SPECIAL)) {
            let message = format!(
                "column {name:?}: column names must not contain blanks or any of ,;{{}}()=; rename the column, or set the \
                 property delta.columnMapping.mode to name"
            );
            return Err(Error::invalid_input(message));
        }
        check_type(&field.data_type, &name, mode)?;
    }
    Ok(())
}

fn check_type(data_type: &DataType, name: &str, mode: MappingMode) -> Result<()> {
    match data_type {
        DataType::Primitive(PrimitiveType::Void) => {
            let message = format!("column {name} contains only nulls, so its type is not known: give it a type");
            Err(Error::schema_mismatch(message))
        }
        DataType::Primitive(_) => Ok(()),
        DataType::Struct(fields) if fields.fields.is_empty() => {
            Err(Error::invalid_input(format!("column {name} is a struct without fields, which a file cannot store")))
        }
        DataType::Struct(fields) => check_names(fields, &format!("{name}."), mode),
        DataType::Array(array) => check_type(&array.element, &format!("{name}.element"), mode),
        DataType::Map(map) => {
            check_type(&map.key, &format!("{name}.key"), mode)?;
            check_type(&map.value, &format!("{name}.value"), mode)
        }
    }
}

/// Returns the schema of a new table with complete column metadata, after checking that metadata.
pub(super) fn with_checked_metadata(schema: &StructType, partition_columns: &[String]) -> Result<StructType> {
    let expressions = filter_schema(schema)?;
    let checks = MetadataChecks { schema, expressions: &expressions, partition_columns };
    let fields = schema.fields.iter().map(|field| checks.checked(field)).collect::<Result<_>>()?;
    // A schema that cannot be parsed again must not become the schema of a table.
    lakebed_core::schema::parse(&StructType { fields }.to_json())
}

/// Returns a column of a schema with complete metadata, after checking that metadata. Other columns
/// are not checked: they may use functions that only other programs know.
pub(super) fn checked_column(schema: &StructType, partition_columns: &[String], column: &StructField) -> Result<StructField> {
    let expressions = filter_schema(schema)?;
    MetadataChecks { schema, expressions: &expressions, partition_columns }.checked(column)
}

/// Refuses defaults, generation expressions and identity columns for columns that are added to a
/// table with rows. Such columns are null in the rows that exist.
pub(super) fn refuse_filling_of_new(before: &StructType, after: &StructType) -> Result<()> {
    let is_filled = |field: &&StructField| FILLING.iter().any(|key| field.metadata.contains_key(*key));
    match after.fields.iter().filter(|field| before.field(&field.name).is_none()).find(is_filled) {
        Some(field) => Err(Error::invalid_input(format!(
            "column {}: a column that is added to an existing table can have neither a default nor a generation expression, and \
             cannot be an identity column; remove these keys from the metadata of its field",
            field.name
        ))),
        None => refuse_filling_inside(after, ""),
    }
}

fn refuse_filling_inside(schema: &StructType, place: &str) -> Result<()> {
    for field in &schema.fields {
        let name = format!("{place}{}", field.name);
        if let Some(key) = FILLING.iter().find(|key| !place.is_empty() && field.metadata.contains_key(**key)) {
            return Err(Error::invalid_input(format!(
                "column {name}: {key} is allowed only for whole columns, not for fields inside them"
            )));
        }
        inside(&field.data_type, &name)?;
    }
    Ok(())
}

fn inside(data_type: &DataType, name: &str) -> Result<()> {
    match data_type {
        DataType::Primitive(_) => Ok(()),
        DataType::Struct(fields) => refuse_filling_inside(fields, &format!("{name}.")),
        DataType::Array(array) => inside(&array.element, &format!("{name}.element")),
        DataType::Map(map) => {
            inside(&map.key, &format!("{name}.key"))?;
            inside(&map.value, &format!("{name}.value"))
        }
    }
}

/// The context for checks of the metadata of columns.
struct MetadataChecks<'a> {
    schema: &'a StructType,
    expressions: &'a Schema,
    partition_columns: &'a [String],
}

impl MetadataChecks<'_> {
    fn checked(&self, field: &StructField) -> Result<StructField> {
        let within = |error: Error| error.within(format!("column {}", field.name));
        inside(&field.data_type, &field.name)?;
        let text = |key: &str| field.metadata.get(key).and_then(Value::as_str);
        let is_numbered =
            [IDENTITY_START, IDENTITY_STEP, IDENTITY_ALLOW_GIVEN].iter().any(|key| field.metadata.contains_key(*key));
        let ways = [text(GENERATION_EXPRESSION).is_some(), text(CURRENT_DEFAULT).is_some(), is_numbered];
        if ways.into_iter().filter(|is_given| *is_given).count() > 1 {
            let message = "its values can come from only one of these: a default, a generation expression, or an identity";
            return Err(within(Error::invalid_input(message)));
        }
        if let Some(expression) = text(GENERATION_EXPRESSION) {
            self.check_generation(field, expression).map_err(|error| within(error.within(GENERATION_EXPRESSION)))?;
        }
        if let Some(expression) = text(CURRENT_DEFAULT) {
            self.check_default(field, expression).map_err(|error| within(error.within(CURRENT_DEFAULT)))?;
        }
        if let Some(words) = text(CHAR_VARCHAR)
            && limits(&field.data_type, words).is_none()
        {
            let message =
                format!("{CHAR_VARCHAR} is {words:?}, which does not give the lengths of the strings in a column of its type");
            return Err(within(Error::invalid_input(message)));
        }
        if let Some(condition) = invariant(field)? {
            parse_filter(&condition, self.expressions, &Options::default()).map_err(|error| within(error.within(INVARIANTS)))?;
        }
        if is_numbered { self.numbered(field).map_err(within) } else { Ok(field.clone()) }
    }

    /// Checks a generation expression. Delta Spark refuses to write to a table that breaks one of
    /// these rules.
    fn check_generation(&self, field: &StructField, text: &str) -> Result<()> {
        let expression = parse_expr(text, self.expressions, &Options::default())?;
        for path in expression.columns() {
            let column = path.first().and_then(|name| self.schema.field(name));
            if column.is_some_and(|column| column.metadata.contains_key(GENERATION_EXPRESSION)) {
                let name = column.map_or("", |column| column.name.as_str());
                return Err(Error::invalid_input(format!("it uses column {name}, which is a generated column, too")));
            }
        }
        let wanted = self.expressions.field_with_name(&field.name).map(arrow_schema::Field::data_type);
        if matches!(field.data_type, DataType::Primitive(_)) && wanted.ok() != Some(&expression.data_type) {
            let found = lakebed_core::schema::arrow::type_name(&expression.data_type);
            let message = format!("its type is {found}, but the type of the column is {}; cast the expression", field.data_type);
            return Err(Error::schema_mismatch(message));
        }
        Ok(())
    }

    fn check_default(&self, field: &StructField, text: &str) -> Result<()> {
        let options = Options { now_ms: Some(0) };
        let expression = parse_expr(&as_type(text, field), self.expressions, &options)?;
        if let Some(column) = expression.columns().first() {
            return Err(Error::invalid_input(format!(
                "it uses column {}, but a default must be the same for all rows",
                column.join(".")
            )));
        }
        let nulls = self.expressions.fields().iter().map(|field| new_null_array(field.data_type(), 1)).collect();
        let row = RecordBatchOptions::new().with_row_count(Some(1));
        let fields: Vec<_> = self.expressions.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        let row = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), nulls, &row)?;
        expression.evaluate(&row).map(drop)
    }

    fn numbered(&self, field: &StructField) -> Result<StructField> {
        if field.data_type != PrimitiveType::Long.into() {
            return Err(Error::schema_mismatch(format!("an identity column must be of type long, not {}", field.data_type)));
        }
        if self.partition_columns.contains(&field.name) {
            return Err(Error::invalid_input("a partition column cannot be an identity column"));
        }
        let mut numbered = field.clone();
        let defaults = [(IDENTITY_START, 1.into()), (IDENTITY_STEP, 1.into()), (IDENTITY_ALLOW_GIVEN, false.into())];
        for (key, value) in defaults {
            numbered.metadata.entry(key).or_insert(value);
        }
        if numbered.metadata.get(IDENTITY_STEP).and_then(Value::as_i64) == Some(0) {
            return Err(Error::invalid_input(format!("{IDENTITY_STEP} is 0, so all its numbers would be the same")));
        }
        Ok(numbered)
    }
}

/// Refuses CHECK constraints that cannot be parsed, because no row could be written to the table.
pub(super) fn check_constraints(schema: &StructType, properties: &TableProperties) -> Result<()> {
    let expressions = filter_schema(schema)?;
    for (name, condition) in &properties.constraints {
        let options = Options { now_ms: Some(0) };
        parse_filter(condition, &expressions, &options).map_err(|error| error.within(format!("CHECK constraint {name}")))?;
    }
    Ok(())
}

/// Returns the partition columns of these names, in the spelling of the schema.
pub(super) fn partition_columns_of(schema: &StructType, names: &[String]) -> Result<Vec<String>> {
    let mut columns: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let field =
            schema.field(name).ok_or_else(|| Error::invalid_input(format!("partition column {name} is not in the schema")))?;
        let is_primitive = matches!(&field.data_type, DataType::Primitive(primitive) if *primitive != PrimitiveType::Variant);
        if !is_primitive {
            return Err(Error::invalid_input(format!(
                "column {name} cannot be a partition column: its values cannot be written as strings"
            )));
        }
        if columns.contains(&field.name) {
            return Err(Error::invalid_input(format!("partition column {name} is given twice")));
        }
        columns.push(field.name.clone());
    }
    if !columns.is_empty() && columns.len() == schema.fields.len() {
        return Err(Error::invalid_input(
            "all columns are partition columns: at least one other column is needed for the data files",
        ));
    }
    Ok(columns)
}

/// Returns the invariant of a column, if it has one.
pub(crate) fn invariant(field: &StructField) -> Result<Option<String>> {
    let Some(text) = field.metadata.get(INVARIANTS).and_then(Value::as_str) else { return Ok(None) };
    let parsed: Value = serde_json::from_str(text).unwrap_or_default();
    match parsed.pointer("/expression/expression").and_then(Value::as_str) {
        Some(condition) => Ok(Some(condition.to_owned())),
        None => Err(Error::corrupt(format!("schema: column {}", field.name), format!("its invariant cannot be parsed: {text}"))),
    }
}

/// Returns the expression with a cast to the type of the column. Expressions for nested types get
/// no cast.
pub(crate) fn as_type(expression: &str, field: &StructField) -> String {
    let DataType::Primitive(primitive) = &field.data_type else { return expression.to_owned() };
    match sql_name(*primitive) {
        Some(name) => format!("CAST(({expression}) AS {name})"),
        None => expression.to_owned(),
    }
}

/// Returns the name of a type in SQL.
fn sql_name(primitive: PrimitiveType) -> Option<String> {
    Some(match primitive {
        PrimitiveType::Long => "BIGINT".to_owned(),
        PrimitiveType::Integer => "INT".to_owned(),
        PrimitiveType::Short => "SMALLINT".to_owned(),
        PrimitiveType::Byte => "TINYINT".to_owned(),
        PrimitiveType::String | PrimitiveType::Char { .. } => "STRING".to_owned(),
        PrimitiveType::Variant | PrimitiveType::Void | PrimitiveType::YearMonthInterval | PrimitiveType::DayTimeInterval => {
            return None;
        }
        other => other.to_string().to_uppercase(),
    })
}
