//! The files of a scan with the statistics of their columns.

use crate::scan::files::Extra;
use crate::scan::statistic_columns::StatisticColumns;
use crate::{RecordBatchStream, Result, Scan};

impl Scan {
    /// Returns the columns of [`files`](Self::files) and the statistics of the log: the structs
    /// `null_count`, `min` and `max` have a field for each column that the table's properties choose
    /// for statistics, and for each clustering column. `min` and `max` are bounds: a string may be
    /// cut off, and after a delete no row may have the value. A value is null where the log does not
    /// give it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// use std::sync::Arc;
    /// use arrow_array::cast::AsArray;
    /// use arrow_array::types::Int64Type;
    /// use arrow_array::{Int64Array, RecordBatch};
    /// use lakebed::{RecordBatchStream, Table};
    ///
    /// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![3, 1, 2])) as _)])?;
    /// let table = Table::at("memory://docs/file-statistics").build()?;
    /// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
    /// let files = table.snapshot().await?.scan().files_with_statistics().await?.collect_all().await?;
    /// let greatest = files[0]["max"].as_struct()["id"].as_primitive::<Int64Type>().value(0);
    /// assert_eq!(greatest, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn files_with_statistics(&self) -> Result<RecordBatchStream> {
        let clustering = self.snapshot().physical_clustering_columns().await?;
        self.list(Extra::Statistics(StatisticColumns::of(self.snapshot(), &clustering)?)).await
    }
}
