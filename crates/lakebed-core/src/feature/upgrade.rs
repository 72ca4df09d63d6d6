//! The features that a table's metadata requires, and the lowest protocol that supports them.
//!
//! Tables stay readable for as many readers as possible. If an old protocol version implies exactly
//! the features, the table gets that version. Otherwise the features are listed by name. Features
//! are never removed here.

use std::collections::BTreeSet;

use super::{Feature, FeatureKind, READER_FEATURES_VERSION, WRITER_FEATURES_VERSION, supported_features};
use crate::action::Protocol;
use crate::property::{CheckpointPolicy, TableProperties};
pub use crate::schema::field_metadata::{CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_START, INVARIANTS};
use crate::schema::mapping::MappingMode;
use crate::schema::{DataType, FieldMetadata, PrimitiveType, StructType};
use crate::{Error, Result};

/// The features of tables with the oldest writer version in use.
const ALWAYS: [&str; 2] = ["appendOnly", "invariants"];

/// Returns the names of the features that the schema and the properties use.
pub fn used_features(schema: &StructType, properties: &TableProperties, is_clustered: bool) -> BTreeSet<&'static str> {
    let by_property = [
        (properties.append_only, "appendOnly"),
        (!properties.constraints.is_empty(), "checkConstraints"),
        (properties.change_data_feed, "changeDataFeed"),
        (properties.column_mapping_mode != MappingMode::None, "columnMapping"),
        (properties.deletion_vectors, "deletionVectors"),
        (properties.checkpoint_policy == CheckpointPolicy::V2, "v2Checkpoint"),
        (properties.type_widening, "typeWidening"),
        (properties.variant_shredding, "variantShredding"),
        (properties.materialize_partition_columns, "materializePartitionColumns"),
        (properties.row_tracking, "rowTracking"),
        (properties.in_commit_timestamps, "inCommitTimestamp"),
        (properties.iceberg_compat_v1, "icebergCompatV1"),
        (properties.iceberg_compat_v2, "icebergCompatV2"),
        (properties.iceberg_compat_v3, "icebergCompatV3"),
        (properties.require_checkpoint_protection_before_version > 0, "checkpointProtection"),
        (is_clustered, "clustering"),
    ];
    let mut used: BTreeSet<&'static str> = by_property.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect();
    of_struct(schema, &mut used);
    used
}

fn of_struct(fields: &StructType, used: &mut BTreeSet<&'static str>) {
    for field in &fields.fields {
        of_metadata(&field.metadata, used);
        of_type(&field.data_type, used);
    }
}

fn of_metadata(metadata: &FieldMetadata, used: &mut BTreeSet<&'static str>) {
    let by_key = [
        (INVARIANTS, "invariants"),
        (GENERATION_EXPRESSION, "generatedColumns"),
        (IDENTITY_START, "identityColumns"),
        (CURRENT_DEFAULT, "allowColumnDefaults"),
    ];
    used.extend(by_key.into_iter().filter(|(key, _)| metadata.contains_key(*key)).map(|(_, name)| name));
}

fn of_type(data_type: &DataType, used: &mut BTreeSet<&'static str>) {
    match data_type {
        DataType::Primitive(PrimitiveType::TimestampNtz) => {
            used.insert("timestampNtz");
        }
        DataType::Primitive(PrimitiveType::Variant) => {
            used.insert("variantType");
        }
        DataType::Primitive(_) => {}
        DataType::Struct(fields) => of_struct(fields, used),
        DataType::Array(array) => of_type(&array.element, used),
        DataType::Map(map) => {
            of_type(&map.key, used);
            of_type(&map.value, used);
        }
    }
}

/// Returns the lowest protocol of a new table with these features.
pub fn protocol_of(features: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Protocol> {
    let oldest = Protocol { min_reader_version: 1, min_writer_version: 2, reader_features: None, writer_features: None };
    Ok(upgrade(&oldest, features)?.unwrap_or(oldest))
}

/// Returns the protocol with these features added. It returns `None` if it supports them all
/// already.
pub fn upgrade(protocol: &Protocol, features: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Option<Protocol>> {
    let mut names: BTreeSet<&str> = supported_features(protocol).into_iter().collect();
    let had = names.len();
    for name in features {
        let feature = Feature::find(name.as_ref())
            .ok_or_else(|| Error::invalid_input(format!("there is no table feature {:?}", name.as_ref())))?;
        // A table that has the preview of a feature keeps the preview.
        if !names.contains(format!("{}-preview", feature.name).as_str()) {
            names.insert(feature.name);
            names.extend(needed_by(feature.name));
        }
    }
    if names.len() == had {
        return Ok(None);
    }
    let upgraded = lowest(&names);
    Ok(Some(Protocol {
        min_reader_version: upgraded.min_reader_version.max(protocol.min_reader_version),
        min_writer_version: upgraded.min_writer_version.max(protocol.min_writer_version),
        ..upgraded
    })
    .map(|raised| with_lists(raised, &names)))
}

/// Returns the features that a feature requires.
pub(super) fn needed_by(feature: &str) -> &'static [&'static str] {
    match feature {
        "rowTracking" | "clustering" => &["domainMetadata"],
        "variantShredding" => &["variantType"],
        "variantShredding-preview" => &["variantType-preview"],
        "icebergCompatV1" | "icebergCompatV2" => &["columnMapping"],
        _ => &[],
    }
}

/// Returns the lowest protocol for these features. An old version implies all of its features, so
/// it is used only if all of them are requested.
pub(super) fn lowest(names: &BTreeSet<&str>) -> Protocol {
    let (mut reader, mut writer) = (1, 2);
    let mut is_old = true;
    for feature in names.iter().filter_map(|name| Feature::find(name)) {
        match feature.kind {
            FeatureKind::Writer { legacy: Some(needed) } => writer = writer.max(needed),
            FeatureKind::ReaderWriter { legacy: Some((needed_reader, needed_writer)) } => {
                reader = reader.max(needed_reader);
                writer = writer.max(needed_writer);
            }
            FeatureKind::Writer { legacy: None } => is_old = false,
            FeatureKind::ReaderWriter { legacy: None } => {
                is_old = false;
                reader = READER_FEATURES_VERSION;
            }
        }
    }
    let old = Protocol { min_reader_version: reader, min_writer_version: writer, reader_features: None, writer_features: None };
    let implied: BTreeSet<&str> = supported_features(&old).into_iter().collect();
    if is_old && implied == *names { old } else { Protocol { min_writer_version: WRITER_FEATURES_VERSION, ..old } }
}

/// Returns the protocol with its lists of features. Only the versions that list features have them.
pub(super) fn with_lists(protocol: Protocol, names: &BTreeSet<&str>) -> Protocol {
    let is_reader =
        |name: &&&str| Feature::find(name).is_some_and(|feature| matches!(feature.kind, FeatureKind::ReaderWriter { .. }));
    let owned = |names: Vec<&&str>| names.into_iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let reader_features =
        (protocol.min_reader_version >= READER_FEATURES_VERSION).then(|| owned(names.iter().filter(is_reader).collect()));
    let writer_features = (protocol.min_writer_version >= WRITER_FEATURES_VERSION).then(|| owned(names.iter().collect()));
    Protocol { reader_features, writer_features, ..protocol }
}

/// Returns the features that a protocol of these old versions would imply. It is for callers that
/// request versions instead of features.
pub fn features_of_versions(min_reader_version: i32, min_writer_version: i32) -> Result<Vec<String>> {
    let known = (1..=READER_FEATURES_VERSION).contains(&min_reader_version)
        && (1..=WRITER_FEATURES_VERSION).contains(&min_writer_version);
    if !known {
        let message =
            format!("there is no protocol of reader version {min_reader_version} and writer version {min_writer_version}");
        return Err(Error::invalid_input(message));
    }
    let protocol = Protocol { min_reader_version, min_writer_version, reader_features: None, writer_features: None };
    let features = supported_features(&protocol);
    Ok(features.into_iter().chain(ALWAYS).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::schema::{array_of, field, field_with, schema};
    use crate::kit::table::{properties, protocol, protocol_with};

    #[track_caller]
    fn check(features: &[&str], reader: i32, writer: i32, reader_features: Option<&[&str]>, writer_features: Option<&[&str]>) {
        assert_eq!(protocol_of(features).unwrap(), protocol(reader, writer, reader_features, writer_features));
    }

    #[test]
    fn protocol_is_lowest_with_the_features() {
        check(&[], 1, 2, None, None);
        check(&["checkConstraints"], 1, 3, None, None);
        check(&["changeDataFeed"], 1, 7, None, Some(&["appendOnly", "changeDataFeed", "invariants"]));
        check(&["checkConstraints", "changeDataFeed", "generatedColumns"], 1, 4, None, None);
        check(&["columnMapping"], 2, 7, None, Some(&["appendOnly", "columnMapping", "invariants"]));
        check(&["deletionVectors"], 3, 7, Some(&["deletionVectors"]), Some(&["appendOnly", "deletionVectors", "invariants"]));
        check(&["rowTracking"], 1, 7, None, Some(&["appendOnly", "domainMetadata", "invariants", "rowTracking"]));
        check(
            &["columnMapping", "v2Checkpoint"],
            3,
            7,
            Some(&["columnMapping", "v2Checkpoint"]),
            Some(&["appendOnly", "columnMapping", "invariants", "v2Checkpoint"]),
        );
    }

    #[test]
    fn an_upgrade_keeps_what_a_table_has() {
        let old = protocol(1, 4, None, None);
        assert_eq!(upgrade(&old, ["changeDataFeed", "checkConstraints"]).unwrap(), None);
        let upgraded = upgrade(&old, ["domainMetadata"]).unwrap().unwrap();
        let expected = ["appendOnly", "changeDataFeed", "checkConstraints", "domainMetadata", "generatedColumns", "invariants"];
        assert_eq!(upgraded.writer_features.as_deref().unwrap(), expected);
        assert_eq!((upgraded.min_reader_version, upgraded.min_writer_version, upgraded.reader_features), (1, 7, None));
        let named = protocol_with(&["typeWidening-preview"]);
        assert_eq!(upgrade(&named, ["typeWidening"]).unwrap(), None);
        let upgraded = upgrade(&named, ["appendOnly"]).unwrap().unwrap();
        assert_eq!(upgraded.reader_features.as_deref().unwrap(), ["typeWidening-preview"]);
        assert_eq!(upgraded.writer_features.as_deref().unwrap(), ["appendOnly", "typeWidening-preview"]);
    }

    #[test]
    fn an_unknown_feature_is_refused() {
        assert_eq!(protocol_of(["nonsense"]).unwrap_err().message(), "there is no table feature \"nonsense\"");
    }

    #[test]
    fn schema_and_properties_tell_what_they_use() {
        let schema = schema(&[
            field("a", &array_of("timestamp_ntz")),
            field_with("g", "long", r#""delta.generationExpression":"1""#),
            field_with("i", "long", r#""delta.identity.start":1"#),
            field_with("v", "variant", r#""CURRENT_DEFAULT":"NULL""#),
        ]);
        let properties = properties(&[("delta.enableRowTracking", "true"), ("delta.constraints.c", "g > 0")]);
        let used: Vec<&str> = used_features(&schema, &properties, true).into_iter().collect();
        let expected = [
            "allowColumnDefaults",
            "checkConstraints",
            "clustering",
            "generatedColumns",
            "identityColumns",
            "rowTracking",
            "timestampNtz",
            "variantType",
        ];
        assert_eq!(used, expected);
    }
}
