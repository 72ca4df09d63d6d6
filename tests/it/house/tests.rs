//! Tests of the house test on small crates.

use std::collections::BTreeSet;

use super::arrows::arrows;
use super::backward;
use super::circles::circles;
use super::tree::{Sources, Tree};

fn tree(files: &[(&str, &str)]) -> Tree {
    let sources: Sources = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    Tree::parse(&sources)
}

/// Returns each arrow as a line `from -> to: items`.
fn shown(files: &[(&str, &str)]) -> Vec<String> {
    let arrows = arrows(&tree(files)).into_iter();
    arrows.map(|((from, to), items)| format!("{from} -> {to}: {}", super::list(&items))).collect()
}

#[test]
fn imports_are_found_in_every_spelling() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "pub mod deep; pub struct One; pub struct Two; pub fn three() {}"),
        ("a/deep.rs", "pub struct Four;"),
        ("b.rs", "use crate::a::{One, Two as Other, deep::Four, three};"),
    ];
    assert_eq!(shown(&files), ["b.rs -> a/deep.rs: Four", "b.rs -> a/mod.rs: One, Two, three"]);
}

#[test]
fn paths_in_code_are_arrows() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub struct A; pub fn make() -> A { A }"),
        ("b.rs", "fn f(x: crate::a::A) { super::a::make(); }"),
        ("c.rs", "use crate::a; fn f() -> Vec<a::A> { vec![a::make(), other.a.b::<c>()] }"),
    ];
    assert_eq!(shown(&files), ["b.rs -> a.rs: A, make", "c.rs -> a.rs: A, make"]);
}

#[test]
fn reexports_lead_to_the_defining_file() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use a::Table;"),
        ("a/mod.rs", "mod table; mod rest; pub use table::Table; pub use rest::*;"),
        ("a/table.rs", "pub struct Table;"),
        ("a/rest.rs", "pub use inner::Inner; mod inner; pub fn free() {}"),
        ("a/rest/inner.rs", "pub struct Inner;"),
        ("b.rs", "use crate::Table; use crate::a::*; fn f(x: Inner) { free() }"),
    ];
    let expected = ["b.rs -> a/rest.rs: free", "b.rs -> a/rest/inner.rs: Inner", "b.rs -> a/table.rs: Table"];
    assert_eq!(shown(&files), expected);
}

#[test]
fn declarations_and_reexports_are_no_arrows() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod child; pub use child::Child; pub struct Parent;"),
        ("a/child.rs", "use super::Parent; pub struct Child(Parent);"),
    ];
    assert_eq!(shown(&files), ["a/child.rs -> a/mod.rs: Parent"]);
}

#[test]
fn reexport_used_in_own_file_is_arrow() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a.rs", "mod child; pub use child::{Child, make}; fn f() -> Child { make() }"),
        ("a/child.rs", "pub struct Child; pub fn make() -> Child { Child }"),
    ];
    assert_eq!(shown(&files), ["a.rs -> a/child.rs: Child, make"]);
}

#[test]
fn names_come_through_private_imports_of_parents() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub struct A; pub enum Kind { First }"),
        ("b.rs", "mod c; mod d; use crate::a::Kind; use crate::a::A;"),
        ("b/c.rs", "use super::*; fn f(x: A) {}"),
        ("b/d.rs", "fn f() { use super::Kind::*; First; }"),
    ];
    assert_eq!(shown(&files), ["b.rs -> a.rs: A, Kind", "b/c.rs -> a.rs: A", "b/d.rs -> a.rs: Kind"]);
}

#[test]
fn functions_of_types_lead_to_their_file() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub struct A;"),
        ("b.rs", "use crate::a::A; impl A { pub fn load() -> A { A } }"),
        ("c.rs", "use crate::a::A; fn f() { A::load(); A::other(); }"),
    ];
    assert_eq!(shown(&files), ["b.rs -> a.rs: A", "c.rs -> a.rs: A", "c.rs -> b.rs: A::load"]);
}

#[test]
fn self_functions_lead_to_their_file() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub struct A; impl A { fn f() { Self::load(); } }"),
        ("b.rs", "use crate::a::A; impl A { pub fn load() {} }"),
    ];
    assert_eq!(shown(&files), ["a.rs -> b.rs: A::load", "b.rs -> a.rs: A"]);
}

#[test]
fn tests_and_other_crates_are_left_out() {
    let files = [
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod missing;"),
        ("a.rs", "pub struct A; pub struct B; pub mod std { pub struct Vec; }"),
        (
            "b.rs",
            "use std::vec; use ::a::A; use a::B; use serde::a;
             #[cfg(test)] use crate::a::A;
             #[cfg(all(test, unix))] mod tests { use crate::a::A; }
             #[cfg(not(test))] fn f(b: crate::a::B) {}
             struct C; impl C { #[cfg(test)] fn g(a: crate::a::A) {} }",
        ),
    ];
    assert_eq!(shown(&files), ["b.rs -> a.rs: B"]);
}

#[test]
fn local_variables_are_no_arrows() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a.rs", "mod plan; pub use plan::plan; fn f() { let plan = 1; print(plan) }"),
        ("a/plan.rs", "pub fn plan() {}"),
    ];
    assert_eq!(shown(&files), [""; 0]);
}

#[test]
fn circle_of_three_files_is_found() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "pub struct A; fn f(x: crate::b::B) {}"),
        ("b.rs", "pub struct B; fn f(x: crate::c::C) {}"),
        ("c.rs", "pub struct C; fn f(x: crate::a::A) {}"),
        ("d.rs", "pub struct D; fn f(x: crate::a::A) {}"),
    ];
    let circle: BTreeSet<_> = ["a.rs", "b.rs", "c.rs"].map(str::to_owned).into();
    assert_eq!(circles(&arrows(&tree(&files))), [circle].into());
}

#[test]
fn use_of_lower_module_is_backward() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::B;"),
        ("a.rs", "fn f(x: crate::B) {}"),
        ("b.rs", "mod c; pub use c::B;"),
        ("b/c.rs", "pub struct B; fn f() { use crate::a; }"),
    ];
    let tree = tree(&files);
    assert_eq!(backward(&tree, &arrows(&tree)), ["a.rs -> b/c.rs: B"]);
}
