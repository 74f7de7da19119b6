//! `dogwood.audit` and its functions: entries of the audit log as rows, for whoever may see them.
//!
//! Controllers and regulators see all; a person's own login what may be about that person, and nothing of others. The same is what
//! GET and EXPORT tell WITH AUDIT.

use crate::system::breach;
use operators::once::{FoundRows, WantedColumns};
use planner::catalog::{Actor, Catalog, RoleId};
use planner::scalar::AuditQuestion;
use repr::datetime::Zone;
use repr::{Array, Datum, Jsonb, MicroDbId, RelationId, Row};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use storage::audit::{EntryRange, LoggedEntries, LoggedEntry, Mentioned, Pseudonym};
use storage::hexadecimal;
use storage::{Snapshot, StorageError};
use subject_requests::own;
use transactions::commit::statement_key;
use transactions::database::Database;
use transactions::receipt::id_of_text;

/// See the module.
pub struct AuditReader {
    database: Arc<Database>,
    catalog: Arc<Catalog>,
    snapshot: Snapshot,
    actor: Actor,
    /// Whose own login asks.
    person: Option<Pseudonym>,
}

/// Purposes by what the log calls them. One that is gone is called by its number.
struct PurposeNames(HashMap<u32, String>);

impl PurposeNames {
    fn of(catalog: &Catalog) -> PurposeNames {
        PurposeNames(catalog.rights.purposes.iter().map(|(name, purpose)| (purpose.id, name.clone())).collect())
    }

    fn name(&self, id: u32) -> Cow<'_, str> {
        self.0.get(&id).map_or_else(|| id.to_string().into(), |name| name.as_str().into())
    }
}

/// Whose own login a role is.
pub(super) fn person(database: &Database, catalog: &Catalog, role: RoleId) -> Option<Pseudonym> {
    catalog.person_of(role).map(|person| database.store.pseudonym(MicroDbId(person.microdb)))
}

impl AuditReader {
    /// Of all that was done until now. 42501 for who may not see it.
    pub fn new(database: &Arc<Database>, catalog: &Arc<Catalog>, actor: &Actor) -> Result<AuditReader, SqlError> {
        let role = actor.role;
        let person = person(database, catalog, role);
        if !catalog.reads_audit(role) {
            return Err(SqlError::new("42501", "permission denied for table audit"));
        }
        database.record_to_read()?;
        let snapshot = database.store.snapshot();
        Ok(AuditReader { database: database.clone(), catalog: catalog.clone(), snapshot, actor: actor.clone(), person })
    }

    /// The entries of a range, as far as they are looked at.
    pub fn rows(self, range: &EntryRange, columns: WantedColumns) -> Result<FoundRows, SqlError> {
        let entries = self.snapshot.audit(range)?;
        Ok(self.shown(entries, columns))
    }

    /// The entries that answer a question.
    pub fn answer(self, question: &AuditQuestion) -> Result<FoundRows, SqlError> {
        let between = |from: i64, to: i64| EntryRange { times: from..=to, ..EntryRange::ALL };
        let (mentioned, range) = match question {
            AuditQuestion::Breach { from, to, .. } if from > to => {
                // Nobody is to take no answer for an answer.
                return Err(SqlError::new("22023", "the time of a breach ends before it begins")
                    .hint("GDPR BREACH BETWEEN 'from' AND 'to'"));
            }
            AuditQuestion::Breach { role, from, to, people } => {
                return self.touched(role.as_deref(), between(*from, *to), *people);
            }
            AuditQuestion::Between(from, to) => return self.rows(&between(*from, *to), WantedColumns::All),
            AuditQuestion::Role(name, from, to) => (vec![self.role(name)?], between(*from, *to)),
            AuditQuestion::Table(table, from, to) => (vec![Mentioned::Table(*table)], between(*from, *to)),
            AuditQuestion::Pseudonym(text) => {
                let unread = || SqlError::new("22023", format!("\"{text}\" is no one's name in the audit log"));
                let asked = id_of_text(text.as_bytes()).ok_or_else(unread)?;
                if self.is_kept_from(asked) {
                    return Ok(Box::new(std::iter::empty()));
                }
                (self.about(asked)?, EntryRange::ALL)
            }
            AuditQuestion::Person(table, key) => (self.about(self.person(*table, key)?)?, EntryRange::ALL),
        };
        let entries = self.snapshot.audit_of(&mentioned, &range)?;
        Ok(self.shown(entries, WantedColumns::All))
    }

    fn role(&self, name: &str) -> Result<Mentioned, SqlError> {
        let unknown = || SqlError::new("42704", format!("role \"{name}\" does not exist"));
        Ok(Mentioned::Role(self.actor.find(&self.catalog, name).ok_or_else(unknown)?.0))
    }

    /// Whether it is somebody else than whose own login asks: to that nobody else is there.
    fn is_kept_from(&self, asked: Pseudonym) -> bool {
        self.person.is_some_and(|person| person != asked)
    }

    /// Whose data was touched.
    fn touched(self, role: Option<&str>, range: EntryRange, people: bool) -> Result<FoundRows, SqlError> {
        let entries = match role {
            Some(role) => self.snapshot.audit_of(&[self.role(role)?], &range)?,
            None => self.snapshot.audit(&range)?,
        };
        let entries = seen(entries, self.person, self.others());
        let ask = if people { breach::by_person } else { breach::by_table };
        ask(Box::new(entries.map(|seen| seen.map(|seen| seen.entry).map_err(SqlError::from))), &self.catalog)
    }

    /// Who did what with a person's data, as GET and EXPORT tell it: a JSON object an entry, from the first to the last.
    pub fn about_subject(
        database: &Arc<Database>,
        catalog: &Arc<Catalog>,
        microdb: MicroDbId,
    ) -> Result<impl Iterator<Item = Result<Jsonb, SqlError>> + Send + use<>, SqlError> {
        database.record_to_read()?;
        let (snapshot, person) = (database.store.snapshot(), database.store.pseudonym(microdb));
        let (database, actor) = (database.clone(), Actor::default());
        let reader = AuditReader { database, catalog: catalog.clone(), snapshot, actor, person: Some(person) };
        let entries = reader.snapshot.audit_of(&reader.about(person)?, &EntryRange::ALL)?;
        let (catalog, purposes) = (catalog.clone(), PurposeNames::of(catalog));
        Ok(entries.filter_map(move |entry| match entry {
            Ok(entry) => of_person(entry, person).map(|entry| Ok(told(&entry, microdb, &catalog, &purposes))),
            Err(error) => Some(Err(error.into())),
        }))
    }

    /// A person, and whatever does not list all whose data it was.
    fn about(&self, person: Pseudonym) -> Result<Vec<Mentioned>, SqlError> {
        let tables = self.snapshot.unlisted_tables()?.into_iter().map(Mentioned::Unlisted);
        Ok(std::iter::once(Mentioned::Person(person)).chain(tables).collect())
    }

    /// How a data subject appears in the log.
    fn person(&self, table: RelationId, key: &str) -> Result<Pseudonym, SqlError> {
        let base = self.database.published.load_full();
        let snapshot = LayeredSnapshot::new(self.database.store.clone(), base);
        let shape = snapshot.shape(table)?;
        let columns = shape.table().primary_key_columns().filter(|_| shape.table().data_subject);
        let Some([column]) = columns else {
            return Err(SqlError::new("42809", "its people are not found by one column")
                .hint("audit_about(TEXT) takes a person's keyed hash, as the log has it"));
        };
        let scalar = &shape.table().columns[*column].column_type.scalar;
        let key = repr::text::parse(scalar, -1, key, &repr::text::TextContext::default())?;
        let row_key = shape.key_of(snapshot.store(), &[key]);
        let asking = self.catalog.person_of(self.actor.role);
        if asking.is_some_and(|asking| !own::is_called(asking, table, &row_key)) {
            // As if nobody else were there.
            return Err(subject_requests::absent(shape));
        }
        let found = snapshot.subject(table, &row_key)?.map(|found| self.database.store.pseudonym(found));
        found.filter(|found| !self.is_kept_from(*found)).ok_or_else(|| subject_requests::absent(shape))
    }

    /// The logins of other people, whom a person's own is not told of.
    fn others(&self) -> HashSet<u32> {
        if self.person.is_none() {
            return HashSet::new();
        }
        let persons = self.catalog.roles.keys().filter(|role| !self.actor.knows(&self.catalog, **role));
        persons.map(|role| role.0).collect()
    }

    fn shown(self, entries: LoggedEntries, columns: WantedColumns) -> FoundRows {
        let others = self.others();
        let AuditReader { catalog, snapshot, person, .. } = self;
        let mut statements = StatementTexts { snapshot, texts: HashMap::new() };
        let purposes = PurposeNames::of(&catalog);
        Box::new(seen(entries, person, others).map(move |seen| {
            let seen = seen?;
            let reads_text = columns.has(column::STATEMENT);
            let text = if reads_text { statements.text(&seen.entry.statement)? } else { Datum::Null };
            Ok(row(&seen, text, (&catalog, &purposes), &columns))
        }))
    }
}

/// An entry as it is told.
struct ToldEntry {
    entry: LoggedEntry,
    /// How many rows there were, if they were nobody else's.
    rows: Option<u64>,
}

/// What of them is told, to a person or to who may see all. Of what other people's logins did the person is told no name, nor whence.
fn seen(
    entries: LoggedEntries,
    person: Option<Pseudonym>,
    others: HashSet<u32>,
) -> impl Iterator<Item = Result<ToldEntry, StorageError>> + Send {
    let unnamed = move |mut entry: LoggedEntry| {
        if others.contains(&entry.actor.role) || others.contains(&entry.actor.login) {
            let actor = Arc::make_mut(&mut entry.actor);
            (actor.role, actor.login, actor.address) = (0, 0, None);
        }
        entry
    };
    entries.filter_map(move |entry| match (entry, person) {
        (Ok(entry), Some(person)) => {
            let is_alone = entry.subjects_total == 1 && !entry.scope.may_be_more;
            let of_person = of_person(entry, person)?;
            let rows = is_alone.then_some(of_person.rows);
            Some(Ok(ToldEntry { entry: unnamed(of_person), rows }))
        }
        (entry, _) => Some(entry.map(|entry| ToldEntry { rows: Some(entry.rows), entry })),
    })
}

/// What an entry says to a person, if it may be about them: nothing of others.
fn of_person(mut entry: LoggedEntry, person: Pseudonym) -> Option<LoggedEntry> {
    entry.subjects.retain(|subject| *subject == person);
    if entry.subjects.is_empty() && !entry.scope.may_be_more {
        return None;
    }
    entry.subjects_total = entry.subjects.len() as u64;
    Some(entry)
}

/// Texts of statements, each read once.
struct StatementTexts {
    snapshot: Snapshot,
    texts: HashMap<[u8; 8], Datum>,
}

impl StatementTexts {
    fn text(&mut self, name: &[u8; 8]) -> Result<Datum, SqlError> {
        if let Some(text) = self.texts.get(name) {
            return Ok(text.clone());
        }
        let stored = self.snapshot.meta(&statement_key(name))?;
        let text = stored.map(|text| Datum::Text(String::from_utf8_lossy(&text).into_owned().into()));
        let text = text.unwrap_or(Datum::Null);
        self.texts.insert(*name, text.clone());
        Ok(text)
    }
}

/// What a person is told of an entry: when, what, for which purpose, by which role; of somebody else's own login no name.
fn told(entry: &LoggedEntry, microdb: MicroDbId, catalog: &Catalog, purposes: &PurposeNames) -> Jsonb {
    let role = RoleId(entry.actor.role);
    let role = match catalog.person_of(role) {
        Some(person) if person.microdb != microdb.0 => Jsonb::string("another person"),
        _ if role.0 == 0 => Jsonb::Null,
        _ => catalog.role_name(role).map_or_else(|| Jsonb::string(role.0.to_string()), Jsonb::string),
    };
    let at = repr::datetime::format_timestamptz(entry.time_us, &Zone::utc());
    let purpose = entry.actor.purpose.map_or(Jsonb::Null, |id| Jsonb::string(purposes.name(id)));
    let tables = entry.tables.iter().map(|table| Jsonb::string(table_name(catalog, *table)));
    let pairs = [
        ("recorded_at", Jsonb::string(at)),
        ("operation", Jsonb::string(entry.operation.name().to_lowercase())),
        ("role", role),
        ("purpose", purpose),
        ("tables", Jsonb::array(tables.collect())),
        ("may_be_more", Jsonb::Bool(entry.scope.may_be_more)),
    ];
    Jsonb::object(pairs.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
}

/// What is gone is named by its number.
pub(super) fn table_name(catalog: &Catalog, id: RelationId) -> String {
    catalog.table(id).map_or_else(|| id.to_string(), |table| catalog.server_name(table).into_owned())
}

/// None of whoever is no role. What is gone is named by its number.
pub(super) fn role_name(catalog: &Catalog, id: u32) -> Option<String> {
    let name = |id: u32| catalog.role_name(RoleId(id)).map_or_else(|| id.to_string(), Cow::into_owned);
    (id != 0).then(|| name(id))
}

/// Columns of `dogwood.audit` that are not made unless they are looked at: texts, and lists of them.
mod column {
    pub(super) const OPERATION: usize = 2;
    pub(super) const TABLES: usize = 3;
    pub(super) const SUBJECTS: usize = 4;
    pub(super) const LOGIN: usize = 7;
    pub(super) const ROLE: usize = 8;
    pub(super) const ADDRESS: usize = 9;
    pub(super) const STATEMENT: usize = 11;
    pub(super) const KEY: usize = 12;
    pub(super) const PURPOSE: usize = 15;
}

fn row(
    seen: &ToldEntry,
    statement: Datum,
    (catalog, purposes): (&Catalog, &PurposeNames),
    columns: &WantedColumns,
) -> Row {
    let ToldEntry { entry, rows } = seen;
    let count = |count: u64| Datum::Int8(i64::try_from(count).unwrap_or(i64::MAX));
    let text = |text: String| Datum::Text(text.into());
    let texts = |all: Vec<String>| Datum::Array(Arc::new(Array::vector(all.into_iter().map(text).collect())));
    let table = |id: &RelationId| table_name(catalog, *id);
    let role = |id: u32| role_name(catalog, id).map_or(Datum::Null, text);
    let purpose = |id: u32| text(purposes.name(id).into_owned());
    let actor = &entry.actor;
    let of = |column: usize, make: &dyn Fn() -> Datum| if columns.has(column) { make() } else { Datum::Null };
    Row::pack(&[
        count(entry.number),
        Datum::Timestamptz(entry.time_us),
        of(column::OPERATION, &|| text(entry.operation.name().to_lowercase())),
        of(column::TABLES, &|| texts(entry.tables.iter().map(table).collect())),
        of(column::SUBJECTS, &|| texts(entry.subjects.iter().map(|subject| hexadecimal(subject)).collect())),
        count(entry.subjects_total),
        rows.map_or(Datum::Null, count),
        of(column::LOGIN, &|| role(actor.login)),
        of(column::ROLE, &|| role(actor.role)),
        of(column::ADDRESS, &|| actor.address.map_or(Datum::Null, |address| text(address.to_string()))),
        count(entry.commit.0),
        statement,
        of(column::KEY, &|| entry.key.map_or(Datum::Null, |key| text(hexadecimal(&key)))),
        Datum::Bool(entry.scope.may_be_more),
        Datum::Bool(entry.scope.undone),
        of(column::PURPOSE, &|| actor.purpose.map_or(Datum::Null, purpose)),
    ])
}
