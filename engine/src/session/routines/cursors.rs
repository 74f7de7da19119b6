//! Cursors of PL/pgSQL: portals of the transaction, by names that variables hold.

use super::frame::{BoundCursor, Frame, Slot};
use crate::response::{Response, RowStream};
use crate::session::Session;
use crate::session::cursor::{Cursor, Declared as DeclaredCursor};
use crate::session::plan::Prepared;
use planner::hir::OutputColumn;
use planner::parse::utility::FetchDirection;
use planner::plpgsql::{Argument, Direction, Opened, QuerySource, Target};
use repr::{Datum, ScalarType};
use state::SqlError;
use std::sync::Arc;

/// A cursor that was opened.
pub(super) struct Opening {
    pub(super) portal: String,
}

impl Session {
    fn cursor_variable(frame: &Frame, name: &str) -> Result<usize, SqlError> {
        let place = frame.find(None, name);
        let is_cursor = |place: &usize| matches!(&frame.slots[*place].column_type, Some(own) if own.scalar == ScalarType::Refcursor || own.scalar.is_string());
        match place {
            Some(place) if is_cursor(&place) => Ok(place),
            Some(_) => Err(SqlError::new("42804", format!("variable \"{name}\" must be of type cursor or refcursor"))),
            None => Err(SqlError::new("42601", format!("\"{name}\" is not a known variable"))),
        }
    }

    pub(super) fn open_cursor(&mut self, frame: &mut Frame, name: &str, opened: &Opened) -> Result<(), SqlError> {
        match opened {
            Opened::Declared(arguments) => self.open_declared(frame, name, arguments).map(|_| ()),
            Opened::For(source, scroll) => {
                let place = Self::cursor_variable(frame, name)?;
                let (prepared, params) = match source {
                    QuerySource::Static(query) => (self.text_prepared(frame, query)?, frame.values()),
                    QuerySource::Dynamic(text, using) => self.dynamic(frame, text, using)?,
                };
                self.open_portal(frame, place, (&prepared, params), *scroll).map(|_| ())
            }
        }
    }

    /// A cursor that was declared with its query.
    pub(super) fn open_declared(
        &mut self,
        frame: &mut Frame,
        name: &str,
        arguments: &[Argument],
    ) -> Result<Opening, SqlError> {
        let place = Self::cursor_variable(frame, name)?;
        let Some(cursor) = frame.cursors.iter().rev().find(|cursor| cursor.place == place).cloned() else {
            return Err(SqlError::new("42601", format!("cursor \"{name}\" must have been declared with a query")));
        };
        let BoundCursor { parameters, query, scroll, names, .. } = cursor;
        if arguments.len() != parameters.len() {
            let which = if arguments.len() > parameters.len() { "too many" } else { "not enough" };
            let message = match parameters.is_empty() {
                true => format!("cursor \"{name}\" has no arguments"),
                false => format!("{which} arguments for cursor \"{name}\""),
            };
            return Err(SqlError::new("42601", message));
        }
        let mut values: Vec<Option<Datum>> = vec![None; parameters.len()];
        for (number, (named, value)) in arguments.iter().enumerate() {
            let at = match named {
                None => number,
                Some(named) => parameters.iter().position(|(known, _)| known == named).ok_or_else(|| {
                    SqlError::new("42601", format!("cursor \"{name}\" has no argument named \"{named}\""))
                })?,
            };
            let (value, from) = self.value(frame, value)?;
            values[at] = Some(self.converted(value, &from, &parameters[at].1)?);
        }
        let mark = frame.mark();
        // Its query knows what was declared before it.
        let hidden = frame.hide(names);
        for ((parameter, own), value) in parameters.iter().zip(values) {
            frame.declare(None, parameter, Slot::of(own.clone(), value.unwrap_or(Datum::Null)));
        }
        let prepared = self.text_prepared(frame, &query);
        let params = frame.values();
        frame.show(names, hidden);
        frame.back_to(mark);
        self.open_portal(frame, place, (&prepared?, params), scroll)
    }

    fn open_portal(
        &mut self,
        frame: &mut Frame,
        place: usize,
        (prepared, params): (&Arc<Prepared>, Arc<[Datum]>),
        scroll: Option<bool>,
    ) -> Result<Opening, SqlError> {
        let portal = match &frame.slots[place].value {
            Datum::Text(name) => name.to_string(),
            _ => self.unnamed_portal(),
        };
        if self.cursors.open.contains_key(&portal) || self.cursors.subscribed.contains_key(&portal) {
            return Err(SqlError::new("42P03", format!("cursor \"{portal}\" already in use")));
        }
        self.may_keep()?;
        let opened_at = self.database.published.load().time;
        let answer = self.run_inner(prepared, params)?;
        let Response::Rows(RowStream { columns, rows, .. }) = answer else {
            return Err(SqlError::new("42P11", "cannot open INSERT query as cursor"));
        };
        let declared = DeclaredCursor {
            text: prepared.text.clone(),
            scroll: scroll.unwrap_or(false),
            hold: false,
            held: false,
            binary: false,
            at: self.statement.started,
        };
        let cursor = Cursor::new(columns, rows, declared, opened_at);
        self.transaction().pending.cursors.push(portal.clone());
        self.cursors.open.insert(portal.clone(), cursor);
        frame.slots[place].value = Datum::Text(portal.as_str().into());
        Ok(Opening { portal })
    }

    /// A name that no portal has.
    fn unnamed_portal(&self) -> String {
        let mut number = 1_usize;
        loop {
            let name = format!("<unnamed portal {number}>");
            if !self.cursors.open.contains_key(&name) {
                return name;
            }
            number += 1;
        }
    }

    fn portal_of(frame: &Frame, name: &str) -> Result<String, SqlError> {
        let place = Self::cursor_variable(frame, name)?;
        match &frame.slots[place].value {
            Datum::Text(portal) => Ok(portal.to_string()),
            _ => Err(SqlError::new("22004", format!("cursor variable \"{name}\" is null"))),
        }
    }

    fn fetched(
        &mut self,
        portal: &str,
        direction: FetchDirection,
    ) -> Result<(Arc<[OutputColumn]>, Vec<Vec<Datum>>), SqlError> {
        let missing = || SqlError::new("34000", format!("cursor \"{portal}\" does not exist"));
        let cursor = self.cursors.open.get_mut(portal).ok_or_else(missing)?;
        if let Err(ended) = self.database.check_not_ended(cursor.opened_at) {
            self.cursors.open.remove(portal);
            return Err(ended);
        }
        let rows = cursor.fetch(direction)?;
        Ok((cursor.columns().clone(), rows))
    }

    pub(super) fn next_of_cursor(
        &mut self,
        portal: &str,
    ) -> Result<Option<(Arc<[OutputColumn]>, Vec<Datum>)>, SqlError> {
        let (columns, rows) = self.fetched(portal, FetchDirection::Forward(1))?;
        Ok(rows.into_iter().next().map(|row| (columns, row)))
    }

    pub(super) fn fetch_step(
        &mut self,
        frame: &mut Frame,
        name: &str,
        direction: &Direction,
        targets: Option<&[Target]>,
    ) -> Result<(), SqlError> {
        let portal = Self::portal_of(frame, name)?;
        let what = "relative or absolute cursor position";
        let direction = match direction {
            Direction::To(direction) => *direction,
            Direction::Absolute(count) => FetchDirection::Absolute(self.integer(frame, count, what)?),
            Direction::Relative(count) => FetchDirection::Relative(self.integer(frame, count, what)?),
            Direction::Forward(count) => FetchDirection::Forward(self.integer(frame, count, what)?),
            Direction::Backward(count) => FetchDirection::Forward(-self.integer(frame, count, what)?),
        };
        let (columns, rows) = self.fetched(&portal, direction)?;
        frame.row_count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let found = !rows.is_empty();
        if let Some(targets) = targets {
            self.assign_row(frame, targets, &columns, rows.into_iter().next())?;
        }
        frame.set_found(found);
        Ok(())
    }

    pub(super) fn close_step(&mut self, frame: &mut Frame, name: &str) -> Result<(), SqlError> {
        let portal = Self::portal_of(frame, name)?;
        match self.cursors.open.remove(&portal) {
            Some(_) => Ok(()),
            None => Err(SqlError::new("34000", format!("cursor \"{portal}\" does not exist"))),
        }
    }

    /// The variables that a CALL gives for parameters that come out.
    pub(super) fn call_targets(
        &self,
        frame: &Frame,
        prepared: &Prepared,
        outputs: usize,
    ) -> Result<Vec<Target>, SqlError> {
        let text = prepared.text.trim();
        let inside = text.find('(').and_then(|open| text.get(open + 1..text.rfind(')')?)).unwrap_or_default();
        let names: Vec<Target> = inside
            .split(',')
            .map(|name| Target {
                path: name.trim().split('.').map(|part| part.trim().to_lowercase()).collect(),
                subscripts: Vec::new(),
            })
            .collect();
        let known: Vec<Target> = names
            .into_iter()
            .filter(|target| target.path.first().is_some_and(|first| frame.find(None, first).is_some()))
            .collect();
        // Those that come out stand last where all are variables.
        match known.len().checked_sub(outputs) {
            Some(first) => Ok(known[first..].to_vec()),
            None => Err(SqlError::new(
                "42601",
                "procedure parameter is an output parameter but corresponding argument is not writable",
            )),
        }
    }
}
