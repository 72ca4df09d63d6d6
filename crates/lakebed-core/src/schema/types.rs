//! The types of a Delta schema.
//!
//! The JSON form is in `json`, the Arrow form in `arrow`, and physical names are in `mapping`.

use serde_json::{Map, Value};

/// The metadata of a field: any JSON values under any keys. Unknown entries are kept.
pub type FieldMetadata = Map<String, Value>;

/// A struct: the columns of a table, or the fields of a nested column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StructType {
    /// The fields in order.
    pub fields: Vec<StructField>,
}

/// One field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct StructField {
    /// The logical name.
    pub name: String,
    /// The type of the field.
    pub data_type: DataType,
    /// Whether null is allowed.
    pub nullable: bool,
    /// Comments, column mapping, defaults, constraints, and entries of other writers.
    pub metadata: FieldMetadata,
}

/// The type of a field, element, key or value.
#[derive(Debug, Clone, PartialEq)]
pub enum DataType {
    /// A type without parts.
    Primitive(PrimitiveType),
    /// Named fields.
    Struct(StructType),
    /// Elements of one type.
    Array(Box<ArrayType>),
    /// Keys and values.
    Map(Box<MapType>),
}

/// An array.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayType {
    /// The type of each element.
    pub element: DataType,
    /// Whether elements may be null.
    pub contains_null: bool,
}

/// A map. Keys are never null.
#[derive(Debug, Clone, PartialEq)]
pub struct MapType {
    /// The type of each key.
    pub key: DataType,
    /// The type of each value.
    pub value: DataType,
    /// Whether values may be null.
    pub value_contains_null: bool,
}

/// The types without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrimitiveType {
    /// A UTF-8 string.
    String,
    /// A UTF-8 string that is padded with blanks when it is read. Spark marks such a column of
    /// strings in its metadata. See `char_varchar`.
    Char {
        /// The least number of characters.
        length: u32,
    },
    /// 64-bit integer.
    Long,
    /// 32-bit integer.
    Integer,
    /// 16-bit integer.
    Short,
    /// 8-bit integer.
    Byte,
    /// 32-bit float.
    Float,
    /// 64-bit float.
    Double,
    /// True or false.
    Boolean,
    /// Bytes.
    Binary,
    /// A day.
    Date,
    /// An instant, in microseconds.
    Timestamp,
    /// A wall-clock time without a zone, in microseconds.
    TimestampNtz,
    /// An exact number with up to 38 digits, `scale` of them after the decimal point.
    Decimal {
        /// The number of all digits.
        precision: u8,
        /// The number of digits after the decimal point.
        scale: u8,
    },
    /// A semi-structured value.
    Variant,
    /// A type with no value except null.
    Void,
    /// A number of months.
    YearMonthInterval,
    /// A number of microseconds.
    DayTimeInterval,
}

impl StructType {
    /// Returns the field with exactly this name, or else the only field with a name that differs
    /// only by case.
    pub fn field(&self, name: &str) -> Option<&StructField> {
        self.index_of(name).map(|index| &self.fields[index])
    }

    /// Returns the position of the field with exactly this name, or else of the only field with a
    /// name that differs only by case.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        if let Some(index) = self.fields.iter().position(|field| field.name == name) {
            return Some(index);
        }
        let lower = name.to_lowercase();
        let mut same = self.fields.iter().enumerate().filter(|(_, field)| field.name.to_lowercase() == lower);
        match (same.next(), same.next()) {
            (Some((index, _)), None) => Some(index),
            _ => None,
        }
    }
}

impl StructType {
    /// Calls `change` with every field, also inside of fields. A field comes before those inside.
    pub fn each_field_mut(&mut self, change: &mut impl FnMut(&mut StructField)) {
        for field in &mut self.fields {
            change(field);
            field.data_type.each_field_mut(change);
        }
    }
}

impl DataType {
    /// Calls `change` with every field inside of the type.
    pub fn each_field_mut(&mut self, change: &mut impl FnMut(&mut StructField)) {
        match self {
            DataType::Struct(fields) => fields.each_field_mut(change),
            DataType::Array(array) => array.element.each_field_mut(change),
            DataType::Map(map) => {
                map.key.each_field_mut(change);
                map.value.each_field_mut(change);
            }
            DataType::Primitive(_) => {}
        }
    }
}

impl StructField {
    /// Returns a field without metadata.
    pub fn new(name: impl Into<String>, data_type: impl Into<DataType>, nullable: bool) -> Self {
        Self { name: name.into(), data_type: data_type.into(), nullable, metadata: FieldMetadata::new() }
    }
}

impl From<PrimitiveType> for DataType {
    fn from(primitive: PrimitiveType) -> Self {
        DataType::Primitive(primitive)
    }
}

impl From<StructType> for DataType {
    fn from(fields: StructType) -> Self {
        DataType::Struct(fields)
    }
}

impl From<ArrayType> for DataType {
    fn from(array: ArrayType) -> Self {
        DataType::Array(Box::new(array))
    }
}

impl From<MapType> for DataType {
    fn from(map: MapType) -> Self {
        DataType::Map(Box::new(map))
    }
}
