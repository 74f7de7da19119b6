//! has_*_privilege and pg_has_role: whether a role may, by all names that SQL has for roles and objects.
//!
//! What is named must exist; of what has no such OID nothing is known, and the answer is NULL.

use super::super::arguments::{integer, text, truth};
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::catalog::{Class, NamespaceId, ObjectClass, Privilege, Privileges, RoleId};
use crate::system::asker::{Asker, Held, PUBLIC};
use crate::system::builtin::function;
use crate::system::schemas;
use repr::text::TextCatalog;
use repr::{Datum, Id, RelationId, ScalarType, ValueError};

/// Behind a privilege's name.
const WITH_OPTION: &str = " WITH GRANT OPTION";

/// The privileges of a list, any of which will do.
fn wanted(list: &str, known: Privileges) -> Result<Held, ValueError> {
    let (mut privileges, mut grantable) = (Privileges::NONE, Privileges::NONE);
    for item in list.split(',') {
        let item = item.trim();
        let is_known =
            |name: &str| match Privilege::by_name(name).filter(|found| name.trim() == name && known.has(*found)) {
                // It was once, and is nothing now.
                None if name.eq_ignore_ascii_case("RULE") && known.has(Privilege::Trigger) => Some(Privileges::NONE),
                found => found.map(Privileges::from),
            };
        let bare = without_suffix(item, WITH_OPTION);
        match (is_known(item), bare.and_then(is_known)) {
            (Some(found), _) => privileges = privileges.and(found),
            (None, Some(found)) => grantable = grantable.and(found),
            (None, None) => return Err(unrecognized(item)),
        }
    }
    Ok(Held { privileges, grantable })
}

fn unrecognized(item: &str) -> ValueError {
    ValueError::new("22023", format!("unrecognized privilege type: \"{item}\""))
}

/// Without an end that may be in either case.
fn without_suffix<'t>(text: &'t str, suffix: &str) -> Option<&'t str> {
    let (bare, end) = text.split_at_checked(text.len().checked_sub(suffix.len())?)?;
    end.eq_ignore_ascii_case(suffix).then_some(bare)
}

/// The role that is asked about, where it is named; `public` is everybody.
fn role(ctx: &EvalContext, arg: &Datum) -> Result<RoleId, ValueError> {
    match arg {
        Datum::Oid(id) => Ok(RoleId(*id)),
        name if text(name)? == "public" => Ok(PUBLIC),
        name => role_named(ctx, text(name)?),
    }
}

fn role_named(ctx: &EvalContext, name: &str) -> Result<RoleId, ValueError> {
    ctx.names().role(name).ok_or_else(|| missing("role", name))
}

fn missing(kind: &str, name: &str) -> ValueError {
    ValueError::new("42704", format!("{kind} \"{name}\" does not exist"))
}

/// Whoever is asked about: the first argument if there are so many, else whoever asks. And the arguments behind it.
fn asked<'a, 'd>(ctx: &'a EvalContext, args: &'d [Datum], of: usize) -> Result<(Asker<'a>, &'d [Datum]), ValueError> {
    let (role, rest) = match args.len() > of {
        true => (role(ctx, &args[0])?, &args[1..]),
        false => (ctx.environment.actor().role, args),
    };
    Ok((Asker::new(ctx.environment.catalog(), role, ctx.environment.database_id()), rest))
}

/// Calls with the relation that is meant: by name it must exist, by OID it may not.
fn with_relation(ctx: &EvalContext, relation: &Datum, then: impl FnOnce(&Class<'_>) -> Answer) -> Answer {
    match relation {
        Datum::Oid(id) => ctx.environment.catalog().class_by_oid(*id).map_or(Ok(Datum::Null), |found| then(&found)),
        name => {
            let (name, names) = (text(name)?, ctx.names());
            let absent = || ValueError::new("42P01", format!("relation \"{name}\" does not exist"));
            then(&names.class(name)?.ok_or_else(absent)?)
        }
    }
}

fn on_table(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (asker, args) = asked(ctx, args, 2)?;
    let wanted = wanted(text(&args[1])?, ObjectClass::Table.privileges())?;
    with_relation(ctx, &args[0], |found| truth(asker.on_relation(found).has_any(wanted)))
}

fn on_sequence(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (asker, args) = asked(ctx, args, 2)?;
    let wanted = wanted(text(&args[1])?, ObjectClass::Sequence.privileges())?;
    with_relation(ctx, &args[0], |found| match found {
        Class::Sequence(sequence) => truth(asker.on_sequence(sequence).has_any(wanted)),
        Class::Relation(_) | Class::Index(..) | Class::Composite(_) | Class::System(_) => {
            let name = text(&args[0]).unwrap_or(found.name());
            Err(ValueError::new("42809", format!("\"{name}\" is not a sequence")))
        }
    })
}

/// The columns that every relation has, by the numbers below 1.
const HIDDEN: [&str; 6] = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"];

/// Whether a relation has a column, and where it stands if the relation is a table.
fn place(found: &Class<'_>, column: &Datum) -> Result<Option<Option<usize>>, ValueError> {
    let live = |place: usize| match found {
        Class::Relation(table) => {
            table.columns.get(place).filter(|column| !column.dropped && !column.hidden).map(|_| Some(place))
        }
        Class::System(relation) => relation.columns.get(place).map(|_| None),
        Class::Composite(of) => of.composite().and_then(|of| of.attributes.get(place)).map(|_| None),
        Class::Sequence(_) | Class::Index(..) => None,
    };
    let Ok(name) = text(column) else {
        let number = integer(column)?;
        let is_hidden = (-(HIDDEN.len() as i64)..0).contains(&number);
        let place = usize::try_from(number - 1).ok();
        return Ok(if is_hidden { Some(None) } else { place.and_then(live) });
    };
    let by_name = match found {
        Class::Relation(table) => table.columns.iter().position(|column| column.name == name),
        Class::System(relation) => relation.columns.iter().position(|column| column.name == name),
        Class::Sequence(_) => ["last_value", "log_cnt", "is_called"].contains(&name).then_some(0),
        Class::Composite(of) => of.composite().and_then(|of| of.attributes.iter().position(|found| found.name == name)),
        Class::Index(..) => None,
    };
    match (by_name, found) {
        (Some(_), Class::Sequence(_)) => Ok(Some(None)),
        (Some(place), _) => Ok(live(place)),
        (None, _) if HIDDEN.contains(&name) => Ok(Some(None)),
        (None, _) => {
            Err(ValueError::new("42703", format!("column \"{name}\" of relation \"{}\" does not exist", found.name())))
        }
    }
}

fn on_column(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (asker, args) = asked(ctx, args, 3)?;
    let wanted = wanted(text(&args[2])?, ObjectClass::of_columns())?;
    with_relation(ctx, &args[0], |found| {
        let Some(place) = place(found, &args[1])? else { return Ok(Datum::Null) };
        truth(match (found, place) {
            (Class::Relation(table), Some(place)) => asker.on_column(table, place).has_any(wanted),
            (found, _) => asker.on_relation(found).has_any(wanted),
        })
    })
}

fn on_any_column(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (asker, args) = asked(ctx, args, 2)?;
    let wanted = wanted(text(&args[1])?, ObjectClass::of_columns())?;
    with_relation(ctx, &args[0], |found| {
        truth(match found {
            Class::Relation(table) => asker.has_any(table, wanted),
            Class::Sequence(_) | Class::Index(..) | Class::Composite(_) | Class::System(_) => {
                asker.on_relation(found).has_any(wanted)
            }
        })
    })
}

fn on_schema(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (asker, args) = asked(ctx, args, 2)?;
    let wanted = wanted(text(&args[1])?, ObjectClass::Schema.privileges())?;
    let catalog = ctx.environment.catalog();
    let id = match &args[0] {
        Datum::Oid(id) => Some(*id).filter(|id| catalog.namespace_name(NamespaceId(*id)).is_some()),
        name => {
            let name = text(name)?;
            let absent = || ValueError::new("3F000", format!("schema \"{name}\" does not exist"));
            Some(ctx.names().scope().namespace(name).ok_or_else(absent)?.0)
        }
    };
    id.map_or(Ok(Datum::Null), |id| {
        truth(id == NamespaceId::PG_TEMP.0 || asker.on(ObjectClass::Schema, id).has_any(wanted))
    })
}

fn on_database(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (asker, args) = asked(ctx, args, 2)?;
    let wanted = wanted(text(&args[1])?, ObjectClass::Database.privileges())?;
    let found = super::database(ctx, &args[0])?;
    found.map_or(Ok(Datum::Null), |id| truth(asker.on(ObjectClass::Database, id.0).has_any(wanted)))
}

fn on_type(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (asker, args) = asked(ctx, args, 2)?;
    let wanted = wanted(text(&args[1])?, ObjectClass::Type.privileges())?;
    let names = ctx.names();
    let id = match &args[0] {
        Datum::Oid(id) => names.type_name(*id, -1).map(|_| *id),
        name => {
            let name = text(name)?;
            Some(names.object_oid(&ScalarType::Regtype, name)?.ok_or_else(|| missing("type", name))?)
        }
    };
    // An array is as its elements are.
    let enums = &ctx.environment.catalog().types;
    let element = |id: Id| id.checked_sub(1).filter(|before| !enums.contains_key(&id) && enums.contains_key(before));
    let id = id.map(|id| element(id).unwrap_or(id));
    id.map_or(Ok(Datum::Null), |id| truth(asker.on(ObjectClass::Type, id).has_any(wanted)))
}

fn on_function(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (asker, args) = asked(ctx, args, 2)?;
    let wanted = wanted(text(&args[1])?, ObjectClass::Function.privileges())?;
    let id = match &args[0] {
        Datum::Oid(id) => {
            let created = ctx.environment.catalog().routines.contains_key(id);
            (created || function::by_id(*id).is_some()).then_some(*id)
        }
        name => {
            let name = text(name)?;
            let absent = || ValueError::new("42883", format!("function \"{name}\" does not exist"));
            Some(ctx.names().object_oid(&ScalarType::Regprocedure, name)?.ok_or_else(absent)?)
        }
    };
    id.map_or(Ok(Datum::Null), |id| truth(asker.on(ObjectClass::Function, id).has_any(wanted)))
}

/// An object of a kind of which there are some, all the system's, that are everybody's or controllers' alone.
fn on_known(
    ctx: &EvalContext,
    args: &[Datum],
    (kind, known): (&str, &[(&str, Id)]),
    (privilege, is_for_all): (Privilege, bool),
) -> Answer {
    let (asker, args) = asked(ctx, args, 2)?;
    let wanted = wanted(text(&args[1])?, privilege.into())?;
    let is_there = match &args[0] {
        Datum::Oid(id) => known.iter().any(|(_, own)| own == id),
        name => {
            let name = text(name)?;
            known.iter().find(|(own, _)| *own == name).ok_or_else(|| missing(kind, name))?;
            true
        }
    };
    if !is_there {
        return Ok(Datum::Null);
    }
    let owner = asker.has_privileges_of(RoleId::FIRST);
    let of = |has: bool| if has { Privileges::from(privilege) } else { Privileges::NONE };
    truth(Held { privileges: of(owner || is_for_all), grantable: of(owner) }.has_any(wanted))
}

fn on_language(ctx: &EvalContext, args: &[Datum]) -> Answer {
    on_known(ctx, args, ("language", &schemas::LANGUAGES), (Privilege::Usage, true))
}

fn on_tablespace(ctx: &EvalContext, args: &[Datum]) -> Answer {
    on_known(ctx, args, ("tablespace", &schemas::TABLESPACES), (Privilege::Create, false))
}

fn on_server(ctx: &EvalContext, args: &[Datum]) -> Answer {
    on_known(ctx, args, ("server", &[]), (Privilege::Usage, false))
}

fn on_wrapper(ctx: &EvalContext, args: &[Datum]) -> Answer {
    on_known(ctx, args, ("foreign-data wrapper", &[]), (Privilege::Usage, false))
}

/// Whether a role is in another, and how.
fn has_role(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let find = |arg: &Datum| match arg {
        Datum::Oid(id) => Ok(RoleId(*id)),
        name => role_named(ctx, text(name)?),
    };
    let (role, args) = match args.len() {
        3 => (find(&args[0])?, &args[1..]),
        _ => (ctx.environment.actor().role, args),
    };
    let of = find(&args[0])?;
    let asker = Asker::new(ctx.environment.catalog(), role, ctx.environment.database_id());
    let mut has = false;
    for item in text(&args[1])?.split(',') {
        let item = item.trim();
        let bare = without_suffix(item, WITH_OPTION).or_else(|| without_suffix(item, " WITH ADMIN OPTION"));
        has |= match (bare.unwrap_or(item).to_ascii_uppercase().as_str(), bare) {
            ("USAGE" | "MEMBER", Some(_)) => asker.administers(of),
            ("USAGE", None) => asker.has_privileges_of(of),
            ("MEMBER", None) => asker.is_member_of(of),
            _ => return Err(unrecognized(item)),
        };
    }
    truth(has)
}

/// Whether policies filter what whoever asks reads of a relation: there are none.
fn row_security(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (actor, home) = (ctx.environment.actor(), ctx.environment.database_id());
    let binds = |id: Id| ctx.environment.catalog().binding_policies(actor.role, RelationId(id), home).is_some();
    with_relation(ctx, &args[0], |class| truth(binds(class.oid())))
}

/// Role, object and privilege in all ways in which PostgreSQL takes them.
macro_rules! in_all_forms {
    ($name:literal, $answer:path) => {
        &[
            strict(concat!($name, "(text, text) bool"), |ctx, args, _| $answer(ctx, args)).stable(),
            strict(concat!($name, "(oid, text) bool"), |ctx, args, _| $answer(ctx, args)).stable(),
            strict(concat!($name, "(name, text, text) bool"), |ctx, args, _| $answer(ctx, args)).stable(),
            strict(concat!($name, "(name, oid, text) bool"), |ctx, args, _| $answer(ctx, args)).stable(),
            strict(concat!($name, "(oid, text, text) bool"), |ctx, args, _| $answer(ctx, args)).stable(),
            strict(concat!($name, "(oid, oid, text) bool"), |ctx, args, _| $answer(ctx, args)).stable(),
        ]
    };
}

const ON_COLUMNS: &[FunctionDefinition] = &[
    strict("has_column_privilege(text, text, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(text, int2, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(oid, text, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(oid, int2, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(name, text, text, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(name, text, int2, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(name, oid, text, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(name, oid, int2, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(oid, text, text, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(oid, text, int2, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(oid, oid, text, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
    strict("has_column_privilege(oid, oid, int2, text) bool", |ctx, a, _| on_column(ctx, a)).stable(),
];

const ROLES: &[FunctionDefinition] = &[
    strict("pg_has_role(name, text) bool", |ctx, a, _| has_role(ctx, a)).stable(),
    strict("pg_has_role(oid, text) bool", |ctx, a, _| has_role(ctx, a)).stable(),
    strict("pg_has_role(name, name, text) bool", |ctx, a, _| has_role(ctx, a)).stable(),
    strict("pg_has_role(name, oid, text) bool", |ctx, a, _| has_role(ctx, a)).stable(),
    strict("pg_has_role(oid, name, text) bool", |ctx, a, _| has_role(ctx, a)).stable(),
    strict("pg_has_role(oid, oid, text) bool", |ctx, a, _| has_role(ctx, a)).stable(),
    strict("row_security_active(oid) bool", |ctx, a, _| row_security(ctx, a)).stable(),
    strict("row_security_active(text) bool", |ctx, a, _| row_security(ctx, a)).stable(),
];

pub(in super::super) const PRIVILEGES: &[&[FunctionDefinition]] = &[
    in_all_forms!("has_table_privilege", on_table),
    in_all_forms!("has_sequence_privilege", on_sequence),
    in_all_forms!("has_any_column_privilege", on_any_column),
    in_all_forms!("has_schema_privilege", on_schema),
    in_all_forms!("has_database_privilege", on_database),
    in_all_forms!("has_type_privilege", on_type),
    in_all_forms!("has_function_privilege", on_function),
    in_all_forms!("has_language_privilege", on_language),
    in_all_forms!("has_tablespace_privilege", on_tablespace),
    in_all_forms!("has_server_privilege", on_server),
    in_all_forms!("has_foreign_data_wrapper_privilege", on_wrapper),
    ON_COLUMNS,
    ROLES,
];
