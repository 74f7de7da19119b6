//! Purposes for which data may be used while its owners consent: the condition that the books of consents set to a row.
//!
//! ```text
//! contacts.person ─▶ people ◀─ consents.person      consents: a row says to which purpose (CONSENTS), and perhaps that it was
//!                                                   taken back (WITHDRAWN); who does not consent any more is not in it, or is so marked
//! ```
//! Each owner has to: by every edge of ownership along which the row leads to a person. By `OWNED_BY` that is the row that is
//! referred to, by `OWNS` each row that refers to this one. Where it cannot be told, nobody has.

use super::Resolver;
use crate::catalog::{EdgeKind, ForeignKey, Property, Scope, SearchPath, Table};
use crate::ownership::quote_identifier;
use repr::{ColumnIndex, RelationId};

impl Resolver<'_> {
    /// Over a row that is called by its table's name: that its owners consent to a purpose, which is written as a literal.
    pub(super) fn consent_condition(&self, table: &Table, purpose: &str) -> String {
        self.consented(table, &quote_identifier(&table.name), purpose, &[])
    }

    /// `passed` are the tables on the way here.
    fn consented(&self, table: &Table, row: &str, purpose: &str, passed: &[RelationId]) -> String {
        let depth = passed.len();
        if table.data_subject {
            return self.is_in_book(table, (table, row, None), purpose, depth);
        }
        let passed = [passed, &[table.id]].concat();
        let owned_by: Vec<_> = table.foreign_keys.iter().filter(|key| is(key, EdgeKind::OwnedBy)).collect();
        let owning: Vec<(&Table, &ForeignKey)> = self
            .catalog
            .stored_tables()
            .flat_map(|other| other.foreign_keys.iter().map(|key| (&**other, key)))
            .filter(|(_, key)| key.target == table.id && is(key, EdgeKind::Owns))
            .collect();
        if owned_by.is_empty() && owning.is_empty() {
            return "false".to_owned();
        }
        let far = owning.iter().map(|(other, key)| self.owners_consent((other, key), (table, row), purpose, &passed));
        let near = owned_by.iter().map(|key| self.consents_along((table, row), key, purpose, &passed));
        let mut conditions: Vec<String> = near.chain(far).collect();
        conditions.extend(self.is_owned((table, row), &owned_by, &owning, depth));
        conditions.join(" AND ")
    }

    /// That the owners consent of each row that owns this one by OWNS. A row that has expired owns until it is deleted, and is read
    /// by nobody: what its table owns is not told.
    fn owners_consent(
        &self,
        (other, key): (&Table, &ForeignKey),
        (table, row): (&Table, &str),
        purpose: &str,
        passed: &[RelationId],
    ) -> String {
        if passed.contains(&other.id) || other.property(Property::Expires).is_some() {
            return "false".to_owned();
        }
        let far = format!("dogwood_owning_{}", passed.len() - 1);
        let met = equal((other, &far, &key.columns), (table, row, &key.target_columns));
        let consents = self.consented(other, &far, purpose, passed);
        format!("NOT EXISTS (SELECT FROM {} AS {far} WHERE {met} AND NOT ({consents}))", self.kept_name(other))
    }

    /// That a row has an owner, where none of its columns demands one: else nobody would be asked.
    fn is_owned(
        &self,
        (table, row): (&Table, &str),
        owned_by: &[&ForeignKey],
        owning: &[(&Table, &ForeignKey)],
        depth: usize,
    ) -> Option<String> {
        let unset = |key: &&ForeignKey| key.columns.iter().any(|column| table.columns[*column].column_type.nullable);
        if owning.is_empty() || !owned_by.iter().all(unset) {
            return None;
        }
        let set = owned_by.iter().map(|key| {
            let columns = key.columns.iter().map(|column| format!("{} IS NOT NULL", named(table, row, *column)));
            format!("({})", columns.collect::<Vec<_>>().join(" AND "))
        });
        let owns = owning.iter().map(|(other, key)| {
            let far = format!("dogwood_owning_{depth}");
            let met = equal((other, &far, &key.columns), (table, row, &key.target_columns));
            format!("EXISTS (SELECT FROM {} AS {far} WHERE {met})", self.kept_name(other))
        });
        Some(format!("({})", set.chain(owns).collect::<Vec<_>>().join(" OR ")))
    }

    /// That those consent to whom an edge leads; an edge that is not set leads to nobody. The last that was passed is its table.
    fn consents_along(
        &self,
        (table, row): (&Table, &str),
        key: &ForeignKey,
        purpose: &str,
        passed: &[RelationId],
    ) -> String {
        let depth = passed.len() - 1;
        let leads = match self.catalog.table(key.target) {
            Some(people) if people.data_subject => self.is_in_book(people, (table, row, Some(key)), purpose, depth),
            Some(target) if !passed.contains(&target.id) => {
                let far = format!("dogwood_owner_{depth}");
                let met = equal((table, row, &key.columns), (target, &far, &key.target_columns));
                let consents = self.consented(target, &far, purpose, passed);
                format!("EXISTS (SELECT FROM {} AS {far} WHERE {met} AND {consents})", self.kept_name(target))
            }
            // Tables that lead to each other: who else owns what it hangs on is not told here.
            Some(_) | None => "false".to_owned(),
        };
        let unset = key.columns.iter().filter(|column| table.columns[**column].column_type.nullable);
        let unset: Vec<String> = unset.map(|column| format!("{} IS NULL", named(table, row, *column))).collect();
        match unset.is_empty() {
            true => leads,
            false => format!("({} OR {leads})", unset.join(" OR ")),
        }
    }

    /// A table as texts that the catalog keeps call it.
    fn kept_name(&self, table: &Table) -> String {
        Scope { catalog: self.catalog, path: SearchPath::kept() }.spelled_table(table)
    }

    /// That a person is in a book of consents: the one of this row, or whom a key of it names.
    fn is_in_book(
        &self,
        people: &Table,
        (table, row, by): (&Table, &str, Option<&ForeignKey>),
        purpose: &str,
        depth: usize,
    ) -> String {
        let mut books = Vec::new();
        for book in self.catalog.stored_tables() {
            let Some(consents) = book.property(Property::Consents) else { continue };
            let leads = |key: &&ForeignKey| key.target == people.id && key.annotation == Some(EdgeKind::OwnedBy);
            for key in book.foreign_keys.iter().filter(leads) {
                let (name, far) = (format!("dogwood_consent_{depth}"), format!("dogwood_owner_{depth}"));
                let stands = book
                    .property(Property::Withdrawn)
                    .map_or_else(String::new, |column| format!(" AND {} IS NULL", named(book, &name, column)));
                let entry = |met: String| {
                    let (book_name, to) = (self.kept_name(book), named(book, &name, consents));
                    format!("EXISTS (SELECT FROM {book_name} AS {name} WHERE {met} AND {to} = {purpose}{stands})")
                };
                books.push(match by {
                    None => entry(equal((book, &name, &key.columns), (table, row, &key.target_columns))),
                    Some(by) if by.target_columns == key.target_columns => {
                        entry(equal((book, &name, &key.columns), (table, row, &by.columns)))
                    }
                    Some(by) => {
                        let met = equal((table, row, &by.columns), (people, &far, &by.target_columns));
                        let consents = entry(equal((book, &name, &key.columns), (people, &far, &key.target_columns)));
                        format!("EXISTS (SELECT FROM {} AS {far} WHERE {met} AND {consents})", self.kept_name(people))
                    }
                });
            }
        }
        match books.len() {
            0 => "false".to_owned(),
            1 => books.swap_remove(0),
            _ => format!("({})", books.join(" OR ")),
        }
    }
}

fn is(key: &ForeignKey, kind: EdgeKind) -> bool {
    key.annotation == Some(kind)
}

fn named(table: &Table, row: &str, column: ColumnIndex) -> String {
    format!("{row}.{}", quote_identifier(&table.columns[column].name))
}

/// That columns of one row are those of another.
fn equal(
    (table, row, columns): (&Table, &str, &[ColumnIndex]),
    (other, other_row, other_columns): (&Table, &str, &[ColumnIndex]),
) -> String {
    let pairs = columns.iter().zip(other_columns);
    let equal = pairs.map(|(one, two)| format!("{} = {}", named(table, row, *one), named(other, other_row, *two)));
    equal.collect::<Vec<_>>().join(" AND ")
}
