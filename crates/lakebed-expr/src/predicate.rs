//! A predicate is either text, which a scan parses for the schema of its table, or a filter.

use std::sync::Arc;

use crate::filter::Filter;

/// A condition on rows, as text or as a tree.
///
/// Callers give text. Inside the process a filter stays the tree that it is; its text is for
/// messages, the history and other processes.
///
/// ```
/// use lakebed_expr::Predicate;
///
/// assert_eq!(Predicate::from("id > 5").text(), "id > 5");
/// ```
#[derive(Debug, Clone)]
pub enum Predicate {
    /// A Spark SQL expression.
    Text(String),
    /// An expression that is bound to the columns of a schema.
    Filter(Arc<Filter>),
}

impl Predicate {
    /// The predicate as a Spark SQL expression.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Filter(filter) => filter.text(),
        }
    }
}

/// Predicates are equal if their texts are equal, because a text means the same wherever it is
/// parsed.
impl PartialEq for Predicate {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl From<&str> for Predicate {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Predicate {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Arc<Filter>> for Predicate {
    fn from(filter: Arc<Filter>) -> Self {
        Self::Filter(filter)
    }
}
