use arrow_ord::cmp::{gt_eq, lt_eq};
use arrow_schema::{DataType as ArrowType, Fields};
use proptest::prelude::*;

use super::super::super::{StatColumn, StatKind, from_json};
use super::*;

/// Returns a column with values that are difficult for statistics.
pub(super) fn any_column(rows: usize) -> impl Strategy<Value = ArrayRef> {
    fn some<T: std::fmt::Debug>(value: impl Strategy<Value = T>, rows: usize) -> impl Strategy<Value = Vec<Option<T>>> {
        (prop::sample::select(vec![0.0, 0.3, 0.9, 1.0]), prop::collection::vec((value, 0.0..1.0_f64), rows))
            .prop_map(|(share, values)| values.into_iter().map(|(value, luck)| (luck < share).then_some(value)).collect())
    }
    let doubles = prop_oneof![
        3 => any::<f64>(), 1 => -2.0..2.0_f64, 1 => any::<f32>().prop_map(f64::from),
        1 => prop::sample::select(vec![f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, f64::MAX, f64::MIN, 1.1, 1e16]),
    ];
    let floats = prop_oneof![
        3 => any::<f32>(), 1 => -2.0..2.0_f32,
        1 => prop::sample::select(vec![f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MAX, f32::MIN, 1.1, 1e16]),
    ];
    let longs = || prop_oneof![any::<i64>(), -9..9_i64, Just(i64::MIN), Just(i64::MAX)];
    let instants =
        || prop_oneof![any::<i64>(), -70_000_000_000_000_000..260_000_000_000_000_000_i64, Just(i64::MIN), Just(i64::MAX)];
    let days = prop_oneof![any::<i32>(), -800_000..3_000_000_i32];
    let letters = prop_oneof![2 => any::<char>(), 2 => Just('a'), 1 => Just('b'), 1 => Just(char::MAX), 1 => Just('\u{7f}'), 1 => Just('\0'), 1 => Just('😀')];
    let texts = prop::collection::vec(letters, 0..14).prop_map(|letters| letters.into_iter().collect::<String>());
    let decimal = (1..=38_u8).prop_flat_map(move |precision| {
        let bound = 10_i128.pow(u32::from(precision)) - 1;
        let values = prop_oneof![-bound..=bound, -9..=9_i128, Just(bound), Just(-bound)];
        (Just(precision), 0..=precision, some(values, rows))
    });
    let decimals = decimal.prop_map(|(precision, scale, values)| {
        array(Decimal128Array::from(values).with_precision_and_scale(precision, scale.cast_signed()).unwrap())
    });
    prop_oneof![
        some(any::<i8>(), rows).prop_map(|values| array(Int8Array::from(values))),
        some(any::<i16>(), rows).prop_map(|values| array(Int16Array::from(values))),
        some(any::<i32>(), rows).prop_map(|values| array(Int32Array::from(values))),
        some(longs(), rows).prop_map(|values| array(Int64Array::from(values))),
        some(floats, rows).prop_map(|values| array(Float32Array::from(values))),
        some(doubles, rows).prop_map(|values| array(Float64Array::from(values))),
        some(days, rows).prop_map(|values| array(Date32Array::from(values))),
        some(instants(), rows).prop_map(|values| array(TimestampMicrosecondArray::from(values).with_timezone("UTC"))),
        some(instants(), rows).prop_map(|values| array(TimestampMicrosecondArray::from(values))),
        some(texts, rows).prop_map(|values| array(StringArray::from(values))),
        some(any::<bool>(), rows).prop_map(|values| array(BooleanArray::from(values))),
        decimals,
    ]
}

/// Returns a column, or a struct of columns with nulls of its own.
fn any_field(rows: usize) -> impl Strategy<Value = ArrayRef> {
    any_column(rows).boxed().prop_recursive(2, 8, 3, move |inner| {
        (prop::collection::vec(inner, 1..3), prop::collection::vec(prop::bool::weighted(0.7), rows)).prop_map(
            |(columns, valid)| {
                let fields: Fields = columns
                    .iter()
                    .enumerate()
                    .map(|(at, column)| Field::new(format!("f{at}"), column.data_type().clone(), true))
                    .collect();
                array(StructArray::new(fields, columns, Some(valid.into())))
            },
        )
    })
}

/// Returns a batch, and the positions at which to cut it.
fn any_batch() -> impl Strategy<Value = (RecordBatch, Vec<usize>)> {
    let rows = prop_oneof![Just(0), 1..20_usize, 60..140_usize];
    rows.prop_flat_map(|rows| (prop::collection::vec(any_field(rows), 1..4), prop::collection::vec(0..=rows, 0..4), Just(rows)))
        .prop_map(|(columns, mut cuts, rows)| {
            let names: Vec<String> = (0..columns.len()).map(|at| format!("c{at}")).collect();
            cuts.extend([0, rows]);
            cuts.sort_unstable();
            (batch(names.iter().map(String::as_str).zip(columns).collect()), cuts)
        })
}

/// Returns every leaf with its path. A row is null if a struct around it is null.
fn leaves(fields: &Fields, arrays: &[ArrayRef], nulls: Option<&NullBuffer>, path: &[String]) -> Vec<(Vec<String>, ArrayRef)> {
    let mut found = Vec::new();
    for (field, array) in fields.iter().zip(arrays) {
        let path: Vec<String> = path.iter().chain([field.name()]).cloned().collect();
        let nulls = NullBuffer::union(nulls, array.nulls());
        match array.as_struct_opt() {
            Some(inner) => found.extend(leaves(inner.fields(), inner.columns(), nulls.as_ref(), &path)),
            None => {
                let data = array.to_data().into_builder().nulls(nulls).build().unwrap();
                found.push((path, arrow_array::make_array(data)));
            }
        }
    }
    found
}

/// Returns whether bounds that were read back enclose every value. Nulls are ignored.
fn encloses(low: &ArrayRef, high: &ArrayRef, values: &ArrayRef) -> bool {
    let values = match values.data_type() {
        // As in Spark's order, every NaN is the greatest value.
        ArrowType::Float32 => array(
            values
                .as_primitive::<arrow_array::types::Float32Type>()
                .unary::<_, arrow_array::types::Float32Type>(|value| if value.is_nan() { f32::NAN } else { value }),
        ),
        ArrowType::Float64 => array(
            values
                .as_primitive::<arrow_array::types::Float64Type>()
                .unary::<_, arrow_array::types::Float64Type>(|value| if value.is_nan() { f64::NAN } else { value }),
        ),
        _ => Arc::clone(values),
    };
    let holds = |compared: BooleanArray| compared.iter().all(|holds| holds != Some(false));
    let above = low.is_null(0) || holds(lt_eq(&arrow_array::Scalar::new(Arc::clone(low)), &values).unwrap());
    let below = high.is_null(0) || holds(gt_eq(&arrow_array::Scalar::new(Arc::clone(high)), &values).unwrap());
    above && below
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn collect_encloses_values_and_counts_exactly((batch, cuts) in any_batch(), prefix in prop_oneof![0..6_u32, Just(32), Just(u32::MAX)]) {
        let plan = plan(&batch, ("dataSkippingStringPrefixLength", &prefix.to_string()));
        let json = collect(&plan, std::slice::from_ref(&batch));
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);

        let parts: Vec<_> = cuts.windows(2).map(|ends| batch.slice(ends[0], ends[1] - ends[0])).collect();
        prop_assert_eq!(&collect(&plan, &parts), &json);

        let texts = StringArray::from(vec![json.as_str()]);
        for (path, values) in leaves(batch.schema_ref().fields(), batch.columns(), None, &[]) {
            let schema = arrow_schema::Schema::new(vec![Field::new("c", values.data_type().clone(), true)]);
            let crate::schema::DataType::Primitive(data_type) = schema_from_arrow(&schema).unwrap().fields[0].data_type else { continue };
            let read = |kind| from_json(&texts, &[StatColumn { kind, path: path.clone(), data_type }]).remove(0);
            let nulls = read(StatKind::NullCount);
            prop_assert_eq!(nulls.as_primitive::<arrow_array::types::Int64Type>().iter().next(), Some(Some(values.null_count() as i64)));
            let (low, high) = (read(StatKind::Min), read(StatKind::Max));
            prop_assert!(encloses(&low, &high, &values), "{:?} of {:?} in {}", path, values, json);
            if values.null_count() == values.len() {
                prop_assert!(low.is_null(0) && high.is_null(0), "bounds of nothing in {}", json);
            }
        }
    }
}
