//! Triggers: a function that is called for each row that a statement has inserted, once all of its rows are there.
//!
//! ```text
//! INSERT ─▶ rows, keys and references looked at ─▶ row ─▶ trigger ─▶ trigger ─▶ next row ─▶ … ─▶ the statement's answer
//!    ▲                                                       │ an error
//!    └──────────── all that the statement did is taken back ◀┘
//! ```
//! What a trigger does is done by the role that inserts, as any function's. What it returns is nobody's.

use super::call::within;
use super::compiled::BodyInLanguage;
use super::frame::{Frame, Slot};
use super::inner::within_stack;
use crate::session::Session;
use planner::catalog::{Routine, Table, Trigger};
use repr::{Array, ColumnType, Datum, RelationId, ScalarType, poll};
use state::SqlError;
use std::sync::Arc;
use transactions::writer::dml::Written;
use transactions::writer::returned::ReturnedRows;
use transactions::writer::triggered::InsertedRows;

impl Session {
    /// What a write did, once triggers have been called for its rows.
    pub(in crate::session) fn triggered(&mut self, mut written: Written) -> Result<Written, SqlError> {
        let inserted = std::mem::take(&mut written.inserted);
        if !inserted.is_empty() {
            self.call_triggers(inserted)?;
        }
        Ok(written)
    }

    /// Calls the triggers of rows that were inserted.
    pub(in crate::session) fn call_triggers(&mut self, inserted: InsertedRows) -> Result<(), SqlError> {
        inserted.into_iter().try_for_each(|(relation, rows)| self.call_for_rows(relation, rows))
    }

    fn call_for_rows(&mut self, relation: RelationId, rows: ReturnedRows) -> Result<(), SqlError> {
        let catalog = self.catalog();
        let Some(table) = catalog.table(relation).cloned() else { return Ok(()) };
        let called: Vec<&Trigger> = table.triggers.iter().filter(|trigger| !trigger.disabled).collect();
        let schema = catalog.namespace_name(table.namespace).unwrap_or_default().to_owned();
        for row in rows.into_rows() {
            poll::step()?;
            let row = row?;
            let new = Datum::Record(table.live_columns().map(|(place, _)| row[place].clone()).collect());
            for trigger in &called {
                let routine = self.routine(trigger.function)?;
                let mut names = about(trigger, &table, &schema);
                names.push(("new", row_of(&table), new.clone()));
                names.push(("old", row_of(&table), Datum::Null));
                self.call_trigger(&routine, names)?;
            }
        }
        Ok(())
    }

    fn call_trigger(&mut self, routine: &Arc<Routine>, names: Vec<Named>) -> Result<(), SqlError> {
        self.control.account.check()?;
        let restored = self.apply_settings(routine)?;
        let outcome = within_stack(|| {
            let BodyInLanguage::Plpgsql(compiled) = self.body_of(routine)? else {
                return Err(SqlError::new("42P13", "SQL functions cannot return type trigger"));
            };
            let mut frame = Frame::new(compiled);
            for (name, column_type, value) in names {
                frame.declare(Some(&routine.name), name, Slot::of(column_type, value));
            }
            let found = Slot::of(ColumnType::nullable(ScalarType::Bool), Datum::Bool(false));
            frame.declare(Some(&routine.name), "found", found);
            match self.run_body(&mut frame).map_err(within)? {
                true => Ok(()),
                false => Err(SqlError::new("2F005", "control reached end of trigger procedure without RETURN")),
            }
        });
        self.restore_settings(restored);
        outcome
    }
}

/// A variable that a body begins with.
type Named = (&'static str, ColumnType, Datum);

fn row_of(table: &Table) -> ColumnType {
    ColumnType::nullable(table.row_type().map_or(ScalarType::Text, ScalarType::Record))
}

/// `TG_NAME` and the others.
fn about(trigger: &Trigger, table: &Table, schema: &str) -> Vec<Named> {
    let text = |name, scalar, value: &str| (name, ColumnType::nullable(scalar), Datum::Text(value.into()));
    let arguments: Vec<Datum> =
        trigger.arguments.iter().map(|argument| Datum::Text(argument.as_str().into())).collect();
    // They count from 0.
    let dimensions = if arguments.is_empty() { Vec::new() } else { vec![(arguments.len(), 0)] };
    let count = i32::try_from(arguments.len()).unwrap_or(i32::MAX);
    let oid = (ColumnType::nullable(ScalarType::Oid), Datum::Oid(table.id.0));
    vec![
        text("tg_name", ScalarType::Name, &trigger.name),
        text("tg_when", ScalarType::Text, "AFTER"),
        text("tg_level", ScalarType::Text, "ROW"),
        text("tg_op", ScalarType::Text, "INSERT"),
        text("tg_relname", ScalarType::Name, &table.name),
        text("tg_table_name", ScalarType::Name, &table.name),
        text("tg_table_schema", ScalarType::Name, schema),
        ("tg_relid", oid.0, oid.1),
        ("tg_nargs", ColumnType::nullable(ScalarType::Int4), Datum::Int4(count)),
        (
            "tg_argv",
            ColumnType::nullable(ScalarType::Text.array()),
            Datum::Array(Arc::new(Array::new(dimensions, arguments))),
        ),
    ]
}
