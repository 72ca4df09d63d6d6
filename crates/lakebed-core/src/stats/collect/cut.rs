//! Cuts strings to the length of their bounds.

/// A short character that is greater than all other ASCII characters.
const LAST_OF_ASCII: char = '\u{7f}';

/// Returns the number of bytes at the beginning of a string that decide the results of [`cut_low`]
/// and [`cut_high`]. Neither function reads more than twice the prefix and a few more characters,
/// and a UTF-16 unit is at most three bytes of UTF-8.
pub(super) fn bytes_that_count(prefix: u32) -> usize {
    usize::try_from(prefix).unwrap_or(usize::MAX).saturating_mul(6).saturating_add(24)
}

/// Returns the lower bound of a string: its first characters, up to the length of the prefix.
pub(super) fn cut_low(text: &str, prefix: u32) -> &str {
    let end = usize::try_from(prefix).ok().and_then(|prefix| text.char_indices().nth(prefix));
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Returns the upper bound of a string. For a long string, it is the beginning of the string,
/// followed by a character that is greater than the first character that was cut off. The result is
/// `None` if there is no such character nearby.
///
/// Lengths are counted in UTF-16 units, and surrogate pairs are not cut. If the character to cut
/// off is the last one of Unicode, the beginning is extended up to the next other character, but
/// not beyond twice the prefix.
pub(super) fn cut_high(text: &str, prefix: u32) -> Option<String> {
    let prefix = u64::from(prefix);
    let mut letters = text.char_indices().peekable();
    let mut units = 0;
    while let Some((_, letter)) = letters.next_if(|_| units < prefix) {
        units += letter.len_utf16() as u64;
    }
    if letters.peek().is_none() && units <= prefix {
        return Some(text.to_owned());
    }
    if prefix == 0 {
        return None;
    }
    while units <= 2 * prefix {
        let above = match letters.next() {
            None => return Some(text.to_owned()),
            Some((_, char::MAX)) => {
                units += char::MAX.len_utf16() as u64;
                continue;
            }
            Some((end, letter)) if letter < LAST_OF_ASCII => (end, LAST_OF_ASCII),
            Some((end, _)) => (end, char::MAX),
        };
        let mut bound = text.get(..above.0)?.to_owned();
        bound.push(above.1);
        return Some(bound);
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, prefix: u32, low: &str, high: Option<&str>) {
        assert_eq!(cut_low(text, prefix), low, "{text:?}");
        assert_eq!(cut_high(text, prefix).as_deref(), high, "{text:?}");
    }

    // The expected bounds are those that Delta Spark 4.4.0 wrote for these strings.
    #[test]
    fn bounds_are_cut_as_spark_cuts_them() {
        let x = |count: usize| "x".repeat(count);
        check(&x(32), 32, &x(32), Some(&x(32)));
        check(&x(33), 32, &x(32), Some(&(x(32) + "\u{7f}")));
        check(&(x(32) + "~"), 32, &x(32), Some(&(x(32) + "\u{7f}")));
        check(&(x(32) + "\u{7f}"), 32, &x(32), Some(&(x(32) + "\u{10ffff}")));
        check(&(x(32) + "ü"), 32, &x(32), Some(&(x(32) + "\u{10ffff}")));
        check(&"é".repeat(40), 32, &"é".repeat(32), Some(&("é".repeat(32) + "\u{10ffff}")));
        check("ab😀d", 3, "ab😀", Some("ab😀\u{7f}"));
        check("a😀", 3, "a😀", Some("a😀"));
    }

    #[test]
    fn cut_counts_code_points_and_utf16_units() {
        let x = |count: usize| "x".repeat(count);
        check(&(x(31) + "😀"), 32, &(x(31) + "😀"), Some(&(x(31) + "😀")));
        check(&(x(31) + "😀a"), 32, &(x(31) + "😀"), Some(&(x(31) + "😀\u{7f}")));
        check(&(x(31) + "😀ü"), 32, &(x(31) + "😀"), Some(&(x(31) + "😀\u{10ffff}")));
        check(&(x(30) + "😀a"), 32, &(x(30) + "😀a"), Some(&(x(30) + "😀\u{7f}")));
    }

    #[test]
    fn cut_greatest_characters_extends_or_drops_bound() {
        let last = |count: usize| "\u{10ffff}".repeat(count);
        let after_x = |text: String| "x".repeat(32) + &text;
        check(&last(16), 32, &last(16), Some(&last(16)));
        check(&last(17), 32, &last(17), Some(&last(17)));
        check(&last(32), 32, &last(32), Some(&last(32)));
        check(&last(33), 32, &last(32), None);
        check(&after_x(last(16)), 32, &after_x(String::new()), Some(&after_x(last(16))));
        check(&after_x(last(16) + "a"), 32, &after_x(String::new()), Some(&after_x(last(16) + "\u{7f}")));
        check(&after_x(last(17)), 32, &after_x(String::new()), None);
        check(&after_x(last(17) + "a"), 32, &after_x(String::new()), None);
    }

    #[test]
    fn cut_to_zero_leaves_lower_bound() {
        check("abc", 0, "", None);
        check("", 0, "", Some(""));
        check("abc", u32::MAX, "abc", Some("abc"));
    }

    /// Generates strings of characters that are hard to bound.
    fn any_text() -> impl Strategy<Value = String> {
        let letter = prop_oneof![
            Just('a'),
            Just('~'),
            Just('\u{7f}'),
            Just('\u{80}'),
            Just('\u{ffff}'),
            Just('😀'),
            Just(char::MAX),
            any::<char>()
        ];
        prop::collection::vec(letter, 0..24).prop_map(|letters| letters.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_text_lies_within_its_bounds(text in any_text(), prefix in 0..12_u32) {
            prop_assert!(cut_low(&text, prefix) <= text.as_str());
            prop_assert!(cut_high(&text, prefix).is_none_or(|high| high >= text));
        }

        #[test]
        fn what_does_not_count_changes_no_bound(text in any_text(), prefix in 0..4_u32) {
            let counts = bytes_that_count(prefix).min(text.len());
            let end = (0..=counts).rev().find(|end| text.is_char_boundary(*end)).unwrap();
            prop_assert_eq!(cut_low(&text[..end], prefix), cut_low(&text, prefix));
            prop_assert_eq!(cut_high(&text[..end], prefix), cut_high(&text, prefix));
        }
    }
}
