//! Prints maps of strings in the order of their keys, so that equal actions give equal lines.

use std::collections::{BTreeMap, HashMap};

use serde::{Serialize, Serializer};

type TextMap = HashMap<String, Option<String>>;

/// Prints a map.
pub(super) fn sorted<S: Serializer>(map: &TextMap, serializer: S) -> Result<S::Ok, S::Error> {
    if map.len() < 2 {
        return map.serialize(serializer);
    }
    map.iter().collect::<BTreeMap<_, _>>().serialize(serializer)
}

/// Prints a map that may be absent.
pub(super) fn sorted_option<S: Serializer>(map: &Option<TextMap>, serializer: S) -> Result<S::Ok, S::Error> {
    match map {
        Some(map) => sorted(map, serializer),
        None => serializer.serialize_none(),
    }
}
