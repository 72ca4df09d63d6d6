//! Reassembles "shredded" variants. A file stores parts of such a variant in separate columns.
//!
//! The result is in the binary encoding. Values that a file has in this encoding are copied, and
//! only typed values are encoded. The rules are those of Parquet's "Variant Binary Encoding" and
//! "Variant Shredding". Start with [`unshred`].

mod error;
mod encode;
mod decode;
mod dictionary;
mod scalar;
#[cfg(test)]
mod tests;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, StructArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};

use crate::{Error, Result};

use dictionary::Dictionary;
use scalar::Scalar;

/// The metadata of a variant without names, in version 1.
pub const NO_NAMES: &[u8] = &[1, 0, 0];
/// The variant that is null as in JSON.
pub const NULL_VALUE: &[u8] = &[0];

/// Returns the metadata and the value of each row of a variant column that has a `typed_value`.
///
/// A row that has neither value is null as in JSON. The specification requires this.
pub fn unshred(stored: &StructArray) -> Result<(BinaryArray, BinaryArray)> {
    let metadata = stored.column_by_name("metadata").ok_or_else(|| Error::schema_mismatch("a variant has no metadata"))?;
    let metadata = bytes(metadata)?;
    let group = Group::new(stored)?;
    let mut names = Dictionary::default();
    let (mut all_metadata, mut values) = (Column::default(), Column::default());
    for row in 0..stored.len() {
        if stored.is_null(row) {
            all_metadata.bytes.extend_from_slice(NO_NAMES);
            values.bytes.extend_from_slice(NULL_VALUE);
        } else {
            names.read(if metadata.is_valid(row) { metadata.value(row) } else { NO_NAMES })?;
            if !group.write(row, &mut names, &mut values.bytes)? {
                values.bytes.extend_from_slice(NULL_VALUE);
            }
            all_metadata.bytes.extend_from_slice(&names.encoded()?);
        }
        all_metadata.end_row()?;
        values.end_row()?;
    }
    Ok((all_metadata.finish()?, values.finish()?))
}

/// A column that is being built.
struct Column {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl Default for Column {
    fn default() -> Self {
        Self { offsets: vec![0], bytes: Vec::new() }
    }
}

impl Column {
    fn end_row(&mut self) -> Result<()> {
        let end = i32::try_from(self.bytes.len());
        self.offsets.push(end.map_err(|_| Error::batch_too_large("a column of variants"))?);
        Ok(())
    }

    fn finish(self) -> Result<BinaryArray> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(BinaryArray::try_new(offsets, Buffer::from_vec(self.bytes), None)?)
    }
}

/// A value as a file stores it: in the encoding, typed, or in both forms. Both occur for an object
/// with some typed fields.
struct Group<'a> {
    value: Option<&'a BinaryArray>,
    typed: Option<Typed<'a>>,
}

enum Typed<'a> {
    Object(&'a StructArray, Vec<ShreddedField<'a>>),
    List(&'a ListArray, Box<Group<'a>>),
    Scalar(Scalar<'a>),
}

/// A field of an object that has columns of its own.
struct ShreddedField<'a> {
    name: &'a str,
    stored: &'a StructArray,
    group: Group<'a>,
}

impl<'a> Group<'a> {
    fn new(stored: &'a StructArray) -> Result<Self> {
        let value = stored.column_by_name("value").map(bytes).transpose()?;
        let typed = stored.column_by_name("typed_value").map(Typed::new).transpose()?;
        Ok(Self { value, typed })
    }

    fn value(&self, row: usize) -> Option<&'a [u8]> {
        self.value.filter(|value| value.is_valid(row)).map(|value| value.value(row))
    }

    /// Appends the value of a row. Returns false if there is none.
    fn write(&self, row: usize, names: &mut Dictionary, out: &mut Vec<u8>) -> Result<bool> {
        match &self.typed {
            Some(Typed::Object(stored, members)) if stored.is_valid(row) => {
                write_object(members, self.value(row), row, names, out)?;
            }
            Some(Typed::List(list, element)) if list.is_valid(row) => write_list(list, element, row, names, out)?,
            Some(Typed::Scalar(scalar)) if scalar.is_valid(row) => scalar.write(row, out)?,
            _ => match self.value(row) {
                Some(value) => out.extend_from_slice(value),
                None => return Ok(false),
            },
        }
        Ok(true)
    }
}

impl<'a> Typed<'a> {
    fn new(column: &'a ArrayRef) -> Result<Self> {
        if let Some(list) = column.as_list_opt::<i32>() {
            return Ok(Self::List(list, Box::new(Group::new(group_of("an element", list.values())?)?)));
        }
        let Some(object) = column.as_struct_opt() else { return Ok(Self::Scalar(Scalar::new(column)?)) };
        let members = object.fields().iter().zip(object.columns()).map(|(field, column)| {
            let stored = group_of(field.name(), column)?;
            Ok(ShreddedField { name: field.name(), stored, group: Group::new(stored)? })
        });
        Ok(Self::Object(object, members.collect::<Result<_>>()?))
    }
}

fn write_object(
    members: &[ShreddedField<'_>],
    rest: Option<&[u8]>,
    row: usize,
    names: &mut Dictionary,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut values = Vec::new();
    let mut fields = Vec::with_capacity(members.len());
    for member in members {
        let start = values.len();
        // If the object lacks a field, all columns of the field are null.
        if member.stored.is_valid(row) && member.group.write(row, names, &mut values)? {
            fields.push((names.id(member.name.as_bytes())?, start));
        }
    }
    if let Some(rest) = rest {
        for (id, value) in decode::object_fields(rest)? {
            // The typed column of a field wins if a writer stored the field here too.
            let name = names.name(id)?;
            if members.iter().all(|member| member.name.as_bytes() != name) {
                fields.push((id, values.len()));
                values.extend_from_slice(value);
            }
        }
    }
    // Fields are sorted by their names. Their values may be in any order.
    let mut named = fields.into_iter().map(|(id, start)| Ok((names.name(id)?, id, start))).collect::<Result<Vec<_>>>()?;
    named.sort_unstable();
    let fields: Vec<(u32, usize)> = named.into_iter().map(|(_, id, start)| (id, start)).collect();
    encode::object(&fields, &values, out)
}

fn write_list(list: &ListArray, element: &Group<'_>, row: usize, names: &mut Dictionary, out: &mut Vec<u8>) -> Result<()> {
    let offsets = list.value_offsets();
    let at = |index: usize| offsets.get(index).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or(0);
    let mut values = Vec::new();
    let mut starts = Vec::new();
    for item in at(row)..at(row + 1) {
        starts.push(values.len());
        if !element.write(item, names, &mut values)? {
            values.extend_from_slice(NULL_VALUE);
        }
    }
    encode::array(&starts, &values, out)
}

fn group_of<'a>(what: &str, column: &'a ArrayRef) -> Result<&'a StructArray> {
    column.as_struct_opt().ok_or_else(|| {
        Error::schema_mismatch(format!("{what} of a variant is stored as {}, not as a group of values", column.data_type()))
    })
}

fn bytes(column: &ArrayRef) -> Result<&BinaryArray> {
    let found = column.as_binary_opt::<i32>();
    found.ok_or_else(|| Error::schema_mismatch(format!("a variant's bytes are stored as {}", column.data_type())))
}
