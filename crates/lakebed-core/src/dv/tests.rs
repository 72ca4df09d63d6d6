use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::ErrorKind;
use crate::action::{DeletionVectorDescriptor, DvStorage};
use crate::path::{AbsolutePath, FilePath};

/// The example of PROTOCOL "JSON Example 3 — Inline".
const SPECIFIED_INLINE: &str = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
const SPECIFIED_ROWS: [u64; 6] = [3, 4, 7, 11, 18, 29];

/// A Roaring bitmap as its specification defines it, without runs. It has one container of key 0
/// with the rows 1 and 3. The values begin at byte 16.
const BITMAP_1_3: [u8; 20] = [0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 3, 0];
/// A Roaring bitmap without containers.
const BITMAP_EMPTY: [u8; 8] = [0x3a, 0x30, 0, 0, 0, 0, 0, 0];

fn descriptor(storage_type: DvStorage, text: &str, offset: Option<i32>, size: i32, cardinality: i64) -> DeletionVectorDescriptor {
    DeletionVectorDescriptor { storage_type, path_or_inline_dv: text.to_owned(), offset, size_in_bytes: size, cardinality }
}

fn inline(text: &str, size: i32, cardinality: i64) -> DeletionVectorDescriptor {
    descriptor(DvStorage::Inline, text, None, size, cardinality)
}

fn rows(vector: &DeletionVector) -> Vec<u64> {
    vector.iter().collect()
}

fn kept(vector: &DeletionVector, from: u64, to: u64) -> Vec<(u64, u64)> {
    vector.kept_ranges(from..to).into_iter().map(|range| (range.start, range.end)).collect()
}

#[track_caller]
fn check_corrupt<T: std::fmt::Debug>(result: crate::Result<T>, expected: &str) {
    let error = result.unwrap_err();
    assert!(error.is_corrupt(), "{error:?}");
    assert!(error.to_string().contains(expected), "{error}");
}

fn portable(buckets: &[(u32, &[u8])]) -> Vec<u8> {
    let mut bytes = 1_681_511_377_u32.to_le_bytes().to_vec();
    bytes.extend((buckets.len() as u64).to_le_bytes());
    for (key, bitmap) in buckets {
        bytes.extend(key.to_le_bytes());
        bytes.extend(*bitmap);
    }
    bytes
}

fn native(number: fn(u32) -> [u8; 4], bitmaps: &[&[u8]]) -> Vec<u8> {
    let mut bytes = number(1_681_511_376).to_vec();
    bytes.extend(number(bitmaps.len() as u32));
    for bitmap in bitmaps {
        bytes.extend(number(bitmap.len() as u32));
        bytes.extend(*bitmap);
    }
    bytes
}

#[test]
fn read_inline_example_of_specification() {
    let vector = DeletionVector::from_inline(&inline(SPECIFIED_INLINE, 40, 6)).unwrap();
    assert_eq!(rows(&vector), SPECIFIED_ROWS);
}

#[test]
fn read_delta_sparks_inline_vector_ignores_padding() {
    // Rows 1, 3 and 5 take 38 bytes, padded to 40.
    let text = "^Bg9^0rr910000000000iXQKl0rr91000625c8Xg0rri41POJ5";
    assert_eq!(rows(&DeletionVector::from_inline(&inline(text, 38, 3)).unwrap()), [1, 3, 5]);
    assert_eq!(rows(&DeletionVector::from_inline(&inline(text, 40, 3)).unwrap()), [1, 3, 5]);
}

#[test]
fn read_inline_vector_contradicting_descriptor_is_corrupt() {
    check_corrupt(
        DeletionVector::from_inline(&inline(SPECIFIED_INLINE, 40, 5)),
        "the log says that 5 rows are deleted, but the deletion vector deletes 6",
    );
    check_corrupt(
        DeletionVector::from_inline(&inline(SPECIFIED_INLINE, 41, 6)),
        "it has 40 bytes, but its size in the log is 41",
    );
    check_corrupt(DeletionVector::from_inline(&inline(SPECIFIED_INLINE, -1, 6)), "its size in the log is -1");
    check_corrupt(DeletionVector::from_inline(&inline(SPECIFIED_INLINE, 36, 6)), "ends too early");
    check_corrupt(DeletionVector::from_inline(&inline("wi5b~", 4, 6)), "not Z85");
    let outside = descriptor(DvStorage::UuidRelative, "vBn[lx{q8@P<9BNH/isA", Some(1), 36, 2);
    let error = DeletionVector::from_inline(&outside).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn read_portable_form_skips_empty_buckets() {
    let bytes = portable(&[(0, &BITMAP_EMPTY), (1, &BITMAP_1_3), (0x7fff_ffff, &BITMAP_1_3)]);
    let top = 0x7fff_ffff_u64 << 32;
    assert_eq!(rows(&DeletionVector::parse(&bytes).unwrap()), [(1 << 32) + 1, (1 << 32) + 3, top + 1, top + 3]);
}

#[test]
fn read_native_form_of_both_byte_orders() {
    for number in [u32::to_le_bytes as fn(u32) -> [u8; 4], u32::to_be_bytes] {
        let bytes = native(number, &[&BITMAP_1_3, &BITMAP_EMPTY, &BITMAP_1_3]);
        assert_eq!(rows(&DeletionVector::parse(&bytes).unwrap()), [1, 3, (2 << 32) + 1, (2 << 32) + 3]);
    }
}

#[test]
fn damaged_vectors_are_corrupt() {
    check_corrupt(DeletionVector::parse(&[]), "0 bytes are too few");
    check_corrupt(DeletionVector::parse(b"PAR1...."), "magic number");
    check_corrupt(DeletionVector::parse(&portable(&[(2, &BITMAP_1_3), (1, &BITMAP_1_3)])), "out of order");
    check_corrupt(DeletionVector::parse(&portable(&[(1, &BITMAP_1_3), (1, &BITMAP_1_3)])), "out of order");
    check_corrupt(DeletionVector::parse(&portable(&[(0x8000_0000, &BITMAP_1_3)])), "out of range");
    check_corrupt(DeletionVector::parse(&native(u32::to_le_bytes, &[&BITMAP_1_3[..19]])), "bitmap is damaged");
    let mut left_over = portable(&[(0, &BITMAP_1_3)]);
    left_over.push(1);
    check_corrupt(DeletionVector::parse(&left_over), "1 bytes are left over");
}

#[test]
fn read_impossible_counts_fails_without_allocating() {
    let mut many_buckets = 1_681_511_377_u32.to_le_bytes().to_vec();
    many_buckets.extend(u64::MAX.to_le_bytes());
    check_corrupt(DeletionVector::parse(&many_buckets), "ends too early");
    let mut large_bitmap = 1_681_511_376_u32.to_le_bytes().to_vec();
    large_bitmap.extend([1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]);
    check_corrupt(DeletionVector::parse(&large_bitmap), "ends too early");
}

#[test]
fn places_follow_the_examples_of_the_specification() {
    let relative = descriptor(DvStorage::UuidRelative, "ab^-aqEH.-t@S}K{vb[*k^", Some(4), 40, 6);
    let path = FilePath::Relative("ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin".to_owned());
    assert_eq!(location(&relative).unwrap(), DvLocation::File { path, range: 4..52 });

    let text = "s3://mytable/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
    let absolute = descriptor(DvStorage::AbsolutePath, text, None, 40, 6);
    let path = FilePath::Absolute(AbsolutePath {
        scheme: Some("s3".to_owned()),
        authority: "mytable".to_owned(),
        path: "/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin".to_owned(),
    });
    assert_eq!(location(&absolute).unwrap(), DvLocation::File { path, range: 0..48 });

    assert_eq!(location(&inline(SPECIFIED_INLINE, 40, 6)).unwrap(), DvLocation::Inline);
}

#[test]
fn locate_outside_table_or_negative_is_refused() {
    let of = |text: &str| descriptor(DvStorage::UuidRelative, text, Some(1), 40, 6);
    for text in ["../x^-aqEH.-t@S}K{vb[*k^", "a/../../^-aqEH.-t@S}K{vb[*k^", "/etc^-aqEH.-t@S}K{vb[*k^", "..^-aqEH.-t@S}K{vb[*k^"]
    {
        assert!(location(&of(text)).unwrap_err().is_corrupt(), "{text}");
    }
    check_corrupt(location(&of("short")), "not a UUID");
    check_corrupt(location(&of("\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"")), "not a UUID");
    check_corrupt(location(&of("é^-aqEH.-t@S}K{vb[*k")), "not a UUID");
    check_corrupt(location(&descriptor(DvStorage::AbsolutePath, "x/y.bin", Some(1), 40, 6)), "should be absolute");
    check_corrupt(location(&descriptor(DvStorage::AbsolutePath, "/x/y.bin", Some(-1), 40, 6)), "offset is negative");
    check_corrupt(location(&descriptor(DvStorage::AbsolutePath, "/x/y.bin", Some(1), -40, 6)), "size is negative");
    // An escape in a prefix is part of the file's name, because `u` paths are not URIs.
    let DvLocation::File { path, .. } = location(&of("%2e%2e^-aqEH.-t@S}K{vb[*k^")).unwrap() else { panic!("not a file") };
    assert_eq!(path, FilePath::Relative("%2e%2e/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin".to_owned()));
}

#[test]
fn write_file_frames_vectors_big_endian() {
    let vector: DeletionVector = [1, 3].into_iter().collect();
    let id = Uuid::parse_str("d2c639aa-8816-431a-aaf6-d3fe2512ff61").unwrap();
    let (bytes, descriptors) = frame(&[vector], id, "ab").unwrap();
    let data = portable(&[(0, &BITMAP_1_3)]);
    let mut expected = vec![1, 0, 0, 0, 36];
    expected.extend(&data);
    // The number is the CRC-32 of the 36 bytes, computed with zlib.
    expected.extend(0x6834_97a9_u32.to_be_bytes());
    assert_eq!(bytes, expected);
    assert_eq!(descriptors, [descriptor(DvStorage::UuidRelative, "ab^-aqEH.-t@S}K{vb[*k^", Some(1), 36, 2)]);
}

#[test]
fn read_framed_vector_contradicting_descriptor_is_corrupt() {
    let vectors: Vec<DeletionVector> = vec![[1, 3].into_iter().collect(), (0..5000).collect()];
    let (bytes, descriptors) = frame(&vectors, Uuid::nil(), "").unwrap();
    let second = &bytes[descriptors[1].offset.unwrap() as usize..];
    assert_eq!(DeletionVector::parse_framed(second, &descriptors[1]).unwrap(), vectors[1]);
    // Both vectors are valid, but the descriptor of one does not match the bytes of the other.
    check_corrupt(DeletionVector::parse_framed(&bytes[1..], &descriptors[1]), "bytes in the log, but 36 bytes in the file");
    let mut flipped = bytes[1..].to_vec();
    flipped[10] ^= 1;
    check_corrupt(DeletionVector::parse_framed(&flipped, &descriptors[0]), "checksum does not match");
    let wrong_count = DeletionVectorDescriptor { cardinality: 3, ..descriptors[0].clone() };
    check_corrupt(DeletionVector::parse_framed(&bytes[1..], &wrong_count), "deletes 2");
    for end in 1..44 {
        check_corrupt(DeletionVector::parse_framed(&bytes[1..end], &descriptors[0]), "file ends before");
    }
    assert_eq!(DeletionVector::parse_framed(&bytes[1..45], &descriptors[0]).unwrap(), vectors[0]);
}

#[test]
fn kept_ranges_go_around_deleted_rows() {
    let vector: DeletionVector = [0, 1, 4, 9].into_iter().collect();
    assert_eq!(kept(&vector, 0, 10), [(2, 4), (5, 9)]);
    assert_eq!(kept(&vector, 0, 12), [(2, 4), (5, 9), (10, 12)]);
    assert_eq!(kept(&vector, 1, 5), [(2, 4)]);
    assert_eq!(kept(&vector, 5, 9), [(5, 9)]);
    assert_eq!(kept(&vector, 0, 2), []);
    assert_eq!(kept(&vector, 7, 7), []);
    assert_eq!(kept(&DeletionVector::new(), 7, 9), [(7, 9)]);
    assert_eq!(vector.deleted_in(1..9), 2);
    assert_eq!(vector.deleted_in(3..3), 0);
    let beyond = 1_u64 << 32;
    let across: DeletionVector = (beyond - 2..beyond + 2).collect();
    assert_eq!(kept(&across, beyond - 3, beyond + 3), [(beyond - 3, beyond - 2), (beyond + 2, beyond + 3)]);
    assert_eq!(across.deleted_in(beyond - 1..beyond + 1), 2);
}

#[test]
fn write_refuses_rows_java_cannot_read() {
    let vector: DeletionVector = [i64::MAX as u64].into_iter().collect();
    assert_eq!(DeletionVector::parse(&vector.serialize().unwrap()).unwrap(), vector);
    let vector: DeletionVector = [1 << 63].into_iter().collect();
    let error = vector.serialize().unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("2^63"), "{error}");
}

#[test]
fn z85_follows_its_own_example() {
    // The example is from https://rfc.zeromq.org/spec/32/ "Test Case".
    assert_eq!(z85::encode(&[0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b]), "HelloWorld");
    assert_eq!(z85::decode("HelloWorld").unwrap(), [0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b]);
    assert_eq!(z85::decode("%nSc0").unwrap(), [0xff; 4]);
    // The strings are a value above four bytes, an incomplete group, and a character outside the
    // alphabet.
    assert_eq!(z85::decode("%nSc1"), None);
    assert_eq!(z85::decode("Hello1"), None);
    assert_eq!(z85::decode("Hell\""), None);
}

/// Returns the rows of realistic vectors: scattered rows, runs, dense rows, and rows above 2^32.
fn any_vector() -> impl Strategy<Value = DeletionVector> {
    let run = (prop_oneof![0..200_000_u64, (1_u64 << 32) - 70_000..(1 << 32) + 70_000], 1..3_000_u64, 1..4_u64);
    prop::collection::vec(run, 0..12)
        .prop_map(|runs| runs.into_iter().flat_map(|(from, count, step)| (0..count).map(move |at| from + at * step)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_again(vector in any_vector()) {
        prop_assert_eq!(&DeletionVector::parse(&vector.serialize().unwrap()).unwrap(), &vector);
        prop_assert_eq!(&DeletionVector::from_inline(&vector.to_inline().unwrap()).unwrap(), &vector);
    }

    #[test]
    fn framed_vectors_are_found_by_their_descriptors(vectors in prop::collection::vec(any_vector(), 1..4), prefix in "[a-z0-9]{0,3}") {
        let id = Uuid::from_u128(0x1234);
        let (bytes, descriptors) = frame(&vectors, id, &prefix).unwrap();
        for (vector, descriptor) in vectors.iter().zip(&descriptors) {
            let DvLocation::File { path, range } = location(descriptor).unwrap() else { panic!("not a file") };
            let slash = if prefix.is_empty() { "" } else { "/" };
            prop_assert_eq!(path, FilePath::Relative(format!("{prefix}{slash}deletion_vector_{id}.bin")));
            let framed = &bytes[range.start as usize..range.end as usize];
            prop_assert_eq!(&DeletionVector::parse_framed(framed, descriptor).unwrap(), vector);
        }
    }

    #[test]
    fn kept_and_deleted_rows_partition_a_range(vector in any_vector(), from in 0..100_000_u64, length in 0..50_000_u64) {
        let all = from..from + length;
        let kept = vector.kept_ranges(all.clone());
        let mut expected = Vec::new();
        for row in all.clone() {
            if !vector.contains(row) {
                expected.push(row);
            }
        }
        prop_assert!(kept.iter().all(|range| range.start < range.end));
        prop_assert!(kept.windows(2).all(|pair| pair[0].end < pair[1].start), "neighbours are one range");
        prop_assert_eq!(kept.iter().cloned().flatten().collect::<Vec<_>>(), expected);
        let kept_rows: u64 = kept.iter().map(|range| range.end - range.start).sum();
        prop_assert_eq!(kept_rows + vector.deleted_in(all.clone()), length);
        let deleted: u64 = vector.deleted_ranges(all).map(|range| range.end - range.start).sum();
        prop_assert_eq!(kept_rows + deleted, length);
    }

    #[test]
    fn a_union_deletes_what_either_deletes(left in any_vector(), right in any_vector()) {
        let expected: std::collections::BTreeSet<u64> = left.iter().chain(right.iter()).collect();
        prop_assert_eq!(rows(&left.union(&right)), expected.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_complement_deletes_what_is_left(some in prop::collection::btree_set(0_u64..200, 0..100), count in 0_u64..200) {
        let expected: Vec<u64> = (0..count).filter(|row| !some.contains(row)).collect();
        prop_assert_eq!(rows(&some.iter().copied().collect::<DeletionVector>().complement(count)), expected);
    }

    #[test]
    fn bytes_of_others_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..64), form in 0..4_usize) {
        for (at, byte) in [&[][..], &[0xd1, 0xd3, 0x39, 0x64], &[0xd0, 0xd3, 0x39, 0x64], &[0x64, 0x39, 0xd3, 0xd0]][form].iter().enumerate() {
            if let Some(place) = bytes.get_mut(at) {
                *place = *byte;
            }
        }
        if let Ok(vector) = DeletionVector::parse(&bytes) {
            prop_assert_eq!(DeletionVector::parse(&vector.serialize().unwrap()).unwrap(), vector);
        }
    }

    #[test]
    fn z85_text_is_read_again(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let decoded = z85::decode(&z85::encode(&bytes)).unwrap();
        prop_assert_eq!(&decoded[..bytes.len()], &bytes[..]);
        prop_assert!(decoded[bytes.len()..].iter().all(|byte| *byte == 0) && decoded.len() < bytes.len() + 4);
    }
}
