//! Blanks around a text that Spark's casts ignore.

/// The text without the blanks and control characters around it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|letter: char| letter <= ' ')
}
