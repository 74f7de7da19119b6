//! Comments, by what they are about: the rows of pg_description and pg_shdescription, and what functions find of them.

use super::{builtin, extension};
use crate::catalog::{Actor, Catalog, DatabaseId, NamespaceId, RoleId};
use repr::{Id, IndexId, SequenceId};

const PG_AUTHID: Id = 1260;
const PG_DATABASE: Id = 1262;
const PG_TYPE: Id = 1247;
const PG_OPERATOR: Id = 2617;
const PG_PROC: Id = 1255;
pub(crate) const PG_CLASS: Id = 1259;
/// OID of the relation pg_description.
pub(crate) const PG_DESCRIPTION: Id = 2609;
const PG_CONSTRAINT: Id = 2606;
const PG_NAMESPACE: Id = 2615;
const PG_EXTENSION: Id = 3079;

/// One comment.
pub(crate) struct Comment<'a> {
    /// The OID of the catalog relation that the object stands in.
    pub(crate) class: Id,
    /// The object.
    pub(crate) object: Id,
    /// The column from 1, or 0 for the object itself.
    pub(crate) number: usize,
    /// What it says.
    pub(crate) text: &'a str,
}

/// All comments. Schema `public` has PostgreSQL's unless it was given another.
pub(crate) fn comments(catalog: &Catalog) -> Vec<Comment<'_>> {
    let mut found = Vec::new();
    for table in catalog.relations.values() {
        let columns = table.live_columns().map(|(place, column)| (place + 1, column.comment.as_deref()));
        let all = std::iter::once((0, table.comment.as_deref())).chain(columns);
        found.extend(
            all.filter_map(|(number, text)| Some(Comment { class: PG_CLASS, object: table.id.0, number, text: text? })),
        );
    }
    let local = catalog.comments.iter().filter(|(object, _)| shared_class(catalog, **object).is_none());
    found.extend(local.map(|(object, text)| Comment {
        class: class(catalog, *object),
        object: *object,
        number: 0,
        text,
    }));
    for (id, extension) in extension::installed(catalog) {
        if !catalog.comments.contains_key(&id) {
            found.push(Comment { class: PG_EXTENSION, object: id, number: 0, text: extension.comment });
        }
    }
    for (NamespaceId(id), schema) in &catalog.namespaces {
        if schema.name == "public" && !catalog.comments.contains_key(id) {
            found.push(Comment { class: PG_NAMESPACE, object: *id, number: 0, text: "standard public schema" });
        }
    }
    found
}

/// Comments on what all databases share: the rows of pg_shdescription, and what shobj_description finds.
pub(crate) fn shared_comments<'a>(catalog: &'a Catalog, actor: &'a Actor) -> impl Iterator<Item = Comment<'a>> {
    let is_hidden = |class, object| class == PG_AUTHID && !actor.knows(catalog, RoleId(object));
    let all = catalog.comments.iter().filter_map(|(object, text)| {
        Some(Comment { class: shared_class(catalog, *object)?, object: *object, number: 0, text })
    });
    // Who may not know a role hears nothing of it.
    all.filter(move |comment| !is_hidden(comment.class, comment.object))
}

fn shared_class(catalog: &Catalog, object: Id) -> Option<Id> {
    if catalog.all_roles().any(|role| role.0 == object) {
        Some(PG_AUTHID)
    } else if object == DatabaseId::FIRST.0 || catalog.databases.contains_key(&DatabaseId(object)) {
        Some(PG_DATABASE)
    } else {
        None
    }
}

/// The catalog relation of an object that has a comment and is no table or column; none if there is no such object.
pub(crate) fn class_of_object(catalog: &Catalog, object: Id) -> Option<Id> {
    let found = class(catalog, object);
    let is_constraint = || {
        let of_domain = catalog.types.values().filter_map(|found| found.domain()).flat_map(|domain| &domain.checks);
        let of_tables = catalog.relations.values().flat_map(|table| table.constraints());
        let of_domains = of_domain.map(|check| &check.constraint);
        of_tables.chain(of_domains).any(|own| own.id == object)
    };
    (found != PG_CONSTRAINT || is_constraint()).then_some(found)
}

/// Whether an object is PostgreSQL's own.
pub(crate) fn is_built_in(class: Id, object: Id) -> bool {
    match class {
        PG_PROC => builtin::function::by_id(object).is_some(),
        PG_OPERATOR => builtin::operators().contains_key(&object),
        PG_TYPE => builtin::type_by_id(object).is_some(),
        _ => false,
    }
}

/// Of what is no table or column: OIDs are handed out once for all kinds.
fn class(catalog: &Catalog, object: Id) -> Id {
    let is_index = || catalog.relations.values().any(|table| table.index(IndexId(object)).is_some());
    if catalog.namespaces.contains_key(&NamespaceId(object)) {
        PG_NAMESPACE
    } else if extension::installed(catalog).any(|(id, _)| id == object) {
        PG_EXTENSION
    } else if catalog.types.contains_key(&object) {
        PG_TYPE
    } else if catalog.routines.contains_key(&object) {
        PG_PROC
    } else if catalog.operators.contains_key(&object) {
        PG_OPERATOR
    } else if catalog.sequences.contains_key(&SequenceId(object)) || is_index() {
        PG_CLASS
    } else {
        PG_CONSTRAINT
    }
}
