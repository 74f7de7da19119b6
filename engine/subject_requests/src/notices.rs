//! `dogwood.notices`: that a recipient was told. The notices themselves are written with what they are about, by `transactions`.

use planner::catalog::own_tables::NOTICES;
use repr::Datum;
use state::SqlError;
use state::locks::LockMode;
use transactions::writer::{RowUpdate, Writer};

const TOLD_AT: usize = 7;
const TOLD_BY: usize = 8;
const TOLD_HOW: usize = 9;

/// GDPR NOTIFIED: 42704 if there is no such notice, DG006 if its recipient was told already.
pub fn told(writer: &mut Writer<'_>, number: i64, (now, by): (i64, &str), how: Option<&str>) -> Result<(), SqlError> {
    writer.lock_table(NOTICES)?;
    let shape = writer.shape(NOTICES)?;
    let row_key = shape.key_of(&writer.transaction.database().store, &[Datum::Int8(number)]);
    let Some(before) = writer.lock_row(&shape, &row_key, LockMode::Exclusive)? else {
        return Err(SqlError::new("42704", format!("there is no notice {number}")).hint("dogwood.notices lists them."));
    };
    if before[TOLD_AT] != Datum::Null {
        return Err(SqlError::new("DG006", format!("the recipient of notice {number} was told already")));
    }
    let mut after = before.clone();
    after[TOLD_AT] = Datum::Timestamptz(now);
    after[TOLD_BY] = Datum::text(by);
    after[TOLD_HOW] = how.map_or(Datum::Null, Datum::text);
    writer.update_rows(&shape, &[RowUpdate { row_key, before, after }])
}
