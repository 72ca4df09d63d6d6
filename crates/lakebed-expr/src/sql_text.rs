//! The text of an expression. It knows where the names of columns stand in it, so names change
//! without parsing the text again. Read [`SqlText`] first.

use std::fmt;

use crate::spelling::quoted_path;
use crate::syntax::lex::Span;

/// The text of an expression, for messages, the history and other processes.
///
/// Two texts are equal if their characters are.
#[derive(Debug, Clone, Default)]
pub struct SqlText {
    text: String,
    /// The names of columns and of their fields, in the order of the text.
    names: Vec<(Span, Vec<String>)>,
    /// The texts on both sides, if the expression is a comparison of parsed expressions.
    compared: Option<Box<(String, String)>>,
}

impl SqlText {
    /// Makes the text of an expression without columns.
    pub(crate) fn without_names(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Makes the text of a column or of a nested field.
    pub(crate) fn of_path(path: &[String]) -> Self {
        let mut text = Self::default();
        text.push_name(&quoted_path(path), path);
        text
    }

    /// Appends characters that name no column.
    pub(crate) fn push_str(&mut self, more: &str) {
        self.text.push_str(more);
    }

    /// Appends the name of a column or of a nested field in a given spelling.
    pub(crate) fn push_name(&mut self, spelling: &str, path: &[String]) {
        let start = self.text.len();
        self.text.push_str(spelling);
        self.names.push((Span { start, end: self.text.len() }, path.to_vec()));
    }

    /// Appends another text.
    pub(crate) fn push(&mut self, other: &Self) {
        let at = self.text.len();
        self.text.push_str(&other.text);
        let shifted = |(span, path): &(Span, Vec<String>)| (Span { start: at + span.start, end: at + span.end }, path.clone());
        self.names.extend(other.names.iter().map(shifted));
    }

    /// Joins operands with AND or OR.
    pub(crate) fn joined(operator: &str, operands: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::default();
        for (number, operand) in operands.into_iter().enumerate() {
            if number > 0 {
                joined.push_str(&format!(" {operator} "));
            }
            joined.push(&operand);
        }
        joined
    }

    /// Puts the text in parentheses. A line break ends a comment before the closing parenthesis.
    pub(crate) fn in_parentheses(&self) -> Self {
        let mut text = Self::without_names("(");
        text.push(self);
        text.push_str(if self.text.contains("--") { "\n)" } else { ")" });
        text
    }

    /// Returns the same text with the texts on both sides of its comparison.
    #[must_use]
    pub(crate) fn comparing(self, left: &Self, right: &Self) -> Self {
        Self { compared: Some(Box::new((left.text.clone(), right.text.clone()))), ..self }
    }

    /// Returns the text with other names of columns. Returns `None` if `name` does for one of them.
    pub(crate) fn renamed(&self, name: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let (mut renamed, mut at) = (Self::default(), 0);
        for (span, path) in &self.names {
            let (column, fields) = path.split_first()?;
            let path = [&[name(column)?], fields].concat();
            renamed.push_str(self.text.get(at..span.start)?);
            renamed.push_name(&quoted_path(&path), &path);
            at = span.end;
        }
        renamed.push_str(self.text.get(at..)?);
        Some(renamed)
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The texts on both sides, if the expression is a comparison of parsed expressions.
    pub fn compared(&self) -> Option<(&str, &str)> {
        self.compared.as_deref().map(|(left, right)| (left.as_str(), right.as_str()))
    }
}

impl PartialEq for SqlText {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for SqlText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
