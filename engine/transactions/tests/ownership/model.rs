//! The naive side: rows in a map, foreign keys by looking at all of them, owners by computing them all from nothing.

use crate::house::Numbers;
use std::collections::{BTreeMap, BTreeSet};

pub const DEFINITIONS: &str = "
    CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY,
        invited_by INT OWNED_BY users(id) ON DELETE SET NULL ON UPDATE CASCADE);
    CREATE DATA_SUBJECT TABLE doctors (id INT PRIMARY KEY);
    CREATE TABLE groups (id INT PRIMARY KEY, founder INT OWNED_BY users(id) ON DELETE SET NULL ON UPDATE CASCADE);
    CREATE TABLE members (id INT PRIMARY KEY, uid INT OWNED_BY users(id) ON DELETE CASCADE ON UPDATE CASCADE,
        gid INT OWNS groups(id) ON DELETE CASCADE);
    CREATE TABLE documents (id INT PRIMARY KEY, gid INT OWNED_BY groups(id) ON DELETE CASCADE,
        doctor INT OWNED_BY doctors(id) ON DELETE SET NULL);
    CREATE TABLE comments (id INT PRIMARY KEY, author INT OWNED_BY users(id) ON DELETE SET NULL ON UPDATE CASCADE,
        document INT OWNED_BY documents(id) ON DELETE CASCADE, parent INT OWNED_BY comments(id));
    CREATE TABLE tags (id INT PRIMARY KEY, document INT REFERENCES documents(id) ON DELETE SET NULL);
    CREATE TABLE notes (id INT PRIMARY KEY, author INT OWNED_BY users(id) ON DELETE CASCADE ON UPDATE CASCADE,
        doctor INT OWNED_BY doctors(id) ON DELETE SET NULL, document INT OWNED_BY documents(id) ON DELETE CASCADE);";

/// Each after those whose rows own its rows.
pub const TABLES: [&str; 8] = ["users", "doctors", "members", "groups", "documents", "comments", "tags", "notes"];
pub const WIDTHS: [usize; 8] = [2, 1, 3, 2, 3, 4, 2, 4];
const USERS: usize = 0;
const DOCTORS: usize = 1;
const MEMBERS: usize = 2;
const GROUPS: usize = 3;
const DOCUMENTS: usize = 4;
const COMMENTS: usize = 5;
const TAGS: usize = 6;
const NOTES: usize = 7;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    OwnedBy,
    Owns,
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDelete {
    Nothing,
    Cascade,
    SetNull,
}

/// (referencing table, its column, referenced table, annotation, ON DELETE)
const REFERENCES: [(usize, usize, usize, Way, OnDelete); 13] = [
    (USERS, 1, USERS, Way::OwnedBy, OnDelete::SetNull),
    (GROUPS, 1, USERS, Way::OwnedBy, OnDelete::SetNull),
    (MEMBERS, 1, USERS, Way::OwnedBy, OnDelete::Cascade),
    (MEMBERS, 2, GROUPS, Way::Owns, OnDelete::Cascade),
    (DOCUMENTS, 1, GROUPS, Way::OwnedBy, OnDelete::Cascade),
    (DOCUMENTS, 2, DOCTORS, Way::OwnedBy, OnDelete::SetNull),
    (COMMENTS, 1, USERS, Way::OwnedBy, OnDelete::SetNull),
    (COMMENTS, 2, DOCUMENTS, Way::OwnedBy, OnDelete::Cascade),
    (COMMENTS, 3, COMMENTS, Way::OwnedBy, OnDelete::Nothing),
    (TAGS, 1, DOCUMENTS, Way::Plain, OnDelete::SetNull),
    (NOTES, 1, USERS, Way::OwnedBy, OnDelete::Cascade),
    (NOTES, 2, DOCTORS, Way::OwnedBy, OnDelete::SetNull),
    (NOTES, 3, DOCUMENTS, Way::OwnedBy, OnDelete::Cascade),
];

pub fn is_subjects(table: usize) -> bool {
    table == USERS || table == DOCTORS
}

pub fn is_personal(table: usize) -> bool {
    table != TAGS
}

/// The table that a column refers to.
pub fn target(table: usize, column: usize) -> usize {
    let refers = |of: &&(usize, usize, usize, Way, OnDelete)| (of.0, of.1) == (table, column);
    REFERENCES.iter().find(refers).expect("all columns but keys refer").2
}

/// A table and a key.
pub type Place = (usize, i32);
/// A person, whatever their key is at the time.
pub type Person = usize;
/// Owners with the number of their derivations.
pub type Owners = BTreeMap<Person, u32>;

#[derive(Clone, Debug)]
pub enum Statement {
    Insert(usize, Vec<Numbers>),
    Update(usize, Vec<(i32, Numbers)>),
    Delete(usize, Vec<i32>),
}

/// All rows, and who is who.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub rows: BTreeMap<Place, Numbers>,
    pub people: BTreeMap<Place, Person>,
}

/// What a transaction made of a state.
pub struct Changes {
    rows: BTreeMap<Place, Option<Numbers>>,
    people: BTreeMap<Place, Option<Person>>,
}

impl State {
    /// The SQLSTATE if the statement is refused; the state is of no use then.
    pub fn apply(&mut self, statement: &Statement, next_person: &mut Person) -> Result<(), &'static str> {
        match statement {
            Statement::Insert(table, rows) => {
                for row in rows {
                    let place = (*table, row[0].expect("a key"));
                    if self.rows.insert(place, row.clone()).is_some() {
                        return Err("23505");
                    }
                    if is_subjects(*table) {
                        self.people.insert(place, *next_person);
                        *next_person += 1;
                    }
                }
            }
            Statement::Update(table, rows) => {
                for (key, row) in rows {
                    let (old, new) = ((*table, *key), (*table, row[0].expect("a key")));
                    if self.rows.remove(&old).is_none() {
                        continue;
                    }
                    if self.rows.insert(new, row.clone()).is_some() {
                        return Err("23505");
                    }
                    if let Some(person) = self.people.remove(&old) {
                        self.people.insert(new, person);
                    }
                    if old != new {
                        self.rewrite(old, Some(new.1));
                    }
                }
            }
            Statement::Delete(table, keys) => keys.iter().for_each(|key| self.delete((*table, *key))),
        }
        let dangles = REFERENCES.iter().any(|(table, column, target, ..)| {
            self.of(*table).any(|(_, row)| row[*column].is_some_and(|key| !self.rows.contains_key(&(*target, key))))
        });
        if dangles { Err("23503") } else { Ok(()) }
    }

    fn of(&self, table: usize) -> impl Iterator<Item = (i32, &Numbers)> {
        self.rows.range((table, i32::MIN)..=(table, i32::MAX)).map(|((_, key), row)| (*key, row))
    }

    /// ON UPDATE CASCADE
    fn rewrite(&mut self, (target, old): Place, new: Option<i32>) {
        for (table, column, ..) in REFERENCES.iter().filter(|(_, _, referenced, ..)| *referenced == target) {
            for ((of, _), row) in &mut self.rows {
                if of == table && row[*column] == Some(old) {
                    row[*column] = new;
                }
            }
        }
    }

    fn delete(&mut self, place: Place) {
        if self.rows.remove(&place).is_none() {
            return;
        }
        self.people.remove(&place);
        for (table, column, _, _, on_delete) in REFERENCES.iter().filter(|(_, _, target, ..)| *target == place.0) {
            let referring = |(key, row): (i32, &Numbers)| (row[*column] == Some(place.1)).then_some((*table, key));
            let referring: Vec<Place> = self.of(*table).filter_map(referring).collect();
            for place in referring {
                match on_delete {
                    OnDelete::Nothing => {}
                    OnDelete::Cascade => self.delete(place),
                    OnDelete::SetNull => self.rows.get_mut(&place).expect("it refers")[*column] = None,
                }
            }
        }
    }

    /// Owners of all rows, by SEMANTICS: the least fixpoint. Derivations through a table's reference to itself count only
    /// where its rows are persons, whose holders are themselves.
    pub fn owners(&self) -> BTreeMap<Place, Owners> {
        let mut all: BTreeMap<Place, Owners> = BTreeMap::new();
        for table in (0..TABLES.len()).filter(|table| is_personal(*table)) {
            let mut of_table: BTreeMap<Place, Owners> = BTreeMap::new();
            for (key, row) in self.of(table) {
                let place = (table, key);
                let owners = of_table.entry(place).or_default();
                owners.extend(self.people.get(&place).map(|own| (*own, 1)));
                for far in self.far_rows(place, row).filter(|far| far.0 != table || is_subjects(table)) {
                    self.holders(far, &all).for_each(|holder| *owners.entry(holder).or_default() += 1);
                }
            }
            while !is_subjects(table) {
                let mut gained = Vec::new();
                for (key, row) in self.of(table) {
                    for far in self.far_rows((table, key), row).filter(|far| far.0 == table) {
                        let new = of_table[&far].keys().filter(|owner| !of_table[&(table, key)].contains_key(owner));
                        gained.extend(new.map(|owner| ((table, key), *owner)));
                    }
                }
                if gained.is_empty() {
                    break;
                }
                gained.into_iter().for_each(|(place, owner)| {
                    of_table.entry(place).or_default().entry(owner).or_insert(0);
                });
            }
            all.append(&mut of_table);
        }
        all
    }

    /// The rows one step towards the persons, once for each way.
    fn far_rows(&self, (near, key): Place, row: &Numbers) -> impl Iterator<Item = Place> {
        REFERENCES.iter().flat_map(move |(table, column, target, way, _)| -> Vec<Place> {
            match way {
                Way::OwnedBy if *table == near => row[*column].map(|far| (*target, far)).into_iter().collect(),
                Way::Owns if *target == near => {
                    self.of(*table).filter(|(_, far)| far[*column] == Some(key)).map(|(far, _)| (*table, far)).collect()
                }
                Way::OwnedBy | Way::Owns | Way::Plain => Vec::new(),
            }
        })
    }

    fn holders(&self, far: Place, owners: &BTreeMap<Place, Owners>) -> impl Iterator<Item = Person> {
        match self.people.get(&far) {
            Some(person) => vec![*person].into_iter(),
            None => owners[&far].keys().copied().collect::<Vec<_>>().into_iter(),
        }
    }

    pub fn has_orphans(&self) -> bool {
        self.owners().values().any(BTreeMap::is_empty)
    }

    pub fn changes_since(&self, base: &State) -> Changes {
        let rows: BTreeSet<&Place> = self.rows.keys().chain(base.rows.keys()).collect();
        let rows = rows.into_iter().filter(|place| self.rows.get(place) != base.rows.get(place));
        let people: BTreeSet<&Place> = self.people.keys().chain(base.people.keys()).collect();
        let people = people.into_iter().filter(|place| self.people.get(place) != base.people.get(place));
        Changes {
            rows: rows.map(|place| (*place, self.rows.get(place).cloned())).collect(),
            people: people.map(|place| (*place, self.people.get(place).copied())).collect(),
        }
    }

    pub fn with(&self, changes: &Changes) -> State {
        let mut state = self.clone();
        for (place, row) in &changes.rows {
            match row {
                Some(row) => state.rows.insert(*place, row.clone()),
                None => state.rows.remove(place),
            };
        }
        for (place, person) in &changes.people {
            match person {
                Some(person) => state.people.insert(*place, *person),
                None => state.people.remove(place),
            };
        }
        state
    }

    /// Who is there no more.
    pub fn gone_since(&self, before: &State) -> BTreeSet<Person> {
        let now: BTreeSet<Person> = self.people.values().copied().collect();
        before.people.values().copied().filter(|person| !now.contains(person)).collect()
    }

    /// What an erasure's receipt says: of each table rows deleted, changed, and without this owner any more. Of several who go each
    /// has their own, and of what was nobody's of them what named theirs.
    pub fn counts_since(&self, before: &State, person: Person, gone: &BTreeSet<Person>) -> BTreeMap<String, [u64; 3]> {
        let mut counts: BTreeMap<String, [u64; 3]> = BTreeMap::new();
        let (then, now) = (before.owners(), self.owners());
        let who_go = |place: &Place| -> BTreeSet<Person> {
            let owners = then.get(place).into_iter().flat_map(BTreeMap::keys).chain(before.people.get(place));
            owners.copied().filter(|owner| gone.contains(owner)).collect()
        };
        for (place, row) in &before.rows {
            let after = self.rows.get(place);
            let own = who_go(place);
            let is_theirs = match own.is_empty() {
                _ if gone.len() == 1 => true,
                false => own.contains(&person),
                true => REFERENCES.iter().filter(|of| of.0 == place.0).any(|(_, column, target, ..)| {
                    let is_same = after.is_some_and(|after| after[*column] == row[*column]);
                    !is_same && row[*column].is_some_and(|far| who_go(&(*target, far)).contains(&person))
                }),
            };
            let of_table = counts.entry(TABLES[place.0].to_owned()).or_default();
            match after {
                None => of_table[0] += u64::from(is_theirs),
                Some(after) => {
                    of_table[1] += u64::from(is_theirs && after != row);
                    let has = |owners: &BTreeMap<Place, Owners>| {
                        owners.get(place).is_some_and(|owners| owners.contains_key(&person))
                    };
                    of_table[2] += u64::from(has(&then) && !has(&now));
                }
            }
        }
        counts.retain(|_, counts| *counts != [0; 3]);
        counts
    }
}
