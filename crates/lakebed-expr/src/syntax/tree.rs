//! The syntax tree of an expression, before names and types are looked up.
//!
//! `parse` makes the tree and `bind` gives it a meaning. `prune` compares it with the expressions
//! of generated columns.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;

use super::lex::{Span, Suffix};

/// A node of the tree and its position in the text.
#[derive(Debug, Clone)]
pub struct Node {
    /// The position of the node.
    pub span: Span,
    /// The kind of the node.
    pub kind: Kind,
    /// The number of levels below this node. It is limited, and so is every recursion over the
    /// tree.
    pub depth: usize,
}

/// The kind of a node.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `NULL`, `TRUE`, `FALSE`.
    Null,
    Boolean(bool),
    /// A number as written.
    Number {
        digits: String,
        suffix: Suffix,
    },
    /// A string.
    Text(String),
    /// A value that never had a text.
    Value(ScalarValue),
    /// A literal such as `DATE '…'`: the keyword in upper case and the string.
    TypedLiteral {
        word: String,
        text: String,
    },
    /// `INTERVAL …`.
    Interval(Interval),
    /// `a.b.c`: a column and optionally its nested fields.
    Path(Vec<String>),
    /// `expression.field`.
    Field(Box<Node>, String),
    /// `expression[index]`.
    Item(Box<Node>, Box<Node>),
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    /// Two or more conditions that AND joins.
    All(Vec<Node>),
    /// Two or more conditions that OR joins.
    Any(Vec<Node>),
    Not(Box<Node>),
    /// `… IS [NOT] NULL | TRUE | FALSE`.
    Is {
        value: Box<Node>,
        what: Is,
        negated: bool,
    },
    Between {
        value: Box<Node>,
        low: Box<Node>,
        high: Box<Node>,
        negated: bool,
    },
    In {
        value: Box<Node>,
        list: Vec<Node>,
        negated: bool,
    },
    Like {
        value: Box<Node>,
        pattern: Box<Node>,
        form: LikeForm,
        escape: char,
        negated: bool,
    },
    Case {
        operand: Option<Box<Node>>,
        branches: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
    Cast {
        value: Box<Node>,
        to: DataType,
        /// Whether a value that cannot be cast becomes null.
        try_: bool,
    },
    /// A call. The name of the function is in lower case.
    Call {
        name: String,
        args: Vec<Node>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    Plus,
    Minus,
    BitNot,
}

/// Operators that compute a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `DIV`: the integral part of a quotient.
    WholeDivide,
    Remainder,
    Concat,
    BitAnd,
    BitOr,
    BitXor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `<=>`, `IS NOT DISTINCT FROM`.
    NullSafeEqual,
    /// `IS DISTINCT FROM`.
    Distinct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Is {
    Null,
    True,
    False,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikeForm {
    Like,
    ILike,
    /// A regular expression.
    RLike,
}

/// An interval literal in one of Spark's three kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    Months(i32),
    /// Microseconds. `whole_days` is true if no unit shorter than a day was named.
    Time {
        micros: i64,
        whole_days: bool,
    },
    /// Months, days and microseconds. Such an interval can only be added to a date or timestamp.
    Calendar {
        months: i32,
        days: i32,
        micros: i64,
    },
}

impl Node {
    /// Makes a node and computes its depth.
    pub fn new(span: Span, kind: Kind) -> Node {
        let depth = kind.children().into_iter().map(|node| node.depth).max().unwrap_or(0) + 1;
        Node { span, kind, depth }
    }
}

/// Lists the child nodes of a kind: `&Node` or `&mut Node`, as the names of the methods say.
macro_rules! child_nodes {
    ($kind:expr, $as_node:ident, $as_deref:ident, $iter:ident) => {
        match $kind {
            Kind::Null | Kind::Boolean(_) | Kind::Number { .. } | Kind::Text(_) => vec![],
            Kind::Value(_) | Kind::TypedLiteral { .. } | Kind::Interval(_) | Kind::Path(_) => vec![],
            Kind::Field(value, _) | Kind::Unary(_, value) | Kind::Not(value) => vec![value],
            Kind::Is { value, .. } | Kind::Cast { value, .. } => vec![value],
            Kind::Item(left, right) | Kind::Binary(_, left, right) | Kind::Compare(_, left, right) => vec![left, right],
            Kind::Between { value, low, high, .. } => vec![value, low, high],
            Kind::Like { value, pattern, .. } => vec![value, pattern],
            Kind::All(nodes) | Kind::Any(nodes) | Kind::Call { args: nodes, .. } => nodes.$iter().collect(),
            Kind::In { value, list, .. } => std::iter::once(value.$as_node()).chain(list).collect(),
            Kind::Case { operand, branches, otherwise } => {
                let branches = branches.$iter().flat_map(|(when, then)| [when, then]);
                operand.$as_deref().into_iter().chain(branches).chain(otherwise.$as_deref()).collect()
            }
        }
    };
}

impl Kind {
    /// The child nodes.
    pub fn children(&self) -> Vec<&Node> {
        child_nodes!(self, as_ref, as_deref, iter)
    }

    /// The child nodes, which may be changed. A change must not add levels.
    pub fn children_mut(&mut self) -> Vec<&mut Node> {
        child_nodes!(self, as_mut, as_deref_mut, iter_mut)
    }
}
