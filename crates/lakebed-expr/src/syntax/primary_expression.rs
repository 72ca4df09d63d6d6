//! Primary expressions: literals, names, calls, CASE, CAST, intervals, and functions with keywords
//! between their arguments.
//!
//! The module `parse` reads operators and predicates. Read [`Parser::primary`] first.

use lakebed_core::Result;

use super::interval;
use super::lex::{Span, TokenKind};
use super::parse::Parser;
use super::tree::{Kind, Node};

impl Parser<'_> {
    /// Reads an expression without operators around it.
    pub(super) fn primary(&mut self) -> Result<Node> {
        let start = self.span();
        let kind = match self.peek().clone() {
            TokenKind::Number { digits, suffix } => {
                self.advance();
                Kind::Number { digits, suffix }
            }
            TokenKind::Text(text) => {
                self.advance();
                Kind::Text(self.following_strings(text))
            }
            TokenKind::Quoted(name) => {
                self.advance();
                self.path(name)?
            }
            TokenKind::Symbol("(") => return self.parenthesised(),
            TokenKind::Symbol("*") => return Err(self.unexpected("a value; `*` cannot stand here")),
            TokenKind::Name(name) => self.word(start, name)?,
            TokenKind::Symbol(_) | TokenKind::End => return Err(self.unexpected("a value")),
        };
        self.node(start, kind)
    }

    /// Concatenates adjacent string literals.
    fn following_strings(&mut self, mut text: String) -> String {
        while let TokenKind::Text(more) = self.peek().clone() {
            text.push_str(&more);
            self.advance();
        }
        text
    }

    fn parenthesised(&mut self) -> Result<Node> {
        self.advance();
        let inner = self.expression()?;
        if self.peek() == &TokenKind::Symbol(",") {
            return Err(self.unexpected("`)`; lists of values can only stand behind IN"));
        }
        self.expect_symbol(")")?;
        Ok(inner)
    }

    fn path(&mut self, first: String) -> Result<Kind> {
        let mut path = vec![first];
        while self.symbol(".") {
            path.push(self.field_name()?);
        }
        Ok(Kind::Path(path))
    }

    /// Reads an expression that begins with an unquoted word. The word is a keyword if the next
    /// tokens fit. Otherwise it is a column or a function.
    fn word(&mut self, start: Span, name: String) -> Result<Kind> {
        let upper = name.to_ascii_uppercase();
        let next = self.peek_nth(1).clone();
        match (upper.as_str(), &next) {
            ("SELECT" | "EXISTS" | "WITH", _) if upper == "SELECT" || next == TokenKind::Symbol("(") => {
                return Err(self.error(start, "subqueries are not supported here"));
            }
            ("NULL", _) => return self.constant(Kind::Null),
            ("TRUE", _) => return self.constant(Kind::Boolean(true)),
            ("FALSE", _) => return self.constant(Kind::Boolean(false)),
            ("DATE" | "TIMESTAMP" | "TIMESTAMP_NTZ" | "TIMESTAMP_LTZ" | "X", TokenKind::Text(text)) => {
                let typed = Kind::TypedLiteral { word: upper, text: text.clone() };
                self.advance();
                return self.constant(typed);
            }
            ("INTERVAL", _) if self.begins_interval() => {
                self.advance();
                return Ok(Kind::Interval(interval::parse(self)?));
            }
            ("CASE", _) if self.begins_case() => return self.case(),
            ("CURRENT_DATE" | "CURRENT_TIMESTAMP" | "LOCALTIMESTAMP", _) if next != TokenKind::Symbol("(") => {
                return self.constant(Kind::Call { name: upper.to_ascii_lowercase(), args: vec![] });
            }
            _ => {}
        }
        self.advance();
        if next == TokenKind::Symbol("(") {
            self.advance();
            return self.call(start, &upper);
        }
        self.path(name)
    }

    fn constant(&mut self, kind: Kind) -> Result<Kind> {
        self.advance();
        Ok(kind)
    }

    fn begins_interval(&self) -> bool {
        let signed = matches!(self.peek_nth(1), TokenKind::Symbol("-" | "+"));
        match self.peek_nth(1 + usize::from(signed)) {
            TokenKind::Text(_) => true,
            TokenKind::Number { .. } => interval::is_unit(self.peek_nth(2 + usize::from(signed))),
            _ => false,
        }
    }

    /// Reads CASE. The word is a column if the next token shows that no CASE follows.
    fn begins_case(&self) -> bool {
        match self.peek_nth(1) {
            TokenKind::End => false,
            TokenKind::Symbol(symbol) => matches!(*symbol, "(" | "-" | "+"),
            _ => true,
        }
    }

    fn case(&mut self) -> Result<Kind> {
        self.advance();
        let operand = if self.is_keyword(0, "WHEN") { None } else { Some(Box::new(self.expression()?)) };
        let mut branches = Vec::new();
        while self.keyword("WHEN") {
            let when = self.expression()?;
            self.expect_keyword("THEN")?;
            branches.push((when, self.expression()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.keyword("ELSE") { Some(Box::new(self.expression()?)) } else { None };
        self.expect_keyword("END")?;
        Ok(Kind::Case { operand, branches, otherwise })
    }

    /// Reads the rest of a call after its name and opening parenthesis.
    fn call(&mut self, start: Span, upper: &str) -> Result<Kind> {
        if self.is_keyword(0, "SELECT") || self.is_keyword(0, "WITH") {
            return Err(self.error(start, "subqueries are not supported here"));
        }
        if self.is_keyword(0, "DISTINCT") || self.peek() == &TokenKind::Symbol("*") {
            return Err(self.error(start, "aggregate functions are not supported here: rows are looked at one by one"));
        }
        let kind = match upper {
            "CAST" | "TRY_CAST" => {
                let value = Box::new(self.expression()?);
                self.expect_keyword("AS")?;
                let to = self.data_type()?;
                self.expect_symbol(")")?;
                Kind::Cast { value, to, try_: upper == "TRY_CAST" }
            }
            "EXTRACT" if matches!(self.peek(), TokenKind::Name(_)) && self.is_keyword(1, "FROM") => {
                let field = self.unit_text()?;
                self.expect_keyword("FROM")?;
                self.call_with("date_part", vec![field])?
            }
            "TRIM" => self.trim()?,
            "POSITION" => {
                let part = self.value(0)?;
                let whole = if self.keyword("IN") || self.symbol(",") { self.list()? } else { self.list_after(vec![])? };
                Kind::Call { name: "locate".into(), args: std::iter::once(part).chain(whole).collect() }
            }
            "SUBSTR" | "SUBSTRING" => {
                let mut args = vec![self.expression()?];
                for keyword in ["FROM", "FOR"] {
                    if self.keyword(keyword) {
                        args.push(self.expression()?);
                    }
                }
                Kind::Call { name: "substring".into(), args: self.list_after(args)? }
            }
            // Units are written without quotes: DATEADD(DAY, 1, d).
            "DATEADD" | "DATE_ADD" | "TIMESTAMPADD" | "DATEDIFF" | "DATE_DIFF" | "TIMESTAMPDIFF"
                if interval::is_unit(self.peek()) && self.peek_nth(1) == &TokenKind::Symbol(",") =>
            {
                let unit = self.unit_text()?;
                self.advance();
                let name = if upper.contains("DIFF") { "timestampdiff" } else { "timestampadd" };
                self.call_with(name, vec![unit])?
            }
            _ => Kind::Call { name: upper.to_ascii_lowercase(), args: self.list()? },
        };
        if self.is_keyword(0, "OVER") && self.peek_nth(1) == &TokenKind::Symbol("(") {
            return Err(self.error(start, "window functions are not supported here: rows are looked at one by one"));
        }
        Ok(kind)
    }

    /// Reads an unquoted word as a string.
    fn unit_text(&mut self) -> Result<Node> {
        let start = self.span();
        let name = self.field_name()?;
        self.node(start, Kind::Text(name))
    }

    fn call_with(&mut self, name: &str, mut args: Vec<Node>) -> Result<Kind> {
        args.extend(self.list()?);
        Ok(Kind::Call { name: name.to_string(), args })
    }

    /// Reads the remaining arguments of a call.
    fn list_after(&mut self, mut args: Vec<Node>) -> Result<Vec<Node>> {
        if self.symbol(",") {
            args.extend(self.list()?);
        } else {
            self.expect_symbol(")")?;
        }
        Ok(args)
    }

    /// Reads `TRIM([BOTH | LEADING | TRAILING] [characters] FROM text)` or plain arguments.
    fn trim(&mut self) -> Result<Kind> {
        let sides = [("BOTH", "btrim"), ("LEADING", "ltrim"), ("TRAILING", "rtrim")];
        let side =
            sides.iter().find(|(keyword, _)| self.is_keyword(0, keyword) && !matches!(self.peek_nth(1), TokenKind::Symbol(_)));
        if side.is_some() {
            self.advance();
        }
        let name = side.map_or("btrim", |(_, name)| *name).to_string();
        if self.keyword("FROM") {
            return Ok(Kind::Call { name, args: self.list()? });
        }
        let first = self.expression()?;
        if self.keyword("FROM") {
            let text = self.expression()?;
            self.expect_symbol(")")?;
            // As calls, ltrim and rtrim take the characters first, and btrim takes the text first.
            let args = if name == "btrim" { vec![text, first] } else { vec![first, text] };
            return Ok(Kind::Call { name, args });
        }
        Ok(Kind::Call { name, args: self.list_after(vec![first])? })
    }
}
