//! Lists the files of a scan as record batches. Begin with [`Scan::files`].

use std::sync::Arc;

use arrow_array::builder::Int64Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, StructArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use futures::StreamExt;
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::schema::arrow::type_to_arrow;
use lakebed_core::schema::mapping::physical_name;
use lakebed_core::schema::{DataType, PrimitiveType, StructField};

use super::Scan;
use super::plan::{Plan, PlanOptions};
use super::statistic_columns::StatisticColumns;
use crate::{Error, RecordBatchStream, Result};

impl Scan {
    /// Returns the files that may hold rows of the scan, one file per row. The columns are `path`
    /// as the log spells it, `partition` with a typed field per partition column, `size_bytes`,
    /// `modification_time`, `num_records` (including deleted rows) and `deleted_records`.
    /// `num_records` is null where the log does not give it. `deleted_records` is 0 for a file
    /// without a deletion vector.
    pub async fn files(&self) -> Result<RecordBatchStream> {
        self.list(Extra::None).await
    }

    /// Returns the columns of [`files`](Self::files) and a column `complete_bounds`. It says
    /// whether the upper bounds in a file's footer are known to hold for NaN, so that engines may
    /// skip row groups by bounds of floating-point columns. The answer comes from the log. If few
    /// files remain unknown, their footers are read.
    pub async fn files_with_complete_bounds(&self) -> Result<RecordBatchStream> {
        self.list(Extra::CompleteBounds).await
    }

    /// Returns the files with columns beside those of [`files`](Self::files).
    pub(crate) async fn list(&self, extra: Extra) -> Result<RecordBatchStream> {
        let scan = self.by_log().await?;
        let filter = scan.parsed_filter()?;
        let complete_bounds = matches!(extra, Extra::CompleteBounds);
        let whole_actions = matches!(extra, Extra::Statistics(_));
        let options = PlanOptions { row_counts: true, complete_bounds, whole_actions, ..PlanOptions::default() };
        let plan = Plan::new(&scan.snapshot, filter.as_deref(), options)?;
        let listing = Arc::new(Listing::new(&scan, extra)?);
        let schema = listing.schema.clone();
        let files = plan.files().then(move |batch| {
            let (plan, listing) = (plan.clone(), Arc::clone(&listing));
            async move {
                let batch = batch?;
                let complete = if complete_bounds { Some(plan.complete_bounds(&batch).await?) } else { None };
                listing.list(&batch, complete)
            }
        });
        Ok(RecordBatchStream::new(schema, files))
    }
}

/// The columns of a listing beside those that every listing has.
pub(crate) enum Extra {
    None,
    CompleteBounds,
    Statistics(StatisticColumns),
}

struct Listing {
    extra: Extra,
    schema: SchemaRef,
    /// The physical name and the type of each partition column.
    partitions: Vec<(String, PrimitiveType)>,
    partition_fields: Fields,
}

impl Listing {
    fn new(scan: &Scan, extra: Extra) -> Result<Self> {
        let snapshot = &scan.snapshot;
        let columns: Vec<&StructField> =
            snapshot.partition_columns().iter().filter_map(|name| snapshot.schema().field(name)).collect();
        let mut partitions = Vec::new();
        let mut fields = Vec::new();
        for column in columns {
            let DataType::Primitive(data_type) = &column.data_type else {
                return Err(Error::corrupt(
                    snapshot.url(),
                    format!("partition column {:?} is not of a primitive type", column.name),
                ));
            };
            partitions.push((physical_name(column, snapshot.mapping_mode()).to_owned(), *data_type));
            fields.push(Field::new(&column.name, type_to_arrow(&column.data_type)?, true));
        }
        let partition_fields = Fields::from(fields);
        let time = ArrowType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        let columns = vec![
            Field::new("path", ArrowType::Utf8, false),
            Field::new("partition", ArrowType::Struct(partition_fields.clone()), false),
            Field::new("size_bytes", ArrowType::Int64, false),
            Field::new("modification_time", time, true),
            Field::new("num_records", ArrowType::Int64, true),
            Field::new("deleted_records", ArrowType::Int64, true),
        ];
        let mut columns: Vec<FieldRef> = columns.into_iter().map(Arc::new).collect();
        match &extra {
            Extra::None => {}
            Extra::CompleteBounds => columns.push(Arc::new(Field::new("complete_bounds", ArrowType::Boolean, false))),
            Extra::Statistics(statistics) => columns.extend(statistics.fields.iter().cloned()),
        }
        Ok(Self { extra, schema: Arc::new(Schema::new(columns)), partitions, partition_fields })
    }

    fn list(&self, batch: &FileBatch, complete_bounds: Option<BooleanArray>) -> Result<RecordBatch> {
        let values = self.partitions.iter().map(|(name, data_type)| batch.partition_values(name, *data_type));
        let values = values.collect::<Result<Vec<ArrayRef>>>()?;
        let partition = StructArray::try_new_with_length(self.partition_fields.clone(), values, None, batch.len())?;
        let times = batch.longs(column::MODIFICATION_TIME)?;
        let times = TimestampMillisecondArray::new(times.values().clone(), times.nulls().cloned()).with_timezone("UTC");
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(batch.paths()?.clone()),
            Arc::new(partition),
            Arc::new(batch.longs(column::SIZE)?),
            Arc::new(times),
            Arc::new(batch.row_counts()?),
            Arc::new(deleted_records(batch)),
        ];
        columns.extend(complete_bounds.map(|complete| Arc::new(complete) as ArrayRef));
        if let Extra::Statistics(statistics) = &self.extra {
            columns.extend(statistics.of_files(batch)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.len()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }
}

/// Returns how many rows the deletion vector of each file deletes. The count is 0 for a file
/// without a deletion vector.
pub(crate) fn deleted_records(batch: &FileBatch) -> Int64Array {
    let vectors = batch.column(column::DELETION_VECTOR).and_then(|array| array.as_struct_opt());
    let cardinality = vectors.and_then(|vectors| vectors.column_by_name("cardinality")?.as_primitive_opt::<Int64Type>());
    let mut deleted = Int64Builder::with_capacity(batch.len());
    for row in 0..batch.len() {
        let present = vectors.is_some_and(|vectors| vectors.is_valid(row));
        deleted.append_value(cardinality.filter(|rows| present && rows.is_valid(row)).map_or(0, |rows| rows.value(row)));
    }
    deleted.finish()
}
