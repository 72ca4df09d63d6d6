//! Decodes the parts of a variant's binary encoding that are needed: the fields of an object, and
//! the size of a value.

use crate::{Error, Result};

use super::error::broken;

/// The number of bytes of each primitive, including its first byte. For binary (15) and string (16)
/// it is the number of bytes before the content.
const SIZES: [usize; 21] = [1, 1, 1, 2, 3, 5, 9, 9, 6, 10, 18, 5, 9, 9, 5, 5, 5, 9, 9, 9, 17];
const COUNTED: std::ops::RangeInclusive<usize> = 15..=16;

/// Returns the fields of an object, each as the id of its name and its value.
pub(super) fn object_fields(value: &[u8]) -> Result<Vec<(u32, &[u8])>> {
    let layout = Layout::of(value)?.filter(|layout| layout.id_width > 0);
    let layout = layout.ok_or_else(|| broken("the value beside the typed fields of an object is not an object"))?;
    let field = |index: usize| -> Result<(u32, &[u8])> {
        let id = number(value, layout.ids + index * layout.id_width, layout.id_width)?;
        let start = layout.values + number(value, layout.offsets + index * layout.offset_width, layout.offset_width)?;
        let rest = value.get(start..).ok_or_else(short)?;
        let id = u32::try_from(id).map_err(|_| short())?;
        Ok((id, rest.get(..size(rest)?).ok_or_else(short)?))
    };
    // Fields must not share bytes. Otherwise a small object could be decoded into an unlimited
    // number of bytes.
    let (mut fields, mut bytes) = (Vec::new(), 0);
    for index in 0..layout.count {
        let (id, value_of_field) = field(index)?;
        bytes += value_of_field.len();
        if bytes > value.len() {
            return Err(broken("the fields of an object are larger than the object"));
        }
        fields.push((id, value_of_field));
    }
    Ok(fields)
}

/// Returns the number of bytes of the value at the start of these bytes.
fn size(value: &[u8]) -> Result<usize> {
    if let Some(layout) = Layout::of(value)? {
        return Ok(layout.values + number(value, layout.offsets + layout.count * layout.offset_width, layout.offset_width)?);
    }
    let first = *value.first().ok_or_else(short)?;
    let kind = usize::from(first >> 2);
    if first & 3 == 1 {
        return Ok(1 + kind);
    }
    let fixed = SIZES.get(kind).ok_or_else(|| Error::schema_mismatch(format!("a variant of the unknown kind {kind}")))?;
    if COUNTED.contains(&kind) { Ok(fixed + number(value, 1, 4)?) } else { Ok(*fixed) }
}

/// The positions of the parts of an object or an array.
struct Layout {
    count: usize,
    ids: usize,
    /// The number of bytes of an id. It is 0 for an array.
    id_width: usize,
    offsets: usize,
    offset_width: usize,
    values: usize,
}

impl Layout {
    /// Returns `None` if the value is neither an object nor an array.
    fn of(value: &[u8]) -> Result<Option<Self>> {
        let first = *value.first().ok_or_else(short)?;
        let header = usize::from(first >> 2);
        let (is_large, id_width) = match first & 3 {
            2 => (header >> 4 & 1 == 1, (header >> 2 & 3) + 1),
            3 => (header >> 2 & 1 == 1, 0),
            _ => return Ok(None),
        };
        let offset_width = (header & 3) + 1;
        let count_width = if is_large { 4 } else { 1 };
        let count = number(value, 1, count_width)?;
        let ids = 1 + count_width;
        // The numbers have at most 32 bits each.
        let offsets = ids + count * id_width;
        let values = offsets + (count + 1) * offset_width;
        if values > value.len() {
            return Err(short());
        }
        Ok(Some(Self { count, ids, id_width, offsets, offset_width, values }))
    }
}

/// Returns a little-endian number of at most four bytes.
pub(super) fn number(bytes: &[u8], start: usize, width: usize) -> Result<usize> {
    let found = bytes.get(start..start + width).ok_or_else(short)?;
    Ok(found.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

fn short() -> Error {
    broken("its bytes end too early")
}
