//! Map, filter, project: evaluation and algebra.

use crate::scalar::{EvalContext, Mfp, ScalarExpr, Volatility};
use repr::{Datum, ValueError};

impl Mfp {
    /// Runs over one row. If it passes, `row` holds the output columns; if not, what it holds is of no use.
    ///
    /// # Errors
    /// The first expression that fails; the row then neither passes nor not.
    pub fn evaluate(&self, row: &mut Vec<Datum>, ctx: &EvalContext) -> Result<bool, ValueError> {
        let mut filters = self.filter.iter();
        let mut next = filters.next();
        let mut maps = self.map.iter();
        loop {
            while let Some((needed, predicate)) = next
                && *needed <= row.len()
            {
                if !predicate.holds(row, ctx)? {
                    return Ok(false);
                }
                next = filters.next();
            }
            let Some(map) = maps.next() else { break };
            let value = map.eval(row, ctx)?;
            row.push(value);
        }
        self.project_row(row);
        Ok(true)
    }

    /// Whether a row passes, where nothing is appended to it. Columns that no predicate looks at may hold anything.
    ///
    /// # Errors
    /// Those of `evaluate`.
    pub fn passes(&self, row: &[Datum], ctx: &EvalContext) -> Result<bool, ValueError> {
        debug_assert!(self.map.is_empty());
        for (_, predicate) in &self.filter {
            if !predicate.holds(row, ctx)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn project_row(&self, row: &mut Vec<Datum>) {
        if self.project.iter().copied().eq(0..row.len()) {
            return;
        }
        if self.project.iter().copied().eq(0..self.project.len()) {
            row.truncate(self.project.len());
            return;
        }
        if self.project.is_sorted_by(|before, after| before < after) {
            // Each column moves down past those that are done.
            for (place, column) in self.project.iter().enumerate() {
                row.swap(place, *column);
            }
            row.truncate(self.project.len());
            return;
        }
        let projected = self.project.iter().map(|column| row[*column].clone()).collect();
        *row = projected;
    }

    /// Columns before projection.
    pub(crate) fn mapped_arity(&self) -> usize {
        self.input_arity + self.map.len()
    }

    /// Columns that come out.
    pub(crate) fn output_arity(&self) -> usize {
        self.project.len()
    }

    /// Only keeps rows for which `predicate`, over the output columns, is true.
    pub(crate) fn add_filter(&mut self, predicate: ScalarExpr) {
        let predicate = predicate.permute(&|column| self.project[column]);
        self.push_filter(predicate);
    }

    /// Appends an output column, computed over the output columns.
    pub(crate) fn add_map(&mut self, expr: ScalarExpr) {
        let expr = expr.permute(&|column| self.project[column]);
        if let ScalarExpr::Column(column) = expr {
            self.project.push(column);
        } else {
            self.project.push(self.mapped_arity());
            self.map.push(expr);
        }
    }

    /// Chooses among the output columns.
    pub(crate) fn add_project(&mut self, columns: &[usize]) {
        self.project = columns.iter().map(|column| self.project[*column]).collect();
    }

    /// This and then `next`, as one.
    #[must_use]
    pub fn then(mut self, next: Mfp) -> Mfp {
        debug_assert_eq!(self.output_arity(), next.input_arity, "composed operators fit");
        let mapped = self.mapped_arity();
        let project = std::mem::take(&mut self.project);
        let new_index = |column: usize| {
            if column < next.input_arity { project[column] } else { mapped + column - next.input_arity }
        };
        self.map.extend(next.map.into_iter().map(|expr| expr.permute(&new_index)));
        for (_, predicate) in next.filter {
            let predicate = predicate.permute(&new_index);
            self.push_filter(predicate);
        }
        self.project = next.project.into_iter().map(new_index).collect();
        self
    }

    /// The same over an input whose columns stand elsewhere: old input column i is `new_index(i)` of
    /// `input_arity` columns. The output stays as it was.
    pub(crate) fn permute_input(&mut self, input_arity: usize, new_index: &impl Fn(usize) -> usize) {
        let old_arity = self.input_arity;
        let renumber =
            |column: usize| if column < old_arity { new_index(column) } else { column - old_arity + input_arity };
        self.input_arity = input_arity;
        self.map = std::mem::take(&mut self.map).into_iter().map(|expr| expr.permute(&renumber)).collect();
        for (_, predicate) in std::mem::take(&mut self.filter) {
            let predicate = predicate.permute(&renumber);
            self.push_filter(predicate);
        }
        for column in &mut self.project {
            *column = renumber(*column);
        }
    }

    /// Takes off what is volatile, unless a filter or a `needed` output depends on it. Gives it as expressions over the
    /// outputs that are left (inputs of those expressions among them) and one another, and where each output then
    /// is among both. `None` if there is nothing to take off.
    pub(crate) fn defer_volatile(&mut self, needed: &[usize]) -> Option<(Vec<ScalarExpr>, Vec<usize>)> {
        if !self.map.iter().any(|expr| expr.volatility() == Volatility::Volatile) {
            return None;
        }
        let base = self.input_arity;
        let mut early = vec![false; self.map.len()];
        let mut open: Vec<usize> = needed.iter().map(|output| self.project[*output]).collect();
        open.extend(self.filter.iter().flat_map(|(_, predicate)| predicate.columns()));
        while let Some(column) = open.pop() {
            if let Some(index) = column.checked_sub(base).filter(|index| !early[*index]) {
                early[index] = true;
                open.extend(self.map[index].columns());
            }
        }
        let mut late: Vec<usize> = Vec::new();
        for (index, expr) in self.map.iter().enumerate() {
            let depends = || expr.columns().iter().any(|column| late.contains(column));
            if !early[index] && (expr.volatility() == Volatility::Volatile || depends()) {
                late.push(base + index);
            }
        }
        if late.is_empty() {
            return None;
        }
        let read = late.iter().flat_map(|column| self.map[*column - base].columns());
        let mut kept: Vec<usize> = Vec::new();
        for column in self.project.iter().copied().chain(read) {
            if !late.contains(&column) && !kept.contains(&column) {
                kept.push(column);
            }
        }
        let place = |column: usize| match late.iter().position(|other| *other == column) {
            Some(index) => kept.len() + index,
            None => kept.iter().position(|other| *other == column).unwrap_or(column),
        };
        let places = self.project.iter().map(|column| place(*column)).collect();
        let exprs = late.iter().map(|column| self.map[*column - base].clone().permute(&place)).collect();
        let stays = |column: usize| column - late.iter().filter(|other| **other < column).count();
        let map = std::mem::take(&mut self.map).into_iter().enumerate();
        self.map =
            map.filter(|(index, _)| !late.contains(&(base + index))).map(|(_, expr)| expr.permute(&stays)).collect();
        for (_, predicate) in std::mem::take(&mut self.filter) {
            self.push_filter(predicate.permute(&stays));
        }
        self.project = kept.into_iter().map(stays).collect();
        Some((exprs, places))
    }

    /// Filters stay sorted by how early they can run, in the order given among equals.
    fn push_filter(&mut self, predicate: ScalarExpr) {
        let needed = predicate.columns().last().map_or(0, |last| last + 1).max(self.input_arity);
        let at = self.filter.partition_point(|(other, _)| *other <= needed);
        self.filter.insert(at, (needed, predicate));
    }
}
