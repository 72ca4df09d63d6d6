//! Finds the columns of the table in a file, and converts their arrays to those of the table.
//!
//! [`FileColumns::adapter`] finds the columns by the rules of column mapping, at every level, such
//! as structs in lists in maps. A column that the file lacks is null. A column that only the file
//! has is ignored. [`SchemaAdapter::adapt`] then converts decoded arrays: columns are renamed,
//! reordered and widened, and lists in older forms get the current form. The conversion of single
//! values is in `leaf_adapter`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, StructArray, new_null_array};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, SchemaRef};
use arrow_select::filter::FilterPredicate;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::{PARQUET_FIELD_ID_META_KEY, ProjectionMask};

use lakebed_core::ErrorKind;
use lakebed_core::schema::arrow::type_to_arrow;
use lakebed_core::schema::mapping::{MappingMode, field_id, physical_name};
use lakebed_core::schema::{ArrayType, DataType, MapType, PrimitiveType, StructField, StructType};
use lakebed_io::parquet::ParquetFile;

use super::calendar_rebase::CalendarRebase;
use super::decoded_type::{as_decoded, leaf_count, value_type};
use super::leaf_adapter::LeafAdapter;
use super::variant;
use crate::{Error, Result};

/// The columns of one file.
#[derive(Clone)]
pub(super) struct FileColumns {
    file: ParquetFile,
    schema: SchemaRef,
    mode: MappingMode,
    /// The columns that are found by name in every mapping mode.
    by_name: Vec<String>,
    rebase: CalendarRebase,
    metadata: ArrowReaderMetadata,
}

/// Converts arrays of a file to some of the table's columns.
pub(super) struct SchemaAdapter {
    name: String,
    /// The leaves of the file that must be read.
    leaves: BTreeSet<usize>,
    /// For each leaf that is padded, the number of characters to which its strings are padded.
    lengths: BTreeMap<usize, u32>,
    /// For each column the leaf in the file, if the leaf stores the values as the table has them.
    same: Vec<Option<usize>>,
    columns: Vec<ColumnAdapter>,
}

/// Columns of a file, converted to those of the table.
#[derive(Default)]
pub(super) struct AdaptedColumns {
    pub(super) fields: Vec<FieldRef>,
    pub(super) columns: Vec<ArrayRef>,
}

/// The position of one column in the file, and how it is converted.
struct ColumnAdapter {
    /// The field of the table.
    field: FieldRef,
    /// The position among the columns that are read, and the conversion; None if the file lacks the
    /// column.
    found: Option<(usize, ArrayAdapter)>,
}

/// How an array of the file becomes an array of the table.
enum ArrayAdapter {
    Leaf(LeafAdapter),
    Struct(Vec<ColumnAdapter>),
    List(Box<ItemAdapter>),
    Map { entries: FieldRef, key: Box<ItemAdapter>, value: Box<ItemAdapter> },
    Variant,
}

/// The element of a list, or the key or value of a map.
struct ItemAdapter {
    field: FieldRef,
    adapter: ArrayAdapter,
}

impl FileColumns {
    /// Returns the columns of a file in a table with this mode of column mapping. With
    /// `with_views`, strings may be read as views.
    pub(super) fn new(file: &ParquetFile, mode: MappingMode, by_name: &[String], with_views: bool) -> Result<Self> {
        let descriptor = file.metadata().file_metadata().schema_descr();
        let hinted = as_decoded(&file.arrow_schema()?, descriptor, with_views);
        let metadata = file.reader_metadata(hinted, ArrowReaderOptions::new())?;
        let schema = Arc::clone(metadata.schema());
        Ok(Self { file: file.clone(), schema, mode, by_name: by_name.to_vec(), rebase: CalendarRebase::of(file)?, metadata })
    }

    /// Returns the metadata with which the decoder returns the columns as `adapter` expects them.
    pub(super) fn reader_metadata(&self) -> ArrowReaderMetadata {
        self.metadata.clone()
    }

    /// Finds these columns of the table.
    pub(super) fn adapter(&self, wanted: &StructType) -> Result<SchemaAdapter> {
        let mut search = AdapterBuilder { columns: self, leaves: BTreeSet::new(), lengths: BTreeMap::new() };
        let by_id = self.mode == MappingMode::Id && wanted.fields.iter().any(|field| !self.by_name.contains(&field.name));
        if by_id && !self.schema.fields().iter().any(|field| id_of(field).is_some()) {
            return Err(Error::corrupt(
                self.file.name(),
                "this table maps columns by field ids, but the columns of this file have none",
            ));
        }
        let mut columns = search.columns(wanted, self.schema.fields(), 0, "")?;
        let AdapterBuilder { leaves, lengths, .. } = search;
        let starts = starts(self.schema.fields(), 0);
        let same = columns.iter().map(|column| match &column.found {
            Some((position, ArrayAdapter::Leaf(leaf))) if leaf.keeps(self.schema.fields().get(*position)?.data_type()) => {
                starts.get(*position).copied()
            }
            _ => None,
        });
        let same = same.collect();
        renumber(&mut columns, self.schema.fields(), 0, &leaves);
        Ok(SchemaAdapter { name: self.file.name().to_owned(), leaves, lengths, same, columns })
    }

    /// Returns what must be rebased from the old calendar.
    pub(super) fn rebase(&self) -> &CalendarRebase {
        &self.rebase
    }

    /// Returns the leaf of a column and its type in the file, so that its statistics can be used.
    /// The column must be a primitive outside of lists and maps. The path and the schema have
    /// physical names.
    pub(super) fn leaf_of(&self, schema: &StructType, path: &[String]) -> Option<(usize, ArrowType)> {
        let (mut wanted, mut fields, mut first) = (schema, self.schema.fields(), 0);
        for (depth, name) in path.iter().enumerate() {
            let index = wanted.fields.iter().position(|field| field.name == *name)?;
            let field = wanted.fields.get(index)?;
            let position = self.find(fields, field, index, "").ok()??;
            first += fields.iter().take(position).map(|field| leaf_count(field.data_type())).sum::<usize>();
            let last = depth + 1 == path.len();
            match (&field.data_type, fields.get(position)?.data_type()) {
                (DataType::Primitive(_), found) if last && !found.is_nested() => return Some((first, found.clone())),
                (DataType::Struct(inner), ArrowType::Struct(found)) if !last => (wanted, fields) = (inner, found),
                _ => return None,
            }
        }
        None
    }

    /// Returns whether the file may have a column with this name.
    pub(super) fn may_have(&self, name: &str) -> bool {
        self.schema.fields().iter().any(|field| field.name().to_lowercase() == name.to_lowercase())
    }

    /// Returns the position of a field among the fields of the file. The search begins at `guess`.
    fn find(&self, fields: &Fields, wanted: &StructField, guess: usize, path: &str) -> Result<Option<usize>> {
        if self.mode == MappingMode::Id && !self.by_name.contains(&wanted.name) {
            let id = field_id(wanted).ok_or_else(|| {
                Error::corrupt(
                    "schema",
                    format!("column {path}{} has no field id, although the table maps columns by field ids", wanted.name),
                )
            })?;
            let mut found = fields.iter().enumerate().filter(|(_, field)| id_of(field) == Some(id));
            return match (found.next(), found.next()) {
                (Some(_), Some(_)) => {
                    let said = format!(
                        "column {path}{} has the field id {id}, and several columns of the file have this id",
                        wanted.name
                    );
                    Err(Error::corrupt(self.file.name(), said))
                }
                (found, _) => Ok(found.map(|(position, _)| position)),
            };
        }
        let name = physical_name(wanted, self.mode);
        if fields.get(guess).is_some_and(|field| field.name() == name) {
            return Ok(Some(guess));
        }
        if let Some(position) = fields.iter().position(|field| field.name() == name) {
            return Ok(Some(position));
        }
        let lower = name.to_lowercase();
        let mut alike = fields.iter().enumerate().filter(|(_, field)| field.name().to_lowercase() == lower);
        match (alike.next(), alike.next()) {
            (Some(_), Some(_)) => {
                let said = format!(
                    "column {path}{} may be any of several columns of the file, whose names differ only in case",
                    wanted.name
                );
                Err(Error::corrupt(self.file.name(), said))
            }
            (found, _) => Ok(found.map(|(position, _)| position)),
        }
    }
}

/// A search in progress, with the leaves that it has found.
struct AdapterBuilder<'a> {
    columns: &'a FileColumns,
    leaves: BTreeSet<usize>,
    lengths: BTreeMap<usize, u32>,
}

impl AdapterBuilder<'_> {
    /// Finds the fields of a struct. `first` is the first leaf of the struct in the file.
    fn columns(&mut self, wanted: &StructType, fields: &Fields, first: usize, path: &str) -> Result<Vec<ColumnAdapter>> {
        let starts = starts(fields, first);
        let mut columns = Vec::with_capacity(wanted.fields.len());
        for (index, wanted) in wanted.fields.iter().enumerate() {
            let field = Arc::new(Field::new(&wanted.name, type_to_arrow(&wanted.data_type)?, wanted.nullable));
            let position = match wanted.data_type {
                DataType::Primitive(PrimitiveType::Void) => None,
                _ => self.columns.find(fields, wanted, index, path)?,
            };
            // A column with nothing but nulls may be stored without a type, whatever its type in
            // the table.
            let typed =
                |found: &FieldRef| matches!(wanted.data_type, DataType::Primitive(_)) || found.data_type() != &ArrowType::Null;
            let known =
                |position: usize| Some((position, fields.get(position).filter(|found| typed(found))?, *starts.get(position)?));
            let found = match position.and_then(known) {
                Some((position, found, start)) => {
                    Some((position, self.array(&wanted.data_type, found.data_type(), start, &format!("{path}{}", wanted.name))?))
                }
                None => None,
            };
            columns.push(ColumnAdapter { field, found });
        }
        Ok(columns)
    }

    fn array(&mut self, wanted: &DataType, found: &ArrowType, first: usize, path: &str) -> Result<ArrayAdapter> {
        match (wanted, found) {
            (DataType::Primitive(PrimitiveType::Variant), ArrowType::Struct(_)) => {
                self.leaves.extend(first..first + leaf_count(found));
                Ok(ArrayAdapter::Variant)
            }
            (DataType::Primitive(primitive), found) if !found.is_nested() => {
                self.leaves.insert(first);
                if let PrimitiveType::Char { length } = primitive {
                    self.lengths.insert(first, *length);
                }
                let descriptor = self.columns.file.metadata().file_metadata().schema_descr().column(first);
                let leaf = LeafAdapter::new(*primitive, found, &descriptor, &self.columns.rebase);
                Ok(ArrayAdapter::Leaf(leaf.map_err(|error| self.misfit(path, error))?))
            }
            (DataType::Struct(wanted), ArrowType::Struct(fields)) => {
                let before = self.leaves.len();
                let columns = self.columns(wanted, fields, first, &format!("{path}."))?;
                if self.leaves.len() == before {
                    // None of the struct's fields is in the file. One leaf is still read, to know
                    // which structs are null.
                    self.leaves.extend(self.cheapest(fields, first));
                }
                Ok(ArrayAdapter::Struct(columns))
            }
            (DataType::Array(array), ArrowType::List(field)) => self.list(array, field, first, path),
            (DataType::Map(map), ArrowType::Map(field, _)) => self.map(map, field, first, path),
            (wanted, found) => {
                let said = format!("the table has a column of type {}, but the file stores {found}", wanted.to_json_value());
                Err(self.misfit(path, Error::schema_mismatch(said)))
            }
        }
    }

    fn list(&mut self, array: &ArrayType, found: &FieldRef, first: usize, path: &str) -> Result<ArrayAdapter> {
        let adapter = self.array(&array.element, found.data_type(), first, &format!("{path}.element"))?;
        let field = Arc::new(Field::new("element", type_to_arrow(&array.element)?, array.contains_null));
        Ok(ArrayAdapter::List(Box::new(ItemAdapter { field, adapter })))
    }

    fn map(&mut self, map: &MapType, found: &FieldRef, first: usize, path: &str) -> Result<ArrayAdapter> {
        let ArrowType::Struct(fields) = found.data_type() else {
            return Err(self.misfit(path, Error::internal("a map array has no entries")));
        };
        let [found_key, found_value] = &fields[..] else {
            return Err(self.misfit(path, Error::internal("the entries of a map array are not a key and a value")));
        };
        let key = self.array(&map.key, found_key.data_type(), first, &format!("{path}.key"))?;
        let value_first = first + leaf_count(found_key.data_type());
        let value = self.array(&map.value, found_value.data_type(), value_first, &format!("{path}.value"))?;
        let key_field = Arc::new(Field::new("key", type_to_arrow(&map.key)?, false));
        let value_field = Arc::new(Field::new("value", type_to_arrow(&map.value)?, map.value_contains_null));
        let entries = ArrowType::Struct(Fields::from(vec![Arc::clone(&key_field), Arc::clone(&value_field)]));
        Ok(ArrayAdapter::Map {
            entries: Arc::new(Field::new("key_value", entries, false)),
            key: Box::new(ItemAdapter { field: key_field, adapter: key }),
            value: Box::new(ItemAdapter { field: value_field, adapter: value }),
        })
    }

    /// Returns the leaves of a struct that are cheapest to read: one leaf, preferably not repeated,
    /// and small. Of a map all leaves are returned, because the decoder does not read them
    /// separately.
    fn cheapest(&self, fields: &Fields, first: usize) -> Range<usize> {
        let metadata = self.columns.file.metadata();
        let descriptor = metadata.file_metadata().schema_descr();
        let cost = |leaves: &Range<usize>| {
            let chunks = metadata.row_groups().iter().filter_map(|group| group.columns().get(leaves.clone())).flatten();
            let size: i64 = chunks.map(|chunk| chunk.compressed_size()).sum();
            (descriptor.column(leaves.start).max_rep_level(), size)
        };
        readable_apart(fields, first).into_iter().min_by_key(cost).unwrap_or(first..first + 1)
    }

    fn misfit(&self, path: &str, error: Error) -> Error {
        error.within(format!("{}: column {path}", self.columns.file.name()))
    }
}

impl SchemaAdapter {
    /// Returns the leaves that must be read.
    pub(super) fn leaves(&self) -> &BTreeSet<usize> {
        &self.leaves
    }

    /// Returns the leaves that must be read as a mask for the decoder.
    pub(super) fn mask(&self, file: &ParquetFile) -> ProjectionMask {
        ProjectionMask::leaves(file.metadata().file_metadata().schema_descr(), self.leaves.iter().copied())
    }

    /// Returns the leaves of columns that may be decoded as keys into a dictionary. `wanted`
    /// chooses the columns by position.
    pub(super) fn dictionary_leaves(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let columns = self.same.iter().enumerate();
        columns.filter(|(position, _)| wanted(*position)).filter_map(|(_, leaf)| *leaf).collect()
    }

    /// Returns the number of characters to which the strings of a leaf are padded; 0 if they are
    /// not padded.
    pub(super) fn padded_length(&self, leaf: usize) -> u32 {
        self.lengths.get(&leaf).copied().unwrap_or(0)
    }

    /// Returns the columns of the table, one array for each column, with their fields. An array may
    /// still be in the form in which it was decoded (see `form`). A field is nullable if the file
    /// has a null, even if the table forbids it.
    pub(super) fn adapt(&self, batch: &RecordBatch) -> Result<AdaptedColumns> {
        let mut fields = Vec::with_capacity(self.columns.len());
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let array = column.adapt_form(batch.columns(), batch.num_rows()).map_err(|error| self.locate(error, column))?;
            fields.push(widened(&column.field, &array, None));
            arrays.push(array);
        }
        Ok(AdaptedColumns { fields, columns: arrays })
    }

    fn locate(&self, error: Error, column: &ColumnAdapter) -> Error {
        let error = match error.kind() {
            // The code that found the error did not know the file.
            ErrorKind::Corrupt { path } if path.is_empty() => {
                Error::new(ErrorKind::Corrupt { path: self.name.clone() }, error.message())
            }
            _ => error,
        };
        error.within(format!("{}: column {}", self.name, column.field.name()))
    }
}

impl AdaptedColumns {
    /// Returns the chosen rows.
    pub(super) fn filter(&self, chooser: &FilterPredicate) -> Result<Self> {
        self.filter_some(chooser, |_| true)
    }

    /// Returns the chosen rows of the requested columns. The other columns become null arrays.
    pub(super) fn filter_some(&self, chooser: &FilterPredicate, wanted: impl Fn(usize) -> bool) -> Result<Self> {
        let columns = self.columns.iter().enumerate().map(|(position, column)| match wanted(position) {
            true => Ok(chooser.filter(column)?),
            false => Ok(new_null_array(&ArrowType::Null, chooser.count())),
        });
        Ok(Self { fields: self.fields.clone(), columns: columns.collect::<Result<_>>()? })
    }
}

impl ColumnAdapter {
    /// Converts the column as `adapt` does, but keeps an array that may stay in its decoded form.
    fn adapt_form(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        if let Some((position, ArrayAdapter::Leaf(leaf))) = &self.found
            && let Some(decoded) = columns.get(*position)
            && leaf.keeps(value_type(decoded.data_type()))
        {
            return Ok(Arc::clone(decoded));
        }
        self.adapt(columns, rows)
    }

    fn adapt(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        match &self.found {
            None => Ok(new_null_array(self.field.data_type(), rows)),
            Some((position, adapter)) => {
                let column = columns.get(*position).ok_or_else(|| Error::internal("a column was not decoded"))?;
                adapter.adapt(column)
            }
        }
    }
}

/// Replaces positions in the file by positions among the columns that are read.
fn renumber(columns: &mut [ColumnAdapter], fields: &Fields, first: usize, leaves: &BTreeSet<usize>) {
    let starts = starts(fields, first);
    let mut settled = Vec::with_capacity(fields.len());
    let mut read = 0;
    for (field, start) in fields.iter().zip(&starts) {
        settled.push(read);
        if leaves.range(*start..*start + leaf_count(field.data_type())).next().is_some() {
            read += 1;
        }
    }
    for (position, adapter) in columns.iter_mut().filter_map(|column| column.found.as_mut()) {
        if let (Some(field), Some(start), Some(now)) = (fields.get(*position), starts.get(*position), settled.get(*position)) {
            renumber_array(adapter, field.data_type(), *start, leaves);
            *position = *now;
        }
    }
}

fn renumber_array(adapter: &mut ArrayAdapter, found: &ArrowType, first: usize, leaves: &BTreeSet<usize>) {
    match (adapter, found) {
        (ArrayAdapter::Struct(columns), ArrowType::Struct(fields)) => renumber(columns, fields, first, leaves),
        (ArrayAdapter::List(element), ArrowType::List(field)) => {
            renumber_array(&mut element.adapter, field.data_type(), first, leaves)
        }
        (ArrayAdapter::Map { key, value, .. }, ArrowType::Map(entries, _)) => {
            if let ArrowType::Struct(fields) = entries.data_type()
                && let [found_key, found_value] = &fields[..]
            {
                renumber_array(&mut key.adapter, found_key.data_type(), first, leaves);
                renumber_array(&mut value.adapter, found_value.data_type(), first + leaf_count(found_key.data_type()), leaves);
            }
        }
        _ => {}
    }
}

/// Returns the first leaf of each field.
fn starts(fields: &Fields, first: usize) -> Vec<usize> {
    let mut next = first;
    let start = |field: &FieldRef| {
        let start = next;
        next += leaf_count(field.data_type());
        start
    };
    fields.iter().map(start).collect()
}

impl ArrayAdapter {
    fn adapt(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match self {
            Self::Leaf(leaf) => leaf.adapt(array),
            Self::Variant => variant::plain(array),
            Self::Struct(adapters) => {
                let source = array.as_struct_opt().ok_or_else(|| undecoded("struct", array))?;
                let mut fields = Vec::with_capacity(adapters.len());
                let mut columns = Vec::with_capacity(adapters.len());
                for adapter in adapters {
                    let column = adapter.adapt(source.columns(), source.len())?;
                    fields.push(widened(&adapter.field, &column, source.nulls()));
                    columns.push(column);
                }
                let made = StructArray::try_new_with_length(fields.into(), columns, source.nulls().cloned(), source.len());
                Ok(Arc::new(made?))
            }
            Self::List(element) => {
                let source = array.as_list_opt::<i32>().ok_or_else(|| undecoded("list", array))?;
                let values = element.adapter.adapt(source.values())?;
                let field = widened(&element.field, &values, None);
                Ok(Arc::new(ListArray::try_new(field, source.offsets().clone(), values, source.nulls().cloned())?))
            }
            Self::Map { entries, key, value } => {
                let source = array.as_map_opt().ok_or_else(|| undecoded("map", array))?;
                if source.keys().logical_null_count() > 0 {
                    return Err(Error::corrupt("", "a map has a null key"));
                }
                let columns = vec![key.adapter.adapt(source.keys())?, value.adapter.adapt(source.values())?];
                let fields: Fields =
                    [key, value].iter().zip(&columns).map(|(part, column)| widened(&part.field, column, None)).collect();
                let made = StructArray::try_new(fields.clone(), columns, None)?;
                let entries = Arc::new(entries.as_ref().clone().with_data_type(ArrowType::Struct(fields)));
                Ok(Arc::new(MapArray::try_new(entries, source.offsets().clone(), made, source.nulls().cloned(), false)?))
            }
        }
    }
}

/// Returns the field for an array. It is the field of the table, but nullable if the array has
/// nulls that the table forbids. The nulls are in the file, so they are neither hidden nor refused.
fn widened(field: &FieldRef, array: &ArrayRef, parent: Option<&arrow_buffer::NullBuffer>) -> FieldRef {
    let mut nullable = field.is_nullable();
    if !nullable && array.logical_null_count() > 0 {
        let nulls = array.logical_nulls();
        let hidden = match (parent, &nulls) {
            (Some(parent), Some(nulls)) => parent.contains(nulls),
            _ => false,
        };
        nullable = !hidden;
    }
    if nullable == field.is_nullable() && array.data_type() == field.data_type() {
        return Arc::clone(field);
    }
    Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone()).with_nullable(nullable))
}

fn undecoded(kind: &str, array: &ArrayRef) -> Error {
    Error::internal(format!("a {kind} was decoded as {}", array.data_type()))
}

/// Returns the field id in the file.
fn id_of(field: &Field) -> Option<i32> {
    field.metadata().get(PARQUET_FIELD_ID_META_KEY)?.parse().ok()
}

/// Returns the groups of leaves that can be read separately. The leaves of a map are one group.
fn readable_apart(fields: &Fields, first: usize) -> Vec<Range<usize>> {
    let of_field = |(field, start): (&FieldRef, usize)| match field.data_type() {
        ArrowType::Struct(fields) => readable_apart(fields, start),
        ArrowType::List(element) => readable_apart(&Fields::from(vec![Arc::clone(element)]), start),
        other => vec![start..start + leaf_count(other)],
    };
    fields.iter().zip(starts(fields, first)).flat_map(of_field).collect()
}
