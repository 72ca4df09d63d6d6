//! What is in the way of dropping a feature: parts of the table's definition that mean something to
//! its users. Each comes with the call that removes it.

use lakebed_core::feature::upgrade::{CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_START, INVARIANTS};
use lakebed_core::feature::{Feature, supported_features};
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};

use crate::clustering::column_name;
use crate::{Error, Result, Snapshot};

/// Refuses to drop a feature that the definition of the table uses.
pub(super) async fn check(feature: &Feature, snapshot: &Snapshot) -> Result<()> {
    let found = obstacles(feature, snapshot).await?;
    match found.is_empty() {
        true => Ok(()),
        false => {
            let message = format!("table feature {}: the table uses it: {}", feature.name, found.join("; "));
            Err(Error::invalid_input(message))
        }
    }
}

async fn obstacles(feature: &Feature, snapshot: &Snapshot) -> Result<Vec<String>> {
    let (schema, properties) = (snapshot.schema(), snapshot.properties());
    let property = |is_set: bool, name: &str| {
        let found = format!("the property {name} is true (unset_properties({name:?}))");
        if is_set { vec![found] } else { Vec::new() }
    };
    let noted = |note: &str, describe: fn(&str) -> String| columns(schema, |field| field.metadata.contains_key(note), describe);
    Ok(match feature.name {
        "appendOnly" => property(properties.append_only, "delta.appendOnly"),
        "changeDataFeed" => {
            let old_name = snapshot.metadata().property("delta.enableChangeDataFeed").is_none();
            let name = if old_name { "delta.enableChangeDataCapture" } else { "delta.enableChangeDataFeed" };
            property(properties.change_data_feed, name)
        }
        "icebergCompatV1" => property(properties.iceberg_compat_v1, "delta.enableIcebergCompatV1"),
        "icebergCompatV2" => property(properties.iceberg_compat_v2, "delta.enableIcebergCompatV2"),
        "checkConstraints" => {
            let call = |(name, condition): &(String, String)| {
                format!("CHECK constraint {name} ({condition}) (drop_constraint({name:?}))")
            };
            properties.constraints.iter().map(call).collect()
        }
        "invariants" => noted(INVARIANTS, |name| format!("column {name} has an invariant (drop_column({name:?}))")),
        "generatedColumns" => noted(GENERATION_EXPRESSION, |name| format!("column {name} is generated (drop_column({name:?}))")),
        "identityColumns" => noted(IDENTITY_START, |name| format!("column {name} is an identity column (drop_column({name:?}))")),
        "allowColumnDefaults" => {
            noted(CURRENT_DEFAULT, |name| format!("column {name} has a default (set_default({name:?}, None))"))
        }
        "clustering" => match snapshot.clustering_columns().await?.join(", ") {
            none if none.is_empty() => Vec::new(),
            names => vec![format!("the rows are clustered by {names} (cluster_by())")],
        },
        "timestampNtz" | "timestampWithoutTimezone" => of_type(PrimitiveType::TimestampNtz, feature, snapshot),
        "variantType" | "variantType-preview" => of_type(PrimitiveType::Variant, feature, snapshot),
        _ => Vec::new(),
    })
}

/// Returns the columns of a type, unless the table has the feature of the type under another name,
/// too.
fn of_type(wanted: PrimitiveType, feature: &Feature, snapshot: &Snapshot) -> Vec<String> {
    let names: &[&str] = match wanted {
        PrimitiveType::Variant => &["variantType", "variantType-preview"],
        _ => &["timestampNtz", "timestampWithoutTimezone"],
    };
    let supported = supported_features(snapshot.protocol());
    if names.iter().any(|name| *name != feature.name && supported.contains(name)) {
        return Vec::new();
    }
    let is_wanted = |field: &StructField| has_type(&field.data_type, wanted);
    columns(snapshot.schema(), is_wanted, |name| format!("column {name} has the type {wanted} (drop_column({name:?}))"))
}

/// Returns whether a type is this one, or has it in arrays or maps. Fields of structs are columns of
/// their own.
fn has_type(data_type: &DataType, wanted: PrimitiveType) -> bool {
    match data_type {
        DataType::Primitive(primitive) => *primitive == wanted,
        DataType::Struct(_) => false,
        DataType::Array(array) => has_type(&array.element, wanted),
        DataType::Map(map) => has_type(&map.key, wanted) || has_type(&map.value, wanted),
    }
}

/// Describes the fields at every level for which `is_wanted` is true.
fn columns(schema: &StructType, is_wanted: impl Fn(&StructField) -> bool, describe: impl Fn(&str) -> String) -> Vec<String> {
    let mut names = Vec::new();
    collect(schema, &mut Vec::new(), &is_wanted, &mut names);
    names.iter().map(|name| describe(name)).collect()
}

fn collect(schema: &StructType, above: &mut Vec<String>, is_wanted: &impl Fn(&StructField) -> bool, names: &mut Vec<String>) {
    for field in &schema.fields {
        above.push(field.name.clone());
        if is_wanted(field) {
            names.push(column_name(above));
        }
        collect_below(&field.data_type, above, is_wanted, names);
        above.pop();
    }
}

fn collect_below(
    data_type: &DataType,
    above: &mut Vec<String>,
    is_wanted: &impl Fn(&StructField) -> bool,
    names: &mut Vec<String>,
) {
    let mut below = |part: &str, data_type: &DataType| {
        above.push(part.to_owned());
        collect_below(data_type, above, is_wanted, names);
        above.pop();
    };
    match data_type {
        DataType::Primitive(_) => {}
        DataType::Array(array) => below("element", &array.element),
        DataType::Map(map) => {
            below("key", &map.key);
            below("value", &map.value);
        }
        DataType::Struct(fields) => collect(fields, above, is_wanted, names),
    }
}
