//! The changes of metadata by a winner that do not conflict with an append, and those that do.

use super::*;

type Properties<'a> = &'a [(&'a str, &'a str)];

/// Returns the outcome of an append after a winner that sets new metadata: `ok`, or the change that
/// conflicts.
fn outcome(old: Metadata, new: &Metadata) -> String {
    let base = Base::of_version(4, protocol_with(&["columnMapping"]), old, None, None).unwrap();
    let wish = Wish::default().adds(&[add_ids("new", "1", 0..=9)]);
    match wish.check(&base, &[said("ALTER"), json!({"metaData": new})]) {
        Ok(_) => "ok".to_owned(),
        Err(error) => {
            let kind = ConflictKind::MetadataChanged;
            assert_eq!(*error.kind(), ErrorKind::CommitConflict { kind, winner_version: 5, retryable: true });
            let changed =
                error.message().strip_prefix("memory://t: ALTER was committed first, as version 5: it changed ").unwrap();
            changed.strip_suffix("; run the operation again on top of it").unwrap().to_owned()
        }
    }
}

#[track_caller]
fn check(old: Properties<'_>, new: Properties<'_>, expected: &str) {
    assert_eq!(outcome(metadata(old), &metadata(new)), expected, "{old:?} {new:?}");
}

#[test]
fn add_harmless_property_is_no_conflict() {
    let tracking = [
        ("delta.enableRowTracking", "true"),
        ("delta.rowTracking.materializedRowIdColumnName", "_row-id-col-1"),
        ("delta.rowTracking.materializedRowCommitVersionColumnName", "_row-commit-version-col-1"),
    ];
    let timestamps = [
        ("delta.enableInCommitTimestamps", "true"),
        ("delta.inCommitTimestampEnablementVersion", "5"),
        ("delta.inCommitTimestampEnablementTimestamp", "1"),
    ];
    check(&[], &[], "ok");
    check(&[], &tracking, "ok");
    check(&[], &timestamps, "ok");
    check(&[], &[("delta.columnMapping.mode", "name"), ("delta.columnMapping.maxColumnId", "2")], "ok");
    check(&[("delta.columnMapping.mode", "none")], &[("delta.columnMapping.mode", "name")], "ok");
    check(&[("delta.columnMapping.maxColumnId", "2")], &[("delta.columnMapping.maxColumnId", "3")], "ok");
    check(&[], &[("delta.enableDeletionVectors", "true")], "ok");
    check(&[("lakebed.tag.a", "1"), ("lakebed.tag.b", "1")], &[("lakebed.tag.b", "2"), ("lakebed.tag.c", "1")], "ok");
    check(&[("delta.checkpointPolicy", "classic")], &[("delta.checkpointPolicy", "v2")], "ok");
}

#[test]
fn add_harmless_property_with_other_value_conflicts() {
    for (key, from, to) in [
        ("delta.enableRowTracking", "true", "false"),
        ("delta.enableDeletionVectors", "true", "false"),
        ("delta.checkpointPolicy", "v2", "classic"),
        ("delta.columnMapping.mode", "none", "id"),
        ("delta.columnMapping.mode", "name", "none"),
        ("delta.columnMapping.mode", "id", "name"),
    ] {
        check(&[(key, from)], &[(key, to)], &format!("the property {key}"));
    }
}

#[test]
fn change_other_property_or_remove_one_conflicts() {
    for key in [
        "delta.appendOnly",
        "delta.constraints.positive",
        "delta.enableChangeDataFeed",
        "delta.isolationLevel",
        "delta.rowTrackingSuspended",
        "delta.enableTypeWidening",
        "owner",
    ] {
        check(&[], &[(key, "true")], &format!("the property {key}"));
        check(&[(key, "true")], &[], &format!("the property {key}"));
    }
    check(&[("delta.enableDeletionVectors", "true")], &[], "the property delta.enableDeletionVectors");
}

#[test]
fn a_property_that_is_null_is_none() {
    let mut null = metadata(&[]);
    null.configuration.insert("owner".to_owned(), None);
    assert_eq!(outcome(null.clone(), &metadata(&[])), "ok");
    assert_eq!(outcome(metadata(&[]), &null), "ok");
    assert_eq!(outcome(metadata(&[("owner", "me")]), &null), "the property owner");
}

#[test]
fn change_table_id_or_layout_conflicts() {
    let changed = |change: fn(&mut Metadata)| {
        let mut new = metadata(&[]);
        change(&mut new);
        outcome(metadata(&[]), &new)
    };
    assert_eq!(changed(|new| new.id = "two".to_owned()), "the table: it was dropped and created again");
    assert_eq!(changed(|new| new.partition_columns.clear()), "the partition columns");
    assert_eq!(changed(|new| new.format.provider = "orc".to_owned()), "the format");
    assert_eq!(changed(|new| new.name = Some("t".to_owned())), "ok");
    assert_eq!(changed(|new| new.description = Some("about".to_owned())), "ok");
    assert_eq!(changed(|new| new.created_time = None), "ok");
}

#[test]
fn change_metadata_twice_always_conflicts() {
    let mut wish = Wish::default();
    wish.draft.metadata = Some(metadata(&[("owner", "me")]));
    let error =
        wish.check(&base(&[], &[]), &[json!({"metaData": metadata(&[("delta.enableRowTracking", "true")])})]).unwrap_err();
    let expected = "memory://t: another commit was committed first, as version 5: both change schema or properties; run the operation again on top of it";
    assert_eq!(error.message(), expected);
}

/// Returns a column `id` with these notes, and a column `s` with a field `x` inside.
fn schema(of_id: Value, of_x: Value) -> String {
    let field = |name: &str, of: Value, notes: Value| json!({"name": name, "type": of, "nullable": true, "metadata": notes});
    let inner = json!({"type": "struct", "fields": [field("x", json!("long"), of_x)]});
    json!({"type": "struct", "fields": [field("id", json!("long"), of_id), field("s", inner, json!({}))]}).to_string()
}

/// Returns the same schema with column mapping. `id` and `x` have these physical names and ids.
fn mapped(id: (&str, i64), x: (&str, i64)) -> String {
    let notes = |(name, id)| json!({"delta.columnMapping.physicalName": name, "delta.columnMapping.id": id});
    schema(notes(id), notes(x))
}

#[track_caller]
fn check_schema(old: (&str, String), new: (&str, String), expected: &str) {
    let with = |(mode, schema_string): (&str, String)| {
        let configuration = if mode == "none" { vec![] } else { vec![("delta.columnMapping.mode", mode)] };
        Metadata { schema_string, partition_columns: Vec::new(), ..metadata(&configuration) }
    };
    assert_eq!(outcome(with(old), &with(new)), expected);
}

#[test]
fn map_columns_keeping_physical_names_commits() {
    let plain = || ("none", schema(json!({}), json!({})));
    let first = || ("name", mapped(("p-1", 1), ("p-2", 2)));
    check_schema(plain(), ("name", mapped(("id", 1), ("x", 2))), "ok");
    check_schema(first(), first(), "ok");
    // In one case a column was dropped and created again, and in the other the table was replaced
    // by one with the same columns.
    check_schema(first(), ("name", mapped(("p-3", 1), ("p-2", 2))), "the schema");
    check_schema(first(), ("name", mapped(("p-1", 1), ("p-3", 2))), "the schema");
    check_schema(first(), ("name", mapped(("p-1", 3), ("p-2", 2))), "the schema");
    check_schema(plain(), ("name", mapped(("id", 1), ("p-2", 2))), "the schema");
    // Names left over from an earlier mapping have no meaning until there is a mapping again.
    check_schema(("none", mapped(("p-1", 1), ("x", 2))), ("none", mapped(("p-3", 1), ("x", 2))), "ok");
    check_schema(("none", mapped(("p-1", 1), ("x", 2))), ("name", mapped(("p-1", 1), ("x", 2))), "the schema");
}

#[test]
fn move_identity_mark_is_only_schema_change() {
    let marked = |mark: i64| schema(json!({"delta.identity.start": 1, "delta.identity.step": 1, IDENTITY_MARK: mark}), json!({}));
    let old = || ("none", marked(7));
    check_schema(old(), ("none", marked(8)), "ok");
    check_schema(old(), ("none", marked(8).replace("delta.identity.step\":1", "delta.identity.step\":2")), "the schema");
    check_schema(old(), ("none", marked(7).replace("long", "integer")), "the schema");
    check_schema(old(), ("none", marked(7).replace("\"nullable\":true", "\"nullable\":false")), "the schema");
    check_schema(old(), ("none", marked(7).replace("\"x\"", "\"y\"")), "the schema");
    check_schema(old(), ("none", schema(json!({"comment": "new"}), json!({}))), "the schema");
    check_schema(old(), ("none", "nonsense".to_owned()), "the schema");
}
