//! Resolves the names and the clock of a parsed expression: paths become the names that the caller
//! gives them, and calls such as `current_date()` become values. Read [`resolve`] first.

use std::collections::BTreeMap;

use lakebed_core::Result;

use super::literal::current_time;
use crate::spelling::quoted_path;
use crate::sql_text::SqlText;
use crate::syntax::lex::{Span, error_at};
use crate::syntax::parse::parse;
use crate::syntax::tree::{Kind, Node};

/// The context of an expression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The time of the call, for `current_timestamp()` and similar functions. Without it these
    /// functions are refused.
    pub now_ms: Option<i64>,
}

/// Returns the path of a column for a path as written, or the reason why there is none.
pub type NameRule<'a> = dyn Fn(&[String]) -> Result<Vec<String>, String> + 'a;

/// A parsed expression after its names and its clock are resolved. Positions of nodes are those of
/// the text as written.
pub(crate) struct Resolved<'t> {
    pub(crate) tree: Node,
    written: &'t str,
    /// What differs from the text as written, by the position of the first byte.
    places: BTreeMap<usize, Replacement>,
}

/// A place in the text that is a name, or that is replaced by a value.
enum Replacement {
    Name { span: Span, spelling: String, path: Vec<String> },
    Value { span: Span, literal: String },
}

/// Parses an expression, and resolves its names and its clock. Without a rule, names stay as they
/// are.
pub(crate) fn resolve<'t>(written: &'t str, options: &Options, rule: Option<&NameRule<'_>>) -> Result<Resolved<'t>> {
    let mut resolved = Resolved { tree: parse(written)?, written, places: BTreeMap::new() };
    let mut nodes = vec![&mut resolved.tree];
    while let Some(node) = nodes.pop() {
        // A value that is compared with several patterns is in the tree once for each pattern.
        // All copies have the same position.
        match &mut node.kind {
            Kind::Path(path) => {
                let spelling = match rule {
                    Some(rule) => {
                        *path = rule(path).map_err(|reason| error_at(written, node.span, reason))?;
                        quoted_path(path)
                    }
                    None => written.get(node.span.start..node.span.end).unwrap_or_default().to_owned(),
                };
                resolved.places.insert(node.span.start, Replacement::Name { span: node.span, spelling, path: path.clone() });
            }
            Kind::Call { name, args } if args.is_empty() => {
                let now_micros = options.now_ms.map(|now_ms| now_ms.saturating_mul(1_000));
                if let Some((value, literal)) = now_micros.and_then(|now_micros| current_time(name, now_micros)) {
                    resolved.places.insert(node.span.start, Replacement::Value { span: node.span, literal });
                    node.kind = Kind::Value(value);
                }
            }
            _ => {}
        }
        nodes.extend(node.kind.children_mut().into_iter().rev());
    }
    Ok(resolved)
}

impl Resolved<'_> {
    /// Returns the text of the whole expression.
    pub(crate) fn text(&self) -> SqlText {
        self.text_of_span(Span { start: 0, end: self.written.len() })
    }

    /// Returns the text of one node.
    pub(crate) fn text_of(&self, node: &Node) -> SqlText {
        let text = self.text_of_span(node.span);
        match &node.kind {
            Kind::Compare(_, left, right) => text.comparing(&self.text_of_span(left.span), &self.text_of_span(right.span)),
            _ => text,
        }
    }

    fn text_of_span(&self, whole: Span) -> SqlText {
        let (mut text, mut at) = (SqlText::default(), whole.start);
        for place in self.places.range(whole.start..whole.end).map(|(_, place)| place) {
            let (Replacement::Name { span, .. } | Replacement::Value { span, .. }) = place;
            text.push_str(self.written.get(at..span.start).unwrap_or_default());
            match place {
                Replacement::Name { spelling, path, .. } => text.push_name(spelling, path),
                Replacement::Value { literal, .. } => text.push_str(literal),
            }
            at = span.end;
        }
        text.push_str(self.written.get(at..whole.end).unwrap_or_default());
        text
    }
}
