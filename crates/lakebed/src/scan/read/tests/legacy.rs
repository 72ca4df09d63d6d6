//! Files of writers that used the old calendar. The tests of rebasing itself are in `rebase`.

use parquet::data_type::{Int32Type, Int64Type, Int96, Int96Type};

use lakebed_core::schema::PrimitiveType;

use super::*;

const LEGACY: [(&str, &str); 2] = [("org.apache.spark.version", "3.5.0"), ("org.apache.spark.legacyDateTime", "")];
const MODERN: [(&str, &str); 1] = [("org.apache.spark.version", "3.5.0")];
const OLD: [(&str, &str); 1] = [("org.apache.spark.version", "2.4.8")];

async fn read(data_type: PrimitiveType, file: Vec<u8>) -> Vec<String> {
    let mut table = Table::of("c", data_type);
    table.add(file).await;
    table.rows().await
}

#[tokio::test]
async fn dates_of_old_writers_keep_their_names() {
    // The day before 1582-10-15 had the date 1582-10-04.
    let file = |words: &[(&str, &str)]| {
        leaf_file_by::<Int32Type>("message m { required int32 c (DATE); }", &[-141_428, 0], None, None, words)
    };
    for words in [&LEGACY[..], &OLD[..]] {
        assert_eq!(read(PrimitiveType::Date, file(words)).await, ["1582-10-04", "1970-01-01"]);
    }
    for words in [&MODERN[..], &[]] {
        assert_eq!(read(PrimitiveType::Date, file(words)).await, ["1582-10-14", "1970-01-01"]);
    }
}

#[tokio::test]
async fn timestamps_of_old_writers_keep_local_time() {
    let micros = -141_428 * 86_400_000_000_i64;
    let message = "message m { required int64 c (TIMESTAMP(MICROS,true)); }";
    let file = |words: &[(&str, &str)]| leaf_file_by::<Int64Type>(message, &[micros, 1], None, None, words);
    assert_eq!(read(PrimitiveType::Timestamp, file(&LEGACY)).await, ["1582-10-04T00:00:00Z", "1970-01-01T00:00:00.000001Z"]);
    assert_eq!(read(PrimitiveType::Timestamp, file(&MODERN)).await[0], "1582-10-14T00:00:00Z");
    // Timestamps without time zone are newer than the writers that used the old calendar.
    let ntz = "message m { required int64 c (TIMESTAMP(MICROS,false)); }";
    let file = leaf_file_by::<Int64Type>(ntz, &[micros], None, None, &LEGACY);
    assert_eq!(read(PrimitiveType::TimestampNtz, file).await, ["1582-10-14T00:00:00"]);
}

#[tokio::test]
async fn int96_calendar_is_told_by_own_key() {
    let mut value = Int96::new();
    // The Julian day number of 1582-10-14, if that day existed.
    value.set_data(0, 0, 2_440_588 - 141_428);
    let file = |words: &[(&str, &str)]| leaf_file_by::<Int96Type>("message m { required int96 c; }", &[value], None, None, words);
    let of_int96 = [MODERN[0], ("org.apache.spark.legacyINT96", "")];
    for words in [&of_int96[..], &OLD[..], &[("org.apache.spark.version", "3.0.3")]] {
        assert_eq!(read(PrimitiveType::Timestamp, file(words)).await, ["1582-10-04T00:00:00Z"]);
    }
    for words in [&MODERN[..], &LEGACY[..]] {
        assert_eq!(read(PrimitiveType::Timestamp, file(words)).await, ["1582-10-14T00:00:00Z"]);
    }
}

#[tokio::test]
async fn statistics_in_the_old_calendar_skip_nothing() {
    let mut table = Table::of("c", PrimitiveType::Date);
    table.add(leaf_file_by::<Int32Type>("message m { required int32 c (DATE); }", &[-141_428], None, None, &LEGACY)).await;
    assert_eq!(table.filter("c <= DATE '1582-10-04'").rows().await, ["1582-10-04"]);
}
