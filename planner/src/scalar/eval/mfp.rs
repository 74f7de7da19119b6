//! Map, filter, project: evaluation and algebra.

use crate::scalar::{EvalContext, Mfp, ScalarExpr};
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
    pub fn mapped_arity(&self) -> usize {
        self.input_arity + self.map.len()
    }

    /// Columns that come out.
    pub fn output_arity(&self) -> usize {
        self.project.len()
    }

    /// Only keeps rows for which `predicate`, over the output columns, is true.
    pub fn add_filter(&mut self, predicate: ScalarExpr) {
        let predicate = predicate.permute(&|column| self.project[column]);
        self.push_filter(predicate);
    }

    /// Appends an output column, computed over the output columns.
    pub fn add_map(&mut self, expr: ScalarExpr) {
        let expr = expr.permute(&|column| self.project[column]);
        if let ScalarExpr::Column(column) = expr {
            self.project.push(column);
        } else {
            self.project.push(self.mapped_arity());
            self.map.push(expr);
        }
    }

    /// Chooses among the output columns.
    pub fn add_project(&mut self, columns: &[usize]) {
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
    pub fn permute_input(&mut self, input_arity: usize, new_index: &impl Fn(usize) -> usize) {
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

    /// Filters stay sorted by how early they can run, in the order given among equals.
    fn push_filter(&mut self, predicate: ScalarExpr) {
        let needed = predicate.columns().last().map_or(0, |last| last + 1).max(self.input_arity);
        let at = self.filter.partition_point(|(other, _)| *other <= needed);
        self.filter.insert(at, (needed, predicate));
    }
}
