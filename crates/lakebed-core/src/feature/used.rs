//! Checks whether a protocol lists the features that the metadata uses.

use super::supported_features;
use super::upgrade::used_features;
use crate::action::Protocol;
use crate::property::TableProperties;
use crate::schema::StructType;
use crate::{Error, Result};

/// Features that Delta Spark does not require in the protocol. A reader or writer without them
/// reads and writes the same.
const NOT_ASKED_FOR: [&str; 2] = ["allowColumnDefaults", "checkpointProtection"];

/// The feature that is required even in protocols without lists.
const ASKED_OF_ALL: &str = "rowTracking";

/// Refuses metadata that uses features which the protocol does not list, for reading and for
/// writing, as Delta Spark does. In such a table either the protocol or the metadata is wrong, and
/// rows could be read incorrectly. A protocol without lists is trusted, except for row tracking:
/// other settings beyond its features have no effect.
pub fn check_used(protocol: &Protocol, schema: &StructType, properties: &TableProperties, table: &str) -> Result<()> {
    let listed: Vec<&str> = protocol.writer_features.iter().flatten().map(String::as_str).collect();
    let has = |name: &str| listed.contains(&name) || former_names(name).iter().any(|name| listed.contains(name));
    let mut used = used_features(schema, properties, false);
    match &protocol.writer_features {
        Some(_) => used.retain(|name| !NOT_ASKED_FOR.contains(name)),
        None => used.retain(|name| *name == ASKED_OF_ALL),
    }
    // The high-water mark of row ids is kept in a metadata domain.
    if has("rowTracking") {
        used.insert("domainMetadata");
    }
    let missing: Vec<&str> = used.into_iter().filter(|name| !has(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let listed = match supported_features(protocol).join(", ") {
        none if none.is_empty() => "none".to_owned(),
        listed => listed,
    };
    let message = format!(
        "the metadata uses table features that the protocol does not list: {} (it lists {listed}); the writer that created this \
         metadata must add them to the protocol, or remove the properties and types that need them",
        missing.join(", ")
    );
    Err(Error::corrupt(table, message))
}

/// Returns the names that older tables use for a feature.
fn former_names(name: &str) -> &'static [&'static str] {
    match name {
        "timestampNtz" => &["timestampWithoutTimezone"],
        "typeWidening" => &["typeWidening-preview"],
        "variantType" => &["variantType-preview"],
        "variantShredding" => &["variantShredding-preview"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit;
    use crate::kit::schema::{field, field_with, struct_of};
    use crate::kit::table::properties;

    const PLAIN: &str = "";

    /// Checks a table with this additional column and this property.
    #[track_caller]
    fn check(protocol: (i32, i32, Option<&[&str]>), column: &str, property: (&str, &str), missing: &[&str]) {
        let (min_reader_version, min_writer_version, listed) = protocol;
        let reader_features = listed.filter(|_| min_reader_version == 3);
        let protocol = kit::table::protocol(min_reader_version, min_writer_version, reader_features, listed);
        let columns = [field("id", "long")].into_iter().chain((!column.is_empty()).then(|| column.to_owned()));
        let schema = kit::schema::schema(&columns.collect::<Vec<_>>());
        let properties = properties(&[property]);
        match (check_used(&protocol, &schema, &properties, "s3://b/t"), missing) {
            (Ok(()), []) => {}
            (Err(error), missing) if !missing.is_empty() => {
                let expected = format!("features that the protocol does not list: {} (it lists", missing.join(", "));
                assert!(error.is_corrupt() && error.message().contains(&expected), "{error}");
            }
            (found, _) => panic!("{found:?} instead of {missing:?}"),
        }
    }

    /// `test_features.py` runs these cases, as far as they are about properties, with Delta Spark.
    #[test]
    fn what_metadata_uses_must_be_listed() {
        let no = ("team", "blue");
        let nested = struct_of(&[field("t", "timestamp_ntz")]);
        let cases: Vec<(String, (&str, &str), &str)> = vec![
            (PLAIN.to_owned(), ("delta.columnMapping.mode", "name"), "columnMapping"),
            (PLAIN.to_owned(), ("delta.enableDeletionVectors", "true"), "deletionVectors"),
            (PLAIN.to_owned(), ("delta.enableRowTracking", "true"), "rowTracking"),
            (PLAIN.to_owned(), ("delta.enableTypeWidening", "true"), "typeWidening"),
            (PLAIN.to_owned(), ("delta.appendOnly", "true"), "appendOnly"),
            (PLAIN.to_owned(), ("delta.enableChangeDataFeed", "true"), "changeDataFeed"),
            (PLAIN.to_owned(), ("delta.enableInCommitTimestamps", "true"), "inCommitTimestamp"),
            (PLAIN.to_owned(), ("delta.constraints.c", "id > 0"), "checkConstraints"),
            (PLAIN.to_owned(), ("delta.checkpointPolicy", "v2"), "v2Checkpoint"),
            (PLAIN.to_owned(), ("delta.enableVariantShredding", "true"), "variantShredding"),
            (PLAIN.to_owned(), ("delta.enableIcebergCompatV2", "true"), "icebergCompatV2"),
            (PLAIN.to_owned(), ("delta.enableMaterializePartitionColumnsFeature", "true"), "materializePartitionColumns"),
            (field_with("c", "long", r#""delta.generationExpression":"id""#), no, "generatedColumns"),
            (field_with("c", "long", r#""delta.identity.start":1"#), no, "identityColumns"),
            (field_with("c", "long", r#""delta.invariants":"{}""#), no, "invariants"),
            (field_with("c", "timestamp_ntz", ""), no, "timestampNtz"),
            (field_with("c", &nested, ""), no, "timestampNtz"),
            (field_with("c", "variant", ""), no, "variantType"),
        ];
        for (column, property, feature) in cases {
            check((3, 7, Some(&[])), &column, property, &[feature]);
            check((1, 7, Some(&[])), &column, property, &[feature]);
            let with_needed = [feature, "domainMetadata"];
            check((3, 7, Some(&with_needed)), &column, property, &[]);
            // Old protocols list no features.
            let missing: Vec<&str> = Some(feature).into_iter().filter(|feature| *feature == "rowTracking").collect();
            for (reader, writer) in [(1, 1), (1, 2), (1, 4), (2, 5), (2, 6)] {
                check((reader, writer, None), &column, property, &missing);
            }
        }
    }

    #[test]
    fn check_ignores_features_harmless_to_readers() {
        let default = field_with("c", "long", r#""CURRENT_DEFAULT":"7""#);
        check((3, 7, Some(&[])), &default, ("delta.requireCheckpointProtectionBeforeVersion", "3"), &[]);
        check((3, 7, Some(&[])), PLAIN, ("delta.enableDeletionVectors", "false"), &[]);
    }

    #[test]
    fn check_accepts_preview_feature_names() {
        check((3, 7, Some(&["timestampWithoutTimezone"])), &field_with("c", "timestamp_ntz", ""), ("team", "blue"), &[]);
        check((3, 7, Some(&["typeWidening-preview"])), PLAIN, ("delta.enableTypeWidening", "true"), &[]);
        check((3, 7, Some(&["variantType-preview"])), &field_with("c", "variant", ""), ("team", "blue"), &[]);
    }

    #[test]
    fn row_tracking_needs_domains() {
        check((1, 7, Some(&["rowTracking"])), PLAIN, ("team", "blue"), &["domainMetadata"]);
    }
}
