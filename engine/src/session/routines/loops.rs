//! Loops of PL/pgSQL.

use super::cursors::Opening;
use super::frame::{Frame, Slot};
use super::steps::Flow;
use crate::session::Session;
use planner::plpgsql::{BodyStep, Expression, Loop, QuerySource, Steps, Target};
use repr::{Array, ColumnType, Datum, ScalarType, poll};
use state::SqlError;
use std::sync::Arc;

impl Session {
    pub(super) fn loop_step(&mut self, frame: &mut Frame, step: &BodyStep) -> Result<Flow, SqlError> {
        match step {
            BodyStep::Loop(repeated) => loop {
                if let Some(flow) = self.round(frame, repeated)? {
                    return Ok(flow);
                }
            },
            BodyStep::While(condition, repeated) => {
                while self.condition(frame, condition)? {
                    if let Some(flow) = self.round(frame, repeated)? {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            BodyStep::ForIntegers(name, steps, repeated) => self.for_integers(frame, name, steps, repeated),
            BodyStep::ForRows(targets, source, repeated) => self.for_rows(frame, targets, source, repeated),
            BodyStep::ForCursor(row, (name, arguments), repeated) => {
                self.for_cursor(frame, row, (name, arguments), repeated)
            }
            BodyStep::ForEach(targets, slice, array, repeated) => {
                self.for_each(frame, targets, *slice, (array, repeated))
            }
            _ => Ok(Flow::Next),
        }
    }

    /// One round: what the loop ends with, if it does.
    fn round(&mut self, frame: &mut Frame, repeated: &Loop) -> Result<Option<Flow>, SqlError> {
        self.control.account.check()?;
        let is_own = |label: &Option<String>| label.is_none() || *label == repeated.label;
        Ok(match self.lines(frame, &repeated.statements)? {
            Flow::Next => None,
            Flow::Exit(label) if is_own(&label) => Some(Flow::Next),
            Flow::Continue(label) if is_own(&label) => None,
            flow => Some(flow),
        })
    }

    fn for_integers(
        &mut self,
        frame: &mut Frame,
        name: &str,
        steps: &Steps,
        repeated: &Loop,
    ) -> Result<Flow, SqlError> {
        let bound = |session: &mut Session, frame: &Frame, expression: &Expression, what: &str| {
            let value = session.integer(frame, expression, what)?;
            i32::try_from(value).map_err(|_| SqlError::new("22003", "integer out of range"))
        };
        let from = bound(self, frame, &steps.from, "lower bound of FOR loop")?;
        let to = bound(self, frame, &steps.to, "upper bound of FOR loop")?;
        let by = match &steps.by {
            Some(by) => bound(self, frame, by, "BY value of FOR loop")?,
            None => 1,
        };
        if by <= 0 {
            return Err(SqlError::new("22023", "BY value of FOR loop must be greater than zero"));
        }
        let mark = frame.mark();
        let slot = Slot::of(ColumnType::nullable(ScalarType::Int4), Datum::Int4(from));
        let place = frame.declare(repeated.label.as_deref(), name, slot);
        let (mut at, mut found, mut ended) = (Some(from), false, Flow::Next);
        while let Some(value) = at.filter(|value| if steps.reverse { *value >= to } else { *value <= to }) {
            found = true;
            frame.slots[place].value = Datum::Int4(value);
            match self.round(frame, repeated) {
                Ok(None) => {}
                Ok(Some(flow)) => {
                    ended = flow;
                    break;
                }
                Err(error) => {
                    frame.back_to(mark);
                    return Err(error);
                }
            }
            at = if steps.reverse { value.checked_sub(by) } else { value.checked_add(by) };
        }
        frame.back_to(mark);
        frame.set_found(found);
        Ok(ended)
    }

    fn for_rows(
        &mut self,
        frame: &mut Frame,
        targets: &[Target],
        source: &QuerySource,
        repeated: &Loop,
    ) -> Result<Flow, SqlError> {
        let mut answered = self.source_answered(frame, source)?;
        let (mut found, mut ended) = (false, Flow::Next);
        loop {
            let row = poll::unwinds_to(|| answered.rows.next().transpose())?;
            let Some(row) = row else { break };
            found = true;
            let columns = answered.columns.clone();
            self.assign_row(frame, targets, &columns, Some(row))?;
            if let Some(flow) = self.round(frame, repeated)? {
                ended = flow;
                break;
            }
        }
        if !found {
            let columns = answered.columns.clone();
            self.assign_row(frame, targets, &columns, None)?;
        }
        frame.set_found(found);
        Ok(ended)
    }

    fn for_cursor(
        &mut self,
        frame: &mut Frame,
        row: &str,
        (name, arguments): (&str, &[planner::plpgsql::Argument]),
        repeated: &Loop,
    ) -> Result<Flow, SqlError> {
        let Opening { portal, .. } = self.open_declared(frame, name, arguments)?;
        let mark = frame.mark();
        let place = frame.declare(repeated.label.as_deref(), row, Slot::record());
        let outcome = self.cursor_rounds(frame, place, &portal, repeated);
        frame.back_to(mark);
        self.cursors.open.remove(&portal);
        let (found, ended) = outcome?;
        frame.set_found(found);
        Ok(ended)
    }

    fn cursor_rounds(
        &mut self,
        frame: &mut Frame,
        place: usize,
        portal: &str,
        repeated: &Loop,
    ) -> Result<(bool, Flow), SqlError> {
        let mut found = false;
        while let Some((columns, row)) = self.next_of_cursor(portal)? {
            found = true;
            let own = super::frame::row_type(&columns);
            self.assign_slot(frame, place, Datum::Record(row.into()), &own.scalar)?;
            if let Some(flow) = self.round(frame, repeated)? {
                return Ok((found, flow));
            }
        }
        Ok((found, Flow::Next))
    }

    fn for_each(
        &mut self,
        frame: &mut Frame,
        targets: &[Target],
        slice: u32,
        (array, repeated): (&Expression, &Loop),
    ) -> Result<Flow, SqlError> {
        let (value, scalar) = self.value(frame, array)?;
        let Some(element) = scalar.element() else {
            return Err(SqlError::new("42804", "FOREACH expression must yield an array, not type something else"));
        };
        let Datum::Array(array) = value else {
            return Err(SqlError::new("22004", "FOREACH expression must not be null"));
        };
        let dimensions = array.dimensions.len();
        if slice as usize > dimensions {
            let message = format!("slice dimension ({slice}) is out of the valid range 0..{dimensions}");
            return Err(SqlError::new("2202E", message));
        }
        let lengths: Vec<usize> = array.dimensions.iter().map(|dimension| dimension.0).collect();
        let size: usize = lengths[dimensions - slice as usize..].iter().product();
        let own = if slice == 0 { element.clone() } else { scalar.clone() };
        let (mut found, mut ended) = (false, Flow::Next);
        for part in array.elements.chunks(size.max(1)) {
            found = true;
            let value = match slice {
                0 => part[0].clone(),
                _ => {
                    let inner = array.dimensions[dimensions - slice as usize..].to_vec();
                    Datum::Array(Arc::new(Array::new(inner, part.to_vec())))
                }
            };
            match (targets, &value, &own) {
                ([only], _, _) => self.assign(frame, only, value, &own)?,
                (several, Datum::Record(fields), ScalarType::Record(record)) => {
                    for (place, target) in several.iter().enumerate() {
                        let field = fields.get(place).cloned().unwrap_or(Datum::Null);
                        let from = record.get(place).map_or(ScalarType::Unknown, |(_, scalar)| scalar.clone());
                        self.assign(frame, target, field, &from)?;
                    }
                }
                _ => return Err(SqlError::new("42804", "FOREACH loop variable must not be of several variables")),
            }
            if let Some(flow) = self.round(frame, repeated)? {
                ended = flow;
                break;
            }
        }
        frame.set_found(found);
        Ok(ended)
    }
}
