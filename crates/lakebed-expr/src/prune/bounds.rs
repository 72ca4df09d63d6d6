//! Between which values the values of an expression lie, as expressions on facts.
//!
//! A column lies between its statistics, a partition column is its value, and a function that keeps the order of its arguments
//! lies between its values at their bounds; what takes more thought is in `shapes`. Read [`Prover::bounds`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType;
use datafusion_common::Result as DfResult;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::{Cast, Expr};

use super::facts::Fact;
use super::proof::{Prover, Statistics};
use super::shapes::{even, order_of, where_ordered};
use crate::{Input, Kernel, Order, Spec, below_one_form, branches, one_form_of, path};

/// The parts that the bounds of one value may have.
const MOST_NODES: usize = 500;

/// Two values between which all values of an expression lie that are not null.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// No value is less; absent or null if that is not known.
    pub(super) low: Option<Expr>,
    /// No value but NaN is greater; absent or null if that is not known.
    pub(super) high: Option<Expr>,
    /// What is above that.
    pub(super) nan: Nan,
}

/// Whether there may be NaN above an upper bound: most writers leave it out of their statistics.
#[derive(Debug, Clone)]
pub(super) enum Nan {
    /// There is none.
    Never,
    /// There may be, unless this upper bound is known, which holds for NaN too; it is null if it is not known.
    Unless(Option<Expr>),
}

impl Bounds {
    fn exactly(value: Expr) -> Bounds {
        Bounds { low: Some(value.clone()), high: Some(value), nan: Nan::Never }
    }

    fn map(self, convert: impl Fn(Expr) -> Expr) -> Bounds {
        let nan = match self.nan {
            Nan::Never => Nan::Never,
            Nan::Unless(top) => Nan::Unless(top.map(&convert)),
        };
        Bounds { low: self.low.map(&convert), high: self.high.map(&convert), nan }
    }

    /// Whether there may be NaN above the upper bound.
    pub(super) fn may_be_nan(&self) -> bool {
        matches!(self.nan, Nan::Unless(_))
    }

    /// No value is greater, NaN included.
    pub(super) fn top(&self) -> Option<&Expr> {
        match &self.nan {
            Nan::Never => self.high.as_ref(),
            Nan::Unless(top) => top.as_ref(),
        }
    }

    /// The bounds of the values in the opposite order. What was below all is above all then, but for NaN.
    fn reversed(self) -> Bounds {
        let nan = match self.nan {
            Nan::Never => Nan::Never,
            Nan::Unless(top) => Nan::Unless(top.zip(self.low.clone()).map(|(top, low)| where_known(top, low))),
        };
        Bounds { low: self.high, high: self.low, nan }
    }

    /// The bounds where they are known to hold for NaN, too; nothing is known elsewhere.
    fn where_no_nan(self) -> Bounds {
        match self.nan {
            Nan::Never => self,
            Nan::Unless(top) => {
                let low = top.clone().zip(self.low).map(|(top, low)| where_known(top, low));
                Bounds { low, high: top, nan: Nan::Never }
            }
        }
    }

    fn is_known(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }

    fn is_short(&self) -> bool {
        let mut left = MOST_NODES;
        let mut count = |expr: &Expr| {
            let counted = expr.apply(|_| {
                left = left.saturating_sub(1);
                Ok(if left == 0 { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            });
            counted.is_ok()
        };
        self.low.iter().chain(&self.high).chain(self.top()).all(&mut count) && left > 0
    }
}

/// Floats of statistics in the form in which they are compared; a bound that is NaN says nothing.
static FLOAT_BOUND: Spec = Spec::total("float_bound", float_bound).lenient();

/// The first of two bounds, if both are finite.
static FINITE_BOUND: Spec = Spec::total("finite_bound", finite_bound).lenient();

impl Prover<'_> {
    /// Bounds from each source that has some; several are all true at once.
    pub(super) fn bounds(&mut self, value: &Expr) -> Vec<Bounds> {
        let mut found = self.bounds_of(value);
        found.retain(Bounds::is_known);
        // Bounds name those of their arguments several times: of deeply nested calls they would become too long to compute.
        if !found.iter().all(Bounds::is_short) {
            self.note("its bounds take too long to compute".to_owned());
            return vec![];
        }
        found.into_iter().map(|bounds| self.where_never_nan(value, bounds)).collect()
    }

    /// If a row that matters cannot hold NaN here, the upper bound is one.
    fn where_never_nan(&self, value: &Expr, bounds: Bounds) -> Bounds {
        let is_never_nan = || self.never_nan.iter().any(|known| below_one_form(known) == below_one_form(value));
        if bounds.may_be_nan() && is_never_nan() { Bounds { nan: Nan::Never, ..bounds } } else { bounds }
    }

    fn bounds_of(&mut self, value: &Expr) -> Vec<Bounds> {
        let below = below_one_form(value);
        if !std::ptr::eq(below, value) {
            let data_type = Kernel::of(value).map_or(DataType::Float64, |(kernel, _)| kernel.output.clone());
            return self.bounds_of(below).into_iter().map(|bounds| bounds.map(|bound| one_form_of(bound, &data_type))).collect();
        }
        if let Some(path) = path(value) {
            return self.bounds_of_column(&path);
        }
        match value {
            Expr::Literal(literal, _) if !literal.is_null() => vec![Bounds::exactly(value.clone())],
            Expr::Cast(Cast { expr, field }) => {
                let bounds = self.bounds_of(expr);
                bounds.into_iter().map(|b| b.map(|e| datafusion_expr::cast(e, field.data_type().clone()))).collect()
            }
            Expr::Case(case) if case.expr.is_none() => self.bounds_of_case(case),
            _ => match Kernel::of(value) {
                Some((kernel, args)) => self.bounds_of_call(kernel, args),
                None => vec![],
            },
        }
    }

    fn bounds_of_column(&mut self, path: &[String]) -> Vec<Bounds> {
        let Some(data_type) = self.type_of(path) else { return vec![] };
        if let [name] = path
            && self.knowledge.partitions.contains(name)
        {
            let value = self.facts.column(Fact::Partition(name.clone()), &data_type);
            return vec![Bounds::exactly(without_nan(value, &data_type))];
        }
        let mut found = Vec::new();
        for (number, generated) in self.knowledge.generated.iter().enumerate() {
            if generated.base() == path {
                let low = Some(self.facts.column(Fact::GeneratedLow(number), &data_type));
                let high = Some(self.facts.column(Fact::GeneratedHigh(number), &data_type));
                found.push(Bounds { low, high, nan: Nan::Never });
            }
        }
        if self.knowledge.statistics.hold_bounds_of(&data_type) {
            let low = self.facts.column(Fact::Minimum(path.to_vec()), &data_type);
            let high = self.facts.column(Fact::Maximum(path.to_vec()), &data_type);
            found.push(match is_float(&data_type) {
                true => {
                    let holds = self.facts.column(Fact::BoundsNan(path.to_vec()), &DataType::Boolean);
                    let nan = Nan::Unless(Some(branches([(holds, high.clone())], None)));
                    let bounds = Bounds { low: Some(low), high: Some(high), nan };
                    bounds.map(|bound| FLOAT_BOUND.call(vec![bound], data_type.clone()))
                }
                false => Bounds { low: Some(low), high: Some(high), nan: Nan::Never },
            });
        }
        if found.is_empty() && self.knowledge.statistics != Statistics::None {
            self.note(format!("statistics hold no minimum and maximum of {}", path.join(".")));
        }
        found
    }

    /// A call whose result follows its arguments lies between its results at their bounds.
    fn bounds_of_call(&mut self, kernel: &Kernel, args: &[Expr]) -> Vec<Bounds> {
        let spec = if kernel.spec.may_fail { kernel.spec.quiet } else { kernel.spec.quiet.or(Some(kernel.spec)) };
        if spec.is_some_and(|spec| spec.order == [Order::Chosen]) {
            return self.bounds_of_extreme(kernel, args);
        }
        let Some(spec) = spec.filter(|spec| spec.order.len() == args.len() && !args.is_empty()) else {
            return self.without_order(kernel);
        };
        if let ([Order::Even], [arg]) = (spec.order, args) {
            return self.bounds(arg).into_iter().filter_map(|bounds| even(kernel, spec, bounds)).collect();
        }
        let mut of_args = Vec::with_capacity(args.len());
        for (place, arg) in args.iter().enumerate() {
            let Some(order) = order_of(spec, args, place) else { return self.without_order(kernel) };
            let mut bounds = self.bounds(arg);
            match order {
                Order::Falling => bounds = bounds.into_iter().map(Bounds::reversed).collect(),
                Order::RisingUnlessNan => bounds = bounds.into_iter().map(Bounds::where_no_nan).collect(),
                _ => {}
            }
            of_args.push(bounds);
        }
        let sources = of_args.iter().map(Vec::len).max().unwrap_or(0);
        (0..sources).map(|source| of_results(kernel, spec, &of_args, source)).collect()
    }

    fn without_order(&mut self, kernel: &Kernel) -> Vec<Bounds> {
        self.note(format!("{} does not keep the order of its arguments", kernel.spec.name));
        vec![]
    }
}

/// The bounds of a call from one source of bounds of its arguments.
fn of_results(kernel: &Kernel, spec: &'static Spec, of_args: &[Vec<Bounds>], source: usize) -> Bounds {
    let chosen: Vec<Option<&Bounds>> = of_args.iter().map(|bounds| bounds.get(source).or(bounds.last())).collect();
    let args = |bound: fn(&Bounds) -> Option<&Expr>| {
        chosen.iter().map(|bounds| bounds.and_then(bound).cloned()).collect::<Option<Vec<_>>>()
    };
    let (low, high) = (args(|bounds| bounds.low.as_ref()), args(|bounds| bounds.high.as_ref()));
    let result = |args: &Option<Vec<Expr>>| {
        let result = spec.call(args.clone()?, kernel.output.clone());
        let result = match spec.within {
            Some(within) => where_ordered(within, low.as_ref()?, high.as_ref()?, result),
            None => result,
        };
        Some(without_nan(result, &kernel.output))
    };
    // A float result may be NaN where its arguments are not, such as the difference of two infinities. One multiplied or divided by a
    // finite number other than zero is not.
    let makes_nan = is_float(&kernel.output) && !spec.order.contains(&Order::Scaled);
    let nan = match (makes_nan, chosen.iter().flatten().any(|bounds| bounds.may_be_nan())) {
        (false, false) => Nan::Never,
        (false, true) => Nan::Unless(result(&args(Bounds::top))),
        (true, _) => {
            let ends = result(&args(Bounds::top)).zip(result(&low));
            Nan::Unless(ends.map(|(top, low)| FINITE_BOUND.call(vec![top, low], kernel.output.clone())))
        }
    };
    Bounds { low: result(&low), high: result(&high), nan }
}

/// A bound of this type, null if it is NaN.
pub(super) fn without_nan(bound: Expr, data_type: &DataType) -> Expr {
    if is_float(data_type) { FLOAT_BOUND.call(vec![bound], data_type.clone()) } else { bound }
}

/// A value where a bound is known.
pub(super) fn where_known(bound: Expr, value: Expr) -> Expr {
    branches([(bound.is_not_null(), value)], None)
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

fn float_bound(input: &Input<'_>) -> DfResult<ArrayRef> {
    let array = input.array(0)?;
    Ok(match array.data_type() {
        DataType::Float32 => {
            Arc::new(array.as_primitive::<Float32Type>().unary_opt::<_, Float32Type>(|x| (!x.is_nan()).then_some(x + 0.0)))
        }
        _ => Arc::new(array.as_primitive::<Float64Type>().unary_opt::<_, Float64Type>(|x| (!x.is_nan()).then_some(x + 0.0))),
    })
}

fn finite_bound(input: &Input<'_>) -> DfResult<ArrayRef> {
    let (bound, other) = (input.array(0)?, input.array(1)?);
    Ok(match bound.data_type() {
        DataType::Float32 => Arc::new(where_finite::<Float32Type>(bound.as_primitive(), other.as_primitive(), f32::is_finite)),
        _ => Arc::new(where_finite::<Float64Type>(bound.as_primitive(), other.as_primitive(), f64::is_finite)),
    })
}

fn where_finite<T: ArrowPrimitiveType>(
    bounds: &PrimitiveArray<T>,
    others: &PrimitiveArray<T>,
    is_finite: fn(T::Native) -> bool,
) -> PrimitiveArray<T> {
    let pairs = bounds.iter().zip(others);
    pairs.map(|(bound, other)| bound.filter(|bound| is_finite(*bound) && other.is_some_and(is_finite))).collect()
}
