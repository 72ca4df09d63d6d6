//! Texts of conditions that are made of the texts of other conditions.

/// The text of conditions that AND or OR joins.
pub fn joined_text<'a>(operator: &str, operands: impl IntoIterator<Item = &'a str>) -> String {
    operands.into_iter().map(in_parentheses).collect::<Vec<_>>().join(&format!(" {operator} "))
}

/// The text of an operand. A comment at its end must not reach the parenthesis.
pub(super) fn in_parentheses(text: &str) -> String {
    let end = if text.contains("--") { "\n" } else { "" };
    format!("({text}{end})")
}
