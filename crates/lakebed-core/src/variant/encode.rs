//! Encodes objects, arrays and primitives.

use crate::Result;

use super::error::broken;

const SHORT_STRING: u8 = 1;
const OBJECT: u8 = 2;
const ARRAY: u8 = 3;
/// The greatest length of a string that has its length in its first byte.
const SHORT: usize = 63;
/// The number of members from which on their count takes four bytes.
const LARGE: usize = 256;

/// Encodes an object with these fields, in the order of their names. Each field has an id and the
/// position where its value starts.
pub(super) fn object(fields: &[(u32, usize)], values: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let is_large = fields.len() >= LARGE;
    let id_width = width(fields.iter().map(|(id, _)| *id as usize).max().unwrap_or(0))?;
    let offset_width = width(values.len())?;
    out.push(OBJECT | (offset_width - 1) << 2 | (id_width - 1) << 4 | u8::from(is_large) << 6);
    push_count(fields.len(), is_large, out)?;
    for (id, _) in fields {
        push_number(*id as usize, id_width, out);
    }
    for (_, start) in fields {
        push_number(*start, offset_width, out);
    }
    push_number(values.len(), offset_width, out);
    out.extend_from_slice(values);
    Ok(())
}

/// Encodes an array of values that start at these positions.
pub(super) fn array(starts: &[usize], values: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let is_large = starts.len() >= LARGE;
    let offset_width = width(values.len())?;
    out.push(ARRAY | (offset_width - 1) << 2 | u8::from(is_large) << 4);
    push_count(starts.len(), is_large, out)?;
    for start in starts {
        push_number(*start, offset_width, out);
    }
    push_number(values.len(), offset_width, out);
    out.extend_from_slice(values);
    Ok(())
}

/// Encodes a primitive of this kind, followed by its bytes.
pub(super) fn primitive(kind: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(kind << 2);
    out.extend_from_slice(content);
}

/// Encodes a primitive of this kind, with the number of its bytes before them.
pub(super) fn counted(kind: u8, content: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.push(kind << 2);
    push_count(content.len(), true, out)?;
    out.extend_from_slice(content);
    Ok(())
}

/// Encodes a string, which takes fewer bytes when it is short.
pub(super) fn string(kind: u8, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match u8::try_from(text.len()) {
        Ok(length) if text.len() <= SHORT => {
            out.push(SHORT_STRING | length << 2);
            out.extend_from_slice(text);
            Ok(())
        }
        _ => counted(kind, text, out),
    }
}

/// Returns the number of bytes of a number, at most four.
pub(super) fn width(number: usize) -> Result<u8> {
    match number {
        0..=0xFF => Ok(1),
        0x100..=0xFFFF => Ok(2),
        0x1_0000..=0xFF_FFFF => Ok(3),
        0x100_0000..=0xFFFF_FFFF => Ok(4),
        _ => Err(broken("a value is larger than 4 GiB")),
    }
}

/// Appends a little-endian number.
pub(super) fn push_number(number: usize, width: u8, out: &mut Vec<u8>) {
    out.extend(number.to_le_bytes().into_iter().take(usize::from(width)));
}

fn push_count(count: usize, is_large: bool, out: &mut Vec<u8>) -> Result<()> {
    width(count)?;
    push_number(count, if is_large { 4 } else { 1 }, out);
    Ok(())
}
