//! Decodes the values of an Avro file. The bytes are untrusted: no length in them is used before it
//! is compared with the bytes that are left.

use super::schema::{Field, Schema};

/// The number of values without bytes, such as nulls and empty records, that a block may have for
/// each of its bytes.
const VALUES_PER_BYTE: usize = 4;

/// A decoded value.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum Value {
    Null,
    Boolean(bool),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    /// Bytes, also of a fixed length.
    Bytes(Vec<u8>),
    String(String),
    Record(Record),
    /// An array, a map or an enum. Iceberg has none among the fields that a conversion reads.
    Other,
}

/// A decoded record: the fields that have an id.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in super::super) struct Record(Vec<(i32, Value)>);

impl Record {
    /// Returns the value of a field. A field that is null or missing is `None`.
    pub(in super::super) fn get(&self, id: i32) -> Option<&Value> {
        self.0.iter().find(|(field, _)| *field == id).map(|(_, value)| value).filter(|value| **value != Value::Null)
    }

    /// Returns whether the record has a field, which may be null.
    pub(in super::super) fn has(&self, id: i32) -> bool {
        self.0.iter().any(|(field, _)| *field == id)
    }

    /// Returns the whole number of a field.
    pub(in super::super) fn number(&self, id: i32) -> Option<i64> {
        match self.get(id)? {
            Value::Int(number) => Some(i64::from(*number)),
            Value::Long(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the string of a field.
    pub(in super::super) fn text(&self, id: i32) -> Option<&str> {
        match self.get(id)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the record in a field.
    pub(in super::super) fn record(&self, id: i32) -> Option<&Record> {
        match self.get(id)? {
            Value::Record(record) => Some(record),
            _ => None,
        }
    }
}

/// Bytes that are being decoded.
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    /// The number of values that may still be decoded.
    values: usize,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, values: bytes.len().saturating_mul(VALUES_PER_BYTE).saturating_add(1024) }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn record(&mut self, fields: &[Field]) -> Result<Record, &'static str> {
        self.spend()?;
        let mut record = Record::default();
        for field in fields {
            let value = self.value(&field.schema)?;
            if let Some(id) = field.id {
                record.0.push((id, value));
            }
        }
        Ok(record)
    }

    fn value(&mut self, schema: &Schema) -> Result<Value, &'static str> {
        self.spend()?;
        Ok(match schema {
            Schema::Null => Value::Null,
            Schema::Boolean => match self.take(1)? {
                [0] => Value::Boolean(false),
                [1] => Value::Boolean(true),
                _ => return Err("it has a boolean that is neither true nor false"),
            },
            Schema::Int => Value::Int(i32::try_from(self.long()?).map_err(|_| "it has an int of more than 32 bits")?),
            Schema::Long => Value::Long(self.long()?),
            Schema::Float => Value::Float(f32::from_le_bytes(self.array()?)),
            Schema::Double => Value::Double(f64::from_le_bytes(self.array()?)),
            Schema::Bytes => Value::Bytes(self.bytes()?.to_vec()),
            Schema::String => {
                Value::String(std::str::from_utf8(self.bytes()?).map_err(|_| "it has a string that is not UTF-8")?.to_owned())
            }
            Schema::Fixed(size) => Value::Bytes(self.take(*size)?.to_vec()),
            Schema::Enum => {
                self.long()?;
                Value::Other
            }
            Schema::Union(members) => {
                let member = usize::try_from(self.long()?).ok().and_then(|index| members.get(index));
                self.value(member.ok_or("it has a value of a type that its union does not have")?)?
            }
            Schema::Array(items) => self.items(|decoder| decoder.value(items).map(drop))?,
            Schema::Map(values) => self.items(|decoder| {
                decoder.bytes()?;
                decoder.value(values).map(drop)
            })?,
            Schema::Record(fields) => Value::Record(self.record(fields)?),
        })
    }

    fn spend(&mut self) -> Result<(), &'static str> {
        self.values = self.values.checked_sub(1).ok_or("it has more values than its bytes can hold")?;
        Ok(())
    }

    /// Passes over the blocks of an array or a map.
    fn items(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), &'static str>) -> Result<Value, &'static str> {
        loop {
            let count = self.count()?;
            if count == 0 {
                return Ok(Value::Other);
            }
            for _ in 0..count {
                item(self)?;
            }
        }
    }

    /// Returns the number of items in the next block of an array or a map. If it is negative, the
    /// size of the block follows it.
    pub(super) fn count(&mut self) -> Result<u64, &'static str> {
        let count = self.long()?;
        if count < 0 {
            self.long()?;
        }
        Ok(count.unsigned_abs())
    }

    /// Returns a number with variable length, in zigzag order.
    pub(super) fn long(&mut self) -> Result<i64, &'static str> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
            }
        }
        Err("it has a number of more than 64 bits")
    }

    /// Returns bytes that follow their length.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], &'static str> {
        let length = usize::try_from(self.long()?).map_err(|_| "it has a length that is negative")?;
        self.take(length)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        self.take(N)?.try_into().map_err(|_| CUT)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(CUT)?;
        self.bytes = rest;
        Ok(taken)
    }
}

const CUT: &str = "it ends in the middle of a value";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[track_caller]
    fn check(schema: Schema, bytes: &[u8], expected: Result<Value, &'static str>) {
        assert_eq!(Decoder::new(bytes).value(&schema), expected);
    }

    #[test]
    fn numbers_have_variable_length() {
        let longest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        for (bytes, expected) in
            [(&[0][..], 0), (&[1], -1), (&[2], 1), (&[0x80, 0x01], 64), (&[0xac, 0x02], 150), (&longest, i64::MIN)]
        {
            check(Schema::Long, bytes, Ok(Value::Long(expected)));
        }
        check(Schema::Long, &[0xff; 10], Err("it has a number of more than 64 bits"));
        check(Schema::Long, &[0x80], Err("it ends in the middle of a value"));
        check(Schema::Int, &[0x80, 0x80, 0x80, 0x80, 0x20], Err("it has an int of more than 32 bits"));
    }

    #[test]
    fn records_keep_fields_with_ids() {
        let optional = |schema: Schema| Schema::Union([Schema::Null, schema].into());
        let array = Schema::Array(Arc::new(Schema::Long));
        let fields = [
            Field { id: Some(1), schema: optional(Schema::String) },
            Field { id: Some(2), schema: optional(Schema::String) },
            Field { id: None, schema: Schema::Boolean },
            Field { id: Some(4), schema: array },
            Field { id: Some(5), schema: Schema::Double },
        ];
        // Two items in a block that tells its size, then one item.
        let mut bytes = vec![2, 4, b'o', b'k', 0, 1, 3, 4, 0, 2, 2, 8, 0];
        bytes.extend(1.5f64.to_le_bytes());
        let expected = vec![(1, Value::String("ok".to_owned())), (2, Value::Null), (4, Value::Other), (5, Value::Double(1.5))];
        assert_eq!(Decoder::new(&bytes).record(&fields), Ok(Record(expected)));
    }

    #[test]
    fn hostile_lengths_cost_nothing() {
        let endless = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        check(Schema::Bytes, &endless, Err("it ends in the middle of a value"));
        check(Schema::Bytes, &[1], Err("it has a length that is negative"));
        check(Schema::Array(Arc::new(Schema::Null)), &endless, Err("it has more values than its bytes can hold"));
        check(Schema::Union([Schema::Null].into()), &[2], Err("it has a value of a type that its union does not have"));
        check(Schema::Boolean, &[2], Err("it has a boolean that is neither true nor false"));
        check(Schema::String, &[2, 0xff], Err("it has a string that is not UTF-8"));
    }
}
