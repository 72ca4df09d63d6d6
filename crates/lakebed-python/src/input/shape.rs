//! Checks whether an array of Arrow's C interface has the parts that its type requires: buffers,
//! children, lengths, and the ends of offsets.
//!
//! arrow trusts the producer of the array and would read out of bounds. Only facts that the
//! interface itself gives are checked here.

use arrow::datatypes::{DataType, Field, UnionMode};
use arrow::ffi::FFI_ArrowArray;
use lakebed_core::schema::arrow::type_name;

/// The largest number of rows of an array. Sizes of buffers are counted in bytes or bits, and this
/// limit keeps them in range.
const MOST_ROWS: i64 = 1 << 56;

/// Compares an array with its type.
///
/// # Errors
/// Returns the fault as a message.
pub fn check(array: &FFI_ArrowArray, data_type: &DataType) -> Result<(), String> {
    let rows = reach(array)?;
    check_buffers(array, data_type, rows)?;
    match (data_type, array.dictionary.is_null()) {
        (DataType::Dictionary(_, values), false) => {
            // SAFETY: the producer of the array guarantees the pointer, which is not null.
            #[expect(unsafe_code, reason = "Arrow's C interface is made of pointers")]
            let dictionary = unsafe { &*array.dictionary };
            check(dictionary, values)?;
        }
        (DataType::Dictionary(..), true) => return Err("a dictionary is missing".to_owned()),
        (_, true) => {}
        (other, false) => {
            return Err(format!("there is a dictionary for values of type {}, which cannot have one", type_name(other)));
        }
    }
    check_children(array, data_type, rows)
}

/// Returns the number of rows, including those before the offset.
fn reach(array: &FFI_ArrowArray) -> Result<i64, String> {
    let (length, offset) = (array.length, array.offset);
    let is_counted = |count: i64| (0..MOST_ROWS).contains(&count);
    if !is_counted(length) || !is_counted(offset) || array.null_count < -1 || array.null_count > length {
        return Err(format!("it claims to have {length} rows from row {offset} on, {} of them null", array.null_count));
    }
    Ok(length + offset)
}

fn check_buffers(array: &FFI_ArrowArray, data_type: &DataType, rows: i64) -> Result<(), String> {
    let (given, wanted) = (array.n_buffers, wanted_buffers(data_type));
    let is_right = match wanted {
        Buffers::Exactly(count) => given == count,
        Buffers::Views => given >= 3,
    };
    if !is_right {
        let wanted = match wanted {
            Buffers::Exactly(count) => count.to_string(),
            _ => "3 or more".to_owned(),
        };
        return Err(format!("values of type {} have {wanted} parts in memory, but here are {given}", type_name(data_type)));
    }
    if given > 0 && array.buffers.is_null() {
        return Err(format!("the values of type {} are missing", type_name(data_type)));
    }
    if let Buffers::Views = wanted {
        return check_view_sizes(array);
    }
    if let Some(size_bytes) = offset_bytes(data_type) {
        check_ends(array, data_type, rows, size_bytes)?;
    }
    Ok(())
}

enum Buffers {
    Exactly(i64),
    /// One buffer of nulls, one of views, any number of buffers that views point into, and one
    /// buffer with the sizes of these.
    Views,
}

fn wanted_buffers(data_type: &DataType) -> Buffers {
    use DataType as T;
    Buffers::Exactly(match data_type {
        T::Utf8View | T::BinaryView => return Buffers::Views,
        // Before Arrow 1.0, a column of type null had one buffer, which arrow does not accept.
        T::Null | T::RunEndEncoded(..) => 0,
        T::Struct(_) | T::FixedSizeList(..) | T::Union(_, UnionMode::Sparse) => 1,
        T::Utf8 | T::LargeUtf8 | T::Binary | T::LargeBinary | T::ListView(_) | T::LargeListView(_) => 3,
        _ => 2,
    })
}

/// Checks that the sizes of the buffers that views point into are given.
fn check_view_sizes(array: &FFI_ArrowArray) -> Result<(), String> {
    let buffers = array.num_buffers() - 3;
    let sizes = array.buffer(array.num_buffers() - 1);
    if buffers > 0 && sizes.is_null() {
        return Err("the size of its string data is missing".to_owned());
    }
    // SAFETY: there is one size for each buffer.
    #[expect(unsafe_code, reason = "Arrow's C interface is made of pointers")]
    let is_negative = (0..buffers).any(|index| unsafe { sizes.cast::<i64>().add(index).read_unaligned() } < 0);
    if is_negative { Err("a part of its string data has a negative size".to_owned()) } else { Ok(()) }
}

/// Returns the size of an offset, for types that have offsets.
fn offset_bytes(data_type: &DataType) -> Option<usize> {
    use DataType as T;
    match data_type {
        T::Utf8 | T::Binary | T::List(_) | T::Map(..) => Some(size_of::<i32>()),
        T::LargeUtf8 | T::LargeBinary | T::LargeList(_) => Some(size_of::<i64>()),
        _ => None,
    }
}

/// Checks the ends of offsets. The last offset gives the number of values, so it is read first.
fn check_ends(array: &FFI_ArrowArray, data_type: &DataType, rows: i64, size_bytes: usize) -> Result<(), String> {
    if array.length == 0 {
        return Ok(());
    }
    let offsets = array.buffer(1);
    if offsets.is_null() {
        return Err(format!("the offsets of its values of type {} are missing", type_name(data_type)));
    }
    let (first, last) = (at(offsets, array.offset, size_bytes), at(offsets, rows, size_bytes));
    if first < 0 || last < first {
        return Err(format!("the offsets of its values of type {} go from {first} to {last}", type_name(data_type)));
    }
    match data_type {
        DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => {
            let values = child(array, 0)?;
            reach(values)?;
            match values.length < last {
                true => Err(format!("its lists reach to value {last}, but there are only {} values", values.length)),
                false => Ok(()),
            }
        }
        _ if last > 0 && array.buffer(2).is_null() => Err(format!("the values of type {} are missing", type_name(data_type))),
        _ => Ok(()),
    }
}

/// Reads one offset from a buffer.
fn at(offsets: *const u8, index: i64, size_bytes: usize) -> i64 {
    // SAFETY: there is one offset more than rows, which the producer of the array guarantees.
    #[expect(unsafe_code, reason = "Arrow's C interface is made of pointers")]
    unsafe {
        let offset = offsets.add(index as usize * size_bytes);
        if size_bytes == size_of::<i32>() {
            i64::from(offset.cast::<i32>().read_unaligned())
        } else {
            offset.cast::<i64>().read_unaligned()
        }
    }
}

fn check_children(array: &FFI_ArrowArray, data_type: &DataType, rows: i64) -> Result<(), String> {
    use DataType as T;
    // Each child's field, and the number of rows that it must have.
    let wanted: Vec<(&Field, i64)> = match data_type {
        T::Struct(fields) => fields.iter().map(|field| (field.as_ref(), rows)).collect(),
        T::FixedSizeList(field, size) => vec![(field.as_ref(), rows.saturating_mul(i64::from(*size)))],
        T::List(field) | T::LargeList(field) | T::ListView(field) | T::LargeListView(field) | T::Map(field, _) => {
            vec![(field, 0)]
        }
        T::Union(fields, mode) => {
            let rows = if *mode == UnionMode::Sparse { rows } else { 0 };
            fields.iter().map(|(_, field)| (field.as_ref(), rows)).collect()
        }
        T::RunEndEncoded(ends, values) => vec![(ends, 0), (values, 0)],
        _ => Vec::new(),
    };
    if array.n_children != wanted.len() as i64 {
        return Err(format!("it has {} columns or fields, but its schema has {}", array.n_children, wanted.len()));
    }
    for (index, (field, rows)) in wanted.into_iter().enumerate() {
        let found = child(array, index)?;
        check(found, field.data_type()).map_err(|why| format!("{}: {why}", field.name()))?;
        if found.length < rows {
            return Err(format!("{}: it has {} values for {rows} rows", field.name(), found.length));
        }
    }
    Ok(())
}

/// Returns the names of a type's parts, in the order of an array's children.
pub fn parts(data_type: &DataType) -> Vec<&str> {
    use DataType as T;
    match data_type {
        T::Struct(fields) => fields.iter().map(|field| field.name().as_str()).collect(),
        T::Union(fields, _) => fields.iter().map(|(_, field)| field.name().as_str()).collect(),
        T::Map(..) => vec!["entries"],
        T::Dictionary(..) => vec!["dictionary"],
        T::RunEndEncoded(..) => vec!["run_ends", "values"],
        _ => vec!["element"],
    }
}

fn child(array: &FFI_ArrowArray, index: usize) -> Result<&FFI_ArrowArray, String> {
    let missing = || "a column or field of it is missing".to_owned();
    if array.children.is_null() || index as i64 >= array.n_children {
        return Err(missing());
    }
    // SAFETY: there are this many pointers, and the producer of the array guarantees each of them.
    #[expect(unsafe_code, reason = "Arrow's C interface is made of pointers")]
    unsafe {
        array.children.add(index).read_unaligned().as_ref().ok_or_else(missing)
    }
}
