//! What a session asks about itself, its settings, and the objects of the catalog.

pub(in crate::scalar) mod access_list;
mod connection;
mod definition;
pub(in crate::scalar) mod identity;
pub(in crate::scalar) mod object_address;
mod privilege;
mod routine;
mod size;
mod statistics;
mod visible;

use super::arguments::{boolean, float, int4, integer, interval, oid, string, text, truth, vector};
use super::{FunctionDefinition, lenient, strict};
use crate::catalog::{DEFAULT_DATABASE, DatabaseId, NamespaceId, RoleId};
use crate::resolve::updatable::{updatable_columns, writes_of};
use crate::scalar::{Answer, EvalContext};
use crate::system::builtin::{self, PG_OPERATOR, PG_PROC, PG_TYPE};
use crate::system::{self, comments::comments, comments::shared_comments};
use repr::{Datum, Encoding, RelationId, ScalarType, ValueError};
use std::time::Duration;

pub(super) use access_list::{ACCESS_LIST_OPERATORS, ACCESS_LISTS};
pub(super) use connection::CONNECTIONS;
pub(crate) use connection::connection_end;
pub(super) use definition::DEFINITIONS;
pub(super) use identity::IDENTITIES;
pub(super) use privilege::PRIVILEGES;
pub(super) use routine::ROUTINES;
pub(super) use size::SIZES;
pub(super) use statistics::STATISTICS;
pub(super) use visible::VISIBLE;

fn version(ctx: &EvalContext) -> Answer {
    let server = ctx.environment.setting("server_version").unwrap_or_else(|| "15.0".to_owned());
    let number = server.split_whitespace().next().unwrap_or("15.0");
    string(format!(
        "PostgreSQL {number} (Dogwood {}) on {}-{}, compiled by rustc, 64-bit",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS
    ))
}

fn sleep(ctx: &EvalContext, seconds: f64) -> Answer {
    // What is below zero is over already, what is beyond all durations lasts for ever.
    if seconds > 0.0 {
        ctx.environment.sleep(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))?;
    }
    string("")
}

fn current_setting(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let name = text(&args[0])?;
    match ctx.environment.setting(&name.to_ascii_lowercase()) {
        Some(value) => string(value),
        None if args.get(1).map_or(Ok(false), boolean)? => Ok(Datum::Null),
        None => Err(ValueError::new("42704", format!("unrecognized configuration parameter \"{name}\""))),
    }
}

fn set_config(ctx: &EvalContext, args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Err(ValueError::new("22004", "SET requires parameter name"));
    }
    let name = text(&args[0])?;
    let value = if args[1].is_null() { "" } else { text(&args[1])? };
    let local = if args[2].is_null() { false } else { boolean(&args[2])? };
    ctx.environment.set_setting(name, value, local)?;
    string(ctx.environment.setting(name).unwrap_or_else(|| value.to_owned()))
}

/// The schemas of the search path that exist.
fn schemas(ctx: &EvalContext, implicit: bool) -> Vec<String> {
    let catalog = ctx.environment.catalog();
    let path = ctx.search_path(catalog);
    let found = if implicit { path.searched() } else { path.named() };
    found.iter().filter_map(|id| catalog.namespace_name(*id)).map(str::to_owned).collect()
}

/// A database by its name or OID: 3D000 if no database has the name, NULL if none has the OID.
fn database(ctx: &EvalContext, arg: &Datum) -> Result<Option<DatabaseId>, ValueError> {
    let (session, catalog) = (&ctx.environment, ctx.environment.catalog());
    if let Datum::Oid(id) = arg {
        let id = DatabaseId(*id);
        return Ok(Some(id).filter(|id| *id == DatabaseId::FIRST || catalog.databases.contains_key(id)));
    }
    let name = text(arg)?;
    let own = (name == session.database()).then(|| session.database_id());
    let first = DEFAULT_DATABASE.contains(&name).then_some(DatabaseId::FIRST);
    let missing = || ValueError::new("3D000", format!("database \"{name}\" does not exist"));
    own.or_else(|| catalog.database_by_name(name)).or(first).map(Some).ok_or_else(missing)
}

fn object_comment(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let id = oid(&args[0])?;
    let class = args.get(1).map(text).transpose()?;
    for (name, class_id) in [("pg_proc", PG_PROC), ("pg_operator", PG_OPERATOR), ("pg_type", PG_TYPE)] {
        if class.is_none_or(|class| class == name)
            && let Some(found) = builtin::description(class_id, id)
        {
            return string(found);
        }
    }
    let is_meant = |found: u32| {
        class.is_none_or(|class| system::find_by_id(RelationId(found)).is_some_and(|relation| relation.name == class))
    };
    let all = comments(ctx.environment.catalog());
    let found = all.iter().find(|comment| comment.object == id && comment.number == 0 && is_meant(comment.class));
    found.map_or(Ok(Datum::Null), |comment| string(comment.text))
}

fn shared_comment(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (id, class) = (oid(&args[0])?, text(&args[1])?);
    let is_meant = |found: u32| system::find_by_id(RelationId(found)).is_some_and(|relation| relation.name == class);
    let actor = ctx.environment.actor();
    let mut all = shared_comments(ctx.environment.catalog(), &actor);
    let found = all.find(|comment| comment.object == id && is_meant(comment.class));
    found.map_or(Ok(Datum::Null), |comment| string(comment.text))
}

fn column_comment(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let table = ctx.environment.catalog().table(RelationId(oid(&args[0])?));
    let number = usize::try_from(integer(&args[1])?).ok().and_then(|number| number.checked_sub(1));
    let column = table.zip(number).and_then(|(table, number)| table.columns.get(number));
    column.and_then(|column| column.comment.clone()).map_or(Ok(Datum::Null), string)
}

fn format_type(ctx: &EvalContext, args: &[Datum]) -> Answer {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let (id, modifier) = (oid(&args[0])?, args[1].as_i64().map_or(-1, |modifier| modifier as i32));
    if id == 0 {
        return string("-");
    }
    string(ctx.names().type_name(id, modifier).unwrap_or_else(|| "???".to_owned()))
}

fn found(id: Option<u32>) -> Answer {
    Ok(id.map_or(Datum::Null, Datum::Oid))
}

fn to_object(ctx: &EvalContext, kind: &ScalarType, name: &Datum) -> Answer {
    use repr::text::TextCatalog;
    let name = text(name)?;
    match ctx.names().object_oid(kind, name) {
        // A schema that is not there, and what could not be a name of this database.
        Err(error) if matches!(error.code, "3F000" | "0A000") => Ok(Datum::Null),
        answer => found(answer?),
    }
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("version() text", |ctx, _, _| version(ctx)).stable(),
    strict("current_database() name", |ctx, _, _| string(ctx.environment.database())).stable(),
    strict("current_schema() name", |ctx, _, _| schemas(ctx, false).into_iter().next().map_or(Ok(Datum::Null), string))
        .stable(),
    strict("current_schemas(bool) name[]", |ctx, a, _| {
        vector(schemas(ctx, boolean(&a[0])?).into_iter().map(Datum::text).collect())
    })
    .stable(),
    strict("current_user() name", |ctx, _, _| string(&*ctx.environment.actor().name)).stable(),
    strict("session_user() name", |ctx, _, _| string(ctx.environment.session_user())).stable(),
    strict("pg_backend_pid() int4", |ctx, _, _| Ok(Datum::Int4(ctx.environment.backend_pid()))).stable(),
    strict("current_setting(text, bool?) text", |ctx, a, _| current_setting(ctx, a)).stable(),
    lenient("set_config(text, text, bool) text", |ctx, a, _| set_config(ctx, a)).volatile(),
    lenient("format_type(oid, int4) text", |ctx, a, _| format_type(ctx, a)).stable(),
    lenient("pg_typeof(anytype) regtype", |_, a, _| Ok(a[0].clone())).stable(),
    strict("pg_get_userbyid(oid) name", |ctx, a, _| {
        let id = oid(&a[0])?;
        string(ctx.names().role_name(RoleId(id)).unwrap_or_else(|| format!("unknown (OID={id})")))
    })
    .stable(),
    strict("pg_is_in_recovery() bool", |_, _, _| truth(false)).stable(),
    strict("pg_encoding_to_char(int4) name", |_, a, _| {
        string(Encoding::numbered(int4(&a[0])?).map_or("", Encoding::name))
    })
    .stable(),
    strict("pg_char_to_encoding(name) int4", |_, a, _| {
        Ok(Datum::Int4(Encoding::named(text(&a[0])?).map_or(-1, Encoding::number)))
    })
    .stable(),
    strict("pg_client_encoding() name", |ctx, _, _| {
        let name = ctx.environment.setting("client_encoding");
        string(name.and_then(|name| Encoding::named(&name)).unwrap_or_default().name())
    })
    .stable(),
    strict("getdatabaseencoding() name", |_, _, _| string("UTF8")).stable(),
    strict("pg_my_temp_schema() oid", |ctx, _, _| {
        let made = ctx.environment.catalog().namespaces.contains_key(&NamespaceId::PG_TEMP);
        Ok(Datum::Oid(if made { NamespaceId::PG_TEMP.0 } else { 0 }))
    })
    .stable(),
    strict("pg_is_other_temp_schema(oid) bool", |_, _, _| truth(false)).stable(),
    strict("obj_description(oid, name?) text", |ctx, a, _| object_comment(ctx, a)).stable(),
    strict("col_description(oid, int4) text", |ctx, a, _| column_comment(ctx, a)).stable(),
    strict("shobj_description(oid, name) text", |ctx, a, _| shared_comment(ctx, a)).stable(),
    strict("to_regclass(text) regclass", |ctx, a, _| to_object(ctx, &ScalarType::Regclass, &a[0])).stable(),
    strict("to_regtype(text) regtype", |ctx, a, _| to_object(ctx, &ScalarType::Regtype, &a[0])).stable(),
    strict("to_regnamespace(text) regnamespace", |ctx, a, _| to_object(ctx, &ScalarType::Regnamespace, &a[0])).stable(),
    strict("to_regproc(text) regproc", |ctx, a, _| to_object(ctx, &ScalarType::Regproc, &a[0])).stable(),
    strict("to_regprocedure(text) regprocedure", |ctx, a, _| to_object(ctx, &ScalarType::Regprocedure, &a[0])).stable(),
    strict("to_regoper(text) regoper", |ctx, a, _| to_object(ctx, &ScalarType::Regoper, &a[0])).stable(),
    strict("to_regoperator(text) regoperator", |ctx, a, _| to_object(ctx, &ScalarType::Regoperator, &a[0])).stable(),
    strict("to_regrole(text) regrole", |ctx, a, _| to_object(ctx, &ScalarType::Regrole, &a[0])).stable(),
    strict("to_regcollation(text) regcollation", |ctx, a, _| to_object(ctx, &ScalarType::Regcollation, &a[0])).stable(),
    strict("pg_sleep(float8) void", |ctx, a, _| sleep(ctx, float(&a[0])?)).volatile(),
    strict("pg_sleep_for(interval) void", |ctx, a, _| {
        let interval = interval(&a[0])?;
        let days = f64::from(interval.months) * 30.0 + f64::from(interval.days);
        sleep(ctx, days * 86_400.0 + interval.micros as f64 / 1e6)
    })
    .volatile(),
    strict("pg_sleep_until(timestamptz) void", |ctx, a, _| {
        let Datum::Timestamptz(until) = a[0] else { return string("") };
        sleep(ctx, until.saturating_sub(ctx.environment.clock_timestamp()) as f64 / 1e6)
    })
    .volatile(),
    strict("pg_relation_is_updatable(regclass, bool) int4", |ctx, a, _| {
        let catalog = ctx.environment.catalog();
        let writes = catalog.table(RelationId(oid(&a[0])?)).map(|table| writes_of(catalog, table));
        Ok(Datum::Int4(writes.unwrap_or(0)))
    })
    .stable(),
    strict("pg_column_is_updatable(regclass, int2, bool) bool", |ctx, a, _| {
        let catalog = ctx.environment.catalog();
        let place = usize::try_from(integer(&a[1])? - 1).ok();
        let table = catalog.table(RelationId(oid(&a[0])?));
        truth(table.zip(place).is_some_and(|(table, place)| updatable_columns(catalog, table).contains(&place)))
    })
    .stable(),
    strict("pg_relation_is_publishable(regclass) bool", |ctx, a, _| {
        truth(ctx.environment.catalog().table(RelationId(oid(&a[0])?)).is_some())
    })
    .stable(),
];
