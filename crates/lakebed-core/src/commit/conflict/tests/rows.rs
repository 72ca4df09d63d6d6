//! Conflicts about rows. Every kind of transaction is checked against every kind of winner, on a
//! table of four files: `a` and `b` with the ids 0 to 9 and 10 to 19 in partition 1, and `c` and
//! `d` with the same ids in partition 2.

use super::*;

/// Checks all transactions against all winners, and names each cell with an unexpected outcome.
#[track_caller]
fn check_matrix(wishes: &[(&str, Wish)], winners: &[(&str, Vec<Value>)], expected: &str) {
    let base = base(&["deletionVectors"], &[]);
    let mut rows = expected.trim().lines().map(|line| line.trim_start().split('|').map(str::trim));
    let heads: Vec<&str> = winners.iter().map(|(name, _)| *name).collect();
    assert_eq!(rows.next().unwrap().skip(1).collect::<Vec<_>>(), heads);
    let mut wrong = Vec::new();
    for ((name, wish), mut row) in wishes.iter().zip(rows.by_ref()) {
        assert_eq!(row.next().unwrap(), *name);
        for (winner, actions) in winners {
            let (expected, found) = (row.next().unwrap(), wish.outcome(&base, actions));
            if expected != found {
                wrong.push(format!("{name} after {winner}: expected {expected}, found {found}"));
            }
        }
        assert_eq!(row.next(), None);
    }
    assert_eq!(rows.count() + wishes.len(), expected.trim().lines().count() - 1);
    assert_eq!(wrong, [""; 0]);
}

fn wishes() -> Vec<(&'static str, Wish)> {
    let new = || [add_ids("new", "1", 50..=59)];
    let read_partition = || Wish::default().asks(Some("1"), ALL_IDS).reads(&[a(), b()]);
    let update_by_id = |p: Option<&'static str>| {
        let read = if p.is_some() { vec![a()] } else { vec![a(), c()] };
        Wish::default().asks(p, (0, 9)).reads(&read).removes(&[a()]).adds(&[add_ids("a3", "1", 0..=9)])
    };
    let delete_all = Wish::default().reads_all().reads(&[a(), b(), c(), d()]).removes(&[a(), b(), c(), d()]);
    let mut vector = Wish::default().asks(Some("1"), (0, 9)).reads(&[a()]);
    vector.draft.vectors.push(vector_change(&a(), &[], &[3]));
    let mut optimize = Wish::default().reads(&[a(), b()]);
    optimize.draft.removes.push(removal(&[a(), b()], false));
    optimize.draft.adds.push(to_add(&unchanged(add_ids("ab2", "1", 0..=19))));
    let mut alter = Wish::default();
    alter.draft.metadata = Some(metadata(&[("owner", "me")]));
    let constraint = alter.clone().reads_all();
    let loose = IsolationLevel::WriteSerializable;
    vec![
        ("append", Wish::default().adds(&new())),
        ("copy of all", Wish::default().reads_all().adds(&new())),
        ("copy of p = 1", read_partition().adds(&new())),
        ("delete p = 1", read_partition().removes(&[a(), b()])),
        ("update of a by p, id", update_by_id(Some("1"))),
        ("update of a by id", update_by_id(None)),
        ("the same, loosely", update_by_id(None).under(loose)),
        ("rows of a", vector),
        ("overwrite", delete_all.clone().adds(&new())),
        ("the same, loosely", delete_all.adds(&new()).under(loose)),
        ("optimize of a, b", optimize.clone()),
        ("the same, loosely", optimize.under(loose)),
        ("alter", alter),
        ("alter, all read", constraint.clone()),
        ("the same, loosely", constraint.under(loose)),
        ("nothing", Wish::default()),
    ]
}

fn optimized(gone: [Value; 2], into: Value) -> Vec<Value> {
    let [one, two] = gone.map(|file| remove_of(&unchanged(file)));
    vec![said("OPTIMIZE"), one, two, unchanged(into)]
}

#[test]
fn append_by_winner_conflicts_with_its_readers() {
    let rewrite = |gone: Value, rest: Value| vec![said("UPDATE"), remove_of(&gone), rest];
    let winners = [
        ("append 1", vec![blind(), add_ids("n", "1", 5..=6)]),
        ("append 2", vec![blind(), add_ids("n", "2", 5..=6)]),
        ("append 1 far", vec![blind(), add_ids("n", "1", 30..=31)]),
        ("copy to 1", vec![said("WRITE"), add_ids("n", "1", 5..=6)]),
        ("update a", rewrite(a(), add_ids("a2", "1", 0..=9))),
        ("update d", rewrite(d(), add_ids("d2", "2", 10..=19))),
        ("move d to 1", rewrite(d(), add_ids("d2", "1", 0..=9))),
    ];
    let expected = "
        wish                  | append 1 | append 2 | append 1 far | copy to 1 | update a   | update d   | move d to 1
        append                | ok       | ok       | ok           | ok        | ok         | ok         | ok
        copy of all           | Append   | Append   | Append       | Append    | Append     | Append     | Append
        copy of p = 1         | Append   | ok       | Append       | Append    | Append     | ok         | Append
        delete p = 1          | Append   | ok       | Append       | Append    | Append     | ok         | Append
        update of a by p, id  | Append   | ok       | ok           | Append    | Append     | ok         | Append
        update of a by id     | Append   | Append   | ok           | Append    | Append     | ok         | Append
          the same, loosely   | ok       | ok       | ok           | Append    | Append     | ok         | Append
        rows of a             | Append   | ok       | ok           | Append    | Append     | ok         | Append
        overwrite             | Append   | Append   | Append       | Append    | Append     | Append     | Append
          the same, loosely   | ok       | ok       | ok           | Append    | Append     | Append     | Append
        optimize of a, b      | ok       | ok       | ok           | ok        | DeleteRead | ok         | ok
          the same, loosely   | ok       | ok       | ok           | ok        | DeleteRead | ok         | ok
        alter                 | ok       | ok       | ok           | ok        | ok         | ok         | ok
        alter, all read       | Append   | Append   | Append       | Append    | Append     | Append     | Append
          the same, loosely   | Append   | Append   | Append       | Append    | Append     | Append     | Append
        nothing               | ok       | ok       | ok           | ok        | ok         | ok         | ok
    ";
    check_matrix(&wishes(), &winners, expected);
}

#[test]
fn remove_by_winner_conflicts_with_file_users() {
    let winners = [
        ("delete a", vec![said("DELETE"), remove_of(&a())]),
        ("delete d", vec![said("DELETE"), remove_of(&d())]),
        ("rows of a", vec![said("DELETE"), remove_of(&a()), without(&a(), &[7])]),
        ("rows of d", vec![said("DELETE"), remove_of(&d()), without(&d(), &[7])]),
        ("optimize a, b", optimized([a(), b()], add_ids("ab", "1", 0..=19))),
        ("optimize c, d", optimized([c(), d()], add_ids("cd", "2", 0..=19))),
        ("nothing", vec![said("VACUUM END")]),
    ];
    let expected = "
        wish                  | delete a   | delete d   | rows of a  | rows of d  | optimize a, b | optimize c, d | nothing
        append                | ok         | ok         | ok         | ok         | ok            | ok            | ok
        copy of all           | DeleteRead | DeleteRead | DeleteRead | DeleteRead | ok            | ok            | ok
        copy of p = 1         | DeleteRead | ok         | DeleteRead | ok         | ok            | ok            | ok
        delete p = 1          | DeleteRead | ok         | DeleteRead | ok         | DeleteDelete  | ok            | ok
        update of a by p, id  | DeleteRead | ok         | DeleteRead | ok         | DeleteDelete  | ok            | ok
        update of a by id     | DeleteRead | ok         | DeleteRead | ok         | DeleteDelete  | ok            | ok
          the same, loosely   | DeleteRead | ok         | DeleteRead | ok         | DeleteDelete  | ok            | ok
        rows of a             | DeleteRead | ok         | join a     | ok         | DeleteDelete  | ok            | ok
        overwrite             | DeleteRead | DeleteRead | DeleteRead | DeleteRead | DeleteDelete  | DeleteDelete  | ok
          the same, loosely   | DeleteRead | DeleteRead | DeleteRead | DeleteRead | DeleteDelete  | DeleteDelete  | ok
        optimize of a, b      | DeleteRead | ok         | DeleteRead | ok         | DeleteDelete  | ok            | ok
          the same, loosely   | DeleteRead | ok         | DeleteRead | ok         | DeleteDelete  | ok            | ok
        alter                 | ok         | ok         | ok         | ok         | ok            | ok            | ok
        alter, all read       | DeleteRead | DeleteRead | DeleteRead | DeleteRead | ok            | ok            | ok
          the same, loosely   | DeleteRead | DeleteRead | DeleteRead | DeleteRead | ok            | ok            | ok
        nothing               | ok         | ok         | ok         | ok         | ok            | ok            | ok
    ";
    check_matrix(&wishes(), &winners, expected);
}

/// Checks a transaction that deletes row 3 of `a`, which has the deletion vector `before`, against
/// a winner.
#[track_caller]
fn check_vectors(before: &[u64], actions: &[Value], expected: &str) {
    let mut wish = Wish::default().asks(Some("1"), (0, 9)).reads(&[without(&a(), before)]);
    wish.draft.vectors.push(vector_change(&a(), before, &[3]));
    assert_eq!(wish.outcome(&base(&["deletionVectors"], &[]), actions), expected);
}

#[test]
fn join_vectors_with_same_base_is_allowed() {
    let (none, one, other) = (a(), without(&a(), &[1]), without(&a(), &[2]));
    let more = |before: &[u64]| without(&a(), &[before, &[7]].concat());
    check_vectors(&[], &[remove_of(&none), more(&[])], "join a");
    check_vectors(&[1], &[remove_of(&one), more(&[1])], "join a");
    check_vectors(&[1], &[remove_of(&other), more(&[2])], "DeleteRead");
    check_vectors(&[1], &[remove_of(&none), more(&[])], "DeleteRead");
    check_vectors(&[], &[remove_of(&one), more(&[1])], "DeleteRead");
}

#[test]
fn join_file_unless_all_rows_moved() {
    // Row 7 is in another file now: as good as deleted.
    let moved = [remove_of(&unchanged(a())), unchanged(without(&a(), &[7])), unchanged(add_ids("n", "1", 7..=7))];
    check_vectors(&[], &moved, "join a");
    check_vectors(&[], &[remove_of(&unchanged(a())), unchanged(add_ids("n", "1", 0..=9))], "DeleteDelete");
}

#[test]
fn update_by_vector_shows_its_new_rows() {
    let update = |ids| [said("UPDATE"), remove_of(&a()), without(&a(), &[7]), add_ids("n", "1", ids)];
    check_vectors(&[], &update(50..=50), "join a");
    check_vectors(&[], &update(5..=5), "Append");
}

#[test]
fn who_read_all_rows_joins_with_nobody() {
    let mut wish = Wish::default().reads_all();
    wish.draft.vectors.push(vector_change(&a(), &[], &[3]));
    assert_eq!(wish.outcome(&base(&["deletionVectors"], &[]), &[remove_of(&a()), without(&a(), &[7])]), "DeleteRead");
}

#[test]
fn restore_deleted_rows_conflicts_with_their_readers() {
    let base = base(&["deletionVectors"], &[]);
    let narrow = with(without(&a(), &[5, 6, 7, 8, 9]), json!({"stats": add_ids("a", "1", 0..=4)["add"]["stats"]}));
    let wish = Wish::default().asks(Some("1"), (5, 9)).adds(&[add_ids("n", "2", 1..=1)]);
    let less = without(&a(), &[5]);
    for restored in [a(), less.clone()] {
        assert_eq!(wish.outcome(&base, &[said("RESTORE"), remove_of(&narrow), restored]), "Append");
    }
    // Nor are they joined with: whoever deletes rows of the file has not looked at them.
    check_vectors(&[5, 6, 7, 8, 9], &[remove_of(&without(&a(), &[5, 6, 7, 8, 9])), less], "Append");
}

#[test]
fn join_never_restores_file_winner_removed() {
    // Statistics gathered anew, or row ids given later.
    let wish = Wish::default().reads(&[a()]).adds(&[unchanged(a())]);
    let base = base(&[], &[]);
    for gone in [vec![remove_of(&a())], optimized([a(), b()], add_ids("ab", "1", 0..=19))] {
        assert_eq!(wish.outcome(&base, &gone), "DeleteRead");
    }
    assert_eq!(wish.outcome(&base, &optimized([c(), d()], add_ids("cd", "2", 0..=19))), "ok");
}

#[test]
fn join_never_overwrites_row_ids_of_winner() {
    // Such as row ids, which the file must keep.
    let noted = [unchanged(with(a(), json!({"baseRowId": 100, "defaultRowCommitVersion": 5})))];
    check_vectors(&[], &noted, "Append");
    let base = base(&[], &[]);
    assert_eq!(Wish::default().reads(&[a()]).adds(&[unchanged(a())]).outcome(&base, &noted), "Append");
    assert_eq!(Wish::default().asks(Some("1"), ALL_IDS).reads(&[a()]).removes(&[a()]).outcome(&base, &noted), "ok");
}

#[test]
fn reads_follow_rows_into_rearranged_files() {
    let base = base(&[], &[]);
    let mut wish = Wish::default().asks(Some("1"), (0, 9)).reads(&[a()]).adds(&[add_ids("n", "2", 1..=1)]);
    let moved = optimized([a(), b()], add_ids("ab", "1", 0..=19));
    let gone = [said("DELETE"), remove_of(&add_ids("ab", "1", 0..=19))];
    assert_eq!(wish.outcome(&base, &moved), "ok");
    wish.reads.follow(&winner(5, &moved));
    assert_eq!(wish.outcome(&base, &gone), "DeleteRead");
    // Moved once more.
    wish.reads.follow(&winner(6, &optimized([add_ids("ab", "1", 0..=19), d()], add_ids("abd", "1", 0..=19))));
    assert_eq!(wish.outcome(&base, &[said("DELETE"), remove_of(&add_ids("abd", "1", 0..=19))]), "DeleteRead");
    // Others' rows are none of its business.
    wish.reads.follow(&winner(7, &optimized([c(), d()], add_ids("cd", "2", 0..=19))));
    assert_eq!(wish.outcome(&base, &[said("DELETE"), remove_of(&add_ids("cd", "2", 0..=19))]), "ok");
}
