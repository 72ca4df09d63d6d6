//! Protocols without one of their features.
//!
//! The metadata and the files of a table must not use a feature that is dropped. This module does
//! not check that.

use std::collections::BTreeSet;

use super::upgrade::{lowest, needed_by, with_lists};
use super::{Feature, FeatureKind, supported_features};
use crate::action::Protocol;

/// The feature that protects the checkpoints of older versions.
pub const CHECKPOINT_PROTECTION: &str = "checkpointProtection";

/// The property that names the version before which checkpoints are protected.
pub const PROTECTED_BEFORE: &str = "delta.requireCheckpointProtectionBeforeVersion";

impl Feature {
    /// Returns whether readers of older versions must support the feature, although the table no
    /// longer has it. Readers do not look at features that only writers must support.
    pub fn concerns_readers(&self) -> bool {
        matches!(self.kind, FeatureKind::ReaderWriter { .. })
    }
}

/// Returns the features of a protocol that require this feature.
pub fn dependents<'a>(protocol: &'a Protocol, feature: &str) -> Vec<&'a str> {
    supported_features(protocol).into_iter().filter(|name| needed_by(name).contains(&feature)).collect()
}

/// Returns whether a protocol lacks a feature of an older one.
pub fn drops_feature(before: &Protocol, after: &Protocol) -> bool {
    let kept = supported_features(after);
    supported_features(before).iter().any(|feature| !kept.contains(feature))
}

/// Returns the lowest protocol with all features of this one except `dropped`. `protected` adds
/// [`CHECKPOINT_PROTECTION`].
///
/// An old version of the protocol implies all of its features. So it is replaced by a list of
/// features if one of these is dropped, and it comes back if all features of the list are those of
/// an old version, as in Delta Spark.
pub fn without(protocol: &Protocol, dropped: &str, protected: bool) -> Protocol {
    let mut names: BTreeSet<&str> = supported_features(protocol).into_iter().filter(|name| *name != dropped).collect();
    names.extend(protected.then_some(CHECKPOINT_PROTECTION));
    with_lists(lowest(&names), &names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::table::{protocol, protocol_with};

    /// The expected protocols are those that Delta Spark 4.4.0 writes.
    #[test]
    fn protocol_without_a_feature_is_lowest() {
        let check = |before: Protocol, dropped: &str, protected, after: Protocol| {
            assert_eq!(without(&before, dropped, protected), after);
        };
        check(protocol(1, 3, None, None), "checkConstraints", false, protocol(1, 2, None, None));
        let listed = ["appendOnly", "changeDataFeed", "generatedColumns", "identityColumns", "invariants"];
        check(protocol(1, 6, None, None), "checkConstraints", false, protocol(1, 7, None, Some(&listed)));
        let plain = ["appendOnly", "invariants"];
        let domains = ["appendOnly", "domainMetadata", "invariants"];
        check(protocol(1, 7, None, Some(&domains)), "domainMetadata", false, protocol(1, 2, None, None));
        let vectors = ["appendOnly", "deletionVectors", "invariants"];
        let protected = ["appendOnly", "checkpointProtection", "invariants"];
        let before = protocol(3, 7, Some(&["deletionVectors"]), Some(&vectors));
        check(before.clone(), "deletionVectors", true, protocol(1, 7, None, Some(&protected)));
        check(before, "deletionVectors", false, protocol(1, 2, None, None));
        let listed =
            ["appendOnly", "changeDataFeed", "checkConstraints", "checkpointProtection", "generatedColumns", "invariants"];
        check(protocol(2, 5, None, None), "columnMapping", true, protocol(1, 7, None, Some(&listed)));
        let both = ["appendOnly", "columnMapping", "deletionVectors", "invariants"];
        let before = protocol(3, 7, Some(&["columnMapping", "deletionVectors"]), Some(&both));
        let mapped = ["appendOnly", "columnMapping", "invariants"];
        check(before, "deletionVectors", false, protocol(2, 7, None, Some(&mapped)));
        check(protocol(1, 7, None, Some(&plain)), "appendOnly", false, protocol(1, 7, None, Some(&["invariants"])));
    }

    #[test]
    fn dependents_and_dropped_features_are_found() {
        let tracked = protocol_with(&["rowTracking", "domainMetadata", "clustering"]);
        assert_eq!(dependents(&tracked, "domainMetadata"), ["clustering", "rowTracking"]);
        assert_eq!(dependents(&tracked, "rowTracking"), Vec::<&str>::new());
        assert!(drops_feature(&tracked, &without(&tracked, "rowTracking", true)));
        assert!(!drops_feature(&protocol(1, 2, None, None), &protocol(1, 3, None, None)));
    }
}
