//! File actions of all kinds, for property tests.

use std::collections::HashMap;

use proptest::collection::hash_map;
use proptest::option;
use proptest::prelude::*;

use super::{Add, DeletionVectorDescriptor, DvStorage};

/// Returns any map of strings.
pub fn any_texts() -> impl Strategy<Value = HashMap<String, Option<String>>> {
    hash_map(".{0,6}", option::of(".{0,6}"), 0..4)
}

/// Returns any descriptor of a deletion vector.
pub fn any_dv() -> impl Strategy<Value = DeletionVectorDescriptor> {
    let storage = prop_oneof![Just(DvStorage::UuidRelative), Just(DvStorage::Inline), Just(DvStorage::AbsolutePath)];
    (storage, ".{0,9}", option::of(any::<i32>()), any::<i32>(), any::<i64>()).prop_map(
        |(storage_type, path_or_inline_dv, offset, size_in_bytes, cardinality)| DeletionVectorDescriptor {
            storage_type,
            path_or_inline_dv,
            offset,
            size_in_bytes,
            cardinality,
        },
    )
}

/// Returns any `add`.
pub fn any_add() -> impl Strategy<Value = Add> {
    let numbers = (any::<i64>(), any::<i64>(), any::<bool>(), option::of(any::<i64>()), option::of(any::<i64>()));
    (
        ".{0,9}",
        any_texts(),
        numbers,
        option::of(".{0,9}"),
        option::of(any_texts()),
        option::of(any_dv()),
        option::of("[a-z]{0,3}"),
    )
        .prop_map(|(path, partition_values, numbers, stats, tags, deletion_vector, clustering_provider)| {
            let (size, modification_time, data_change, base_row_id, default_row_commit_version) = numbers;
            Add {
                path,
                partition_values,
                size,
                modification_time,
                data_change,
                stats,
                tags,
                deletion_vector,
                base_row_id,
                default_row_commit_version,
                clustering_provider,
            }
        })
}
