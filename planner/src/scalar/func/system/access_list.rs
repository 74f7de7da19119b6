//! Access lists as values: acldefault, makeaclitem, aclcontains, and their operators. See `system::access_list`.

use super::super::arguments::{boolean, oid, text, text_array, truth, vector};
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::catalog::RoleId;
use crate::system::access_list::{self, Entry};
use repr::{Datum, ValueError};

/// What an entry calls a role: its number, if it is not there.
fn name_of(ctx: &EvalContext) -> impl Fn(RoleId) -> String {
    let names = ctx.names();
    move |role| names.role_name(role).unwrap_or_else(|| role.0.to_string())
}

/// An entry that is written as text.
fn read(ctx: &EvalContext, entry: &str) -> Result<Entry, ValueError> {
    let names = ctx.names();
    access_list::parse(entry, &|name| names.role(name))
}

/// The entries of a list.
pub(crate) fn read_all(ctx: &EvalContext, list: &Datum) -> Result<Vec<Entry>, ValueError> {
    let names = ctx.names();
    let no_null = || ValueError::new("22004", "ACL arrays must not contain null values");
    let entries = text_array(list)?.into_iter();
    entries.map(|entry| access_list::parse(entry.ok_or_else(no_null)?, &|name| names.role(name))).collect()
}

fn at_first(ctx: &EvalContext, args: &[Datum]) -> Answer {
    vector(access_list::at_first(text(&args[0])?, RoleId(oid(&args[1])?), &name_of(ctx))?)
}

fn make(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (grantee, grantor) = (oid(&args[0])?, oid(&args[1])?);
    let grantee = (grantee != 0).then_some(RoleId(grantee));
    let entry = Entry::of_name(grantee, RoleId(grantor), text(&args[2])?, boolean(&args[3])?)?;
    Ok(Datum::text(entry.written(&name_of(ctx))))
}

fn contains(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let wanted = read(ctx, text(&args[1])?)?;
    truth(read_all(ctx, &args[0])?.iter().any(|found| found.contains(&wanted)))
}

/// PostgreSQL's answer, too.
fn no_longer(function: &str) -> ValueError {
    ValueError::new("0A000", format!("{function} is no longer supported"))
}

pub(in super::super) const ACCESS_LISTS: &[FunctionDefinition] = &[
    strict("acldefault(char, oid) aclitem[]", |ctx, a, _| at_first(ctx, a)).stable(),
    strict("makeaclitem(oid, oid, text, bool) aclitem", |ctx, a, _| make(ctx, a)).stable(),
    strict("aclcontains(aclitem[], aclitem) bool", |ctx, a, _| contains(ctx, a)).stable(),
    strict("aclitemeq(aclitem, aclitem) bool", |_, a, _| truth(a[0] == a[1])),
    strict("aclinsert(aclitem[], aclitem) aclitem[]", |_, _, _| Err(no_longer("aclinsert"))),
    strict("aclremove(aclitem[], aclitem) aclitem[]", |_, _, _| Err(no_longer("aclremove"))),
];

pub(in super::super) const ACCESS_LIST_OPERATORS: &[FunctionDefinition] = &[
    strict("@>(aclitem[], aclitem) bool", |ctx, a, _| contains(ctx, a)).stable(),
    strict("+(aclitem[], aclitem) aclitem[]", |_, _, _| Err(no_longer("aclinsert"))),
    strict("-(aclitem[], aclitem) aclitem[]", |_, _, _| Err(no_longer("aclremove"))),
];
