//! EXPLAIN COMPLIANCE: for each table whose it is and by which paths, and what a data-protection officer should
//! look at before relying on it.
//!
//! Reports on declarations only: it never reads rows, and refuses nothing.

use super::blanking::{blanked_columns, is_sole_ownership, outlives};
use super::check::erasable_tables;
use super::graph::{Dog, Edge};
use super::path::OwnershipPath;
use super::proposals::{Proposal, proposals};
use super::{column_names, describe_edge, describe_edge_ref};
use crate::catalog::{Catalog, EdgeKind, ForeignKey, Property, ReferentialAction, RuleEvent, Table};
use repr::{ColumnIndex, Id, RelationId};
use std::collections::BTreeSet;

/// How much a row of the report matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Likely wrong: personal data stays behind, or spreads to many.
    Severe,
    /// To be decided by a person.
    Warning,
    /// Worth knowing.
    Notice,
    /// How things are.
    Info,
    /// What names and foreign keys suggest; the hint is a statement.
    Proposal,
}

impl Severity {
    /// As it stands in the result.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Severe => "severe",
            Severity::Warning => "warning",
            Severity::Notice => "notice",
            Severity::Info => "info",
            Severity::Proposal => "proposal",
        }
    }
}

/// What a remark is about, for whoever looks for the place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The table.
    pub table: RelationId,
    /// Columns of it, if it is about some.
    pub columns: Vec<ColumnIndex>,
    /// The foreign key, by its constraint's id, if it is about one.
    pub foreign_key: Option<Id>,
    /// An annotation is missing, rather than that one is doubtful.
    pub is_missing: bool,
}

/// One result row: `(severity, table_name, subject, path, message, hint)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComplianceRow {
    /// How much it matters.
    pub severity: Severity,
    /// The table.
    pub table_name: String,
    /// The data-subject table concerned.
    pub subject: Option<String>,
    /// The path or edge concerned.
    pub path: Option<String>,
    /// What is so.
    pub message: String,
    /// What may be done.
    pub hint: Option<String>,
    /// Where in the schema.
    pub about: About,
}

/// The report: tables by name, and for each what is so before what is doubtful.
pub fn compliance(catalog: &Catalog) -> Vec<ComplianceRow> {
    let catalog = &catalog.without_own_tables();
    let dog = Dog::new(catalog);
    let erasable = erasable_tables(catalog, &dog);
    let mut tables: Vec<&Table> = catalog.stored_tables().map(AsRef::as_ref).collect();
    tables.sort_by(|one, other| one.name.cmp(&other.name));
    let mut proposed = proposals(catalog, &dog);
    let mut rows = Vec::new();
    for table in tables {
        let mut report = ComplianceReport { catalog, dog: &dog, erasable: &erasable, table, rows: Vec::new() };
        report.whose_it_is();
        report.unconnected_columns();
        report.ownership_paths();
        report.joint_ownership();
        report.foreign_keys();
        report.blanked_columns();
        report.primary_key();
        report.consent();
        report.pending();
        for Proposal { message, statement, key } in proposed.remove(&table.id).unwrap_or_default() {
            let about = report.add(Severity::Proposal, None, None, message, &statement).missing();
            if let Some(key) = key {
                about.of_key(key);
            }
        }
        rows.append(&mut report.rows);
    }
    rows
}

impl About {
    fn of(table: RelationId) -> About {
        About { table, columns: Vec::new(), foreign_key: None, is_missing: false }
    }

    fn missing(&mut self) -> &mut Self {
        self.is_missing = true;
        self
    }

    fn of_key(&mut self, key: &ForeignKey) -> &mut Self {
        self.columns.clone_from(&key.columns);
        self.foreign_key = Some(key.constraint.id);
        self
    }
}

struct ComplianceReport<'a> {
    catalog: &'a Catalog,
    dog: &'a Dog,
    erasable: &'a BTreeSet<RelationId>,
    table: &'a Table,
    rows: Vec<ComplianceRow>,
}

impl ComplianceReport<'_> {
    fn add(
        &mut self,
        severity: Severity,
        subject: Option<String>,
        path: Option<String>,
        message: String,
        hint: &str,
    ) -> &mut About {
        let hint = if hint.is_empty() { None } else { Some(hint.to_string()) };
        self.rows.push(ComplianceRow {
            severity,
            table_name: self.catalog.full_name(self.table).into_owned(),
            subject,
            path,
            message,
            hint,
            about: About::of(self.table.id),
        });
        &mut self.rows.last_mut().expect("it was added just now").about
    }

    fn name(&self, table: RelationId) -> String {
        self.catalog.table(table).map(|table| self.catalog.full_name(table).into_owned()).unwrap_or_default()
    }

    fn edge_text(&self, edge: &Edge) -> String {
        describe_edge_ref(self.catalog, edge.reference)
    }

    /// Which data subjects own the table's rows and which may access them, by which paths.
    fn whose_it_is(&mut self) {
        let id = self.table.id;
        if self.table.data_subject {
            let name = self.catalog.full_name(self.table).into_owned();
            self.add(Severity::Info, Some(name), None, "each row is a data subject and owns itself".to_string(), "");
        }
        let (owning, accessing) = (self.dog.ownership_paths(id), self.dog.access_paths(id));
        let owning = owning.into_iter().map(|path| (path, "owned by"));
        for (path, tied) in owning.chain(accessing.into_iter().map(|path| (path, "accessible to"))) {
            let (arity, subject) = (self.arity(&path), self.name(path.subject));
            let text = path.describe(self.catalog);
            let message = format!("{tied} {arity} of \"{subject}\"");
            self.add(Severity::Info, Some(subject), Some(text), message, "");
        }
        if !self.table.data_subject && self.dog.outgoing(id).is_empty() {
            self.add(Severity::Info, None, None, "impersonal: outside every µDB".to_string(), "");
        }
    }

    fn arity(&self, path: &OwnershipPath) -> &'static str {
        let nullable = path.edges.iter().any(|edge| self.is_nullable(edge));
        match (path.variable_edges(), nullable) {
            (0, false) => "exactly one person",
            (0, true) => "at most one person",
            (_, _) => "any number of people",
        }
    }

    /// Whether an edge's foreign key may be NULL.
    fn is_nullable(&self, edge: &Edge) -> bool {
        super::foreign_key(self.catalog, edge.reference)
            .is_some_and(|(holder, key)| key.columns.iter().any(|&column| holder.columns[column].column_type.nullable))
    }

    fn unconnected_columns(&mut self) {
        let id = self.table.id;
        if self.dog.is_personal(id) {
            return;
        }
        let found: Vec<ColumnIndex> = self
            .table
            .live_columns()
            .filter(|(_, column)| looks_personal(&column.name))
            .map(|(index, _)| index)
            .collect();
        if found.is_empty() {
            return;
        }
        let columns = column_names(self.table, &found);
        let about = if self.dog.outgoing(id).is_empty() {
            self.add(
                Severity::Severe,
                None,
                None,
                format!("columns look personal ({columns}), but the table is connected to no data subject: nobody can ask for these data or have them erased"),
                "declare the table DATA_SUBJECT, or give it an OWNED_BY edge to the person whom the data are about",
            )
        } else {
            self.add(
                Severity::Severe,
                None,
                None,
                format!("columns look personal ({columns}), but the table is only accessed, never owned: its rows stand in no µDB and outlive everyone"),
                "add an ownership edge to the person whom the data are about",
            )
        };
        about.missing().columns = found;
    }

    fn ownership_paths(&mut self) {
        if !self.dog.is_personal(self.table.id) || self.table.data_subject {
            return;
        }
        let paths = self.dog.ownership_paths(self.table.id);
        if !paths.is_empty() && paths.iter().all(|path| path.edges.iter().any(|edge| self.is_nullable(edge))) {
            let edges: Vec<String> = paths
                .iter()
                .filter_map(|path| path.edges.iter().find(|edge| self.is_nullable(edge)))
                .map(|edge| self.edge_text(edge))
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect();
            self.add(
                Severity::Warning,
                None,
                Some(edges.join("; ")),
                "every ownership path passes a foreign key that may be NULL: a row with NULL there has no owner and is refused at commit".to_string(),
                "declare one of the columns NOT NULL, or add an ownership path that cannot be NULL",
            );
        }
        for path in &paths {
            let subject = self.name(path.subject);
            let text = path.describe(self.catalog);
            match path.variable_edges() {
                0 => {}
                1 => {
                    self.add(
                    Severity::Notice,
                    Some(subject),
                    Some(text),
                    "many people may own a row by this path: each owner has a copy".to_string(),
                    "make sure that everyone at the end of the path shall own the row, not merely access it (ACCESSES, ACCESSED_BY)",
                );
                }
                edges => {
                    self.add(
                        Severity::Severe,
                        Some(subject),
                        Some(text),
                        format!("{edges} variable-ownership edges on one path: the number of owners multiplies"),
                        "make all but one of the OWNS edges ACCESSES",
                    );
                }
            }
        }
        for edge in self.dog.ownership(self.table.id) {
            if self.dog.is_subject(edge.far) && self.dog.ownership(edge.far).any(|next| !next.is_self()) {
                let near = self.name(edge.far);
                let text = self.edge_text(edge);
                self.rows.push(ComplianceRow {
                    severity: Severity::Notice,
                    table_name: self.catalog.full_name(self.table).into_owned(),
                    subject: Some(near.clone()),
                    path: Some(text),
                    message: format!("the chain of ownership passes data subject \"{near}\" and ends there: who owns that person does not own what the person owns"),
                    hint: Some("add an edge of the table's own if the other person shall own its rows too".to_string()),
                    about: About::of(self.table.id),
                });
            }
        }
    }

    /// Rows that several people own, and what happens to them when one is forgotten.
    fn joint_ownership(&mut self) {
        let id = self.table.id;
        let paths = self.dog.ownership_paths(id);
        let variable = paths.iter().any(|path| path.variable_edges() > 0);
        if paths.len() < 2 && !variable {
            return;
        }
        let edges: Vec<&Edge> = self.dog.ownership(id).collect();
        if edges.len() > 2 {
            let text = edges.iter().map(|edge| self.edge_text(edge)).collect::<Vec<_>>().join("; ");
            self.add(
                Severity::Notice,
                None,
                Some(text),
                format!("{} ownership edges: a row may have many owners", edges.len()),
                "make sure that all of them shall own the row, not merely access it",
            );
        }
        for edge in edges {
            let ruled = self.table.rules.iter().any(|rule| rule.event == RuleEvent::Del && rule.edge == edge.reference);
            if ruled || is_sole_ownership(self.dog, self.table, edge.reference) {
                continue;
            }
            let text = self.edge_text(edge);
            let blanked = column_names(self.table, edge.own_columns());
            let then = if edge.own_columns().is_empty() {
                "the row loses that person's copy and keeps all its columns".to_string()
            } else {
                format!("the row stays with its other owners, with only \"{blanked}\" blanked")
            };
            self.add(
                Severity::Warning,
                None,
                Some(text),
                format!(
                    "rows may be jointly owned and this edge has no ON DEL rule: when the person is forgotten, {then}"
                ),
                "say what about the forgotten person must go: ON DEL … ANON (columns) or DELETE_ROW",
            );
        }
    }

    fn foreign_keys(&mut self) {
        for key in &self.table.foreign_keys {
            if key.annotation.is_none() {
                self.plain_foreign_key(key);
            }
        }
    }

    fn plain_foreign_key(&mut self, key: &ForeignKey) {
        let target = self.name(key.target);
        let text = describe_edge(self.catalog, self.table, key);
        if !key.only && (self.dog.is_personal(key.target) || !self.dog.outgoing(key.target).is_empty()) {
            let subjects: BTreeSet<RelationId> = if self.dog.is_subject(key.target) {
                BTreeSet::from([key.target])
            } else {
                self.dog.ownership_paths(key.target).iter().map(|path| path.subject).collect()
            };
            let subjects: Vec<String> = subjects.into_iter().map(|subject| self.name(subject)).collect();
            if !subjects.is_empty() {
                self.add(
                    Severity::Warning,
                    Some(subjects.join(", ")),
                    Some(text.clone()),
                    format!("a plain foreign key leads to a data subject through \"{target}\", and gives nobody any right to the row"),
                    "annotate it (OWNED_BY, ACCESSED_BY, …), or write REFERENCES ONLY if it says nothing about a person",
                )
                .missing()
                .of_key(key);
            }
        }
        if self.erasable.contains(&key.target) && key.on_delete == ReferentialAction::NoAction {
            let columns = column_names(self.table, &key.columns);
            self.add(
                Severity::Notice,
                None,
                Some(text),
                format!("rows of \"{target}\" can be erased and this foreign key has no ON DELETE action: erasure sets \"{columns}\" to NULL"),
                "write ON DELETE SET NULL to say so, or ON DELETE CASCADE to erase the row with it",
            )
            .of_key(key);
        }
    }

    /// NOT NULL columns that an erasure may blank.
    fn blanked_columns(&mut self) {
        for (column, why) in blanked_columns(self.catalog, self.dog, self.erasable, self.table) {
            let entry = &self.table.columns[column];
            if entry.column_type.nullable {
                continue;
            }
            let name = entry.name.clone();
            self.add(
                Severity::Notice,
                None,
                Some(why),
                format!("\"{name}\" is NOT NULL, and an erasure may blank it: it is reported nullable, and readers must expect NULL"),
                "declare the column nullable so that applications expect it",
            )
            .columns = vec![column];
        }
    }

    /// Rows that go because a primary-key column would have to be blanked.
    fn primary_key(&mut self) {
        let Some(primary_key) = self.table.primary_key_columns() else { return };
        let rows: Vec<String> = self
            .table
            .foreign_keys
            .iter()
            .filter(|key| {
                self.erasable.contains(&key.target)
                    && key.target != self.table.id
                    && outlives(self.catalog, self.dog, self.erasable, self.table, key)
                    && key.columns.iter().all(|column| primary_key.contains(column))
            })
            .map(|key| describe_edge(self.catalog, self.table, key))
            .collect();
        for edge in rows {
            self.add(
                Severity::Notice,
                None,
                Some(edge),
                "erasing the referenced row erases this row for everyone, because a primary-key column would have to be blanked".to_string(),
                "give the table a key of its own if the row shall survive",
            );
        }
    }

    /// Purposes that ask for a consent which is kept nowhere.
    fn consent(&mut self) {
        let asking = self.catalog.rights.purposes.iter().filter(|(_, purpose)| purpose.by_consent);
        let asking: Vec<String> = asking.map(|(name, _)| format!("\"{name}\"")).collect();
        if asking.is_empty() || !self.table.says_purposes() {
            return;
        }
        let own = Some(self.table.id).filter(|table| self.dog.is_subject(*table));
        let owners = self.dog.ownership_paths(self.table.id).into_iter().map(|path| path.subject);
        for subject in own.into_iter().chain(owners).collect::<BTreeSet<_>>() {
            let leads = |key: &ForeignKey| key.target == subject && key.annotation == Some(EdgeKind::OwnedBy);
            let is_book =
                |table: &Table| table.property(Property::Consents).is_some() && table.foreign_keys.iter().any(leads);
            if self.catalog.stored_tables().any(|table| is_book(table)) {
                continue;
            }
            let people = self.name(subject);
            self.add(
                Severity::Warning,
                Some(people.clone()),
                None,
                format!("purposes ask for consent ({}), and no table keeps consents of \"{people}\": for these purposes nobody sees a row", asking.join(", ")),
                "declare one: a column OWNED_BY the person, one TEXT NOT NULL CONSENTS, one TIMESTAMPTZ WITHDRAWN",
            )
            .missing();
        }
    }

    fn pending(&mut self) {
        if let Some(reason) = self.table.pending.clone() {
            self.add(
                Severity::Severe,
                None,
                None,
                format!("not complete, INSERT is refused: {reason}"),
                "finish declaring the graph",
            )
            .missing();
        }
    }
}

/// Whether a column's name suggests data about a person.
pub fn looks_personal(name: &str) -> bool {
    const WORDS: [&str; 34] = [
        "address",
        "affiliation",
        "avatar",
        "bio",
        "birth",
        "birthday",
        "birthdate",
        "dob",
        "email",
        "fax",
        "firstname",
        "fullname",
        "gender",
        "ip",
        "lastname",
        "login",
        "mail",
        "mobile",
        "nationality",
        "nickname",
        "passport",
        "passwd",
        "password",
        "phone",
        "photo",
        "salary",
        "sex",
        "ssn",
        "street",
        "surname",
        "telephone",
        "username",
        "zip",
        "zipcode",
    ];
    let mut spaced = String::new();
    let mut previous_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && previous_lower {
            spaced.push('_');
        }
        previous_lower = character.is_lowercase();
        spaced.extend(character.to_lowercase());
    }
    let parts: Vec<&str> = spaced.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let is_personal_word = |part: &&str| {
        let part = part.trim_end_matches(|c: char| c.is_ascii_digit());
        WORDS.contains(&part) || WORDS.contains(&part.trim_end_matches('s'))
    };
    let names_of_people = [
        ["first", "name"],
        ["last", "name"],
        ["full", "name"],
        ["user", "name"],
        ["family", "name"],
        ["given", "name"],
        ["real", "name"],
    ];
    spaced == "name"
        || parts.iter().any(is_personal_word)
        || parts.windows(2).any(|pair| names_of_people.iter().any(|known| known == pair))
}
