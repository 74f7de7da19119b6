//! The rows of COPY FROM STDIN on their way into the table.
//!
//! `wire` decodes the client's data into rows; here they become full rows of the table, and those that meet COPY's condition go through the same
//! write path as INSERT, a thousand at a time. Never ends the transaction.

use crate::session::Session;
use crate::session::copy::CopyIn;
use repr::{Datum, poll};
use state::SqlError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use transactions::writer::{Writer, dml};

/// Rows are written in chunks of this many: enough to spread a chunk's costs, few enough to hold.
const CHUNK_ROWS: usize = 1_000;

impl Session {
    /// One row of a COPY, parsed.
    pub fn copy_row(&mut self, copy: &mut CopyIn, row: Vec<Datum>) -> Result<(), SqlError> {
        let context = copy.context.get_or_insert_with(|| self.eval_context(Arc::from([]), &self.catalog()));
        let plan = &copy.plan;
        let mut complete = if is_whole(&plan.positions, plan.width) {
            row
        } else {
            let mut complete = vec![Datum::Null; plan.width];
            for (position, value) in plan.positions.iter().zip(row) {
                complete[*position] = value;
            }
            complete
        };
        for (position, test) in &plan.tests {
            test.eval(std::slice::from_ref(&complete[*position]), context)?;
        }
        for (column, default) in &plan.absent.defaults {
            // A default sees no columns.
            complete[*column] = default.eval(&[], context)?;
        }
        if let Some((column, end)) = &plan.absent.expiry
            && complete[*column].is_null()
        {
            complete[*column] = end.eval(&[], context)?;
        }
        if let Some(condition) = &plan.condition
            && !condition.holds(&complete, context)?
        {
            copy.under_way.progress().excluded.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        copy.rows.push(complete);
        if copy.rows.len() >= CHUNK_ROWS { self.write_copied(copy) } else { Ok(()) }
    }

    /// Writes the rows that are in.
    pub fn write_so_far(&mut self, copy: &mut CopyIn) -> Result<(), SqlError> {
        let _overseen = self.oversee();
        poll::unwinds_to(|| self.write_copied(copy))
    }

    /// All rows are in: writes what is left and gives the tag ("COPY 100").
    pub fn finish_copy(&mut self, copy: &mut CopyIn) -> Result<String, SqlError> {
        self.write_so_far(copy)?;
        let inserted = std::mem::take(&mut copy.inserted);
        if !inserted.is_empty() {
            let _overseen = self.oversee();
            poll::unwinds_to(|| self.call_triggers(inserted))?;
        }
        self.audit_copied(copy.plan.insert.table, copy.copied as u64)?;
        Ok(format!("COPY {}", copy.copied))
    }

    /// Writes the buffered rows.
    fn write_copied(&mut self, copy: &mut CopyIn) -> Result<(), SqlError> {
        let rows = std::mem::take(&mut copy.rows);
        let Some(context) = copy.context.take().filter(|_| !rows.is_empty()) else { return Ok(()) };
        let patience = self.patience();
        let mut writer = Writer::new(self.transaction(), context, patience).begun_at(copy.since);
        let written = dml::insert_rows(&mut writer, &copy.plan.insert, rows)?;
        writer.finish()?;
        writer.pass_inserted()?;
        let inserted = writer.take_inserted();
        copy.inserted.add(&self.database.store, inserted)?;
        copy.copied += written.rows;
        copy.under_way.progress().add(written.rows as u64, 0);
        Ok(())
    }
}

/// Whether the columns that come are all of a table's, in its order.
fn is_whole(positions: &[usize], width: usize) -> bool {
    positions.len() == width && positions.iter().enumerate().all(|(place, position)| place == *position)
}
