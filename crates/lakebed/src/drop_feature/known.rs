//! The feature that a caller names.

use lakebed_core::feature::downgrade::{CHECKPOINT_PROTECTION, dependents};
use lakebed_core::feature::{Feature, supported_features};
use lakebed_core::property::known_name;

use crate::{Error, Result, Snapshot};

/// Returns the feature of this name that the table has.
pub(super) fn find(name: &str, snapshot: &Snapshot) -> Result<&'static Feature> {
    let refuse = |message: String| Err(Error::invalid_input(message));
    let supported = supported_features(snapshot.protocol());
    let Some(feature) = Feature::find(name.trim_start_matches("delta.feature.")) else {
        return refuse(match known_name(name) {
            Some(property) => format!(
                "{property} is a property and no table feature; unset the property, or name one of the features {}",
                supported.join(", ")
            ),
            None => format!("there is no table feature {name}; the table has {}", supported.join(", ")),
        });
    };
    if !supported.contains(&feature.name) {
        return refuse(format!("the table does not have the table feature {}; it has {}", feature.name, supported.join(", ")));
    }
    Ok(feature)
}

/// Refuses options that make no sense for the feature, and a feature that others require.
pub(super) fn check(feature: &Feature, truncates: bool, snapshot: &Snapshot) -> Result<()> {
    let name = feature.name;
    let refuse = |message: String| Err(Error::invalid_input(message));
    let needing = dependents(snapshot.protocol(), name);
    if !needing.is_empty() {
        let calls: Vec<String> = needing.iter().map(|name| format!("drop_feature({name:?})")).collect();
        return refuse(format!("table feature {name}: other features of the table need it; first {}", calls.join(", then ")));
    }
    match (name == CHECKPOINT_PROTECTION, truncates) {
        (true, false) => refuse(format!(
            "table feature {name}: it protects older versions that need dropped features, so it can be dropped only with them \
             (truncate_history)"
        )),
        (false, true) if !feature.concerns_readers() => refuse(format!(
            "table feature {name}: only writers must support it, so older versions can stay; drop it without truncate_history"
        )),
        _ => Ok(()),
    }
}
