//! The parser: it makes a syntax tree of tokens, with the precedence and the forms of Spark's
//! expressions.
//!
//! The precedence from loose to tight is: OR, AND, NOT, one predicate (IS, IN, BETWEEN, LIKE),
//! comparisons, `|`, `^`, `&`, `+ - ||`, `* / % DIV`, signs, then fields, items and `::`. A word is
//! a keyword only where a keyword may stand, so columns may be called `date`, `end` or `year`. The
//! module `primary_expression` reads expressions without operators. Read [`parse`] first.

use lakebed_core::{Error, Result};

use super::lex::{Span, Token, TokenKind, error_at, tokens};
use super::tree::{Binary, Comparison, Is, Kind, LikeForm, Node, Unary};

/// The largest depth of nested expressions. Deeper ones could overflow the stack of a thread.
const MAX_DEPTH: usize = 100;

/// Parses a whole text as one expression.
pub fn parse(text: &str) -> Result<Node> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, open: 0 };
    if parser.peek() == &TokenKind::End {
        return Err(Error::predicate("an expression is expected, but the text is empty"));
    }
    let node = parser.expression()?;
    match parser.peek() {
        TokenKind::End => Ok(node),
        _ => Err(parser.unexpected("an operator or the end of the expression")),
    }
}

/// The tokens of a text and the position of the next one.
pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// The number of expressions that are open at this position.
    open: usize,
}

#[derive(Clone, Copy)]
enum Operator {
    Compare(Comparison),
    Value(Binary),
}

/// The binary operator that a token stands for, and how tightly it binds.
fn operator(word: &TokenKind) -> Option<(u8, Operator)> {
    use Operator::{Compare, Value};
    let symbol = match word {
        TokenKind::Symbol(symbol) => *symbol,
        TokenKind::Name(name) if name.eq_ignore_ascii_case("div") => "DIV",
        _ => return None,
    };
    Some(match symbol {
        "=" | "==" => (0, Compare(Comparison::Equal)),
        "<=>" => (0, Compare(Comparison::NullSafeEqual)),
        "<>" | "!=" => (0, Compare(Comparison::NotEqual)),
        "<" => (0, Compare(Comparison::Less)),
        "<=" | "!>" => (0, Compare(Comparison::LessOrEqual)),
        ">" => (0, Compare(Comparison::Greater)),
        ">=" | "!<" => (0, Compare(Comparison::GreaterOrEqual)),
        "|" => (1, Value(Binary::BitOr)),
        "^" => (2, Value(Binary::BitXor)),
        "&" => (3, Value(Binary::BitAnd)),
        "+" => (4, Value(Binary::Add)),
        "-" => (4, Value(Binary::Subtract)),
        "||" => (4, Value(Binary::Concat)),
        "*" => (5, Value(Binary::Multiply)),
        "/" => (5, Value(Binary::Divide)),
        "%" => (5, Value(Binary::Remainder)),
        "DIV" => (5, Value(Binary::WholeDivide)),
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> &TokenKind {
        self.peek_nth(0)
    }

    pub(super) fn peek_nth(&self, ahead: usize) -> &TokenKind {
        self.tokens.get(self.at + ahead).map_or(&TokenKind::End, |token| &token.kind)
    }

    /// The position of the next token.
    pub(super) fn span(&self) -> Span {
        let end = Span { start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.at).map_or(end, |token| token.span)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    pub(super) fn error(&self, span: Span, what: impl std::fmt::Display) -> Error {
        error_at(self.text, span, what)
    }

    pub(super) fn unexpected(&self, expected: &str) -> Error {
        self.error(self.span(), format_args!("expected {expected}"))
    }

    pub(super) fn is_keyword(&self, ahead: usize, keyword: &str) -> bool {
        matches!(self.peek_nth(ahead), TokenKind::Name(name) if name.eq_ignore_ascii_case(keyword))
    }

    pub(super) fn keyword(&mut self, keyword: &str) -> bool {
        let found = self.is_keyword(0, keyword);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_keyword(&mut self, keyword: &str) -> Result<()> {
        if self.keyword(keyword) { Ok(()) } else { Err(self.unexpected(keyword)) }
    }

    pub(super) fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), TokenKind::Symbol(s) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    /// Makes a node that begins at `start` and ends at the last token that was read.
    pub(super) fn node(&self, start: Span, kind: Kind) -> Result<Node> {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(start, |token| token.span);
        let node = Node::new(start.to(last), kind);
        if node.depth > MAX_DEPTH {
            return Err(self.too_deep(start));
        }
        Ok(node)
    }

    fn too_deep(&self, span: Span) -> Error {
        self.error(span, format_args!("expressions nest more than {MAX_DEPTH} deep here"))
    }

    /// Reads the `>` at the end of a type's parameters. The token `>>` closes two types.
    pub(super) fn close_angle(&mut self) -> Result<()> {
        let left = match self.peek() {
            TokenKind::Symbol(">>>") => ">>",
            TokenKind::Symbol(">>") => ">",
            _ => return self.expect_symbol(">"),
        };
        if let Some(token) = self.tokens.get_mut(self.at) {
            token.kind = TokenKind::Symbol(left);
            token.span.start += 1;
        }
        Ok(())
    }

    /// Reads a nested expression or type, and limits the depth of nesting.
    pub(super) fn nested<T>(&mut self, start: Span, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.open += 1;
        if self.open > MAX_DEPTH {
            return Err(self.too_deep(start));
        }
        let found = read(self)?;
        self.open -= 1;
        Ok(found)
    }

    /// Reads one expression, up to a parenthesis or comma.
    pub(super) fn expression(&mut self) -> Result<Node> {
        let start = self.span();
        self.nested(start, |parser| {
            let mut any = vec![parser.conjunction()?];
            while parser.keyword("OR") {
                any.push(parser.conjunction()?);
            }
            parser.joined(start, any, Kind::Any)
        })
    }

    fn conjunction(&mut self) -> Result<Node> {
        let start = self.span();
        let mut all = vec![self.negation()?];
        while self.keyword("AND") {
            all.push(self.negation()?);
        }
        self.joined(start, all, Kind::All)
    }

    fn joined(&self, start: Span, mut nodes: Vec<Node>, kind: fn(Vec<Node>) -> Kind) -> Result<Node> {
        match (nodes.pop(), nodes.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                nodes.extend(last);
                self.node(start, kind(nodes))
            }
        }
    }

    fn negation(&mut self) -> Result<Node> {
        let start = self.span();
        let mut count = 0;
        while self.keyword("NOT") || self.symbol("!") {
            count += 1;
        }
        let mut node = self.predicate()?;
        for _ in 0..count {
            node = self.node(start, Kind::Not(Box::new(node)))?;
        }
        Ok(node)
    }

    /// Reads a value and the predicate after it, if there is one.
    fn predicate(&mut self) -> Result<Node> {
        let start = self.span();
        let value = self.value(0)?;
        if self.keyword("IS") {
            return self.is(start, value);
        }
        let negated = self.is_keyword(0, "NOT") && self.follows_not();
        self.at += usize::from(negated);
        if self.keyword("BETWEEN") {
            let low = Box::new(self.value(0)?);
            self.expect_keyword("AND")?;
            let high = Box::new(self.value(0)?);
            return self.node(start, Kind::Between { value: Box::new(value), low, high, negated });
        }
        if self.keyword("IN") {
            self.expect_symbol("(")?;
            let list = self.list()?;
            return self.node(start, Kind::In { value: Box::new(value), list, negated });
        }
        match self.like_form() {
            Some(form) => self.like(start, value, form, negated),
            None => Ok(value),
        }
    }

    fn follows_not(&self) -> bool {
        ["BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP"].iter().any(|keyword| self.is_keyword(1, keyword))
    }

    fn is(&mut self, start: Span, value: Node) -> Result<Node> {
        let negated = self.keyword("NOT");
        let value = Box::new(value);
        if self.keyword("DISTINCT") {
            self.expect_keyword("FROM")?;
            let comparison = if negated { Comparison::NullSafeEqual } else { Comparison::Distinct };
            let other = Box::new(self.value(0)?);
            return self.node(start, Kind::Compare(comparison, value, other));
        }
        let what = if self.keyword("NULL") || self.keyword("UNKNOWN") {
            Is::Null
        } else if self.keyword("TRUE") {
            Is::True
        } else if self.keyword("FALSE") {
            Is::False
        } else {
            return Err(self.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"));
        };
        self.node(start, Kind::Is { value, what, negated })
    }

    fn like_form(&mut self) -> Option<LikeForm> {
        let forms =
            [("LIKE", LikeForm::Like), ("ILIKE", LikeForm::ILike), ("RLIKE", LikeForm::RLike), ("REGEXP", LikeForm::RLike)];
        forms.into_iter().find(|(keyword, _)| self.keyword(keyword)).map(|(_, form)| form)
    }

    /// Reads the tokens after LIKE: a pattern, or ANY, SOME or ALL with several patterns.
    fn like(&mut self, start: Span, value: Node, form: LikeForm, negated: bool) -> Result<Node> {
        let all = self.is_keyword(0, "ALL");
        let several = all || self.is_keyword(0, "ANY") || self.is_keyword(0, "SOME");
        if several && self.peek_nth(1) == &TokenKind::Symbol("(") {
            self.at += 2;
            let patterns = self.list()?;
            let mut each = Vec::with_capacity(patterns.len());
            for pattern in patterns {
                let (value, pattern) = (Box::new(value.clone()), Box::new(pattern));
                each.push(self.node(start, Kind::Like { value, pattern, form, escape: '\\', negated })?);
            }
            return self.joined(start, each, if all { Kind::All } else { Kind::Any });
        }
        let pattern = Box::new(self.value(0)?);
        let mut escape = '\\';
        if self.keyword("ESCAPE") {
            escape = match self.peek() {
                TokenKind::Text(text) if text.chars().count() == 1 => text.chars().next().unwrap_or('\\'),
                _ => return Err(self.unexpected("a string of one character after ESCAPE")),
            };
            self.advance();
        }
        self.node(start, Kind::Like { value: Box::new(value), pattern, form, escape, negated })
    }

    /// Reads expressions up to a closing parenthesis.
    pub(super) fn list(&mut self) -> Result<Vec<Node>> {
        let mut list = Vec::new();
        if self.symbol(")") {
            return Ok(list);
        }
        loop {
            list.push(self.expression()?);
            if self.symbol(")") {
                return Ok(list);
            }
            if !self.symbol(",") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
    }

    /// Reads values that are joined by operators with at least this precedence.
    pub(super) fn value(&mut self, tightness: u8) -> Result<Node> {
        let start = self.span();
        let mut left = self.signed()?;
        while let Some((found, operator)) = operator(self.peek()).filter(|(found, _)| *found >= tightness) {
            self.advance();
            let right = Box::new(self.value(found + 1)?);
            let kind = match operator {
                Operator::Compare(comparison) => Kind::Compare(comparison, Box::new(left), right),
                Operator::Value(binary) => Kind::Binary(binary, Box::new(left), right),
            };
            left = self.node(start, kind)?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Node> {
        let start = self.span();
        let mut signs = Vec::new();
        loop {
            if self.symbol("-") {
                signs.push(Unary::Minus);
            } else if self.symbol("+") {
                signs.push(Unary::Plus);
            } else if self.symbol("~") {
                signs.push(Unary::BitNot);
            } else {
                break;
            }
        }
        let mut node = match (signs.last(), self.peek()) {
            // The smallest BIGINT has no positive counterpart, so the sign belongs to the number.
            (Some(Unary::Minus), TokenKind::Number { digits, suffix }) => {
                let kind = Kind::Number { digits: format!("-{digits}"), suffix: *suffix };
                signs.pop();
                self.advance();
                let number = self.node(start, kind)?;
                self.postfix(start, number)?
            }
            _ => {
                let start = self.span();
                let primary = self.primary()?;
                self.postfix(start, primary)?
            }
        };
        for sign in signs.into_iter().rev() {
            node = self.node(start, Kind::Unary(sign, Box::new(node)))?;
        }
        Ok(node)
    }

    /// Reads the fields, items and casts after a value.
    fn postfix(&mut self, start: Span, mut node: Node) -> Result<Node> {
        loop {
            let kind = if self.symbol("[") {
                let index = self.expression()?;
                self.expect_symbol("]")?;
                Kind::Item(Box::new(node), Box::new(index))
            } else if self.symbol(".") {
                Kind::Field(Box::new(node), self.field_name()?)
            } else if self.symbol("::") {
                let to = self.data_type()?;
                Kind::Cast { value: Box::new(node), to, try_: false }
            } else {
                return Ok(node);
            };
            node = self.node(start, kind)?;
        }
    }

    pub(super) fn field_name(&mut self) -> Result<String> {
        let name = match self.peek() {
            TokenKind::Name(name) | TokenKind::Quoted(name) => name.clone(),
            TokenKind::Symbol("*") => return Err(self.unexpected("one field; `*` cannot stand here")),
            _ => return Err(self.unexpected("the name of a field")),
        };
        self.advance();
        Ok(name)
    }
}
