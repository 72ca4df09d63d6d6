//! Removes the blanks around a string that Spark's casts ignore.

/// Returns the string without the blanks and control characters around it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|letter: char| letter <= ' ')
}
