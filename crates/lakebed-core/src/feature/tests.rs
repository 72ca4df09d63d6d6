use std::collections::HashSet;

use super::*;
use crate::ErrorKind;
use crate::kit::table::{protocol, protocol_with};

const TABLE: &str = "s3://bucket/t";

/// Returns the features that the error names as unsupported.
#[track_caller]
fn missing(protocol: &Protocol) -> Vec<String> {
    match check_read(protocol, TABLE).unwrap_err().kind() {
        ErrorKind::UnsupportedFeature { features } => features.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn legacy_protocols_are_read() {
    for (reader, writer) in [(1, 1), (1, 2), (1, 6), (2, 5), (2, 6)] {
        assert!(check_read(&protocol(reader, writer, None, None), TABLE).is_ok());
    }
    assert!(check_read(&protocol(1, 7, None, Some(&["rowTracking", "somethingNew"])), TABLE).is_ok());
    assert!(check_read(&protocol(2, 7, None, Some(&["columnMapping"])), TABLE).is_ok());
}

#[test]
fn read_allows_every_supported_feature() {
    let names = [
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "timestampWithoutTimezone",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "typeWidening",
        "typeWidening-preview",
        "variantType",
        "variantType-preview",
        "variantShredding",
        "variantShredding-preview",
    ];
    assert!(check_read(&protocol_with(&names), TABLE).is_ok());
    assert!(check_read(&protocol_with(&[]), TABLE).is_ok());
    let honoured: Vec<&str> =
        FEATURES.iter().filter(|feature| feature.reading == Reading::Honour).map(|feature| feature.name).collect();
    assert_eq!(honoured, names);
}

#[test]
fn read_names_every_unsupported_feature() {
    let refused = [
        "catalogManaged",
        "catalogOwned-preview",
        "redirectReaderWriter-preview",
        "geospatial",
        "geospatial-dev",
        "timestampNanos",
        "adaptiveMetadata-preview",
        "somethingNew",
    ];
    for name in refused {
        assert_eq!(missing(&protocol_with(&["deletionVectors", name])), [name]);
    }
    assert_eq!(missing(&protocol_with(&refused)), refused);
}

#[test]
fn refuse_names_table_features_and_remedy() {
    let error = check_read(&protocol_with(&["deletionVectors", "catalogManaged", "somethingNew"]), TABLE).unwrap_err();
    assert_eq!(
        error.message(),
        "s3://bucket/t: the table needs reader features that lakebed does not support: catalogManaged (a catalog decides which commits \
         count, so the table cannot be read by its path; go through the catalog), somethingNew (not known to this version)"
    );
}

#[test]
fn writer_features_are_no_readers_business() {
    let writer_features = ["rowTracking", "redirectWriterOnly-preview", "icebergWriterCompatV3", "somethingNew"];
    assert!(check_read(&protocol(3, 7, Some(&["deletionVectors"]), Some(&writer_features)), TABLE).is_ok());
    assert!(check_read(&protocol_with(&["appendOnly", "inCommitTimestamp"]), TABLE).is_ok());
}

#[test]
fn protocols_that_are_not_known_are_refused() {
    let error = check_read(&protocol(4, 7, Some(&[]), Some(&[])), TABLE).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnsupportedFeature { features: vec!["minReaderVersion 4".to_owned()] });
    let expected = "s3://bucket/t: the table needs reader version 4, and this version of lakebed supports versions up to 3; a newer version of lakebed may read it";
    assert_eq!(error.message(), expected);
    let error = check_read(&protocol(0, 2, None, None), TABLE).unwrap_err();
    assert_eq!(error.message(), "s3://bucket/t: the protocol requires reader version 0, which does not exist");
    let error = check_read(&protocol(3, 7, None, Some(&["deletionVectors"])), TABLE).unwrap_err();
    assert_eq!(error.message(), "s3://bucket/t: the protocol requires reader version 3 but lists no readerFeatures");
}

#[test]
fn read_checks_features_below_version_three() {
    assert!(check_read(&protocol(1, 2, Some(&["deletionVectors"]), None), TABLE).is_ok());
    assert_eq!(missing(&protocol(1, 2, Some(&["somethingNew"]), None)), ["somethingNew"]);
}

#[test]
fn old_versions_imply_their_features() {
    let implied = |reader, writer| supported_features(&protocol(reader, writer, None, None)).join(" ");
    assert_eq!(implied(1, 1), "");
    assert_eq!(implied(1, 2), "appendOnly invariants");
    assert_eq!(implied(1, 3), "appendOnly checkConstraints invariants");
    assert_eq!(implied(1, 4), "appendOnly changeDataFeed checkConstraints generatedColumns invariants");
    assert_eq!(implied(1, 5), "appendOnly changeDataFeed checkConstraints generatedColumns invariants");
    assert_eq!(implied(2, 5), "appendOnly changeDataFeed checkConstraints columnMapping generatedColumns invariants");
    assert_eq!(
        implied(2, 6),
        "appendOnly changeDataFeed checkConstraints columnMapping generatedColumns identityColumns invariants"
    );
    let named = protocol(3, 7, Some(&["deletionVectors"]), Some(&["rowTracking", "deletionVectors"]));
    assert_eq!(supported_features(&named), ["deletionVectors", "rowTracking"]);
}

#[test]
fn a_protocol_spells_features_to_the_letter() {
    assert_eq!(missing(&protocol_with(&["DeletionVectors"])), ["DeletionVectors"]);
    let error = check_write(&protocol(1, 7, None, Some(&["AppendOnly"])), TABLE).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnsupportedFeature { features: vec!["AppendOnly".to_owned()] });
}

#[test]
fn names_are_unique_whatever_their_case() {
    let names: HashSet<String> = FEATURES.iter().map(|feature| feature.name.to_lowercase()).collect();
    assert_eq!(names.len(), FEATURES.len());
    assert_eq!(Feature::find("DELETIONVECTORS").map(|feature| feature.name), Some("deletionVectors"));
    assert_eq!(Feature::find("somethingNew"), None);
}

#[test]
fn readers_ignore_writer_features_and_no_others() {
    for feature in FEATURES {
        assert_eq!(feature.reading == Reading::Ignore, matches!(feature.kind, FeatureKind::Writer { .. }), "{}", feature.name);
    }
}
