//! What is kept of an erasure: so that it can be taken back for a while, or because a row must be kept whatever is asked. And rows that
//! are handed over when their time in a table is over.
//!
//! ```text
//! FORGET … GRACE      ─▶ a case with the rows as they were, under a key of its own ─▶ UNFORGET puts them back
//! FORGET of held rows ─▶ a case for each hold: the rows, for the controller alone  ─▶ DROP HOLD ends it
//! GDPR PURGE          ─▶ a case for those whose rows are handed over ─▶ GDPR DISCARD ends it
//! a case ends         ─▶ its row in dogwood.retained is deleted, as a person's would be: its key is gone
//! ```
//! The erasure itself is whole: nothing of the person is left in any table, view or subscription. What another person had a part in
//! leaves a case of the first kind, or of the last one, when that person is forgotten, too.

use crate::access::row_json;
use crate::disposition::{self, Disposition};
use operators::traversal::Subject;
use planner::catalog::own_tables::{self, RETAINED, RETAINED_PEOPLE, RETAINED_ROWS};
use planner::catalog::{EdgeRef, ForeignKey};
use repr::hash::{HashMap, HashSet};
use repr::{ColumnIndex, Datum, MicroDbId, RelationId, Row, RowKey, key};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::reader::Reader;
use state::shape::TableShape;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use transactions::writer::{RowUpdate, Writer};

/// `dogwood.retained`, by position.
mod case {
    pub(super) const ID: usize = 0;
    pub(super) const GROUND: usize = 1;
    pub(super) const SUBJECT: usize = 3;
    pub(super) const TABLE: usize = 4;
    pub(super) const SINCE: usize = 6;
    pub(super) const UNTIL: usize = 7;
    pub(super) const BASIS: usize = 8;
}

/// `dogwood.retained_rows`, by position.
mod kept {
    pub(super) const TABLE_NAME: usize = 2;
    pub(super) const RELATION: usize = 4;
    pub(super) const ROW_KEY: usize = 5;
    pub(super) const BEFORE: usize = 6;
    pub(super) const AFTER: usize = 7;
    pub(super) const FORM: usize = 8;
}

/// `dogwood.retained_people`, by position.
mod part {
    pub(super) const CASE: usize = 1;
    pub(super) const ROW: usize = 2;
}

const GRACE: &str = "grace";
const HOLD: &str = "hold";
const HAND_OVER: &str = "hand over";

/// A row that an erasure changes, as it was and as it is.
struct Image {
    shape: Arc<TableShape>,
    row_key: RowKey,
    before: Row,
    after: Option<Row>,
}

/// What was put back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restored {
    /// Rows that are there again.
    pub rows: u64,
    /// Rows that say again what they said.
    pub columns: u64,
    /// Rows that somebody else has deleted since.
    pub gone: u64,
}

/// Rows that are kept although they are erased, by the hold that keeps them.
pub type Withheld = BTreeMap<String, u64>;

/// Keeps what the erasure in the transaction's overlay changes, so that it can be taken back until then.
pub fn for_grace(writer: &mut Writer<'_>, subject: &Subject, now: i64, until: i64) -> Result<(), SqlError> {
    let images = images(writer)?;
    let snapshot = writer.transaction.committed_snapshot();
    let case = open(writer, subject, (GRACE, None), (now, Some(until)))?;
    let (mut rows, mut people) = (Vec::with_capacity(images.len()), Vec::new());
    for Image { shape, row_key, before, after } in &images {
        let id = next_id(writer)?;
        if shape.personal {
            for (owner, _) in snapshot.owners_of(shape.id(), row_key)?.as_slice() {
                if *owner != subject.microdb {
                    let person = Datum::text(pseudonym(&snapshot, *owner));
                    people.push(vec![next_id(writer)?, case.clone(), id.clone(), person]);
                }
            }
        }
        rows.push(vec![
            id,
            case.clone(),
            Datum::text(shape.server_name()),
            Datum::Null,
            Datum::Oid(shape.id().0),
            Datum::Bytea(row_key.bytes().into()),
            Datum::Bytea(before.bytes().into()),
            after.as_ref().map_or(Datum::Null, |row| Datum::Bytea(row.bytes().into())),
            Datum::text(form(shape)),
        ]);
    }
    insert(writer, RETAINED_ROWS, &rows)?;
    insert(writer, RETAINED_PEOPLE, &people)
}

/// Keeps the rows that the erasure in the transaction's overlay takes from under holds.
pub fn for_holds(writer: &mut Writer<'_>, subject: &Subject, now: i64) -> Result<Withheld, SqlError> {
    let mut withheld = Withheld::new();
    let mut cases: BTreeMap<String, Datum> = BTreeMap::new();
    let (snapshot, text) = (writer.transaction.committed_snapshot(), writer.context.text_context());
    for Image { shape, before, .. } in images(writer)? {
        if shape.table().holds.is_empty() {
            continue;
        }
        let values = shape.unpack(&before);
        for hold in writer.holds_of(&shape, &values)? {
            let case = match cases.get(&hold) {
                Some(case) => case.clone(),
                None => {
                    let case = open(writer, subject, (HOLD, Some(&hold)), (now, None))?;
                    cases.insert(hold.clone(), case.clone());
                    case
                }
            };
            let mut row = vec![next_id(writer)?, case, Datum::text(shape.server_name())];
            row.push(row_json(&snapshot, shape.id(), &before, &text)?);
            row.resize(kept::FORM + 1, Datum::Null);
            row[kept::RELATION] = Datum::Oid(shape.id().0);
            insert(writer, RETAINED_ROWS, &[row])?;
            *withheld.entry(hold).or_default() += 1;
        }
    }
    Ok(withheld)
}

/// Rows that a purge in the transaction's overlay takes from their tables are kept for controllers: by whose they were, each under a
/// key of its own. How many.
pub fn for_handing_over(writer: &mut Writer<'_>, basis: Option<&str>, now: i64) -> Result<u64, SqlError> {
    let (snapshot, text) = (writer.transaction.committed_snapshot(), writer.context.text_context());
    let mut cases: BTreeMap<Vec<String>, Datum> = BTreeMap::new();
    let (mut rows, mut people) = (Vec::new(), Vec::new());
    for Image { shape, row_key, before, .. } in images(writer)?.into_iter().filter(|image| image.after.is_none()) {
        let mut owners: Vec<String> = Vec::new();
        if shape.personal {
            let found = snapshot.owners_of(shape.id(), &row_key)?;
            owners.extend(found.as_slice().iter().map(|(owner, _)| pseudonym(&snapshot, *owner)));
            owners.sort_unstable();
        }
        let case = match cases.get(&owners) {
            Some(case) => case.clone(),
            None => {
                let case = next_id(writer)?;
                let mut row = vec![Datum::Null; case::BASIS + 1];
                row[case::ID] = case.clone();
                row[case::GROUND] = Datum::text(HAND_OVER);
                // Nobody owns what is of no person.
                row[case::SUBJECT] = Datum::text(owners.first().map_or("", String::as_str));
                row[case::SINCE] = Datum::Timestamptz(now);
                row[case::BASIS] = basis.map_or(Datum::Null, Datum::text);
                insert(writer, RETAINED, &[row])?;
                cases.insert(owners.clone(), case.clone());
                case
            }
        };
        let id = next_id(writer)?;
        for owner in &owners {
            people.push(vec![next_id(writer)?, case.clone(), id.clone(), Datum::text(owner)]);
        }
        let mut row = vec![id, case, Datum::text(shape.server_name())];
        row.push(row_json(&snapshot, shape.id(), &before, &text)?);
        row.resize(kept::FORM + 1, Datum::Null);
        row[kept::RELATION] = Datum::Oid(shape.id().0);
        rows.push(row);
    }
    insert(writer, RETAINED_ROWS, &rows)?;
    insert(writer, RETAINED_PEOPLE, &people)?;
    Ok(rows.len() as u64)
}

/// GDPR DISCARD: what was handed over is kept no longer. 42704 if there is no such case, DG006 if it is one of another kind.
pub fn discard(writer: &mut Writer<'_>, number: i64) -> Result<(), SqlError> {
    let snapshot = writer.transaction.latest_snapshot();
    let cases = snapshot.shape(RETAINED)?.clone();
    let case_key = cases.key_of(snapshot.store(), &[Datum::Int8(number)]);
    drop(snapshot);
    writer.lock_table(RETAINED)?;
    let Some(case) = writer.lock_row(&cases, &case_key, state::locks::LockMode::Exclusive)? else {
        return Err(SqlError::new("42704", format!("nothing is kept as number {number}"))
            .hint("dogwood.retained has the numbers."));
    };
    if case[case::GROUND] != Datum::text(HAND_OVER) {
        return Err(SqlError::new("DG006", format!("what is kept as number {number} was not handed over"))
            .hint("DROP HOLD ends a hold; what may be taken back goes when its time is over."));
    }
    delete_case(writer, &case_key)?;
    writer.finish()
}

/// Of what may be taken back of others' erasures, and of what was handed over, goes what this person had a part in; of these tables
/// alone, where some are named.
pub fn without(writer: &mut Writer<'_>, microdb: MicroDbId, of: &[RelationId]) -> Result<(), SqlError> {
    let snapshot = writer.transaction.latest_snapshot();
    let person = Datum::text(pseudonym(&snapshot, microdb));
    let (people, rows) = (snapshot.shape(RETAINED_PEOPLE)?.clone(), snapshot.shape(RETAINED_ROWS)?.clone());
    let cases = snapshot.shape(RETAINED)?.clone();
    let mut looked: BTreeMap<i64, RowKey> = BTreeMap::new();
    for (row_key, row) in found(&snapshot, &people, 0, &person)? {
        let values = people.unpack(&row);
        let kept_key = rows.key_of(snapshot.store(), &[values[part::ROW].clone()]);
        if !of.is_empty() {
            let Some(kept) = snapshot.get(rows.table(), &kept_key)? else { continue };
            let Datum::Oid(relation) = rows.datum(&kept, kept::RELATION) else { continue };
            if !of.contains(&RelationId(relation)) {
                continue;
            }
        }
        delete(writer, &people, &row_key)?;
        delete(writer, &rows, &kept_key)?;
        if let Datum::Int8(case) = values[part::CASE] {
            looked.insert(case, cases.key_of(snapshot.store(), &[Datum::Int8(case)]));
        }
    }
    drop(snapshot);
    // All rows of what was handed over were of the same people: its key goes, too, once none of them is kept.
    let mut ended = false;
    for (case_id, case_key) in looked {
        let case = writer.lock_row(&cases, &case_key, state::locks::LockMode::Exclusive)?;
        let snapshot = writer.transaction.latest_snapshot();
        let is_empty = of.is_empty() || found(&snapshot, &rows, 0, &Datum::Int8(case_id))?.is_empty();
        if is_empty && case.is_some_and(|case| case[case::GROUND] == Datum::text(HAND_OVER)) {
            delete_case(writer, &case_key)?;
            ended = true;
        }
    }
    if ended { writer.finish() } else { Ok(()) }
}

/// Takes an erasure back: all of it, but for rows that somebody else deleted since, or nothing.
pub fn restore(
    writer: &mut Writer<'_>,
    subjects: &Arc<TableShape>,
    row_key: &RowKey,
    now: i64,
) -> Result<Restored, SqlError> {
    writer.lock_table(subjects.id())?;
    let snapshot = writer.transaction.latest_snapshot();
    let cases = snapshot.shape(RETAINED)?.clone();
    let by_key = Datum::Bytea(row_key.bytes().into());
    let mut of_person = Vec::new();
    for (case_key, row) in found(&snapshot, &cases, 0, &by_key)? {
        let values = cases.unpack(&row);
        let is_open = matches!(values[case::UNTIL], Datum::Timestamptz(until) if until > now);
        if values[case::GROUND] == Datum::text(GRACE) && values[case::TABLE] == Datum::Oid(subjects.id().0) && is_open {
            of_person.push((values[case::SINCE].clone(), case_key, values));
        }
    }
    let latest = of_person.into_iter().max_by_key(|(since, ..)| match since {
        Datum::Timestamptz(since) => *since,
        _ => i64::MIN,
    });
    let Some((_, case_key, case)) = latest else {
        let message = format!("nothing is kept of such a person of table \"{}\"", subjects.full_name());
        let error = SqlError::new("DG003", message).hint("GDPR FORGET … GRACE keeps for its time what UNFORGET needs.");
        let said = "Forgotten without GRACE, or its time is over";
        return Err(crate::with_receipt(error, &snapshot, (subjects, row_key), said)?);
    };
    if snapshot.exists(subjects, row_key)? {
        return Err(SqlError::new("DG006", "there is another person of that key now")
            .hint("What is kept of the first one goes when its time is over."));
    }
    let rows = snapshot.shape(RETAINED_ROWS)?.clone();
    let mut images = Vec::new();
    for (_, row) in found(&snapshot, &rows, 0, &case[case::ID])? {
        images.push(image(&snapshot, &rows.unpack(&row))?);
    }
    drop(snapshot);
    writer.bring_back();
    let restored = put_back(writer, images)?;
    delete_case(writer, &case_key)?;
    writer.finish()?;
    Ok(restored)
}

/// Ends cases: of a hold, or those whose time is over. How many.
pub fn end(writer: &mut Writer<'_>, hold: Option<&str>, now: i64) -> Result<usize, SqlError> {
    let snapshot = writer.transaction.latest_snapshot();
    let cases = snapshot.shape(RETAINED)?.clone();
    let ended: Vec<RowKey> = match hold {
        Some(hold) => of_ended_hold(&snapshot, &cases, hold)?,
        None => ended(&snapshot, now)?.collect::<Result<_, _>>()?,
    };
    drop(snapshot);
    for case_key in &ended {
        delete_case(writer, case_key)?;
    }
    writer.finish()?;
    Ok(ended.len())
}

/// The cases of a hold that no table has any more that they keep rows of: another database may have one of the same name.
fn of_ended_hold(snapshot: &LayeredSnapshot, cases: &TableShape, hold: &str) -> Result<Vec<RowKey>, SqlError> {
    let (catalog, rows) = (snapshot.schema().catalog(), snapshot.shape(RETAINED_ROWS)?.clone());
    let stands = |relation: Datum| match relation {
        Datum::Oid(id) => {
            catalog.table(RelationId(id)).is_some_and(|table| table.holds.iter().any(|found| found.name == hold))
        }
        _ => false,
    };
    let mut ended = Vec::new();
    for (case_key, row) in found(snapshot, cases, 1, &Datum::text(hold))? {
        let kept = found(snapshot, &rows, 0, &cases.datum(&row, case::ID))?;
        if !kept.iter().any(|(_, row)| stands(rows.datum(row, kept::RELATION))) {
            ended.push(case_key);
        }
    }
    Ok(ended)
}

/// Whether anything is kept of anybody, or would be.
pub fn is_in_use(snapshot: &LayeredSnapshot) -> Result<bool, SqlError> {
    let holds = snapshot.schema().catalog().relations.values().any(|table| !table.holds.is_empty());
    Ok(holds || snapshot.scan(snapshot.shape(RETAINED)?.table())?.next().transpose()?.is_some())
}

/// Whether the time of a case is over.
pub fn has_ended(snapshot: &LayeredSnapshot, now: i64) -> Result<bool, SqlError> {
    Ok(ended(snapshot, now)?.next().transpose()?.is_some())
}

/// The cases whose time is over.
fn ended(snapshot: &LayeredSnapshot, now: i64) -> Result<impl Iterator<Item = Result<RowKey, SqlError>>, SqlError> {
    let cases = snapshot.shape(RETAINED)?.clone();
    let rows = snapshot.scan(cases.table())?;
    Ok(rows.filter_map(move |item| match item {
        Ok((row_key, row)) => {
            let is_over = matches!(cases.datum(&row, case::UNTIL), Datum::Timestamptz(until) if until <= now);
            is_over.then_some(Ok(row_key))
        }
        Err(error) => Some(Err(error)),
    }))
}

/// The rows that stood before the erasure, and that it changed.
fn images(writer: &mut Writer<'_>) -> Result<Vec<Image>, SqlError> {
    let snapshot = writer.transaction.committed_snapshot();
    let mut images = Vec::new();
    for (relation, changes) in writer.transaction.overlay().tables().filter(|(id, _)| !own_tables::is_own(id.0)) {
        let shape = snapshot.shape(relation)?;
        changes.each(|row_key, change| {
            if let Some(before) = change.before.as_ref().filter(|before| change.after.as_ref() != Some(before)) {
                let (before, after) = (before.clone(), change.after.clone());
                images.push(Image { shape: shape.clone(), row_key: row_key.clone(), before, after });
            }
            Ok(())
        })?;
    }
    Ok(images)
}

/// Opens a case; gives its number.
fn open(
    writer: &mut Writer<'_>,
    subject: &Subject,
    (ground, hold): (&str, Option<&str>),
    (now, until): (i64, Option<i64>),
) -> Result<Datum, SqlError> {
    let id = next_id(writer)?;
    let of_person = pseudonym(&writer.transaction.committed_snapshot(), subject.microdb);
    let row = vec![
        id.clone(),
        Datum::text(ground),
        hold.map_or(Datum::Null, Datum::text),
        Datum::text(of_person),
        Datum::Oid(subject.shape.id().0),
        Datum::Bytea(subject.row_key.bytes().into()),
        Datum::Timestamptz(now),
        until.map_or(Datum::Null, Datum::Timestamptz),
        Datum::Null,
    ];
    insert(writer, RETAINED, &[row])?;
    Ok(id)
}

/// How people are called in the audit log and in reports.
pub fn pseudonym(snapshot: &LayeredSnapshot, microdb: MicroDbId) -> String {
    snapshot.store().pseudonym(microdb).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn next_id(writer: &mut Writer<'_>) -> Result<Datum, SqlError> {
    let id = writer.transaction.database().sequences.next_row_id()?;
    Ok(Datum::Int8(i64::try_from(id).unwrap_or(i64::MAX)))
}

fn insert(writer: &mut Writer<'_>, relation: RelationId, rows: &[Vec<Datum>]) -> Result<(), SqlError> {
    if rows.is_empty() {
        return Ok(());
    }
    writer.lock_table(relation)?;
    let shape = writer.shape(relation)?;
    writer.insert_rows(&shape, rows)?;
    Ok(())
}

/// Rows of one of the server's own tables, by the index of that number behind the key's.
fn found(
    snapshot: &LayeredSnapshot,
    shape: &TableShape,
    number: usize,
    value: &Datum,
) -> Result<Vec<(RowKey, Row)>, SqlError> {
    let table = shape.table();
    snapshot.index(table, &table.indexes[1 + number], std::slice::from_ref(value))
}

fn delete(writer: &mut Writer<'_>, shape: &Arc<TableShape>, row_key: &RowKey) -> Result<(), SqlError> {
    writer.lock_table(shape.id())?;
    match writer.lock_row(shape, row_key, state::locks::LockMode::Exclusive)? {
        Some(row) => writer.delete_row(shape, row_key, &row),
        None => Ok(()),
    }
}

/// A case goes with its rows, and its key with it.
fn delete_case(writer: &mut Writer<'_>, case_key: &RowKey) -> Result<(), SqlError> {
    let shape = writer.shape(RETAINED)?;
    delete(writer, &shape, case_key)
}

/// What columns a row was stored with.
fn form(shape: &TableShape) -> String {
    let columns = shape.table().columns.iter().map(|column| format!("{:?}", column.column_type.scalar));
    columns.collect::<Vec<_>>().join(" ")
}

/// A kept row as the table has its rows now. DG006 if the table is gone, or its columns are of other types.
fn image(snapshot: &LayeredSnapshot, values: &[Datum]) -> Result<Image, SqlError> {
    let damaged = || SqlError::new("XX001", "what is kept of an erasure cannot be read");
    let Datum::Oid(relation) = values[kept::RELATION] else { return Err(damaged()) };
    let Datum::Text(name) = &values[kept::TABLE_NAME] else { return Err(damaged()) };
    let changed =
        || SqlError::new("DG006", format!("table \"{name}\" is not what it was when the person was forgotten"));
    let Some(shape) = snapshot.schema().shape(RelationId(relation)) else { return Err(changed()) };
    let Datum::Text(was) = &values[kept::FORM] else { return Err(damaged()) };
    if !form(shape).starts_with(&**was) {
        return Err(changed().hint("A column has another type now."));
    }
    let row = |datum: &Datum| match datum {
        Datum::Bytea(bytes) => Row::validate(bytes.to_vec().into()).map(Some).map_err(|_| damaged()),
        _ => Ok(None),
    };
    let Datum::Bytea(row_key) = &values[kept::ROW_KEY] else { return Err(damaged()) };
    Ok(Image {
        shape: shape.clone(),
        row_key: RowKey::new(row_key),
        before: row(&values[kept::BEFORE])?.ok_or_else(damaged)?,
        after: row(&values[kept::AFTER])?,
    })
}

fn put_back(writer: &mut Writer<'_>, images: Vec<Image>) -> Result<Restored, SqlError> {
    let mut restored = Restored::default();
    let (gone, changed): (Vec<Image>, Vec<Image>) = images.into_iter().partition(|image| image.after.is_none());
    let tables: BTreeSet<RelationId> = gone.iter().chain(&changed).map(|image| image.shape.id()).collect();
    for relation in tables {
        writer.lock_table(relation)?;
    }
    let mut gone: Vec<(Arc<TableShape>, Vec<Datum>)> =
        gone.into_iter().map(|image| (image.shape.clone(), image.shape.unpack(&image.before))).collect();
    while untie(writer, &mut gone)? {}
    let there = keys_of(&gone);
    for (shape, before) in gone {
        let mut row = before.clone();
        let checks = writer.row_checks(&shape)?;
        writer.complete(&shape, &checks, &mut row, Some(&before))?;
        writer.insert_rows(&shape, &[row])?;
        restored.rows += 1;
    }
    for Image { shape, row_key, before, after } in changed {
        let Some(now) = writer.lock_row(&shape, &row_key, state::locks::LockMode::Exclusive)? else {
            restored.gone += 1;
            continue;
        };
        let (before, after) = (shape.unpack(&before), after.map(|row| shape.unpack(&row)).unwrap_or_default());
        let mut row = now.clone();
        for (position, (was, left)) in before.iter().zip(&after).enumerate() {
            if was == left {
                continue;
            }
            if now[position] != *left {
                let column = &shape.table().columns[position].name;
                let message =
                    format!("column \"{column}\" of a row of table \"{}\" has another value now", shape.full_name());
                return Err(SqlError::new("DG006", message)
                    .hint("It was blanked when the person was forgotten, and written since."));
            }
            row[position] = was.clone();
        }
        for key in &shape.table().foreign_keys {
            if key.columns.iter().any(|column| row[*column] != now[*column]) && !leads(writer, &there, key, &row)? {
                key.columns.iter().for_each(|column| row[*column] = now[*column].clone());
            }
        }
        let checks = writer.row_checks(&shape)?;
        writer.complete(&shape, &checks, &mut row, Some(&now))?;
        writer.update_rows(&shape, &[RowUpdate { row_key, before: now, after: row }])?;
        restored.columns += 1;
    }
    Ok(restored)
}

/// Values of keys that are put back, by table and columns.
type Keys = HashMap<(RelationId, Vec<ColumnIndex>), HashSet<Vec<u8>>>;

fn keys_of(rows: &[(Arc<TableShape>, Vec<Datum>)]) -> Keys {
    let mut keys = Keys::default();
    for (shape, row) in rows {
        for index in shape.table().indexes.iter().filter(|index| index.unique) {
            if let Some(values) = shape.values(&index.columns, row) {
                keys.entry((shape.id(), index.columns.clone())).or_default().insert(key::encode_all(&values));
            }
        }
    }
    keys
}

/// Whether what a row names by a foreign key is there, or is put back.
fn leads(writer: &mut Writer<'_>, there: &Keys, foreign_key: &ForeignKey, row: &[Datum]) -> Result<bool, SqlError> {
    let values: Vec<Datum> = foreign_key.columns.iter().map(|column| row[*column].clone()).collect();
    if values.contains(&Datum::Null) {
        return Ok(true);
    }
    let (value, snapshot) = (key::encode_all(&values), writer.transaction.latest_snapshot());
    let target = snapshot.shape(foreign_key.target)?;
    let Some(index) = target.unique_index(&foreign_key.target_columns) else { return Ok(false) };
    let is_put_back = |columns: &Vec<ColumnIndex>| {
        there.get(&(foreign_key.target, columns.clone())).is_some_and(|keys| keys.contains(&value))
    };
    Ok(is_put_back(&foreign_key.target_columns) || !snapshot.keys_by_value(target, index.id, &value)?.is_empty())
}

/// What a row named may have been erased since: what that erasure would have done to the row is done to it. Whether anything was.
fn untie(writer: &mut Writer<'_>, rows: &mut Vec<(Arc<TableShape>, Vec<Datum>)>) -> Result<bool, SqlError> {
    let there = keys_of(rows);
    let (mut untied, mut kept) = (false, Vec::with_capacity(rows.len()));
    for (shape, mut row) in std::mem::take(rows) {
        let mut stays = true;
        for foreign_key in &shape.table().foreign_keys {
            if leads(writer, &there, foreign_key, &row)? {
                continue;
            }
            untied = true;
            let edges = shape.owner_edges.iter().chain(&shape.access_edges);
            let reference = EdgeRef { table: shape.id(), foreign_key: foreign_key.constraint.id };
            let mut own = edges.filter(|edge| edge.reference == reference && edge.along_foreign_key());
            let falls = match own.next() {
                Some(edge) => disposition::at_edge(&shape, edge),
                None => disposition::at_foreign_key(&shape, foreign_key),
            };
            let falls = match falls {
                Disposition::Default(_) => disposition::unnamed(&shape, &foreign_key.columns),
                falls => falls,
            };
            match falls {
                Disposition::Blank(columns) => columns.iter().for_each(|column| row[*column] = Datum::Null),
                Disposition::Erase | Disposition::Default(_) => stays = false,
            }
        }
        if stays {
            kept.push((shape, row));
        }
    }
    *rows = kept;
    Ok(untied)
}
