//! Reads Avro files, as far as Iceberg uses Avro: the fields of records by their ids.
//!
//! Read [`read_records`] first. `schema` parses the schema of a file, and `value` decodes values.

mod schema;
mod value;

use std::io::Read;

use schema::{Field, Schema};
use value::Decoder;
pub(super) use value::{Record, Value};

use crate::{Error, Result};

const MAGIC: &[u8] = b"Obj\x01";

/// The most bytes that a block may have after decompression. Blocks of Iceberg have some ten
/// thousand bytes.
const MAX_BLOCK_BYTES: u64 = 256 << 20;

/// Returns the records of an Avro file. `name` is for messages.
pub(super) fn read_records(name: &str, bytes: &[u8]) -> Result<Vec<Record>> {
    records(bytes).map_err(|error| Error::corrupt(name, format!("this Avro file cannot be read: {error}")))
}

fn records(bytes: &[u8]) -> Result<Vec<Record>, &'static str> {
    let mut file = Decoder::new(bytes);
    if file.take(MAGIC.len())? != MAGIC {
        return Err("it does not begin as an Avro file");
    }
    let Header { fields, codec, sync } = Header::read(&mut file)?;
    let mut records = Vec::new();
    while !file.is_at_end() {
        let count = file.long()?;
        let block = codec.decompress(file.bytes()?)?;
        if file.array::<16>()? != sync {
            return Err("a block does not end with the marker of the file");
        }
        let mut block = Decoder::new(&block);
        for _ in 0..count {
            records.push(block.record(&fields)?);
        }
        if !block.is_at_end() {
            return Err("a block has more bytes than records");
        }
    }
    Ok(records)
}

/// The beginning of a file.
struct Header {
    fields: std::sync::Arc<[Field]>,
    codec: Codec,
    /// The marker at the end of each block.
    sync: [u8; 16],
}

impl Header {
    fn read(file: &mut Decoder<'_>) -> Result<Self, &'static str> {
        let (mut schema, mut codec) = (None, Codec::Null);
        loop {
            let count = file.count()?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                match (file.bytes()?, file.bytes()?) {
                    (b"avro.schema", json) => schema = serde_json::from_slice(json).ok(),
                    (b"avro.codec", name) => codec = Codec::of(name)?,
                    _ => {}
                }
            }
        }
        let Schema::Record(fields) = Schema::parse(&schema.ok_or("it has no schema")?)? else {
            return Err("its values are not records");
        };
        Ok(Self { fields, codec, sync: file.array()? })
    }
}

/// The compression of the blocks.
#[derive(Clone, Copy)]
enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
}

impl Codec {
    fn of(name: &[u8]) -> Result<Self, &'static str> {
        match name {
            b"null" => Ok(Self::Null),
            b"deflate" => Ok(Self::Deflate),
            b"snappy" => Ok(Self::Snappy),
            b"zstandard" => Ok(Self::Zstandard),
            _ => Err("its compression is none of null, deflate, snappy and zstandard"),
        }
    }

    fn decompress(self, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        match self {
            Self::Null => Ok(bytes.to_vec()),
            Self::Deflate => read_all(flate2::read::DeflateDecoder::new(bytes)),
            Self::Zstandard => read_all(zstd::Decoder::new(bytes).map_err(|_| DAMAGED)?),
            Self::Snappy => {
                // The checksum of the content follows it.
                let (bytes, sum) = bytes.split_last_chunk::<4>().ok_or(DAMAGED)?;
                if snap::raw::decompress_len(bytes).map_err(|_| DAMAGED)? as u64 > MAX_BLOCK_BYTES {
                    return Err(TOO_LARGE);
                }
                let content = snap::raw::Decoder::new().decompress_vec(bytes).map_err(|_| DAMAGED)?;
                if crc32fast::hash(&content) == u32::from_be_bytes(*sum) { Ok(content) } else { Err(DAMAGED) }
            }
        }
    }
}

const DAMAGED: &str = "a block cannot be decompressed";
const TOO_LARGE: &str = "a block has more than 256 MiB";

fn read_all(reader: impl Read) -> Result<Vec<u8>, &'static str> {
    let mut content = Vec::new();
    let read = reader.take(MAX_BLOCK_BYTES + 1).read_to_end(&mut content).map_err(|_| DAMAGED)?;
    if read as u64 > MAX_BLOCK_BYTES { Err(TOO_LARGE) } else { Ok(content) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with one block of the numbers 1 and -1, as the field with id 3.
    fn file(codec: &str, block: &[u8]) -> Vec<u8> {
        let schema = r#"{"type":"record","name":"r","fields":[{"name":"x","field-id":3,"type":"long"}]}"#;
        let mut bytes = MAGIC.to_vec();
        bytes.push(4);
        for text in ["avro.schema", schema, "avro.codec", codec] {
            let length = text.len() * 2;
            bytes.extend(if length < 128 { vec![length as u8] } else { vec![length as u8 | 0x80, (length >> 7) as u8] });
            bytes.extend(text.as_bytes());
        }
        bytes.push(0);
        bytes.extend([7; 16]);
        bytes.push(4);
        bytes.push(block.len() as u8 * 2);
        bytes.extend(block);
        bytes.extend([7; 16]);
        bytes
    }

    fn compressed(codec: &str) -> Vec<u8> {
        let block = [2, 1];
        let mut content = Vec::new();
        match codec {
            "deflate" => {
                let mut encoder = flate2::read::DeflateEncoder::new(&block[..], flate2::Compression::default());
                encoder.read_to_end(&mut content).unwrap();
            }
            "snappy" => {
                content = snap::raw::Encoder::new().compress_vec(&block).unwrap();
                content.extend(crc32fast::hash(&block).to_be_bytes());
            }
            "zstandard" => content = zstd::encode_all(&block[..], 0).unwrap(),
            _ => content = block.to_vec(),
        }
        content
    }

    #[test]
    fn read_records_of_every_codec() {
        for codec in ["null", "deflate", "snappy", "zstandard"] {
            let records = read_records("f", &file(codec, &compressed(codec))).unwrap();
            assert_eq!(records.iter().map(|record| record.number(3)).collect::<Vec<_>>(), [Some(1), Some(-1)], "{codec}");
        }
        let error = read_records("f", &file("bzip2", &[2, 1])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "f: this Avro file cannot be read: its compression is none of null, deflate, snappy and zstandard"
        );
    }

    #[test]
    fn damaged_files_are_refused() {
        for codec in ["null", "deflate", "snappy", "zstandard"] {
            let whole = file(codec, &compressed(codec));
            let header = whole.len() - compressed(codec).len() - 18;
            for length in (0..whole.len()).filter(|length| *length != header) {
                read_records("f", &whole[..length]).unwrap_err();
            }
            for place in 0..whole.len() {
                let mut changed = whole.clone();
                changed[place] ^= 0x55;
                _ = read_records("f", &changed);
            }
        }
    }
}
