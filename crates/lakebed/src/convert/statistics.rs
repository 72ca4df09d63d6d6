//! The statistics of a file for the log, from its footer.
//!
//! The footer has bounds of each row group. They go through the collector that new files use, so
//! that strings, timestamps and special values are cut and left out by the same rules. Then the
//! counts of the footer replace those of the collector.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StructArray};
use arrow_schema::{Field, Fields, Schema};
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::{PrimitiveType, StructType};
use lakebed_core::stats::{IndexedColumn, IndexedKind, StatColumn, StatKind, StatsCollector, StatsPlan};
use lakebed_io::parquet::ParquetFile;
use serde_json::{Map, Value};

use crate::scan::read::{bounds_hold_for_nan, row_group_statistics};
use crate::{Error, Result};

/// A column of which files have statistics.
struct Leaf {
    path: Vec<String>,
    bounds: Option<PrimitiveType>,
}

/// The schema of the table with physical names, and how its columns are found in files.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub(super) schema: &'a StructType,
    pub(super) mode: MappingMode,
}

/// Returns the statistics of a file as JSON. Without `plan`, there are no statistics of columns.
pub(super) fn statistics(file: &ParquetFile, columns: Columns<'_>, plan: Option<&Arc<StatsPlan>>) -> Result<String> {
    let rows = i64::try_from(file.num_rows()).unwrap_or(i64::MAX);
    let Some(plan) = plan else { return Ok(format!("{{\"numRecords\":{rows}}}")) };
    let mut leaves = Vec::new();
    add_leaves(plan.columns(), &[], &mut leaves);
    let mut collector = StatsCollector::new(Arc::clone(plan));
    let mut facts = Vec::with_capacity(leaves.len());
    for leaf in &leaves {
        facts.push(facts_of(file, columns, leaf, &mut collector)?);
    }
    let mut found: Value = serde_json::from_str(&collector.finish().json)
        .map_err(|error| Error::internal("the statistics are not valid JSON").with_source(error))?;
    found["numRecords"] = rows.into();
    for (leaf, facts) in leaves.iter().zip(facts) {
        match facts.nulls {
            Some(nulls) => set(&mut found, "nullCount", &leaf.path, nulls.into()),
            None => unset(&mut found, "nullCount", &leaf.path),
        }
        if !facts.has_max {
            unset(&mut found, "maxValues", &leaf.path);
        }
    }
    Ok(found.to_string())
}

/// What the footer says about a column.
struct Facts {
    nulls: Option<i64>,
    has_max: bool,
}

fn facts_of(file: &ParquetFile, columns: Columns<'_>, leaf: &Leaf, collector: &mut StatsCollector) -> Result<Facts> {
    let data_type = leaf.bounds.unwrap_or(PrimitiveType::Long);
    let wanted = |kind| StatColumn { kind, path: leaf.path.clone(), data_type };
    let Columns { schema, mode } = columns;
    let kinds = [wanted(StatKind::NullCount), wanted(StatKind::Min), wanted(StatKind::Max)];
    let found = row_group_statistics(file, schema, mode, &kinds)?;
    let [nulls, least, greatest] = found.as_slice() else { return Err(Error::internal("statistics without an array each")) };
    let groups = file.metadata().row_groups();
    let nulls: &Int64Array = nulls.as_primitive::<Int64Type>();
    let of_group = |group: usize| nulls.is_valid(group).then(|| nulls.value(group));
    let total = (0..groups.len()).map(of_group).sum::<Option<i64>>();
    let is_empty =
        |group: usize| of_group(group).is_some_and(|nulls| groups.get(group).is_some_and(|group| group.num_rows() == nulls));
    let has_bounds = leaf.bounds.is_some()
        && (0..groups.len()).all(|group| is_empty(group) || least.is_valid(group) && greatest.is_valid(group));
    if !has_bounds {
        return Ok(Facts { nulls: total, has_max: false });
    }
    for array in [least, greatest] {
        collector.update(&nested(&leaf.path, array)?)?;
    }
    let is_float = matches!(leaf.bounds, Some(PrimitiveType::Float | PrimitiveType::Double));
    let has_max = !is_float || bounds_hold_for_nan(file, schema, mode, &leaf.path)?;
    Ok(Facts { nulls: total, has_max })
}

fn add_leaves(columns: &[IndexedColumn], above: &[String], leaves: &mut Vec<Leaf>) {
    for column in columns {
        let path = [above, std::slice::from_ref(&column.name)].concat();
        match &column.kind {
            IndexedKind::Leaf(bounds) => leaves.push(Leaf { path, bounds: *bounds }),
            IndexedKind::Struct(fields) => add_leaves(fields, &path, leaves),
        }
    }
}

/// Returns a batch in which only the column of this path has values.
fn nested(path: &[String], values: &ArrayRef) -> Result<RecordBatch> {
    let mut array = Arc::clone(values);
    let mut names = path.iter().rev();
    let mut name = names.next().cloned().unwrap_or_default();
    for outer in names {
        let fields = Fields::from(vec![Field::new(name, array.data_type().clone(), true)]);
        array = Arc::new(StructArray::try_new(fields, vec![array], None)?);
        name = outer.clone();
    }
    let field = Field::new(name, array.data_type().clone(), true);
    Ok(RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array])?)
}

fn set(found: &mut Value, statistic: &str, path: &[String], value: Value) {
    let mut at = found;
    for name in std::iter::once(statistic).chain(path.iter().map(String::as_str)) {
        let Value::Object(fields) = at else { return };
        at = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
    }
    *at = value;
}

fn unset(found: &mut Value, statistic: &str, path: &[String]) {
    let Some((last, above)) = path.split_last() else { return };
    let mut at = found.get_mut(statistic);
    for name in above {
        at = at.and_then(|fields| fields.get_mut(name));
    }
    if let Some(Value::Object(fields)) = at {
        fields.remove(last);
    }
}
