//! A record of a commit group: its entries, with what several of them share written once.
//!
//! ```text
//! record = 2 ‖ hash of the record before(32) ‖ pointers ‖ hash(32) each ‖ body
//! body   = first entry's number ‖ earliest time ‖ first commit
//!        ‖ actors, each: login ‖ role ‖ purpose or 0 ‖ length of address ‖ address
//!        ‖ statements, each(8) ‖ lists of tables, each: tables ‖ id each ‖ people, each(16)
//!        ‖ entries, each: operation(1) ‖ flags(1) ‖ time ‖ commit ‖ actor ‖ statement ‖ list of tables ‖ rows
//!          ‖ [key(8)] ‖ [people in all] ‖ listed ‖ person each ‖ [commitment(32)] ‖ [payload] ‖ [log(32) ‖ record ‖ hash(32)]
//! ```
//! Numbers are varints; actors, statements, lists and people of an entry are places in what the record shares. The pointer of
//! place k is the hash of the record 2^k before, for who proves one record without all.
//!
//! ```text
//! record = 3 ‖ hash of the record before(32) ‖ pointers ‖ hash(32) each ‖ hash of the body(32) ‖ first entry's number ‖ earliest time
//! ```
//! is what is left of one whose entries were dropped: its own hash is of the body's, so the chain goes on over it.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use repr::hash::RandomState;
use repr::{CommitTime, RelationId};

use crate::audit::Pseudonym;
use crate::audit::logged::{BodyReader, LogReference, LoggedEntry, SealedPayload, write_signed};
use crate::audit::mentioned::Mentioned;
use crate::audit::operation::{AuditActor, AuditOperation, AuditScope};
use crate::crypto::sodium;
use crate::keyspace::varint;

pub(crate) const FORM_OF_GROUP: u8 = 2;
pub(crate) const FORM_OF_EMPTIED: u8 = 3;
/// More are records of their own.
pub(crate) const ENTRIES_MAX: usize = 4096;

const HAS_KEY: u8 = 1;
const HAS_COMMITMENT: u8 = 2;
const HAS_PAYLOAD: u8 = 4;
const HAS_TOTAL: u8 = 8;
const MAY_BE_MORE: u8 = 16;
const UNDONE: u8 = 32;
const HAS_REFERENCE: u8 = 64;
const FLAGS: u8 = HAS_KEY | HAS_COMMITMENT | HAS_PAYLOAD | HAS_TOTAL | MAY_BE_MORE | UNDONE | HAS_REFERENCE;
const POINTERS_MAX: u64 = 64;

/// What a record of a group is chained by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// The hash of the record before.
    pub(crate) previous: [u8; 32],
    /// Of those 2, 4, 8 … before.
    pub(crate) pointers: Vec<[u8; 32]>,
}

impl Links {
    /// The hash of the record of this number with a body of this hash.
    pub(crate) fn hash(&self, sequence: u64, body: &[u8; 32]) -> [u8; 32] {
        let pointers = self.pointers.as_flattened();
        sodium::hash_parts(&[b"dogwood record 2\0", &sequence.to_be_bytes(), body, &self.previous, pointers])
    }

    /// The beginning of a record, up to its body, with room for one of so many bytes.
    pub(crate) fn begin_record(&self, body_bytes: usize) -> Vec<u8> {
        let mut record = Vec::with_capacity(40 + 32 * self.pointers.len() + body_bytes);
        record.push(FORM_OF_GROUP);
        self.write(&mut record);
        record
    }

    pub(crate) fn write(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.previous);
        varint::write(self.pointers.len() as u64, into);
        into.extend_from_slice(self.pointers.as_flattened());
    }

    pub(crate) fn read(reader: &mut BodyReader<'_>) -> Option<Links> {
        let previous = reader.array()?;
        let count = reader.number().filter(|count| *count <= POINTERS_MAX)?;
        let pointers = (0..count).map(|_| reader.array()).collect::<Option<_>>()?;
        Some(Links { previous, pointers })
    }

    /// The links of a record of a group and the hash of its body, whether that is still there or not.
    pub(crate) fn with_hash(record: &[u8]) -> Option<(Links, [u8; 32])> {
        if record.first() == Some(&FORM_OF_EMPTIED) {
            return Emptied::of(record).map(|emptied| (emptied.links, emptied.body));
        }
        let (links, body) = Links::of(record)?;
        Some((links, body_hash(body)))
    }

    /// The links of a record of a group, and its body.
    pub(crate) fn of(record: &[u8]) -> Option<(Links, &[u8])> {
        let mut reader = BodyReader(record);
        if reader.byte()? != FORM_OF_GROUP {
            return None;
        }
        let links = Links::read(&mut reader)?;
        Some((links, reader.0))
    }
}

/// A record whose entries were dropped.
pub(crate) struct Emptied {
    links: Links,
    /// The hash of the body that it had.
    body: [u8; 32],
    /// Where that began.
    pub(crate) beginning: Beginning,
}

impl Emptied {
    /// What is left of a record of a group without its entries.
    pub(crate) fn left_of(record: &[u8]) -> Option<Vec<u8>> {
        let (links, body) = Links::of(record)?;
        let Beginning { first, time_us } = beginning(body)?;
        let mut left = vec![FORM_OF_EMPTIED];
        links.write(&mut left);
        left.extend_from_slice(&body_hash(body));
        varint::write(first, &mut left);
        write_signed(time_us, &mut left);
        Some(left)
    }

    /// Reads it.
    pub(crate) fn of(record: &[u8]) -> Option<Emptied> {
        let mut reader = BodyReader(record);
        if reader.byte()? != FORM_OF_EMPTIED {
            return None;
        }
        let links = Links::read(&mut reader)?;
        let body = reader.array()?;
        let beginning = Beginning { first: reader.number()?, time_us: reader.signed()? };
        reader.0.is_empty().then_some(Emptied { links, body, beginning })
    }
}

/// The hash of a body.
pub(crate) fn body_hash(body: &[u8]) -> [u8; 32] {
    sodium::hash_parts(&[b"dogwood body 1\0", body])
}

/// So many are looked through: a small commit has one of each.
const LOOKED_THROUGH_MAX: usize = 8;

/// Things, each once, with their places.
struct Shared<T> {
    all: Vec<T>,
    /// Of all, once there are more than are looked through.
    places: HashMap<T, u64, RandomState>,
}

impl<T: Clone + Eq + Hash> Shared<T> {
    fn new() -> Self {
        Shared { all: Vec::new(), places: HashMap::default() }
    }

    /// For so many at most.
    fn with_room(count: usize) -> Self {
        let places = if count > LOOKED_THROUGH_MAX { count } else { 0 };
        Shared {
            all: Vec::with_capacity(count),
            places: HashMap::with_capacity_and_hasher(places, RandomState::default()),
        }
    }

    /// Its place; `is_same` tells at once of some that they are equal.
    fn place(&mut self, one: &T, is_same: impl Fn(&T, &T) -> bool) -> u64 {
        let count = self.all.len();
        // Most are what the one before was.
        if self.all.last().is_some_and(|last| is_same(last, one) || last == one) {
            return count as u64 - 1;
        }
        if self.places.is_empty() {
            if let Some(place) = self.all.iter().position(|other| other == one) {
                return place as u64;
            }
            if count >= LOOKED_THROUGH_MAX {
                self.places.extend(self.all.iter().cloned().zip(0..));
            }
        } else if let Some(place) = self.places.get(one) {
            return *place;
        }
        if !self.places.is_empty() {
            self.places.insert(one.clone(), count as u64);
        }
        self.all.push(one.clone());
        count as u64
    }
}

/// An entry's places in what its record shares.
struct EntryPlaces {
    actor: u64,
    statement: u64,
    list: u64,
}

/// What an entry takes with what it shares with no other, but for its people.
const ENTRY_BYTES: usize = 96;

/// About as many bytes as the body of these has, and most often no fewer.
pub(crate) fn body_bytes(entries: &[&LoggedEntry]) -> usize {
    entries.iter().map(|entry| ENTRY_BYTES + 20 * entry.subjects.len()).sum()
}

/// Adds the body of a group's record. No entry's time is before `earliest_us`.
pub(crate) fn encode(first: u64, earliest_us: i64, entries: &[&LoggedEntry], body: &mut Vec<u8>) {
    if let [entry] = entries {
        return encode_alone(first, earliest_us, entry, body);
    }
    let began = entries.iter().map(|entry| entry.time_us.max(earliest_us)).min().unwrap_or(earliest_us);
    let commit = entries.first().map_or(0, |entry| entry.commit.0);
    let (mut actors, mut statements, mut lists) =
        (Shared::<Arc<AuditActor>>::new(), Shared::<[u8; 8]>::new(), Shared::<Arc<[RelationId]>>::new());
    let mut people = Shared::<Pseudonym>::with_room(entries.iter().map(|entry| entry.subjects.len()).sum());
    let mut written = Vec::with_capacity(24 * entries.len());
    for entry in entries {
        let actor = actors.place(&entry.actor, Arc::ptr_eq);
        let statement = statements.place(&entry.statement, |_, _| false);
        let list = lists.place(&entry.tables, Arc::ptr_eq);
        let times = (entry.time_us.max(earliest_us).abs_diff(began), entry.commit.0.wrapping_sub(commit) as i64);
        let places = EntryPlaces { actor, statement, list };
        write_entry(entry, times, &places, |person| people.place(person, |_, _| false), &mut written);
    }
    varint::write(first, body);
    write_signed(began, body);
    varint::write(commit, body);
    varint::write(actors.all.len() as u64, body);
    actors.all.iter().for_each(|actor| write_actor(actor, body));
    varint::write(statements.all.len() as u64, body);
    body.extend_from_slice(statements.all.as_flattened());
    varint::write(lists.all.len() as u64, body);
    lists.all.iter().for_each(|list| write_list(list, body));
    varint::write(people.all.len() as u64, body);
    body.extend_from_slice(people.all.as_flattened());
    varint::write(entries.len() as u64, body);
    body.extend_from_slice(&written);
}

/// The same of one entry, which shares with none: as mostly, where one commits alone.
fn encode_alone(first: u64, earliest_us: i64, entry: &LoggedEntry, body: &mut Vec<u8>) {
    varint::write(first, body);
    write_signed(entry.time_us.max(earliest_us), body);
    varint::write(entry.commit.0, body);
    body.push(1);
    write_actor(&entry.actor, body);
    body.push(1);
    body.extend_from_slice(&entry.statement);
    body.push(1);
    write_list(&entry.tables, body);
    varint::write(entry.subjects.len() as u64, body);
    body.extend_from_slice(entry.subjects.as_flattened());
    body.push(1);
    let mut next = 0..;
    // Each of its people stands there once.
    let person = |_: &Pseudonym| next.next().unwrap_or(u64::MAX);
    write_entry(entry, (0, 0), &EntryPlaces { actor: 0, statement: 0, list: 0 }, person, body);
}

/// One entry: its time and commit as what they are more than the record's.
fn write_entry(
    entry: &LoggedEntry,
    (time, commit): (u64, i64),
    places: &EntryPlaces,
    mut person: impl FnMut(&Pseudonym) -> u64,
    written: &mut Vec<u8>,
) {
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    let lists_all = entry.subjects_total == entry.subjects.len() as u64;
    written.push(entry.operation as u8);
    written.push(
        flag(entry.key.is_some(), HAS_KEY)
            | flag(entry.commitment.is_some(), HAS_COMMITMENT)
            | flag(entry.payload.is_some(), HAS_PAYLOAD)
            | flag(!lists_all, HAS_TOTAL)
            | flag(entry.scope.may_be_more, MAY_BE_MORE)
            | flag(entry.scope.undone, UNDONE)
            | flag(entry.reference.is_some(), HAS_REFERENCE),
    );
    varint::write(time, written);
    write_signed(commit, written);
    varint::write(places.actor, written);
    varint::write(places.statement, written);
    varint::write(places.list, written);
    varint::write(entry.rows, written);
    entry.key.iter().for_each(|key| written.extend_from_slice(key));
    if !lists_all {
        varint::write(entry.subjects_total, written);
    }
    varint::write(entry.subjects.len() as u64, written);
    entry.subjects.iter().for_each(|one| varint::write(person(one), written));
    entry.commitment.iter().for_each(|commitment| written.extend_from_slice(commitment));
    entry.payload.iter().for_each(|payload| payload.encode(written));
    entry.reference.iter().for_each(|reference| reference.encode(written));
}

fn write_list(list: &[RelationId], body: &mut Vec<u8>) {
    varint::write(list.len() as u64, body);
    list.iter().for_each(|table| varint::write(u64::from(table.0), body));
}

fn write_actor(actor: &AuditActor, body: &mut Vec<u8>) {
    varint::write(u64::from(actor.login), body);
    varint::write(u64::from(actor.role), body);
    varint::write(actor.purpose.map_or(0, u64::from), body);
    match actor.address {
        None => body.push(0),
        Some(IpAddr::V4(address)) => {
            body.push(4);
            body.extend_from_slice(&address.octets());
        }
        Some(IpAddr::V6(address)) => {
            body.push(16);
            body.extend_from_slice(&address.octets());
        }
    }
}

fn read_actor(reader: &mut BodyReader<'_>) -> Option<Arc<AuditActor>> {
    let (login, role, purpose) = (reader.id()?, reader.id()?, reader.id()?);
    let address = match reader.byte()? {
        0 => None,
        4 => Some(IpAddr::from(reader.array::<4>()?)),
        16 => Some(IpAddr::from(reader.array::<16>()?)),
        _ => return None,
    };
    Some(Arc::new(AuditActor { login, role, purpose: (purpose != 0).then_some(purpose), address }))
}

/// Where a record's entries begin, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The first entry's number.
    pub(crate) first: u64,
    /// No entry of it or of a later record is before that.
    pub(crate) time_us: i64,
}

/// Reads no further than where a body says where it begins.
pub(crate) fn beginning(body: &[u8]) -> Option<Beginning> {
    let mut reader = BodyReader(body);
    Some(Beginning { first: reader.number()?, time_us: reader.signed()? })
}

/// What a body's entries share, and its entries behind it.
struct Body<'a> {
    first: u64,
    began: i64,
    commit: u64,
    actors: Vec<Arc<AuditActor>>,
    statements: Vec<[u8; 8]>,
    lists: Vec<Arc<[RelationId]>>,
    people: Vec<Pseudonym>,
    entries: BodyReader<'a>,
}

/// An entry, as far as it is looked at before it is wanted.
struct Skimmed {
    time_us: i64,
    actor: usize,
    list: usize,
    may_be_more: bool,
    /// It lists one of the people who are looked for.
    lists_wanted: bool,
    reference: Option<LogReference>,
}

/// Where what is asked for stands in what a body's entries share.
struct WantedPlaces {
    actors: Vec<bool>,
    tables: Vec<bool>,
    unlisted: Vec<bool>,
    people: Vec<usize>,
}

impl WantedPlaces {
    fn of(mentioned: &[Mentioned], body: &Body<'_>) -> WantedPlaces {
        let lists = |wanted: fn(&Mentioned) -> Option<RelationId>| {
            let tables: Vec<RelationId> = mentioned.iter().filter_map(wanted).collect();
            body.lists.iter().map(|list| list.iter().any(|table| tables.contains(table))).collect()
        };
        let is_actor = |actor: &Arc<AuditActor>| {
            mentioned.iter().any(|one| matches!(one, Mentioned::Role(id) if actor.login == *id || actor.role == *id))
        };
        let is_person = |person: &Pseudonym| mentioned.contains(&Mentioned::Person(*person));
        let has_people = mentioned.iter().any(|one| matches!(one, Mentioned::Person(_)));
        let people = body.people.iter().enumerate().filter(|(_, person)| has_people && is_person(person));
        WantedPlaces {
            actors: body.actors.iter().map(is_actor).collect(),
            tables: lists(|one| if let Mentioned::Table(table) = one { Some(*table) } else { None }),
            unlisted: lists(|one| if let Mentioned::Unlisted(table) = one { Some(*table) } else { None }),
            people: people.map(|(place, _)| place).collect(),
        }
    }

    fn meet(&self, entry: &Skimmed) -> bool {
        entry.lists_wanted
            || self.actors[entry.actor]
            || self.tables[entry.list]
            || entry.may_be_more && self.unlisted[entry.list]
    }
}

impl<'a> Body<'a> {
    fn read(body: &'a [u8]) -> Option<Body<'a>> {
        let mut reader = BodyReader(body);
        Some(Body {
            first: reader.number()?,
            began: reader.signed()?,
            commit: reader.number()?,
            actors: reader.list(read_actor)?,
            statements: reader.list(BodyReader::array::<8>)?,
            lists: reader.list(|reader| reader.list(|reader| reader.id().map(RelationId)).map(Arc::from))?,
            people: reader.list(BodyReader::array::<16>)?,
            entries: reader,
        })
    }

    fn entry(&self, reader: &mut BodyReader<'_>, number: u64) -> Option<LoggedEntry> {
        let operation = AuditOperation::from_tag(reader.byte()?)?;
        let flags = reader.byte().filter(|flags| flags & !FLAGS == 0)?;
        let has = |flag: u8| flags & flag != 0;
        let time_us = self.began.checked_add_unsigned(reader.number()?)?;
        let commit = CommitTime(self.commit.wrapping_add_signed(reader.signed()?));
        let actor = self.actors[reader.place(self.actors.len())?].clone();
        let statement = self.statements[reader.place(self.statements.len())?];
        let tables = self.lists[reader.place(self.lists.len())?].clone();
        let rows = reader.number()?;
        let key = if has(HAS_KEY) { Some(reader.array()?) } else { None };
        let total = if has(HAS_TOTAL) { Some(reader.number()?) } else { None };
        let subjects = reader.list(|reader| Some(self.people[reader.place(self.people.len())?]))?;
        let commitment = if has(HAS_COMMITMENT) { Some(reader.array()?) } else { None };
        let payload = if has(HAS_PAYLOAD) { Some(Box::new(SealedPayload::decode(reader)?)) } else { None };
        let reference = if has(HAS_REFERENCE) { Some(Box::new(LogReference::decode(reader)?)) } else { None };
        Some(LoggedEntry {
            number,
            time_us,
            commit,
            actor,
            operation,
            statement,
            tables,
            key,
            subjects_total: total.unwrap_or(subjects.len() as u64),
            subjects,
            scope: AuditScope { may_be_more: has(MAY_BE_MORE), undone: has(UNDONE) },
            rows,
            commitment,
            reference,
            payload,
        })
    }

    /// Passes over an entry; whether it lists one of these people.
    fn skim(&self, reader: &mut BodyReader<'_>, people: &[usize]) -> Option<Skimmed> {
        let (_operation, flags) = (reader.byte()?, reader.byte()?);
        let has = |flag: u8| flags & flag != 0;
        let time_us = self.began.checked_add_unsigned(reader.number()?)?;
        let _commit = reader.number()?;
        let actor = reader.place(self.actors.len())?;
        let _statement = reader.number()?;
        let list = reader.place(self.lists.len())?;
        let _rows = reader.number()?;
        reader.bytes(if has(HAS_KEY) { 8 } else { 0 })?;
        if has(HAS_TOTAL) {
            reader.number()?;
        }
        let mut lists_wanted = false;
        for _ in 0..reader.number()? {
            let place = reader.place(self.people.len())?;
            lists_wanted |= people.contains(&place);
        }
        reader.bytes(if has(HAS_COMMITMENT) { 32 } else { 0 })?;
        if has(HAS_PAYLOAD) {
            SealedPayload::decode(reader)?;
        }
        let reference = if has(HAS_REFERENCE) { Some(LogReference::decode(reader)?) } else { None };
        Some(Skimmed { time_us, actor, list, may_be_more: has(MAY_BE_MORE), lists_wanted, reference })
    }
}

/// The entries of a body.
pub(crate) fn decode(body: &[u8]) -> Option<Vec<LoggedEntry>> {
    let body = Body::read(body)?;
    let (mut reader, mut number) = (BodyReader(body.entries.0), body.first);
    let entries = reader.list(|reader| {
        number += 1;
        body.entry(reader, number - 1)
    })?;
    reader.0.is_empty().then_some(entries)
}

/// What a body's entries mention, each once but for roles and tables.
pub(crate) fn mentions(body: &[u8], mention: &mut dyn FnMut(Mentioned)) -> Option<()> {
    let body = Body::read(body)?;
    body.people.iter().for_each(|person| mention(Mentioned::Person(*person)));
    for actor in &body.actors {
        mention(Mentioned::Role(actor.login));
        mention(Mentioned::Role(actor.role));
    }
    body.lists.iter().flat_map(|list| list.iter()).for_each(|table| mention(Mentioned::Table(*table)));
    let mut reader = BodyReader(body.entries.0);
    let mut unlisted = vec![false; body.lists.len()];
    for _ in 0..reader.number()? {
        let Skimmed { list, may_be_more, .. } = body.skim(&mut reader, &[])?;
        unlisted[list] |= may_be_more;
    }
    let unlisted = body.lists.iter().zip(unlisted).filter(|(_, is_unlisted)| *is_unlisted);
    unlisted.flat_map(|(list, _)| list.iter()).for_each(|table| mention(Mentioned::Unlisted(*table)));
    Some(())
}

/// Whether any of its entries may mention one of these: by what they share, which stands before them, and nothing is made of it.
pub(crate) fn may_mention(body: &[u8], mentioned: &[Mentioned]) -> Option<bool> {
    let mut reader = BodyReader(body);
    let (_first, _began, _commit) = (reader.number()?, reader.signed()?, reader.number()?);
    let is_role = |id: u32| mentioned.contains(&Mentioned::Role(id));
    for _ in 0..reader.number()? {
        let (login, role, _purpose) = (reader.id()?, reader.id()?, reader.id()?);
        let address = reader.byte()?;
        reader.bytes(u64::from(address))?;
        if is_role(login) || is_role(role) {
            return Some(true);
        }
    }
    let statements = reader.number()?;
    reader.bytes(statements.checked_mul(8)?)?;
    for _ in 0..reader.number()? {
        for _ in 0..reader.number()? {
            let table = RelationId(reader.id()?);
            if mentioned.contains(&Mentioned::Table(table)) || mentioned.contains(&Mentioned::Unlisted(table)) {
                return Some(true);
            }
        }
    }
    let people = reader.number()?;
    let people = reader.bytes(people.checked_mul(16)?)?;
    let mut wanted =
        mentioned.iter().filter_map(|one| if let Mentioned::Person(person) = one { Some(person) } else { None });
    Some(wanted.any(|person| people.chunks_exact(16).any(|other| other == person)))
}

/// The references of a body's entries to other logs.
pub(crate) fn references(body: &[u8]) -> Option<Vec<LogReference>> {
    let body = Body::read(body)?;
    let mut reader = BodyReader(body.entries.0);
    let mut found = Vec::new();
    for _ in 0..reader.number()? {
        found.extend(body.skim(&mut reader, &[])?.reference);
    }
    reader.0.is_empty().then_some(found)
}

/// Those entries of a body whose number and time are wanted, and that mention any of these; of none all. Only these are made.
pub(crate) fn decode_wanted(
    body: &[u8],
    in_range: &dyn Fn(u64, i64) -> bool,
    mentioned: &[Mentioned],
) -> Option<Vec<LoggedEntry>> {
    if !mentioned.is_empty() && !may_mention(body, mentioned)? {
        return Some(Vec::new());
    }
    let body = Body::read(body)?;
    let places = WantedPlaces::of(mentioned, &body);
    let mut reader = BodyReader(body.entries.0);
    let (mut found, count) = (Vec::new(), reader.number()?);
    for number in (body.first..).take(usize::try_from(count).ok()?) {
        let mut entry = BodyReader(reader.0);
        let skimmed = body.skim(&mut reader, &places.people)?;
        if in_range(number, skimmed.time_us) && (mentioned.is_empty() || places.meet(&skimmed)) {
            found.push(body.entry(&mut entry, number)?);
        }
    }
    reader.0.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::microdb;

    fn entry(number: u64, person: u8) -> LoggedEntry {
        LoggedEntry {
            number,
            time_us: -5 + i64::try_from(number).expect("small"),
            commit: CommitTime(9 - number % 3),
            actor: Arc::new(AuditActor { login: 16_400, role: 1, purpose: None, address: Some([127, 0, 0, 1].into()) }),
            operation: AuditOperation::Select,
            statement: [7; 8],
            tables: [RelationId(16_384)].into(),
            key: None,
            subjects_total: 1,
            subjects: vec![[person; 16]],
            scope: AuditScope::default(),
            rows: 1,
            commitment: None,
            reference: None,
            payload: None,
        }
    }

    /// The body of a record of these.
    fn encoded(first: u64, earliest_us: i64, entries: &[&LoggedEntry]) -> Vec<u8> {
        let mut body = Vec::new();
        encode(first, earliest_us, entries, &mut body);
        body
    }

    #[test]
    fn bodies_are_read_back_and_short() {
        let mut entries: Vec<LoggedEntry> = (1..=100).map(|number| entry(number, number as u8)).collect();
        let body = encoded(1, i64::MIN, &entries.iter().collect::<Vec<_>>());
        assert!(body.len() < 100 * 30, "{} bytes", body.len());
        assert_eq!(decode(&body), Some(entries.clone()));
        assert_eq!(beginning(&body), Some(Beginning { first: 1, time_us: -4 }));
        let eight = encoded(1, i64::MIN, &entries[..8].iter().collect::<Vec<_>>());
        assert!(eight.len() + 97 < 8 * 50, "{} bytes", eight.len());
        let rich = &mut entries[7];
        rich.key = Some([4; 8]);
        (rich.subjects_total, rich.commitment) = (2_000, Some([6; 32]));
        rich.scope = AuditScope { may_be_more: true, undone: true };
        let payload = SealedPayload { owner: microdb::loaded([1; 6]), id: [2; 8], sealed: vec![3; 40] };
        rich.payload = Some(Box::new(payload));
        rich.reference = Some(Box::new(LogReference { log: [8; 32], sequence: 300, hash: [9; 32] }));
        rich.actor = Arc::new(AuditActor { purpose: Some(70_000), address: Some([1_u8; 16].into()), ..*rich.actor });
        let body = encoded(1, i64::MIN, &entries.iter().collect::<Vec<_>>());
        for entry in &entries {
            let mut all = Vec::new();
            Mentioned::all_of(entry, &mut |one| all.push(one));
            for one in all {
                assert_eq!(may_mention(&body, &[Mentioned::Role(77), one]), Some(true), "{one:?}");
                assert!(decode_wanted(&body, &|_, _| true, &[one]).expect("reads").contains(entry));
            }
        }
        let nobody = [Mentioned::Person([250; 16]), Mentioned::Role(7), Mentioned::Table(RelationId(7))];
        assert_eq!(may_mention(&body, &nobody), Some(false));
        assert_eq!(
            references(&body),
            Some(entries.iter().filter_map(|entry| entry.reference.as_deref().copied()).collect())
        );
        assert_eq!(decode(&body), Some(entries));
        for length in 0..body.len() {
            assert_eq!(decode(&body[..length]), None, "a body cut at {length}");
        }
        assert_eq!(decode(&[body.as_slice(), &[0]].concat()), None);
    }

    #[test]
    fn one_alone_is_written_as_among_others() {
        let mut one = entry(7, 3);
        one.subjects = (0..200).map(|person| [person; 16]).collect();
        for total in [200, 2_000] {
            one.subjects_total = total;
            let body = encoded(7, 50, &[&one]);
            assert_eq!(decode(&body), Some(vec![LoggedEntry { time_us: 50, ..one.clone() }]));
            assert!(body.len() <= body_bytes(&[&one]), "{} bytes", body.len());
            // As the first of two, but for how many there are and for the second.
            let other = LoggedEntry { operation: AuditOperation::Insert, ..one.clone() };
            let both = encoded(7, 50, &[&one, &other]);
            let count = body.iter().zip(&both).position(|(alone, among)| alone != among).expect("how many there are");
            assert_eq!((body[count], both[count]), (1, 2));
            assert!(both[count + 1..].starts_with(&body[count + 1..]));
        }
    }

    #[test]
    fn no_entry_is_before_an_earlier_record() {
        let body = encoded(1, 50, &[&entry(1, 1), &entry(90, 2)]);
        let times: Vec<i64> = decode(&body).expect("reads").iter().map(|entry| entry.time_us).collect();
        assert_eq!(times, [50, 85]);
    }

    #[test]
    fn arbitrary_bytes_are_refused_without_panic() {
        sodium::initialize();
        let whole = encoded(1, 0, &(1..9).map(|n| entry(n, n as u8)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let length = (state >> 58) as usize;
            let bytes = sodium::hash::<64>(&state.to_be_bytes());
            let _ = decode(&bytes[..length]);
            let _ = may_mention(&bytes[..length], &[Mentioned::Person([0; 16])]);
            let _ = references(&bytes[..length]);
            let _ = Links::of(&[&[FORM_OF_GROUP], &bytes[..length]].concat());
            let mut changed = whole.clone();
            let place = (state >> 20) as usize % changed.len();
            changed[place] ^= bytes[0] | 1;
            let _ = decode(&changed);
            let _ = may_mention(&changed, &[Mentioned::Role(1)]);
            let _ = references(&changed);
        }
    }
}
