//! Functions about text.
//!
//! Positions count characters from one. Beginnings of text keep its order, so files are skipped
//! through them. Read [`call`] first; upper, lower and others that DataFusion computes as Spark
//! does are in `library`.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, StringArray};
use arrow_schema::{DataType, Field};
use datafusion_common::Result as DfResult;
use datafusion_expr::{Expr, lit};

use super::args::{Args, CallResult};
use super::library;
use super::like::like;
use super::typed::TypedExpr;
use crate::evaluate::arithmetic::operation;
use crate::evaluate::fold::fold_if_possible;
use crate::evaluate::kernel::{KernelInput, KernelSpec, Monotonicity};
use crate::syntax::tree::{Binary, LikeForm};

pub(crate) static STARTS_WITH: KernelSpec =
    KernelSpec::total("startswith", |input| compare(input, |text, part| text.starts_with(part)));
static ENDS_WITH: KernelSpec = KernelSpec::total("endswith", |input| compare(input, |text, part| text.ends_with(part)));
static CONTAINS: KernelSpec = KernelSpec::total("contains", |input| compare(input, |text, part| text.contains(part)));
static SUBSTRING: KernelSpec = KernelSpec::total("substring", substring);
static PREFIX: KernelSpec = KernelSpec::total("substring", substring).monotonic(&[
    Monotonicity::Increasing,
    Monotonicity::Constant,
    Monotonicity::Constant,
]);
/// A place to begin at that is null makes it zero.
static LOCATE: KernelSpec = KernelSpec::total("locate", locate).with_null_args(2);
static INITCAP: KernelSpec = KernelSpec::total("initcap", initcap);
static SPLIT: KernelSpec = KernelSpec::total("split", split);

pub(crate) fn call(args: &Args<'_>) -> Option<CallResult> {
    Some(match args.name {
        "startswith" => both(args, &STARTS_WITH),
        "endswith" => both(args, &ENDS_WITH),
        "contains" => both(args, &CONTAINS),
        "substring" | "substr" if *args.data_type(0).unwrap_or(&DataType::Null) != DataType::Binary => {
            args.counts(2, 3).and_then(|()| {
                let length = if args.len() == 3 { args.int(2)? } else { lit(i32::MAX) };
                Ok(part_of(args.text(0)?, args.int(1)?, length))
            })
        }
        "left" => args.count(2).and_then(|()| Ok(part_of(args.text(0)?, lit(1i32), args.int(1)?))),
        "right" => args.count(2).and_then(|()| {
            let length = args.int(1)?;
            let from = operation(Binary::Subtract, lit(0i32), length.clone(), DataType::Int32, false).map(fold_if_possible);
            Ok(part_of(args.text(0)?, from.unwrap_or_default(), length))
        }),
        "instr" => args.count(2).and_then(|()| located(vec![args.text(1)?, args.text(0)?, lit(1i32)])),
        "locate" | "position" | "charindex" => args.counts(2, 3).and_then(|()| {
            let from = if args.len() == 3 { args.int(2)? } else { lit(1i32) };
            located(vec![args.text(0)?, args.text(1)?, from])
        }),
        "initcap" => args.count(1).and_then(|()| Ok(text(INITCAP.call(vec![args.text(0)?], DataType::Utf8)))),
        "split" => args.count(2).and_then(|()| {
            let separator = plain(args.literal(1)?)?;
            let data_type = DataType::List(Arc::new(Field::new("element", DataType::Utf8, true)));
            Ok(TypedExpr { expr: SPLIT.call(vec![args.text(0)?, lit(separator)], data_type.clone()), data_type })
        }),
        // trim(characters, text) as a call, btrim(text, characters).
        "trim" | "ltrim" | "rtrim" if args.len() == 2 => {
            let name = if args.name == "trim" { "btrim" } else { args.name };
            args.text(0)
                .and_then(|characters| Ok((args.text(1)?, characters)))
                .and_then(|(whole, characters)| library::call(Args { name, list: vec![text(whole), text(characters)] }))
        }
        "trim" => library::call(Args { name: "btrim", list: args.list.clone() }),
        "like" => args.count(2).and_then(|()| like(args.get(0)?.clone(), args.get(1)?.clone(), LikeForm::Like, '\\', false)),
        "ilike" => args.count(2).and_then(|()| like(args.get(0)?.clone(), args.get(1)?.clone(), LikeForm::ILike, '\\', false)),
        "rlike" | "regexp" | "regexp_like" => {
            args.count(2).and_then(|()| like(args.get(0)?.clone(), args.get(1)?.clone(), LikeForm::RLike, '\\', false))
        }
        _ => return None,
    })
}

fn text(expr: Expr) -> TypedExpr {
    TypedExpr { expr, data_type: DataType::Utf8 }
}

fn both(args: &Args<'_>, spec: &'static KernelSpec) -> CallResult {
    args.count(2)?;
    Ok(TypedExpr { expr: spec.call(vec![args.text(0)?, args.text(1)?], DataType::Boolean), data_type: DataType::Boolean })
}

fn part_of(whole: Expr, from: Expr, length: Expr) -> TypedExpr {
    let begins = from == lit(0i32) || from == lit(1i32);
    let spec = if begins { &PREFIX } else { &SUBSTRING };
    text(spec.call(vec![whole, from, length], DataType::Utf8))
}

fn located(args: Vec<Expr>) -> CallResult {
    Ok(TypedExpr { expr: LOCATE.call(args, DataType::Int32), data_type: DataType::Int32 })
}

/// A separator that means itself: without the signs of regular expressions, or with a backslash
/// before each.
fn plain(pattern: &str) -> Result<String, String> {
    let mut separator = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) if escaped.is_ascii_punctuation() => separator.push(escaped),
                _ => return Err(format!("split: `{pattern}` is a regular expression; only plain separators are supported")),
            },
            '.' | '$' | '^' | '|' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' => {
                return Err(format!("split: `{pattern}` is a regular expression; only plain separators are supported"));
            }
            c => separator.push(c),
        }
    }
    if separator.is_empty() { Err("split: the separator is empty".into()) } else { Ok(separator) }
}

fn texts<'a>(input: &'a KernelInput<'_>, index: usize) -> DfResult<&'a StringArray> {
    Ok(input.array(index)?.as_string::<i32>())
}

fn compare(input: &KernelInput<'_>, holds: fn(&str, &str) -> bool) -> DfResult<ArrayRef> {
    let pairs = texts(input, 0)?.iter().zip(texts(input, 1)?);
    Ok(Arc::new(pairs.map(|(text, part)| Some(holds(text?, part?))).collect::<BooleanArray>()))
}

fn substring(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let whole = texts(input, 0)?;
    let (from, length) = (input.array(1)?.as_primitive::<Int32Type>(), input.array(2)?.as_primitive::<Int32Type>());
    let mut parts = StringBuilder::with_capacity(whole.len(), whole.values().len());
    for ((text, from), length) in whole.iter().zip(from).zip(length) {
        match (text, from, length) {
            (Some(text), Some(from), Some(length)) => parts.append_value(cut(text, from.into(), length.into())),
            _ => parts.append_null(),
        }
    }
    Ok(Arc::new(parts.finish()))
}

/// The characters from a position on; a negative one counts from the end.
fn cut(text: &str, from: i64, length: i64) -> &str {
    let start = match from {
        1.. => from - 1,
        0 => 0,
        _ => text.chars().count() as i64 + from,
    };
    let end = start.saturating_add(length);
    if end <= start || end <= 0 {
        return "";
    }
    let place = |characters: i64| text.char_indices().nth(characters.max(0) as usize).map_or(text.len(), |(at, _)| at);
    text.get(place(start)..place(end)).unwrap_or_default()
}

fn locate(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let from = input.array(2)?.as_primitive::<Int32Type>();
    let found = texts(input, 0)?.iter().zip(texts(input, 1)?).zip(from).map(|((part, whole), from)| {
        let (part, whole) = (part?, whole?);
        let Some(skip) = from.and_then(|from| usize::try_from(from - 1).ok()) else { return Some(0) };
        let start = match whole.char_indices().nth(skip) {
            Some((start, _)) => start,
            None if skip == whole.chars().count() => whole.len(),
            None => return Some(0),
        };
        let rest = whole.get(start..)?;
        Some(rest.find(part).map_or(0, |at| (skip + rest.get(..at).map_or(0, |before| before.chars().count()) + 1) as i32))
    });
    Ok(Arc::new(found.collect::<Int32Array>()))
}

fn initcap(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let capitalised = texts(input, 0)?.iter().map(|text| {
        let mut first = true;
        text.map(|text| {
            let mut result = String::with_capacity(text.len());
            for c in text.chars() {
                if first {
                    result.extend(c.to_uppercase())
                } else {
                    result.extend(c.to_lowercase())
                }
                first = c == ' ';
            }
            result
        })
    });
    Ok(Arc::new(capitalised.collect::<StringArray>()))
}

fn split(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let separator = input.constant_text(1).unwrap_or_default();
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Field::new("element", DataType::Utf8, true));
    for text in texts(input, 0)? {
        match text {
            Some(text) => {
                text.split(separator).for_each(|part| lists.values().append_value(part));
                lists.append(true);
            }
            None => lists.append_null(),
        }
    }
    Ok(Arc::new(lists.finish()))
}

/// The first characters of a text, as an expression that rises with the text.
pub(crate) fn prefix_of(text: Expr, length: i32) -> Expr {
    PREFIX.call(vec![text, lit(1i32), lit(length)], DataType::Utf8)
}
