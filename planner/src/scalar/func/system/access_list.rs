//! Access lists as values: acldefault, makeaclitem, aclcontains. Entries are texts here; see `system::access_list`.

use super::super::arguments::{boolean, oid, text, text_array, truth, vector};
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::catalog::{AclItem, Privilege, Privileges, RoleId};
use crate::system::access_list;
use repr::{Datum, ValueError};

/// What an entry calls a role: its number, if it is not there.
fn name_of(ctx: &EvalContext) -> impl Fn(RoleId) -> String {
    let names = ctx.names();
    move |role| names.role_name(role).unwrap_or_else(|| role.0.to_string())
}

/// An entry that is written as text.
pub(crate) fn read(ctx: &EvalContext, entry: &str) -> Result<AclItem, ValueError> {
    let names = ctx.names();
    access_list::parse(entry, &|name| names.role(name))
}

/// The entries of a list.
pub(crate) fn read_all(ctx: &EvalContext, list: &Datum) -> Result<Vec<AclItem>, ValueError> {
    let names = ctx.names();
    let no_null = || ValueError::new("22004", "ACL arrays must not contain null values");
    let entries = text_array(list)?.into_iter();
    entries.map(|entry| access_list::parse(entry.ok_or_else(no_null)?, &|name| names.role(name))).collect()
}

fn at_first(ctx: &EvalContext, args: &[Datum]) -> Answer {
    vector(access_list::at_first(text(&args[0])?, RoleId(oid(&args[1])?), &name_of(ctx))?)
}

fn make(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (grantee, grantor, name) = (oid(&args[0])?, oid(&args[1])?, text(&args[2])?);
    let known = Privilege::by_name(name).filter(|known| known.letter().is_some() && name.trim() == name);
    let privileges: Privileges = match known {
        Some(known) => known.into(),
        None => return Err(ValueError::new("22023", format!("unrecognized privilege type: \"{name}\""))),
    };
    let item = AclItem {
        grantee: (grantee != 0).then_some(RoleId(grantee)),
        grantor: RoleId(grantor),
        privileges,
        grantable: if boolean(&args[3])? { privileges } else { Privileges::NONE },
    };
    Ok(access_list::written(&item, &name_of(ctx)).map_or(Datum::Null, Datum::text))
}

fn contains(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let item = read(ctx, text(&args[1])?)?;
    let has = |found: &AclItem| {
        (found.grantee, found.grantor) == (item.grantee, item.grantor)
            && found.privileges.contains(item.privileges)
            && found.grantable.contains(item.grantable)
    };
    truth(read_all(ctx, &args[0])?.iter().any(has))
}

pub(in super::super) const ACCESS_LISTS: &[FunctionDefinition] = &[
    strict("acldefault(char, oid) text[]", |ctx, a, _| at_first(ctx, a)).stable(),
    strict("makeaclitem(oid, oid, text, bool) text", |ctx, a, _| make(ctx, a)).stable(),
    strict("aclcontains(text[], text) bool", |ctx, a, _| contains(ctx, a)).stable(),
];
