//! Removes bounds that other readers would misunderstand. In Spark, NaN is greater than all
//! numbers. Parquet's bounds ignore NaN, and Spark skips by these bounds. So chunks with NaN have
//! no bounds.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::DataType;
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use parquet::basic::Type;
use parquet::file::statistics::Statistics;

/// Returns whether these values contain a NaN. A value at the position of a null counts too.
pub(super) fn has_nan(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Float32 => array.as_primitive::<Float32Type>().values().iter().any(|value| value.is_nan()),
        DataType::Float64 => array.as_primitive::<Float64Type>().values().iter().any(|value| value.is_nan()),
        DataType::Struct(_) | DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Map(..) => {
            array.to_data().child_data().iter().any(|child| has_nan(&make_array(child.clone())))
        }
        _ => false,
    }
}

/// Removes the bounds of a chunk of floating point numbers, and keeps its null count.
pub(super) fn without_bounds(chunk: &mut ArrowColumnChunk) -> parquet::errors::Result<()> {
    let close = chunk.close_mut();
    let nulls = close.metadata.statistics().and_then(Statistics::null_count_opt);
    let statistics = match close.metadata.column_type() {
        Type::FLOAT => Statistics::float(None, None, None, nulls, false),
        Type::DOUBLE => Statistics::double(None, None, None, nulls, false),
        _ => return Ok(()),
    };
    close.metadata = close.metadata.clone().into_builder().set_statistics(statistics).build()?;
    close.column_index = None;
    Ok(())
}
