//! Annotations become edges and rules, whichever of the three spellings they come in.

use super::change::DefinitionChange;
use super::validity::Existing;
use crate::catalog::{
    EdgeKind, EdgeRef, EdgeSource, ForeignKey, Property, RetentionEnd, Rule, RuleAction, RuleEvent, Table,
};
use crate::error::PlanError;
use crate::parse::annotation::Annotation;
use crate::parse::definition::{References, RetentionDefinition, RuleActionDefinition, RuleDefinition, Timing};
use crate::parse::statement::{Identifier, ObjectName};
use repr::{ColumnIndex, RelationId};
use std::sync::Arc;

/// Whether an annotation took hold, or waits for what it names.
pub(super) enum Applied {
    Now,
    /// 42P01, 42704 or 42830: the target, its key or the edge is not there yet.
    Waits,
}

impl DefinitionChange<'_> {
    /// Applies one annotation of a label or comment on a table or column.
    pub(super) fn apply_annotation(
        &mut self,
        id: RelationId,
        column: Option<ColumnIndex>,
        annotation: &Annotation,
    ) -> Result<Applied, PlanError> {
        match (annotation, column) {
            // pg_dump brings labels before primary keys.
            (Annotation::DataSubject, None) if self.get(id).primary_key.is_none() => Ok(Applied::Waits),
            (Annotation::DataSubject, None) => {
                self.edit(id).data_subject = true;
                Ok(Applied::Now)
            }
            (Annotation::DataSubject, Some(_)) => Err(misplaced("DATA_SUBJECT", "a table")),
            (Annotation::Edge(references), Some(column)) => self.apply_edge(id, vec![column], references),
            (Annotation::Edge(_), None) => Err(misplaced("an edge", "a column")
                .hint("for a composite key, write FOREIGN KEY (columns) OWNED_BY table(columns)")),
            (Annotation::CompositeEdge(columns, references), None) => {
                let columns = columns.iter().map(|column| self.column(id, column)).collect::<Result<Vec<_>, _>>()?;
                self.apply_edge(id, columns, references)
            }
            (Annotation::CompositeEdge(..), Some(_)) => Err(misplaced("FOREIGN KEY (…)", "a table")),
            (Annotation::Rule(rule), None) => match self.find_edge(id, rule) {
                Ok(_) => self.add_rule(id, rule).map(|()| Applied::Now),
                Err(error) if error.code == "42703" && self.may_become_edge(id, rule) => Ok(Applied::Waits),
                Err(error) => Err(error),
            },
            (Annotation::Property(property), Some(column)) => {
                self.give_property(id, column, *property).map(|()| Applied::Now)
            }
            (Annotation::Retention(written), None) => self.apply_retention(id, written),
            (Annotation::Retention(_), Some(_)) => Err(misplaced("RETAIN", "a table")),
            (Annotation::Property(property), None) => Err(misplaced(property.word(), "a column")),
            (Annotation::Rule(_), Some(_)) => Err(misplaced("ON GET and ON DEL", "a table")),
        }
    }

    /// RETAIN by label, once there is the column that it counts by, and the edges that say how a row is anonymized.
    fn apply_retention(&mut self, id: RelationId, written: &RetentionDefinition) -> Result<Applied, PlanError> {
        let others_wait = self.catalog.pending_annotations.get(&id).is_some_and(|waiting| !waiting.is_empty());
        let cuts_edges = written.then == Some(RetentionEnd::Anonymize);
        if self.get(id).property(Property::Expires).is_none() || cuts_edges && others_wait {
            return Ok(Applied::Waits);
        }
        if let Some(retention) = &mut self.edit(id).retention {
            // A label says all of it.
            retention.basis = None;
        }
        self.set_retention(id, written).map(|()| Applied::Now)
    }

    /// An edge by label: on the foreign key that is there, or in its stead.
    fn apply_edge(
        &mut self,
        id: RelationId,
        columns: Vec<ColumnIndex>,
        references: &References,
    ) -> Result<Applied, PlanError> {
        let keys: Vec<ForeignKey> =
            self.get(id).foreign_keys.iter().filter(|key| key.columns == columns).cloned().collect();
        let target = self.beside(id, &references.table, DefinitionChange::relation).ok();
        let same_target =
            keys.iter().find(|key| Some(key.target) == target && self.names_same_columns(key, references));
        if let Some(key) = same_target {
            let edge = EdgeRef { table: id, foreign_key: key.constraint.id };
            match references.annotation {
                Some(kind) => self.annotate_edge(edge, kind)?,
                None => self.set_only(edge, references.only),
            }
            return Ok(Applied::Now);
        }
        let found = self.add_foreign_key(
            id,
            None,
            columns,
            references,
            Timing::default(),
            Existing::Checked,
            Some(EdgeSource::LabelOnly),
        );
        match found {
            Ok(_) => Ok(Applied::Now),
            Err(error) if matches!(error.code, "42P01" | "42704" | "42830") => Ok(Applied::Waits),
            Err(error) => Err(error),
        }
    }

    /// What a name in an annotation of a table means: by the search path, or else beside the table. A label comes out of a dump
    /// that searches nothing, and may wait until somebody with another search path brings what it names.
    pub(super) fn beside<T>(
        &self,
        id: RelationId,
        name: &ObjectName,
        find: impl Fn(&Self, &ObjectName) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let found = find(self, name);
        let missing = matches!(&found, Err(error) if error.code == "42P01");
        let Some(schema) = self.catalog.namespaces.get(&self.get(id).namespace) else { return found };
        if !missing || name.schema.is_some() {
            return found;
        }
        find(self, &ObjectName { schema: Some(schema.name.clone()), ..name.clone() }).or(found)
    }

    /// Whether an annotation of a table names what a key of it leads to.
    pub(super) fn names_target(&self, id: RelationId, key: &ForeignKey, references: &References) -> bool {
        self.beside(id, &references.table, DefinitionChange::relation).is_ok_and(|target| target == key.target)
    }

    fn names_same_columns(&self, key: &ForeignKey, references: &References) -> bool {
        let target = self.get(key.target);
        references.columns.is_empty()
            || (references.columns.len() == key.target_columns.len()
                && references
                    .columns
                    .iter()
                    .zip(&key.target_columns)
                    .all(|(column, &index)| target.columns[index].name == column.name))
    }

    /// ALTER COLUMN c SET OWNED_BY t(x)
    pub(super) fn set_annotation(
        &mut self,
        id: RelationId,
        column: &Identifier,
        references: &References,
    ) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        // SET replaces: the column's other annotation goes.
        let others: Vec<EdgeRef> = self
            .get(id)
            .foreign_keys
            .iter()
            .filter(|key| key.columns == [index] && key.annotation.is_some())
            .map(|key| EdgeRef { table: id, foreign_key: key.constraint.id })
            .collect();
        for edge in others {
            let keeps = self
                .key(edge)
                .is_some_and(|key| self.names_target(id, key, references) && self.names_same_columns(key, references));
            if !keeps {
                self.take_annotation(edge);
            }
        }
        match self.apply_edge(id, vec![index], references)? {
            Applied::Now => Ok(()),
            // Unlike a label, ALTER TABLE names what exists: say what is missing.
            Applied::Waits => self
                .add_foreign_key(
                    id,
                    None,
                    vec![index],
                    references,
                    Timing::default(),
                    Existing::Checked,
                    Some(EdgeSource::LabelOnly),
                )
                .map(|_| ()),
        }
    }

    /// ALTER COLUMN c DROP OWNED_BY
    pub(super) fn drop_annotation(
        &mut self,
        id: RelationId,
        column: &Identifier,
        kind: EdgeKind,
    ) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = self.get(id);
        let key = table.foreign_keys.iter().find(|key| key.columns == [index] && key.annotation == Some(kind));
        match key {
            Some(key) => self.unannotate_edge(EdgeRef { table: id, foreign_key: key.constraint.id }, kind),
            None => Err(PlanError::new(
                "42704",
                format!("column \"{}\" of table \"{}\" has no annotation {}", column.name, table.name, edge_word(kind)),
            )
            .at(Some(column.position))),
        }
    }

    pub(super) fn annotate_edge(&mut self, edge: EdgeRef, kind: EdgeKind) -> Result<(), PlanError> {
        let Some(key) = self.key(edge) else { return Ok(()) };
        if key.annotation == Some(kind) {
            return Ok(());
        }
        if key.constraint.not_valid {
            let name = &key.constraint.name;
            return Err(PlanError::new("55000", format!("constraint \"{name}\" is not valid"))
                .detail("Whose rows are whose must be known of all rows.")
                .hint("ALTER TABLE … VALIDATE CONSTRAINT first."));
        }
        let columns = key.columns.clone();
        let table = Arc::clone(self.get(edge.table));
        let other = table.foreign_keys.iter().find(|other| {
            other.constraint.id != edge.foreign_key && other.columns == columns && other.annotation.is_some()
        });
        if let Some(other) = other {
            return Err(PlanError::new(
                "42710",
                format!(
                    "{} of table \"{}\" is annotated already",
                    super::constraint::columns_phrase(&table, &columns),
                    table.name
                ),
            )
            .detail(format!("edge: {}", crate::ownership::describe_edge(&self.catalog, &table, other)))
            .hint("a column has one annotation; drop the other one first"));
        }
        if let Some(key) = self.key_mut(edge) {
            key.annotation = Some(kind);
        }
        self.catalog.labelled_edges.entry(edge).or_insert(EdgeSource::Label);
        Ok(())
    }

    pub(super) fn unannotate_edge(&mut self, edge: EdgeRef, kind: EdgeKind) -> Result<(), PlanError> {
        let Some(key) = self.key(edge) else { return Ok(()) };
        if key.annotation != Some(kind) {
            let name = &key.constraint.name;
            return Err(PlanError::new(
                "42704",
                format!("constraint \"{name}\" has no annotation {}", edge_word(kind)),
            ));
        }
        self.take_annotation(edge);
        Ok(())
    }

    /// Removes an edge's annotation and rules; a key that only the annotation made goes as well.
    pub(super) fn take_annotation(&mut self, edge: EdgeRef) {
        if self.catalog.labelled_edges.get(&edge) == Some(&EdgeSource::LabelOnly) {
            self.remove_foreign_key(edge.table, edge.foreign_key);
            return;
        }
        if let Some(key) = self.key_mut(edge) {
            key.annotation = None;
        }
        self.forget_edge(edge);
    }

    fn set_only(&mut self, edge: EdgeRef, only: bool) {
        if let Some(key) = self.key_mut(edge) {
            key.only |= only;
        }
    }

    pub(super) fn key(&self, edge: EdgeRef) -> Option<&ForeignKey> {
        self.get(edge.table).foreign_keys.iter().find(|key| key.constraint.id == edge.foreign_key)
    }

    fn key_mut(&mut self, edge: EdgeRef) -> Option<&mut ForeignKey> {
        self.edit(edge.table).foreign_keys.iter_mut().find(|key| key.constraint.id == edge.foreign_key)
    }

    /// ON GET|DEL … in CREATE TABLE, ALTER TABLE … ADD, or a label.
    pub(super) fn add_rule(&mut self, id: RelationId, definition: &RuleDefinition) -> Result<(), PlanError> {
        let edge = self.find_edge(id, definition)?;
        let action = match &definition.action {
            Some(RuleActionDefinition::Anon(columns)) => {
                let mut indexes =
                    columns.iter().map(|column| self.column(id, column)).collect::<Result<Vec<_>, _>>()?;
                indexes.sort_unstable();
                indexes.dedup();
                RuleAction::Anon(indexes)
            }
            Some(RuleActionDefinition::DeleteRow) => RuleAction::DeleteRow,
            None => return Err(PlanError::new("42601", "the rule says neither ANON nor DELETE_ROW")),
        };
        let rule = Rule { event: definition.event, edge, action };
        let table = self.edit(id);
        // Several rules on one edge unite; the same rule twice is one.
        if !table.rules.contains(&rule) {
            table.rules.push(rule);
        }
        Ok(())
    }

    pub(super) fn drop_rule(&mut self, id: RelationId, definition: &RuleDefinition) -> Result<(), PlanError> {
        let edge = self.find_edge(id, definition)?;
        let action = match &definition.action {
            None => None,
            Some(RuleActionDefinition::DeleteRow) => Some(RuleAction::DeleteRow),
            Some(RuleActionDefinition::Anon(columns)) => {
                let mut indexes =
                    columns.iter().map(|column| self.column(id, column)).collect::<Result<Vec<_>, _>>()?;
                indexes.sort_unstable();
                Some(RuleAction::Anon(indexes))
            }
        };
        let is_it = |rule: &Rule| {
            rule.edge == edge
                && rule.event == definition.event
                && action.as_ref().is_none_or(|action| rule.action == *action)
        };
        let description = crate::ownership::describe_edge_ref(&self.catalog, edge);
        let table = self.edit(id);
        let before = table.rules.len();
        table.rules.retain(|rule| !is_it(rule));
        if table.rules.len() == before {
            return Err(PlanError::new(
                "42704",
                format!(
                    "table \"{}\" has no such rule ON {} on edge {description}",
                    table.name,
                    event_word(definition.event)
                ),
            )
            .at(Some(definition.position)));
        }
        Ok(())
    }

    /// The edge that a rule names: `column`, `(columns)` of this table, or `other(columns)` that lead here.
    pub(super) fn find_edge(&self, id: RelationId, rule: &RuleDefinition) -> Result<EdgeRef, PlanError> {
        let table = self.get(id);
        let (holder, columns) = match &rule.edge.table {
            // `ON DEL t(c)` in t itself, of a self-reference, names its own edge.
            Some(name) => (self.beside(id, name, DefinitionChange::table)?, &rule.edge.columns),
            None => (id, &rule.edge.columns),
        };
        let holder_table = self.get(holder);
        let mut indexes = Vec::new();
        for column in columns {
            indexes.push(self.column(holder, column)?);
        }
        let written = match &rule.edge.table {
            Some(name) => format!("{}({})", name.name, names(columns)),
            None => names(columns),
        };
        let candidates: Vec<&ForeignKey> =
            holder_table.foreign_keys.iter().filter(|key| key.annotation.is_some() && key.columns == indexes).collect();
        let belongs = |key: &&ForeignKey| match (&rule.edge.table, key.annotation) {
            (None, _) => true,
            (Some(_), Some(EdgeKind::Owns | EdgeKind::Accesses)) => key.target == id,
            (Some(_), Some(EdgeKind::OwnedBy | EdgeKind::AccessedBy)) => holder == id,
            (Some(_), None) => false,
        };
        let found = candidates.iter().find(|key| belongs(key));
        match found {
            Some(key) => {
                let far = matches!(key.annotation, Some(EdgeKind::Owns | EdgeKind::Accesses));
                if far && rule.edge.table.is_none() && key.target != id {
                    return Err(PlanError::new(
                        "42P16",
                        format!(
                            "edge \"{written}\" of table \"{}\" says who owns or accesses rows of table \"{}\"",
                            table.name,
                            self.get(key.target).name
                        ),
                    )
                    .detail(format!("edge: {}", crate::ownership::describe_edge(&self.catalog, holder_table, key)))
                    .hint(format!(
                        "attach the rule to the rows it is about: ALTER TABLE {} ADD ON {} {}({}) …",
                        self.get(key.target).name,
                        event_word(rule.event),
                        table.name,
                        names(columns)
                    ))
                    .at(Some(rule.position)));
                }
                Ok(EdgeRef { table: holder, foreign_key: key.constraint.id })
            }
            None => Err(PlanError::new(
                "42703",
                format!(
                    "rule ON {} names edge \"{written}\", which table \"{}\" does not have",
                    event_word(rule.event),
                    table.name
                ),
            )
            .hint(edges_hint(self, table))
            .at(Some(rule.position))),
        }
    }

    /// Whether the edge that a rule names could still be declared: its columns exist, or its table does not yet.
    fn may_become_edge(&self, id: RelationId, rule: &RuleDefinition) -> bool {
        let holder = match &rule.edge.table {
            None => id,
            Some(name) => match self.beside(id, name, DefinitionChange::relation) {
                Ok(holder) => holder,
                Err(_) => return true,
            },
        };
        rule.edge.columns.iter().all(|column| self.get(holder).column_by_name(&column.name).is_some())
    }
}

fn names(columns: &[Identifier]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn edges_hint(change: &DefinitionChange<'_>, table: &Table) -> String {
    let edges: Vec<String> = crate::ownership::edges_of_rows(&change.catalog, table.id)
        .into_iter()
        .map(|edge| crate::ownership::edge_in_rules(change.scope(), table.id, edge))
        .collect();
    if edges.is_empty() {
        "annotate a foreign key of the table first".to_string()
    } else {
        format!("its edges are: {}", edges.join(", "))
    }
}

fn misplaced(what: &str, place: &str) -> PlanError {
    PlanError::new("42P16", format!("{what} belongs on {place}"))
}

/// The word of an annotation.
pub(super) fn edge_word(kind: EdgeKind) -> &'static str {
    crate::ownership::edge_word(kind)
}

pub(super) fn event_word(event: RuleEvent) -> &'static str {
    match event {
        RuleEvent::Get => "GET",
        RuleEvent::Del => "DEL",
    }
}
