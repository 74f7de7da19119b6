//! SECURITY LABEL and COMMENT ON: the second spelling of annotations, and how `pg_seclabels` shows all of them.
//!
//! A label says all that is annotated on its object: a new one replaces the old, NULL removes it. A comment may
//! only add.

use super::Labels;
use super::annotate::{Applied, edge_word, event_word};
use super::change::DefinitionChange;
use crate::catalog::own_tables::is_own;
use crate::catalog::{Catalog, EdgeRef, PendingAnnotation, Retention, RetentionEnd, RuleAction, Scope, Table};
use crate::error::PlanError;
use crate::parse::annotation::{Annotation, parse_comment_tags, parse_label};
use crate::parse::definition::RetentionDefinition;
use crate::parse::statement::{Identifier, LabelledObject, ObjectKind, ObjectName};
use repr::{ColumnIndex, RelationId};
use std::sync::Arc;

/// One row of `pg_seclabels`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityLabelRow {
    /// The table.
    pub table: RelationId,
    /// The column, or `None` for the table.
    pub column: Option<ColumnIndex>,
    /// The label.
    pub label: String,
}

/// Every annotation of the catalog as labels, in the order of tables and columns; the provider is `dogwood`.
pub fn security_labels<'a>(scope: impl Into<Scope<'a>>) -> Vec<SecurityLabelRow> {
    let scope = scope.into();
    let catalog = scope.catalog;
    let mut rows = Vec::new();
    // Nobody restores the server's own tables.
    for table in catalog.relations.values().filter(|table| !is_own(table.id.0)) {
        let label = table_label(scope, table);
        if !label.is_empty() {
            rows.push(SecurityLabelRow { table: table.id, column: None, label });
        }
        for (column, _) in table.live_columns() {
            let label = column_label(scope, table, column);
            if !label.is_empty() {
                rows.push(SecurityLabelRow { table: table.id, column: Some(column), label });
            }
        }
    }
    rows
}

/// What a column's label says: its annotation, and what still waits.
fn column_label(scope: Scope<'_>, table: &Table, column: ColumnIndex) -> String {
    let mut parts: Vec<String> = table
        .foreign_keys
        .iter()
        .filter(|key| key.columns == [column])
        .filter_map(|key| {
            let word = match key.annotation {
                Some(kind) => edge_word(kind),
                None if key.only => "REFERENCES ONLY",
                None => return None,
            };
            Some(format!("{word} {}", target(scope, key)))
        })
        .collect();
    parts.extend(table.columns[column].property.map(|property| property.word().to_owned()));
    parts.extend(pending_texts(scope.catalog, table.id, Some(column)));
    parts.join("; ")
}

/// What a table's label says: DATA_SUBJECT, composite edges, rules, and what still waits.
fn table_label(scope: Scope<'_>, table: &Table) -> String {
    let mut parts = Vec::new();
    if table.data_subject {
        parts.push("DATA_SUBJECT".to_string());
    }
    for key in table.foreign_keys.iter().filter(|key| key.columns.len() > 1) {
        let word = match key.annotation {
            Some(kind) => edge_word(kind),
            None if key.only => "REFERENCES ONLY",
            None => continue,
        };
        let columns = names(table, &key.columns);
        parts.push(format!("FOREIGN KEY ({columns}) {word} {}", target(scope, key)));
    }
    for rule in &table.rules {
        let edge = crate::ownership::edge_in_rules(scope, table.id, rule.edge);
        let action = match &rule.action {
            RuleAction::Anon(columns) => format!("ANON ({})", names(table, columns)),
            RuleAction::DeleteRow => "DELETE_ROW".to_string(),
        };
        parts.push(format!("ON {} {edge} {action}", event_word(rule.event)));
    }
    parts.extend(table.retention.as_ref().map(Retention::label));
    parts.extend(pending_texts(scope.catalog, table.id, None));
    parts.join("; ")
}

fn pending_texts(catalog: &Catalog, table: RelationId, column: Option<ColumnIndex>) -> Vec<String> {
    let pending = catalog.pending_annotations.get(&table).map(Vec::as_slice).unwrap_or_default();
    pending.iter().filter(|entry| entry.column == column).map(|entry| entry.text.clone()).collect()
}

fn target(scope: Scope<'_>, key: &crate::catalog::ForeignKey) -> String {
    match scope.catalog.table(key.target) {
        Some(target) => format!("{}({})", scope.spelled_table(target), names(target, &key.target_columns)),
        None => String::new(),
    }
}

fn names(table: &Table, columns: &[ColumnIndex]) -> String {
    columns
        .iter()
        .map(|&column| crate::ownership::quote_identifier(&table.columns[column].name))
        .collect::<Vec<_>>()
        .join(", ")
}

impl DefinitionChange<'_> {
    pub(super) fn security_label(
        &mut self,
        provider: Option<&str>,
        object: &LabelledObject,
        label: Option<&str>,
    ) -> Result<&'static str, PlanError> {
        const TAG: &str = "SECURITY LABEL";
        if let Some(provider) = provider
            && provider != "dogwood"
        {
            return Err(PlanError::new("22023", format!("security label provider \"{provider}\" is not loaded")));
        }
        let (id, column) = match object {
            LabelledObject::Object(ObjectKind::Table, name) => (self.table(name)?, None),
            LabelledObject::Column(table, column) => {
                let id = self.table(table)?;
                (id, Some(self.column(id, column)?))
            }
            LabelledObject::Object(..)
            | LabelledObject::Constraint(..)
            | LabelledObject::DomainConstraint(..)
            | LabelledObject::Database(_)
            | LabelledObject::Extension(_)
            | LabelledObject::Routine(..)
            | LabelledObject::Operator(_)
            | LabelledObject::Role(_)
            | LabelledObject::Other(_) => {
                return Err(
                    PlanError::unsupported("a security label on this kind of object").hint("label tables and columns")
                );
            }
        };
        let annotations = match label {
            Some(label) => parse_label(label)?,
            None => Vec::new(),
        };
        if let Some(column) = column
            && annotations.iter().filter(|found| matches!(found, Annotation::Edge(_))).count() > 1
        {
            let name = &self.get(id).columns[column].name;
            return Err(PlanError::new("42710", format!("the label gives column \"{name}\" more than one annotation")));
        }
        self.clear_annotations(id, column, &annotations)?;
        for (annotation, text) in annotations.iter().zip(texts(label.unwrap_or_default())) {
            self.annotate(id, column, annotation, text)?;
        }
        Ok(TAG)
    }

    /// Applies an annotation now, or keeps it until what it names is there.
    fn annotate(
        &mut self,
        id: RelationId,
        column: Option<ColumnIndex>,
        annotation: &Annotation,
        text: String,
    ) -> Result<(), PlanError> {
        let applied = match self.labels {
            Labels::TakeEffect | Labels::Settle => self.apply_annotation(id, column, annotation)?,
            Labels::Wait => Applied::Waits,
        };
        if let Applied::Waits = applied {
            self.catalog.pending_annotations.entry(id).or_default().push(PendingAnnotation { column, text });
        }
        Ok(())
    }

    /// What the object was labelled before and the new label does not repeat.
    fn clear_annotations(
        &mut self,
        id: RelationId,
        column: Option<ColumnIndex>,
        new: &[Annotation],
    ) -> Result<(), PlanError> {
        if let Some(pending) = self.catalog.pending_annotations.get_mut(&id) {
            pending.retain(|entry| entry.column != column);
        }
        let table = Arc::clone(self.get(id));
        let repeated = |key: &crate::catalog::ForeignKey, change: &Self| {
            new.iter().any(|annotation| match annotation {
                Annotation::Edge(references) | Annotation::CompositeEdge(_, references) => {
                    change.names_target(id, key, references) && key.annotation == references.annotation
                }
                Annotation::DataSubject | Annotation::Rule(_) | Annotation::Property(_) | Annotation::Retention(_) => {
                    false
                }
            })
        };
        for key in &table.foreign_keys {
            let own = match column {
                Some(column) => key.columns == [column],
                None => key.columns.len() > 1,
            };
            if own && key.annotation.is_some() && !repeated(key, self) {
                self.take_annotation(EdgeRef { table: id, foreign_key: key.constraint.id });
            }
        }
        if let Some(column) = column
            && let Some(property) = table.columns[column].property
            && !new.contains(&Annotation::Property(property))
        {
            self.take_property(id, column)?;
        }
        if column.is_none() {
            let keeps = new.iter().any(|annotation| matches!(annotation, Annotation::Retention(_)));
            let table = self.edit(id);
            table.data_subject = false;
            table.rules.clear();
            if !keeps {
                table.retention = None;
            }
        }
        Ok(())
    }

    pub(super) fn comment(&mut self, object: &LabelledObject, text: Option<&str>) -> Result<&'static str, PlanError> {
        const TAG: &str = "COMMENT";
        let text_owned = text.filter(|text| !text.is_empty()).map(str::to_string);
        match object {
            LabelledObject::Object(ObjectKind::Table, name) => {
                let id = self.table(name)?;
                self.comment_tags(id, None, text)?;
                self.edit(id).comment = text_owned;
            }
            LabelledObject::Object(kind @ (ObjectKind::View | ObjectKind::MaterializedView), name) => {
                let id = self.view(name, *kind == ObjectKind::MaterializedView)?;
                refuse_tags(text)?;
                self.edit(id).comment = text_owned;
            }
            LabelledObject::Column(table, column) => {
                let id = self.relation(table)?;
                let index = self.column(id, column)?;
                if self.get(id).is_stored() {
                    self.comment_tags(id, Some(index), text)?;
                } else {
                    refuse_tags(text)?;
                }
                self.edit(id).columns[index].comment = text_owned;
            }
            LabelledObject::Object(kind, name) => {
                let oid = self.oid_of(*kind, name)?;
                self.set_comment(oid, text_owned);
            }
            LabelledObject::Constraint(name, table) => self.comment_on_constraint(name, table, text_owned)?,
            LabelledObject::DomainConstraint(name, domain) => {
                self.comment_on_domain_constraint(name, domain, text_owned)?;
            }
            LabelledObject::Database(name) => {
                match self.start_database(name) {
                    Ok(id) => self.set_comment(id.0, text_owned),
                    // As in PostgreSQL: a dump may be restored under another name.
                    Err(error) if error.code == "3D000" => self.notice("3D000", error.message),
                    Err(error) => return Err(error),
                }
            }
            LabelledObject::Routine(kind, name) => {
                let id = self.routine_named(*kind, name)?;
                self.set_comment(id, text_owned);
            }
            LabelledObject::Operator(name) => {
                let id = self.operator_named(name)?;
                self.set_comment(id, text_owned);
            }
            LabelledObject::Role(name) => {
                let id = self.role_named(name)?;
                self.set_comment(id.0, text_owned);
            }
            LabelledObject::Extension(name) => {
                let missing = || PlanError::new("42704", format!("extension \"{}\" does not exist", name.name));
                let oid = self.extension(&name.name).ok_or_else(missing)?;
                self.set_comment(oid, text_owned);
            }
            LabelledObject::Other(kind) if kind == "tablespace" => {}
            LabelledObject::Other(kind) => {
                return Err(PlanError::unsupported(format!("COMMENT ON {}", kind.to_uppercase())));
            }
        }
        Ok(TAG)
    }

    /// What the tags of a relation's comment, or of a column's, annotate.
    pub(super) fn comment_on_relation(
        &mut self,
        id: RelationId,
        column: Option<ColumnIndex>,
        text: Option<&str>,
    ) -> Result<(), PlanError> {
        if self.get(id).is_stored() { self.comment_tags(id, column, text) } else { refuse_tags(text) }
    }

    fn comment_on_constraint(
        &mut self,
        name: &Identifier,
        table: &ObjectName,
        text: Option<String>,
    ) -> Result<(), PlanError> {
        let id = self.table(table)?;
        let table = self.get(id);
        let oid = table.constraints().find(|found| found.name == name.name).map(|found| found.id);
        let Some(oid) = oid else {
            return Err(PlanError::new(
                "42704",
                format!("constraint \"{}\" for table \"{}\" does not exist", name.name, table.name),
            )
            .at(Some(name.position)));
        };
        self.set_comment(oid, text);
        Ok(())
    }

    fn comment_on_domain_constraint(
        &mut self,
        name: &Identifier,
        domain: &ObjectName,
        text: Option<String>,
    ) -> Result<(), PlanError> {
        let found = &self.catalog.types[&self.domain_named(domain)?];
        let mut checks = found.domain().into_iter().flat_map(|domain| &domain.checks);
        let oid = checks.find(|check| check.constraint.name == name.name).map(|check| check.constraint.id);
        let missing = || {
            let message = format!("constraint \"{}\" for domain {} does not exist", name.name, found.name);
            PlanError::new("42704", message)
        };
        self.set_comment(oid.ok_or_else(missing)?, text);
        Ok(())
    }

    fn set_comment(&mut self, oid: repr::Id, text: Option<String>) {
        match text {
            Some(text) => self.catalog.comments.insert(oid, text),
            None => self.catalog.comments.remove(&oid),
        };
    }

    fn oid_of(&self, kind: ObjectKind, name: &crate::parse::statement::ObjectName) -> Result<repr::Id, PlanError> {
        match kind {
            ObjectKind::Table => Ok(self.table(name)?.0),
            ObjectKind::Sequence => Ok(self.sequence(name)?.0),
            ObjectKind::Index => Ok(self.index(name)?.1.0),
            ObjectKind::Type => self.type_named(name),
            ObjectKind::Domain => self.domain_named(name),
            ObjectKind::Schema => Ok(self.schema(name)?.0),
            ObjectKind::View | ObjectKind::MaterializedView => Ok(self.relation(name)?.0),
        }
    }

    /// A comment's tags: they add, and never take away or change.
    fn comment_tags(
        &mut self,
        id: RelationId,
        column: Option<ColumnIndex>,
        text: Option<&str>,
    ) -> Result<(), PlanError> {
        let annotations = parse_comment_tags(text.unwrap_or_default())?;
        let table = Arc::clone(self.get(id));
        let old = match column {
            Some(column) => table.columns[column].comment.clone(),
            None => table.comment.clone(),
        };
        let old_tags = parse_comment_tags(old.as_deref().unwrap_or_default()).unwrap_or_default();
        let means_same = |one: &Annotation, other: &Annotation| canonical(one) == canonical(other);
        if old_tags.iter().any(|old| !annotations.iter().any(|new| means_same(old, new))) {
            return Err(removal(&table, column));
        }
        for annotation in &annotations {
            if let (Annotation::Edge(references), Some(column)) = (annotation, column) {
                let annotated =
                    table.foreign_keys.iter().find(|key| key.columns == [column] && key.annotation.is_some());
                if let Some(key) = annotated
                    && (key.annotation != references.annotation || !self.names_target(id, key, references))
                {
                    return Err(removal(&table, Some(column)));
                }
            }
            if let (Annotation::Property(property), Some(column)) = (annotation, column)
                && table.columns[column].property.is_some_and(|found| found != *property)
            {
                return Err(removal(&table, Some(column)));
            }
            if let (Annotation::Retention(written), Some(retention)) = (annotation, &table.retention)
                && retained(written) != *retention
            {
                return Err(removal(&table, None));
            }
            let known = self.catalog.pending_annotations.get(&id).is_some_and(|pending| {
                pending.iter().any(|entry| entry.column == column && entry.text == canonical(annotation))
            });
            if !known {
                self.annotate(id, column, annotation, canonical(annotation))?;
            }
        }
        Ok(())
    }

    /// Tries again what waited: after every definition, until nothing more takes effect.
    pub(super) fn apply_pending(&mut self) -> Result<(), PlanError> {
        if self.labels == Labels::Wait {
            return Ok(());
        }
        let count = |change: &Self| change.catalog.pending_annotations.values().map(Vec::len).sum::<usize>();
        let mut before = usize::MAX;
        while count(self) < before {
            before = count(self);
            self.apply_pending_once()?;
        }
        Ok(())
    }

    fn apply_pending_once(&mut self) -> Result<(), PlanError> {
        // Those of other databases wait for definitions there.
        let (catalog, home) = (&self.catalog, self.path.home());
        let is_here =
            |id: &RelationId| catalog.table(*id).is_none_or(|table| catalog.database_of(table.namespace) == home);
        let waiting: Vec<RelationId> = catalog.pending_annotations.keys().copied().filter(is_here).collect();
        for id in waiting {
            let entries = self.catalog.pending_annotations.remove(&id).unwrap_or_default();
            if !self.catalog.relations.contains_key(&id) {
                continue;
            }
            // Edges before the rules that name them, and these before what they say of rows that are kept no longer.
            let mut entries = entries;
            entries.sort_by_key(|entry| match () {
                () if entry.text.starts_with("RETAIN ") => 2,
                () if entry.text.starts_with("ON ") => 1,
                () => 0,
            });
            for entry in entries {
                for annotation in parse_label(&entry.text)? {
                    self.annotate(id, entry.column, &annotation, entry.text.clone())?;
                }
            }
        }
        Ok(())
    }
}

/// Nobody owns a view: annotations say who owns rows of tables.
fn refuse_tags(text: Option<&str>) -> Result<(), PlanError> {
    if parse_comment_tags(text.unwrap_or_default())?.is_empty() {
        return Ok(());
    }
    Err(PlanError::new("42809", "a view cannot be annotated").hint("annotate the tables that it reads"))
}

fn removal(table: &Table, column: Option<ColumnIndex>) -> PlanError {
    let what = match column {
        Some(column) => format!("column \"{}\" of table \"{}\"", table.columns[column].name, table.name),
        None => format!("table \"{}\"", table.name),
    };
    PlanError::new("42P16", format!("a comment cannot remove or change an annotation of {what}"))
        .hint("use SECURITY LABEL FOR dogwood ON … or ALTER TABLE; then comment")
}

/// The pieces of a label, in canonical spelling.
fn texts(label: &str) -> Vec<String> {
    parse_label(label).unwrap_or_default().iter().map(canonical).collect()
}

/// An annotation in the spelling of labels.
fn canonical(annotation: &Annotation) -> String {
    use crate::ownership::quote_identifier as quote;
    use crate::parse::definition::RuleActionDefinition;
    use crate::parse::statement::Identifier;
    let name = |name: &ObjectName| match &name.schema {
        Some(schema) => format!("{}.{}", quote(schema), quote(&name.name)),
        None => quote(&name.name),
    };
    let list = |columns: &[Identifier]| columns.iter().map(|column| quote(&column.name)).collect::<Vec<_>>().join(", ");
    let edge = |references: &crate::parse::definition::References| {
        let word = references.annotation.map_or("REFERENCES ONLY", edge_word);
        let columns =
            if references.columns.is_empty() { String::new() } else { format!("({})", list(&references.columns)) };
        format!("{word} {}{columns}", name(&references.table))
    };
    match annotation {
        Annotation::DataSubject => "DATA_SUBJECT".to_string(),
        Annotation::Edge(references) => edge(references),
        Annotation::Property(property) => property.word().to_string(),
        Annotation::Retention(written) => retained(written).label(),
        Annotation::CompositeEdge(columns, references) => {
            format!("FOREIGN KEY ({}) {}", list(columns), edge(references))
        }
        Annotation::Rule(rule) => {
            let edge = match (&rule.edge.table, rule.edge.columns.as_slice()) {
                (Some(table), columns) => format!("{}({})", name(table), list(columns)),
                (None, [only]) => quote(&only.name),
                (None, columns) => format!("({})", list(columns)),
            };
            let action = match &rule.action {
                Some(RuleActionDefinition::Anon(columns)) => format!("ANON ({})", list(columns)),
                Some(RuleActionDefinition::DeleteRow) => "DELETE_ROW".to_string(),
                None => String::new(),
            };
            format!("ON {} {edge} {action}", event_word(rule.event))
        }
    }
}

/// How long rows are kept, as a label says it: whole.
fn retained(written: &RetentionDefinition) -> Retention {
    Retention {
        retain: written.retain.clone().unwrap_or_default(),
        basis: written.basis.clone(),
        then: written.then.unwrap_or(RetentionEnd::Delete),
    }
}
