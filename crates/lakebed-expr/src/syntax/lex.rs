//! The lexer: it cuts the text of an expression into tokens, as Spark does.
//!
//! Strings have single or double quotes and Spark's backslash escapes. Names may be quoted with
//! backticks. Numbers may have a suffix that names their type. The module `parse` gives the tokens
//! their meaning. Read [`tokens`] first.

use lakebed_core::{Error, Result};

/// A range of bytes in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// The span from the start of this span to the end of another.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }
}

/// A token and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) span: Span,
    pub(crate) kind: TokenKind,
}

/// The kind of a token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    /// An unquoted name or keyword, as written.
    Name(String),
    /// A name in backticks.
    Quoted(String),
    /// A string without its quotes and escapes.
    Text(String),
    /// A number as written, without its suffix.
    Number { digits: String, suffix: Suffix },
    /// An operator or bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// The type that a suffix of a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffix {
    None,
    Byte,
    Short,
    Long,
    Float,
    Double,
    Decimal,
}

/// The operators and brackets. The longest come first, so that `<=>` is not read as `<=` and `>`.
const SYMBOLS: [&str; 35] = [
    "<=>", ">>>", "==", "<>", "!=", "<=", ">=", "!>", "!<", "||", "<<", ">>", "::", "->", "=>", "=", "<", ">", "+", "-", "*",
    "/", "%", "&", "|", "^", "~", "!", "(", ")", "[", "]", ",", ".", ":",
];

/// An error at a position in an expression.
pub fn error_at(text: &str, span: Span, what: impl std::fmt::Display) -> Error {
    let whole = shortened(text);
    let position = text.get(..span.start).map_or(0, |before| before.chars().count()) + 1;
    let rest = text.get(span.start..).unwrap_or_default();
    if rest.trim().is_empty() {
        return Error::predicate(format!("in the expression `{whole}`, at its end: {what}"));
    }
    let near: String = rest.chars().take(24).collect();
    let more = if near.len() < rest.len() { "…" } else { "" };
    Error::predicate(format!("in the expression `{whole}`, at character {position} (`{near}{more}`): {what}"))
}

/// Shortens a text for a message.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Cuts a text into tokens. The last one is [`TokenKind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut lexer = Lexer { text, at: 0, found: Vec::new() };
    while lexer.skip_blanks()? {
        lexer.next()?;
    }
    lexer.push(text.len(), TokenKind::End);
    Ok(lexer.found)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, start: usize, kind: TokenKind) {
        self.found.push(Token { span: Span { start, end: self.at }, kind });
    }

    fn error(&self, start: usize, what: &str) -> Error {
        error_at(self.text, Span { start, end: self.at }, what)
    }

    /// Skips blanks and comments. Returns false at the end of the text.
    fn skip_blanks(&mut self) -> Result<bool> {
        loop {
            let rest = self.rest();
            if rest.starts_with("--") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let Some(length) = rest.find("*/") else {
                    return Err(self.error(self.at, "a comment that does not end"));
                };
                self.at += length + 2;
            } else if let Some(blank) = rest.chars().next().filter(|c| c.is_whitespace()) {
                self.at += blank.len_utf8();
            } else {
                return Ok(!rest.is_empty());
            }
        }
    }

    fn next(&mut self) -> Result<()> {
        let start = self.at;
        let mut chars = self.rest().chars();
        let (first, second) = (chars.next().unwrap_or(' '), chars.next().unwrap_or(' '));
        match first {
            '\'' | '"' => self.string(start, first, false),
            'r' | 'R' if second == '\'' || second == '"' => {
                self.at += 1;
                self.string(start, second, true)
            }
            '`' => self.quoted_name(start),
            c if c.is_ascii_digit() => self.number(start),
            '.' if second.is_ascii_digit() && !self.follows_value() => self.number(start),
            c if is_name_part(c) => {
                self.at += length_while(self.rest(), is_name_part);
                let name = self.text[start..self.at].to_string();
                self.push(start, TokenKind::Name(name));
                Ok(())
            }
            _ => match SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
                Some(symbol) => {
                    self.at += symbol.len();
                    self.push(start, TokenKind::Symbol(symbol));
                    Ok(())
                }
                None => Err(self.error(start, &format!("the character `{first}` means nothing here"))),
            },
        }
    }

    /// Whether a dot at this position belongs to `a.1` or `a[0].1` and not to a number.
    fn follows_value(&self) -> bool {
        self.found.last().is_some_and(|token| {
            token.span.end == self.at
                && matches!(
                    token.kind,
                    TokenKind::Name(_) | TokenKind::Quoted(_) | TokenKind::Symbol("]") | TokenKind::Symbol(")")
                )
        })
    }

    fn quoted_name(&mut self, start: usize) -> Result<()> {
        let mut name = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((offset, c)) = chars.next() {
            if c != '`' {
                name.push(c);
            } else if chars.next_if(|(_, next)| *next == '`').is_some() {
                name.push('`');
            } else {
                self.at = start + offset + 1;
                if name.is_empty() {
                    return Err(self.error(start, "an empty name"));
                }
                self.push(start, TokenKind::Quoted(name));
                return Ok(());
            }
        }
        Err(self.error(start, "a name whose closing backtick is missing"))
    }

    /// Reads a string that begins at its opening quote. A doubled quote stands for one quote.
    fn string(&mut self, start: usize, quote: char, raw: bool) -> Result<()> {
        let mut value = String::new();
        let mut rest = self.rest().get(1..).unwrap_or_default();
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            if c == quote && after.starts_with(quote) && !raw {
                value.push(quote);
                rest = &after[quote.len_utf8()..];
            } else if c == quote {
                self.at = self.text.len() - after.len();
                self.push(start, TokenKind::Text(value));
                return Ok(());
            } else if c == '\\' && !raw {
                rest = unescape(after, &mut value);
            } else {
                value.push(c);
                rest = after;
            }
        }
        Err(self.error(start, "a string whose closing quote is missing"))
    }

    fn number(&mut self, start: usize) -> Result<()> {
        let rest = self.rest();
        let whole = length_while(rest, |c| c.is_ascii_digit());
        let mut length = whole;
        if rest[length..].starts_with('.') {
            length += 1 + length_while(&rest[length + 1..], |c| c.is_ascii_digit());
        }
        length += exponent_length(&rest[length..]);
        let word = length_while(&rest[length..], is_name_part);
        let suffix = match rest[length..length + word].to_ascii_lowercase().as_str() {
            "" => Some(Suffix::None),
            "y" => Some(Suffix::Byte),
            "s" => Some(Suffix::Short),
            "l" => Some(Suffix::Long),
            "f" => Some(Suffix::Float),
            "d" => Some(Suffix::Double),
            "bd" => Some(Suffix::Decimal),
            _ => None,
        };
        let digits = rest[..length].to_string();
        self.at += length + word;
        match suffix {
            Some(suffix) => self.push(start, TokenKind::Number { digits, suffix }),
            // In Spark a name may begin with a digit.
            None if length == whole => self.push(start, TokenKind::Name(self.text[start..self.at].to_string())),
            None => return Err(self.error(start, "not a number")),
        }
        Ok(())
    }
}

fn is_name_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn length_while(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}

/// The length of an exponent such as `e10` or `E-3`, or zero.
fn exponent_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return 0 };
    let sign = usize::from(rest.starts_with(['+', '-']));
    match length_while(&rest[sign..], |c| c.is_ascii_digit()) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

/// Reads the escape sequence after a backslash and returns the rest. `\%` and `\_` keep their
/// backslash, for LIKE.
fn unescape<'a>(after: &'a str, value: &mut String) -> &'a str {
    let Some(c) = after.chars().next() else {
        value.push('\\');
        return after;
    };
    let rest = &after[c.len_utf8()..];
    let coded = match c {
        'u' => code_point(rest, 4, 16),
        'U' => code_point(rest, 8, 16),
        '0' | '1' => code_point(after, 3, 8).or((c == '0').then_some(('\0', rest))),
        _ => None,
    };
    if let Some((character, rest)) = coded {
        value.push(character);
        return rest;
    }
    match c {
        'b' => value.push('\u{8}'),
        'n' => value.push('\n'),
        'r' => value.push('\r'),
        't' => value.push('\t'),
        'Z' => value.push('\u{1a}'),
        '%' => value.push_str("\\%"),
        '_' => value.push_str("\\_"),
        other => value.push(other),
    }
    rest
}

fn code_point(text: &str, digits: usize, radix: u32) -> Option<(char, &str)> {
    let (code, rest) = text.split_at_checked(digits)?;
    if !code.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some((char::from_u32(u32::from_str_radix(code, radix).ok()?)?, rest))
}
