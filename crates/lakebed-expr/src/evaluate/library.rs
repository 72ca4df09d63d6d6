//! The functions of DataFusion and datafusion-spark whose results are Spark's.
//!
//! Both libraries have more functions. A function is listed here after its results have been
//! compared with Spark's documentation. If both libraries have a name, the function of
//! datafusion-spark is used. Read [`FUNCTIONS`] first.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;
use datafusion_expr::ScalarUDF;

use super::constant_call::by_one_row;

/// Spark's name of the function, its name in the registry, and the type that every argument is cast
/// to first, if there is such a type.
pub(crate) const FUNCTIONS: &[(&str, &str, Option<DataType>)] = &[
    // text
    ("upper", "upper", Some(DataType::Utf8)),
    ("ucase", "upper", Some(DataType::Utf8)),
    ("lower", "lower", Some(DataType::Utf8)),
    ("lcase", "lower", Some(DataType::Utf8)),
    ("btrim", "btrim", Some(DataType::Utf8)),
    ("ltrim", "ltrim", Some(DataType::Utf8)),
    ("rtrim", "rtrim", Some(DataType::Utf8)),
    ("concat", "concat", Some(DataType::Utf8)),
    ("concat_ws", "concat_ws", None),
    ("length", "length", None),
    ("len", "length", None),
    ("char_length", "length", None),
    ("character_length", "length", None),
    ("octet_length", "octet_length", None),
    ("bit_length", "bit_length", None),
    ("replace", "replace", Some(DataType::Utf8)),
    ("translate", "translate", Some(DataType::Utf8)),
    ("reverse", "reverse", Some(DataType::Utf8)),
    ("repeat", "repeat", None),
    ("lpad", "lpad", None),
    ("rpad", "rpad", None),
    ("substring_index", "substr_index", None),
    ("split_part", "split_part", None),
    ("substring", "substring", None),
    ("substr", "substring", None),
    ("find_in_set", "find_in_set", Some(DataType::Utf8)),
    ("ascii", "ascii", Some(DataType::Utf8)),
    ("char", "char", Some(DataType::Int64)),
    ("chr", "char", Some(DataType::Int64)),
    ("space", "space", Some(DataType::Int32)),
    ("soundex", "soundex", Some(DataType::Utf8)),
    ("hex", "hex", None),
    ("unhex", "unhex", Some(DataType::Utf8)),
    ("parse_url", "parse_url", Some(DataType::Utf8)),
    ("url_decode", "url_decode", Some(DataType::Utf8)),
    ("url_encode", "url_encode", Some(DataType::Utf8)),
    // hashes
    ("crc32", "crc32", Some(DataType::Binary)),
    ("sha", "sha1", Some(DataType::Binary)),
    ("sha1", "sha1", Some(DataType::Binary)),
    ("sha2", "sha2", None),
    ("xxhash64", "xxhash64", None),
    // numbers
    ("bin", "bin", Some(DataType::Int64)),
    ("factorial", "factorial", Some(DataType::Int32)),
    ("width_bucket", "width_bucket", None),
    ("bit_count", "bit_count", None),
    ("bit_get", "bit_get", None),
    ("getbit", "bit_get", None),
    ("shiftleft", "shiftleft", None),
    ("shiftright", "shiftright", None),
    ("shiftrightunsigned", "shiftrightunsigned", None),
    // times
    ("from_utc_timestamp", "from_utc_timestamp", None),
    ("to_utc_timestamp", "to_utc_timestamp", None),
    // arrays and maps
    ("array", "array", None),
    ("array_contains", "array_contains", None),
    ("array_distinct", "array_distinct", None),
    ("array_max", "array_max", None),
    ("array_min", "array_min", None),
    ("map_keys", "map_keys", None),
    ("map_values", "map_values", None),
];

/// The registry names of functions that never fail.
const TOTAL: &[&str] = &[
    "upper",
    "lower",
    "btrim",
    "ltrim",
    "rtrim",
    "concat",
    "concat_ws",
    "length",
    "octet_length",
    "bit_length",
    "replace",
    "translate",
    "reverse",
    "substr_index",
    "substring",
    "ascii",
    "hex",
    "crc32",
    "sha1",
    "sha2",
    "xxhash64",
    "array_contains",
    "array_distinct",
    "map_keys",
    "map_values",
];

/// The registry names of functions whose result may be other than null if an argument is null.
const TAKE_NULL: &[&str] = &["concat_ws", "xxhash64", "array"];

pub(crate) static REGISTRY: LazyLock<HashMap<String, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let plain = datafusion_functions::all_default_functions();
    let nested = datafusion_functions_nested::all_default_nested_functions();
    let spark = datafusion_spark::all_default_scalar_functions();
    let mut registry = HashMap::new();
    for function in plain.into_iter().chain(nested).chain(spark).map(by_one_row) {
        for alias in function.aliases() {
            registry.insert(alias.clone(), function.clone());
        }
        registry.insert(function.name().to_string(), function);
    }
    registry
});

/// Whether a function of the registry fails for some values.
pub(crate) fn may_fail(name: &str) -> bool {
    !TOTAL.contains(&name) && FUNCTIONS.iter().any(|(_, listed, _)| *listed == name)
}

/// The number of leading arguments of a registry function that make the result null if they are
/// null.
pub(crate) fn null_args(name: &str) -> usize {
    let is_listed = FUNCTIONS.iter().any(|(_, listed, _)| *listed == name);
    if is_listed && !TAKE_NULL.contains(&name) { usize::MAX } else { 0 }
}
