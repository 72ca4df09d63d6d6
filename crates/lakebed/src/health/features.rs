//! The table features that nothing in the table uses, and those that few engines can read.

use std::collections::BTreeSet;

use lakebed_core::action::Protocol;
use lakebed_core::feature::upgrade::used_features;
use lakebed_core::schema::widen::TYPE_CHANGES;

use crate::Snapshot;

/// The features of which the schema, the properties and the files show whether they are used. The
/// oldest features are not among them: every engine supports these.
const DECIDABLE: [&str; 15] = [
    "allowColumnDefaults",
    "checkpointProtection",
    "clustering",
    "columnMapping",
    "deletionVectors",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "inCommitTimestamp",
    "materializePartitionColumns",
    "rowTracking",
    "timestampNtz",
    "typeWidening",
    "v2Checkpoint",
    "variantShredding",
];

/// The features that readers must support and few engines other than Delta Spark do.
const RARE: [&str; 6] = [
    "typeWidening",
    "typeWidening-preview",
    "variantShredding",
    "variantShredding-preview",
    "variantType",
    "variantType-preview",
];

fn listed(protocol: &Protocol) -> BTreeSet<&str> {
    protocol.reader_features.iter().chain(&protocol.writer_features).flatten().map(String::as_str).collect()
}

/// Returns the features that the protocol lists and that this version does not use. `vectors` is the
/// number of its deletion vectors.
pub(super) fn unused(snapshot: &Snapshot, is_clustered: bool, vectors: u64) -> Vec<String> {
    let used = used_features(snapshot.schema(), snapshot.properties(), is_clustered);
    let is_used = |name: &str| match name {
        "deletionVectors" => vectors > 0 || used.contains(name),
        "typeWidening" => snapshot.metadata().schema_string.contains(TYPE_CHANGES) || used.contains(name),
        name => used.contains(name),
    };
    let listed = listed(snapshot.protocol()).into_iter();
    listed.filter(|name| DECIDABLE.contains(name) && !is_used(name)).map(str::to_owned).collect()
}

/// Returns the features of the protocol that few engines can read.
pub(super) fn rare(snapshot: &Snapshot) -> Vec<String> {
    listed(snapshot.protocol()).into_iter().filter(|name| RARE.contains(name)).map(str::to_owned).collect()
}
