//! The common context in which the files of a scan are read.

use std::sync::Arc;

use lakebed_expr::Predicate;
use lakebed_expr::prune::Pruner;
use lakebed_io::store::Store;

use super::column_source::ColumnSource;
use super::condition::Condition;
use super::options::ReadOptions;
use super::output::Output;
use super::projection::FileProjection;
use super::resources::ReadResources;
use super::selectivity::Selectivity;
use super::table_layout::TableLayout;
use crate::Result;
use crate::scan::file::ScanFile;
use crate::scan::output::OutputColumn;
use crate::scan::row_filter::parse_row_filter;
use crate::scan::spec::ScanSpec;

/// The common context in which the files of a scan are read.
pub(super) struct ReadContext {
    pub(super) store: Store,
    pub(super) table: TableLayout,
    /// The condition that rows are tested for, if partition values alone do not decide it.
    pub(super) condition: Option<Condition>,
    pub(super) pruner: Option<Pruner>,
    pub(super) projection: FileProjection,
    pub(super) output: Output,
    pub(super) limit: Option<u64>,
    pub(super) resources: ReadResources,
    pub(super) selectivity: Selectivity,
}

impl ReadContext {
    pub(super) fn new(store: &Store, spec: &ScanSpec, read: &[ScanFile], options: ReadOptions) -> Result<Self> {
        let schema = &spec.schema;
        let table = TableLayout::of(spec)?;
        let (mut pruner, mut tested) = (None, None);
        if let Some(predicate) = &spec.filter {
            let filter = match predicate {
                Predicate::Text(text) => Arc::new(parse_row_filter(schema, text, spec.now_ms)?),
                Predicate::Filter(filter) => Arc::clone(filter),
            };
            let of_filter = Pruner::of_footers(&filter, schema, &spec.partition_columns, spec.mapping_mode)?;
            // If partition values decide the predicate, all rows of a file that they do not rule
            // out match.
            if !of_filter.is_exact_on_partitions() {
                tested = Some(filter);
            }
            pruner = Some(of_filter);
        }
        let resources = ReadResources::new(&options, read.len());
        let condition = Condition::new(tested.as_deref(), options.test, schema)?;
        let mut projection = FileProjection::default();
        if let Some(condition) = &condition {
            projection.add_condition(condition, &table, read);
        }
        let source = |column: &OutputColumn| match column {
            OutputColumn::OfTable(field) => match table.partition_position(&field.name) {
                Some(position) => ColumnSource::Partition(position),
                None => ColumnSource::File(projection.position_of(field)),
            },
            OutputColumn::OfRows(column) => projection.metadata_source(column.kind, &table, read),
        };
        let sources = spec.output_columns()?.iter().map(source).collect();
        let is_moving = options.is_moving && condition.is_none();
        let output = Output::new(spec.output_schema()?, sources, is_moving);
        Ok(Self {
            store: store.clone(),
            table,
            condition,
            pruner,
            projection,
            output,
            limit: spec.limit,
            resources,
            selectivity: Selectivity::default(),
        })
    }

    /// Returns how many more rows are needed when this many rows are already started; None if that
    /// is unknown.
    pub(super) fn rows_wanted(&self, started: u64) -> Option<u64> {
        if self.condition.is_some() {
            return None;
        }
        self.limit.map(|limit| limit.saturating_sub(started))
    }
}
