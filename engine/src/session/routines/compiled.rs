//! What is known of a body: its statements, and how each text of SQL in it is planned. Kept by the session, bounded in number.

use crate::session::Session;
use crate::session::plan::Prepared;
use parking_lot::Mutex;
use planner::catalog::{Language, Routine};
use planner::parse::statement::ParsedStatement;
use planner::plpgsql::{self, Body};
use repr::{ColumnType, Id};
use state::SqlError;
use std::collections::HashMap;
use std::sync::Arc;

/// So many bodies a session knows.
const BODIES_MAX: usize = 500;

/// A body.
pub struct Compiled {
    /// What it is of; none of DO.
    pub routine: Option<Arc<Routine>>,
    /// What it says, in PL/pgSQL.
    pub body: Body,
    /// Its texts of SQL by number.
    pub(super) texts: Mutex<Vec<Option<Arc<PlannedText>>>>,
}

/// A text of SQL, planned.
pub(super) struct PlannedText {
    /// The types of the variables that it may name.
    pub(super) types: Vec<Option<ColumnType>>,
    pub(super) prepared: Arc<Prepared>,
}

impl Compiled {
    /// Of a text.
    pub(super) fn new(text: &str, routine: Option<Arc<Routine>>) -> Result<Compiled, SqlError> {
        Ok(Compiled { routine, body: plpgsql::parse(text)?, texts: Mutex::default() })
    }

    pub(super) fn known(&self, number: usize, types: &[Option<ColumnType>]) -> Option<Arc<Prepared>> {
        let texts = self.texts.lock();
        let known = texts.get(number)?.as_ref()?;
        (known.types == types).then(|| known.prepared.clone())
    }

    pub(super) fn keep(&self, number: usize, types: Vec<Option<ColumnType>>, prepared: Arc<Prepared>) {
        let mut texts = self.texts.lock();
        if texts.len() <= number {
            texts.resize_with(number + 1, || None);
        }
        texts[number] = Some(Arc::new(PlannedText { types, prepared }));
    }
}

/// Bodies that a session knows, by OID.
#[derive(Default)]
pub struct KnownBodies(HashMap<Id, BodyInLanguage>);

/// One of them, in its language.
#[derive(Clone)]
pub(super) enum BodyInLanguage {
    Plpgsql(Arc<Compiled>),
    Sql(Arc<Routine>, Arc<Vec<(ParsedStatement, Mutex<Option<Arc<Prepared>>>)>>),
}

impl KnownBodies {
    pub(super) fn get(&self, routine: &Arc<Routine>) -> Option<BodyInLanguage> {
        let known = self.0.get(&routine.id)?;
        let of = match known {
            BodyInLanguage::Plpgsql(compiled) => compiled.routine.as_ref()?,
            BodyInLanguage::Sql(of, _) => of,
        };
        Arc::ptr_eq(of, routine).then(|| known.clone())
    }

    pub(super) fn keep(&mut self, id: Id, body: BodyInLanguage) {
        if self.0.len() >= BODIES_MAX {
            self.0.clear();
        }
        self.0.insert(id, body);
    }
}

impl Session {
    /// A routine's body, read once for a session.
    pub(super) fn body_of(&self, routine: &Arc<Routine>) -> Result<BodyInLanguage, SqlError> {
        if let Some(known) = self.state.lock().remembered.bodies.get(routine) {
            return Ok(known);
        }
        let body = match routine.body.language {
            Language::Plpgsql => {
                BodyInLanguage::Plpgsql(Arc::new(Compiled::new(&routine.body.text, Some(routine.clone()))?))
            }
            Language::Sql => {
                let statements = planner::sql_statements(routine, &self.catalog())?;
                let statements = statements.into_iter().map(|parsed| (parsed, Mutex::default())).collect();
                BodyInLanguage::Sql(routine.clone(), Arc::new(statements))
            }
        };
        self.state.lock().remembered.bodies.keep(routine.id, body.clone());
        Ok(body)
    }
}
