use lakebed_core::layout::binpack::PackedFile;
use lakebed_core::schema::PrimitiveType;
use lakebed_core::schema::mapping::MappingMode;

use super::*;
use crate::clustering::key_columns_of;
use crate::kit::schema;

fn spec(order: ClusterOrder, full: bool) -> ClusterSpec {
    let schema = schema(&[("a", PrimitiveType::Long)]);
    let columns = key_columns_of(&schema, MappingMode::None, &[], &["a".to_owned()]).unwrap();
    let rules = PackRules { target_file_size_bytes: 1000, min_files: 2, max_deleted_share: 0.1 };
    ClusterSpec { columns, order, full, rules }
}

/// A file of this size in a cube that was clustered by these columns in this order.
fn clustered(size_bytes: u64, id: &str, columns: &str, order: Option<&str>) -> Candidate {
    let cube = ZCube {
        id: Some(id.to_owned()),
        columns: Some(columns.to_owned()),
        order: order.map(str::to_owned),
        provider: order.is_none().then(|| PROVIDER.to_owned()),
    };
    Candidate { cube: Some(cube), ..new(size_bytes) }
}

fn new(size_bytes: u64) -> Candidate {
    Candidate { place: (0, 0), file: PackedFile { size_bytes, rows: Some(100), deleted_rows: 0 }, modified: 0, cube: None }
}

fn without_rows(candidate: Candidate, deleted_rows: u64) -> Candidate {
    Candidate { file: PackedFile { deleted_rows, ..candidate.file }, ..candidate }
}

const BY_A: &str = r#"["a"]"#;
const BY_B: &str = r#"["b"]"#;

#[test]
fn z_order_rewrites_all_unless_one_cube() {
    let z = |id: &str| clustered(10, id, BY_A, Some("zorder"));
    let check = |files: &[Candidate], expected: Option<Vec<usize>>| {
        assert_eq!(spec(ClusterOrder::ZOrder, false).choose(files), expected, "{files:?}");
    };
    check(&[z("x"), z("x")], None);
    check(&[], None);
    check(&[z("x"), new(1)], Some(vec![0, 1]));
    check(&[z("x"), z("y")], Some(vec![0, 1]));
    check(&[clustered(10, "x", BY_B, Some("zorder"))], Some(vec![0]));
    check(&[clustered(10, "x", BY_A, Some("cluster"))], Some(vec![0]));
    // A tenth of the rows may be deleted.
    check(&[z("x"), without_rows(z("x"), 10)], None);
    check(&[z("x"), without_rows(z("x"), 11)], Some(vec![0, 1]));
    assert_eq!(spec(ClusterOrder::ZOrder, true).choose(&[z("x"), z("x")]), Some(vec![0, 1]));
}

#[test]
fn cubes_larger_than_new_files_stay() {
    let cube = |size_bytes: u64, id: &str| clustered(size_bytes, id, BY_A, None);
    let check = |files: &[Candidate], expected: Option<Vec<usize>>| {
        assert_eq!(spec(ClusterOrder::OfTable, false).choose(files), expected, "{files:?}");
    };
    check(&[cube(50, "x"), cube(50, "x")], None);
    check(&[cube(50, "x"), new(99), cube(50, "x")], Some(vec![1]));
    check(&[cube(50, "x"), new(100), cube(50, "x")], Some(vec![0, 1, 2]));
    // A cube that is taken counts as new for the next larger one.
    check(&[cube(200, "x"), cube(100, "y"), new(100)], Some(vec![0, 1, 2]));
    check(&[cube(201, "x"), cube(100, "y"), new(100)], Some(vec![1, 2]));
    check(&[without_rows(cube(500, "x"), 11)], Some(vec![0]));
}

#[test]
fn table_order_leaves_files_of_others() {
    let mut foreign = new(10);
    foreign.cube = Some(ZCube { id: None, columns: None, order: None, provider: Some("other".to_owned()) });
    let files = [foreign, clustered(10, "x", BY_B, None), new(10)];
    assert_eq!(spec(ClusterOrder::OfTable, false).choose(&files), Some(vec![2]));
    assert_eq!(spec(ClusterOrder::OfTable, true).choose(&files), Some(vec![1, 2]));
}
