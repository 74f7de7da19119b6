//! What a person's own login sees: the rows of GET, table by table, as rows.

use operators::request_profile::RequestProfile;
use operators::traversal::{self, Subject};
use planner::catalog::Person;
use planner::ownership::redaction::Redaction;
use planner::ownership::traversal::Relation;
use repr::hash::HashMap;
use repr::{Datum, MicroDbId, RelationId, RowKey};
use state::SqlError;
use state::interrupt::Watch;
use state::layered_snapshot::LayeredSnapshot;
use std::sync::{Arc, OnceLock};

/// A row that a person may see.
struct OwnRow {
    /// Its physical columns, hidden ones NULL, and its key.
    row: Vec<Datum>,
    /// Whether it is the person's, and nothing of it is hidden.
    may_be_changed: bool,
}

type Tables = HashMap<RelationId, Vec<OwnRow>>;

/// A person's rows over a snapshot, found when the first table is asked for.
pub struct OwnRows {
    person: Person,
    snapshot: LayeredSnapshot,
    watch: Watch,
    found: OnceLock<Result<Tables, SqlError>>,
}

impl OwnRows {
    /// Nothing is looked for yet.
    pub fn new(person: Person, snapshot: LayeredSnapshot, watch: Watch) -> Arc<OwnRows> {
        Arc::new(OwnRows { person, snapshot, watch, found: OnceLock::new() })
    }

    /// The rows of one table; `owned`: those that the person may change.
    pub fn of(&self, relation: RelationId, owned: bool) -> Result<Vec<Vec<Datum>>, SqlError> {
        let tables = self.found.get_or_init(|| self.find()).as_ref().map_err(Clone::clone)?;
        let rows = tables.get(&relation).into_iter().flatten().filter(|row| row.may_be_changed || !owned);
        Ok(rows.map(|row| row.row.clone()).collect())
    }

    fn find(&self) -> Result<Tables, SqlError> {
        let mut tables = Tables::default();
        let Some(subject) = living(&self.snapshot, &self.person)? else { return Ok(tables) };
        let witness = traversal::find(&self.snapshot, &subject, &self.watch, &mut RequestProfile::default())?;
        let mut edges = Vec::new();
        for number in witness.ordered() {
            let reached = witness.row(number);
            let shape = self.snapshot.shape(reached.place.0)?;
            witness.edges(number, &mut edges);
            // Left out by every edge that leads there.
            let Redaction { hidden, leaves_out } = Redaction::of(shape.table(), &edges);
            if leaves_out {
                continue;
            }
            let mut row = shape.unpack(&reached.row);
            hidden.iter().for_each(|column| row[*column] = Datum::Null);
            let may_be_changed = hidden.is_empty() && matches!(reached.relation, Relation::Owner);
            row.push(Datum::Bytea(reached.place.1.bytes().into()));
            tables.entry(reached.place.0).or_default().push(OwnRow { row, may_be_changed });
        }
        Ok(tables)
    }
}

/// The person, if they are there still, and not another who has the same key.
pub fn living(snapshot: &LayeredSnapshot, person: &Person) -> Result<Option<Subject>, SqlError> {
    let row_key = RowKey::new(&person.row_key);
    if snapshot.schema().shape(person.table).is_none() {
        return Ok(None);
    }
    let microdb = snapshot.subject(person.table, &row_key)?;
    if microdb != Some(MicroDbId(person.microdb)) {
        return Ok(None);
    }
    let shape = snapshot.shape(person.table)?.clone();
    Ok(Some(Subject { shape, row_key, microdb: MicroDbId(person.microdb) }))
}

/// Whether it is the person whose row has this key, by the key alone: nothing is looked up, which would take its time.
pub fn is_called(person: &Person, table: RelationId, row_key: &RowKey) -> bool {
    person.table == table && person.row_key == row_key.bytes()
}

/// How the catalog names a subject.
pub fn person(subject: &Subject) -> Person {
    Person { table: subject.shape.id(), row_key: subject.row_key.bytes().to_vec(), microdb: subject.microdb.0 }
}
