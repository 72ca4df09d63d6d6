//! Keeps `delta.dataSkippingStatsColumns` right when columns are renamed or dropped, and checks a
//! new list.

use lakebed_core::action::Metadata;
use lakebed_core::schema::StructType;
use lakebed_core::stats::parse_stats_columns;
use lakebed_expr::quoted_path;

use super::place::ColumnPlace;
use crate::Result;

const STATS_COLUMNS: &str = "delta.dataSkippingStatsColumns";

/// Renames a column in the list, and the fields inside it.
pub(super) fn rename_statistics(metadata: &mut Metadata, old: &[String], new: &[String]) -> Result<()> {
    edit(metadata, |path| match is_inside(&path, old) {
        true => Some(new.iter().chain(path.iter().skip(old.len())).cloned().collect()),
        false => Some(path),
    })
}

/// Removes columns from the list, and the fields inside them.
pub(super) fn drop_statistics(metadata: &mut Metadata, dropped: &[Vec<String>]) -> Result<()> {
    edit(metadata, |path| (!dropped.iter().any(|dropped| is_inside(&path, dropped))).then_some(path))
}

/// Refuses a list with columns that the table does not have.
pub(super) fn check_statistics(schema: &StructType, list: &str) -> Result<()> {
    for path in parse_stats_columns(list)? {
        ColumnPlace::find(schema, &quoted_path(&path)).map_err(|error| error.within(STATS_COLUMNS))?;
    }
    Ok(())
}

/// Changes the list, if the table has one. A list that does not change keeps its spelling.
fn edit(metadata: &mut Metadata, change: impl Fn(Vec<String>) -> Option<Vec<String>>) -> Result<()> {
    let Some(Some(list)) = metadata.configuration.get(STATS_COLUMNS) else { return Ok(()) };
    let before = parse_stats_columns(list)?;
    let after: Vec<Vec<String>> = before.iter().cloned().filter_map(change).collect();
    if after != before {
        let list = after.iter().map(|path| spelled(path)).collect::<Vec<_>>().join(",");
        metadata.configuration.insert(STATS_COLUMNS.to_owned(), Some(list));
    }
    Ok(())
}

/// Returns a path as the property spells it: unusual names are in backticks.
fn spelled(path: &[String]) -> String {
    let is_plain = |name: &String| name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let part = |name: &String| if is_plain(name) { name.clone() } else { quoted_path(std::slice::from_ref(name)) };
    path.iter().map(part).collect::<Vec<_>>().join(".")
}

fn is_inside(path: &[String], column: &[String]) -> bool {
    path.len() >= column.len() && path.iter().zip(column).all(|(one, other)| one.to_lowercase() == other.to_lowercase())
}
