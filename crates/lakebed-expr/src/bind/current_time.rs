//! Calls such as `current_date()` become literals in the text. Read [`with_current_time`] first.

use lakebed_core::Result;

use super::literal;
use crate::syntax::parse::parse;
use crate::syntax::tree::{Kind, Node};

/// The context of an expression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The time of the call, for `current_timestamp()` and similar functions. Without it these
    /// functions are refused.
    pub now_ms: Option<i64>,
}

/// Replaces calls such as `current_date()` in a text by their values at the time of the call.
pub(crate) fn with_current_time(text: &str, options: &Options) -> Result<String> {
    let Some(now_ms) = options.now_ms else { return Ok(text.to_string()) };
    let node = parse(text)?;
    let mut calls = Vec::new();
    collect_time_calls(&node, &mut calls);
    let mut replaced = text.to_string();
    for call in calls.into_iter().rev() {
        let Kind::Call { name, args } = &call.kind else { continue };
        if let Some(literal) = literal::current_time_literal(name, args.len(), now_ms.saturating_mul(1_000)) {
            replaced.replace_range(call.span.start..call.span.end, &literal);
        }
    }
    Ok(replaced)
}

fn collect_time_calls<'n>(node: &'n Node, calls: &mut Vec<&'n Node>) {
    if let Kind::Call { args, .. } = &node.kind
        && args.is_empty()
    {
        calls.push(node);
    }
    for child in node.kind.children() {
        collect_time_calls(child, calls);
    }
}
