//! Bounds of an expression's values, as expressions on facts.
//!
//! A column lies between its statistics, and a partition column is its value. A function that keeps
//! the order of its arguments lies between its values at their bounds. More difficult cases are in
//! `result_bounds`. Read [`Prover::bounds`] first.

use arrow_schema::DataType;
use datafusion_common::DFSchema;
use datafusion_expr::expr::Case;
use datafusion_expr::{Cast, Expr, ExprSchemable};

use super::bounds::{Bounds, FLOAT_BOUND, NanBound, is_float, without_nan};
use super::facts::Fact;
use super::prover::{Prover, StatisticsSource, any};
use super::result_bounds::{among, even, extreme, is_null, of_results, order_of, unless_null};
use crate::evaluate::kernel::{Kernel, Monotonicity};
use crate::evaluate::nested::column_path;
use crate::evaluate::normalize_float::{normalized_float, without_normalization};
use crate::evaluate::tree::case_when;

impl Prover<'_> {
    /// Returns bounds from each source that has some. If there are several, all of them hold.
    pub(super) fn bounds(&mut self, value: &Expr) -> Vec<Bounds> {
        let mut found = self.bounds_of(value);
        found.retain(Bounds::is_known);
        // Bounds contain those of their arguments several times, so bounds of deeply nested calls
        // would become too long to compute.
        if !found.iter().all(Bounds::is_short) {
            self.note("its bounds take too long to compute".to_owned());
            return vec![];
        }
        found.into_iter().map(|bounds| self.where_never_nan(value, bounds)).collect()
    }

    /// Marks bounds as free of NaN if a row that matters cannot hold NaN here.
    fn where_never_nan(&self, value: &Expr, bounds: Bounds) -> Bounds {
        let is_never_nan = || self.never_nan.iter().any(|known| without_normalization(known) == without_normalization(value));
        if bounds.may_be_nan() && is_never_nan() { Bounds { nan: NanBound::Never, ..bounds } } else { bounds }
    }

    fn bounds_of(&mut self, value: &Expr) -> Vec<Bounds> {
        let below = without_normalization(value);
        if !std::ptr::eq(below, value) {
            let data_type = Kernel::of(value).map_or(DataType::Float64, |(kernel, _)| kernel.output.clone());
            return self
                .bounds_of(below)
                .into_iter()
                .map(|bounds| bounds.map(|bound| normalized_float(bound, &data_type)))
                .collect();
        }
        if let Some(path) = column_path(value) {
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
            && self.sources.partitions.contains(name)
        {
            let value = self.facts.column(Fact::Partition(name.clone()), &data_type);
            return vec![Bounds::exactly(without_nan(value, &data_type))];
        }
        let mut found = Vec::new();
        for (number, generated) in self.sources.generated.iter().enumerate() {
            if generated.base() == path {
                let low = Some(self.facts.column(Fact::GeneratedLow(number), &data_type));
                let high = Some(self.facts.column(Fact::GeneratedHigh(number), &data_type));
                found.push(Bounds { low, high, nan: NanBound::Never });
            }
        }
        if self.sources.statistics.hold_bounds_of(&data_type) {
            let low = self.facts.column(Fact::Minimum(path.to_vec()), &data_type);
            let high = self.facts.column(Fact::Maximum(path.to_vec()), &data_type);
            found.push(match is_float(&data_type) {
                true => {
                    let holds = self.facts.column(Fact::BoundsNan(path.to_vec()), &DataType::Boolean);
                    let nan = NanBound::Unless(Some(case_when([(holds, high.clone())], None)));
                    let bounds = Bounds { low: Some(low), high: Some(high), nan };
                    bounds.map(|bound| FLOAT_BOUND.call(vec![bound], data_type.clone()))
                }
                false => Bounds { low: Some(low), high: Some(high), nan: NanBound::Never },
            });
        }
        if found.is_empty() && self.sources.statistics != StatisticsSource::None {
            self.note(format!("statistics hold no minimum and maximum of {}", path.join(".")));
        }
        found
    }

    /// Returns the bounds of a call whose result follows the order of its arguments: the results at
    /// their bounds.
    fn bounds_of_call(&mut self, kernel: &Kernel, args: &[Expr]) -> Vec<Bounds> {
        let spec = if kernel.spec.may_fail { kernel.spec.try_spec } else { kernel.spec.try_spec.or(Some(kernel.spec)) };
        if spec.is_some_and(|spec| spec.monotonicity == [Monotonicity::Chosen]) {
            return self.bounds_of_extreme(kernel, args);
        }
        let Some(spec) = spec.filter(|spec| spec.monotonicity.len() == args.len() && !args.is_empty()) else {
            return self.without_order(kernel);
        };
        if let ([Monotonicity::Even], [arg]) = (spec.monotonicity, args) {
            return self.bounds(arg).into_iter().filter_map(|bounds| even(kernel, spec, bounds)).collect();
        }
        let mut of_args = Vec::with_capacity(args.len());
        for (place, arg) in args.iter().enumerate() {
            let Some(order) = order_of(spec, args, place) else { return self.without_order(kernel) };
            let mut bounds = self.bounds(arg);
            match order {
                Monotonicity::Decreasing => bounds = bounds.into_iter().map(Bounds::reversed).collect(),
                Monotonicity::IncreasingUnlessNan => bounds = bounds.into_iter().map(Bounds::where_no_nan).collect(),
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

    /// Returns the bounds of a CASE, which contain the bounds of all its possible values. The value
    /// of `coalesce` is its first argument in files where this argument is never null.
    pub(super) fn bounds_of_case(&mut self, case: &Case) -> Vec<Bounds> {
        let values = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
        let values: Vec<&Expr> = values.map(AsRef::as_ref).filter(|value| !is_null(value)).collect();
        let Some(data_type) = values.first().and_then(|value| self.result_of(value)) else { return vec![] };
        let of_values = values.into_iter().map(|value| self.bounds(value)).collect();
        self.inexact();
        let of_any = among(of_values, &data_type);
        let [(when, then)] = case.when_then_expr.as_slice() else { return of_any };
        match when.as_ref() {
            Expr::IsNotNull(value) if value == then => {
                let may_be_null = self.may_be_null(value);
                let of_first = self.bounds(value);
                unless_null(may_be_null, of_first, of_any)
            }
            _ => of_any,
        }
    }

    /// Returns the bounds of the greatest or the least of several values that are not null. It
    /// follows the values in files where none of them is ever null.
    pub(super) fn bounds_of_extreme(&mut self, kernel: &Kernel, args: &[Expr]) -> Vec<Bounds> {
        let of_all: Vec<Vec<Bounds>> = args.iter().map(|arg| self.bounds(arg)).collect();
        let may_be_null = any(args.iter().map(|arg| self.may_be_null(arg)).collect::<Vec<_>>());
        let of_args: Vec<Bounds> = of_all.iter().filter_map(|bounds| bounds.first().cloned()).collect();
        let not_null = args.iter().zip(of_all).filter(|(arg, _)| !is_null(arg)).map(|(_, bounds)| bounds).collect();
        self.inexact();
        let of_any = among(not_null, &kernel.output);
        if of_args.len() < args.len() {
            return of_any;
        }
        let is_greatest = kernel.spec.name == "greatest";
        // The kernel ignores null, but a null bound means that nothing is known.
        let result = |bound: fn(&Bounds) -> Option<&Expr>| {
            let bounds = of_args.iter().map(|bounds| bound(bounds).cloned()).collect::<Option<Vec<_>>>()?;
            Some(extreme(bounds, &kernel.output, is_greatest))
        };
        let may_be_nan = of_args.iter().any(Bounds::may_be_nan);
        let nan = if may_be_nan { NanBound::Unless(result(Bounds::top)) } else { NanBound::Never };
        let low = result(|bounds| bounds.low.as_ref());
        // The least of NaN and a number is the number, which may lie above the bounds of the other
        // values if they are NaN.
        let high = if may_be_nan && !is_greatest { result(Bounds::top) } else { result(|bounds| bounds.high.as_ref()) };
        unless_null(may_be_null, vec![Bounds { low, high, nan }], of_any)
    }

    /// Returns the type of a value.
    fn result_of(&self, value: &Expr) -> Option<DataType> {
        value.get_type(&DFSchema::try_from(self.sources.schema.clone()).ok()?).ok()
    }
}
