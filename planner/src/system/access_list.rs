//! Access lists as PostgreSQL writes them, `alice=arw*/controller`: to catalog relations, and to functions that read them.
//!
//! Subject requests have no letter: PostgreSQL's tools could not read one. They stand in information_schema alone.

use super::SystemRelation;
use crate::catalog::{Acl, AclItem, ObjectClass, Privilege, Privileges, REQUESTS, RoleId, RoleKind};
use repr::{Datum, ValueError};
use std::iter::Peekable;
use std::str::Chars;

/// All letters of PostgreSQL's; the last two are of settings, on which nothing is granted here.
const LETTERS: &str = "arwdDxtXUCTcsA";

/// What `acldefault` gives for settings: SET and ALTER SYSTEM.
const ON_SETTINGS: &str = "sA";

/// An entry as it is written; none if there is nothing in it that has a letter.
pub(crate) fn written(item: &AclItem, name_of: &dyn Fn(RoleId) -> String) -> Option<String> {
    let mut letters = String::new();
    for privilege in item.privileges.and(item.grantable).iter() {
        let Some(letter) = privilege.letter() else { continue };
        letters.push(letter);
        if item.grantable.has(privilege) {
            letters.push('*');
        }
    }
    (!letters.is_empty()).then(|| entry(item.grantee, &letters, item.grantor, name_of))
}

fn entry(grantee: Option<RoleId>, letters: &str, grantor: RoleId, name_of: &dyn Fn(RoleId) -> String) -> String {
    let grantee = grantee.map_or_else(String::new, |grantee| quoted(&name_of(grantee)));
    format!("{grantee}={letters}/{}", quoted(&name_of(grantor)))
}

/// A role's name as it stands in an entry.
fn quoted(name: &str) -> String {
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.chars().all(is_safe) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The entries of a list as they are written.
pub(crate) fn entries(acl: &Acl, name_of: &dyn Fn(RoleId) -> String) -> Vec<Datum> {
    acl.items.iter().filter_map(|item| written(item, name_of)).map(Datum::text).collect()
}

/// What a relation of the system has from the beginning.
pub(crate) fn of_system(relation: &SystemRelation) -> Acl {
    let mut acl = Acl::default();
    acl.grant(Some(RoleId::FIRST), RoleId::FIRST, ObjectClass::Table.privileges().without(REQUESTS), false);
    if !relation.is_secret() {
        acl.grant(None, RoleId::FIRST, Privilege::Select.into(), false);
    }
    if relation.is_for_auditors() || relation.is_register() {
        acl.grant(Some(RoleKind::Regulator.role()), RoleId::FIRST, Privilege::Select.into(), false);
    }
    acl
}

/// What an object begins with, by the letter of its kind.
///
/// # Errors
/// XX000 for another letter, as PostgreSQL has it.
pub(crate) fn at_first(
    kind: &str,
    owner: RoleId,
    name_of: &dyn Fn(RoleId) -> String,
) -> Result<Vec<Datum>, ValueError> {
    let only_owner = |privileges: Privileges| {
        let mut acl = Acl::default();
        acl.grant(Some(owner), owner, privileges, false);
        acl
    };
    let acl = match kind {
        "c" => Acl::default(),
        "r" => only_owner(ObjectClass::Table.privileges()),
        "s" => only_owner(ObjectClass::Sequence.privileges()),
        "d" => Acl::at_first(ObjectClass::Database, owner),
        "f" => Acl::at_first(ObjectClass::Function, owner),
        "l" | "T" => Acl::at_first(ObjectClass::Type, owner),
        "L" => only_owner(Privileges::of(&[Privilege::Select, Privilege::Update])),
        "n" => only_owner(ObjectClass::Schema.privileges()),
        "t" => only_owner(Privilege::Create.into()),
        "F" | "S" => only_owner(Privilege::Usage.into()),
        "p" => return Ok(vec![Datum::text(entry(Some(owner), ON_SETTINGS, owner, name_of))]),
        other => return Err(ValueError::new("XX000", format!("unrecognized objtype abbreviation: {other}"))),
    };
    Ok(entries(&acl, name_of))
}

/// Reads an entry.
///
/// # Errors
/// 22P02 for what is none, 42704 for a role that is not there: PostgreSQL's.
pub(crate) fn parse(text: &str, role: &dyn Fn(&str) -> Option<RoleId>) -> Result<AclItem, ValueError> {
    let invalid = |message: String| ValueError::new("22P02", message);
    let mut rest = text.chars().peekable();
    let mut name = word(&mut rest)?;
    if rest.peek() != Some(&'=') {
        if !matches!(&*name, "group" | "user") {
            return Err(ValueError {
                hint: Some("ACL key word must be \"group\" or \"user\".".to_owned()),
                ..invalid(format!("unrecognized key word: \"{name}\""))
            });
        }
        name = word(&mut rest)?;
        if name.is_empty() {
            return Err(ValueError {
                hint: Some("A name must follow the \"group\" or \"user\" key word.".to_owned()),
                ..invalid("missing name".to_owned())
            });
        }
    }
    if rest.next() != Some('=') {
        return Err(invalid("missing \"=\" sign".to_owned()));
    }
    let (mut privileges, mut grantable, mut last) = (Privileges::NONE, Privileges::NONE, None);
    while let Some(letter) = rest.next_if(|letter| letter.is_ascii_alphabetic() || *letter == '*') {
        if letter == '*' {
            grantable = last.map_or(grantable, |last: Privilege| grantable.and(last.into()));
            continue;
        }
        if !LETTERS.contains(letter) {
            return Err(invalid(format!("invalid mode character: must be one of \"{LETTERS}\"")));
        }
        last = Privilege::ALL.into_iter().find(|privilege| privilege.letter() == Some(letter));
        privileges = last.map_or(privileges, |last| privileges.and(last.into()));
    }
    let known =
        |name: &str| role(name).ok_or_else(|| ValueError::new("42704", format!("role \"{name}\" does not exist")));
    let grantee = if name.is_empty() { None } else { Some(known(&name)?) };
    let mut grantor = RoleId::FIRST;
    if rest.next_if_eq(&'/').is_some() {
        let name = word(&mut rest)?;
        if name.is_empty() {
            return Err(invalid("a name must follow the \"/\" sign".to_owned()));
        }
        grantor = known(&name)?;
    }
    match rest.all(char::is_whitespace) {
        true => Ok(AclItem { grantee, grantor, privileges, grantable }),
        false => Err(invalid("extra garbage at the end of the ACL specification".to_owned())),
    }
}

/// A name, perhaps in quotes, and the space around it.
fn word(rest: &mut Peekable<Chars<'_>>) -> Result<String, ValueError> {
    const BYTES_MAX: usize = 63;
    let mut name = String::new();
    let mut in_quotes = false;
    while rest.next_if(|letter| letter.is_whitespace()).is_some() {}
    while let Some(letter) = rest.next_if(|letter| in_quotes || letter.is_alphanumeric() || matches!(letter, '_' | '"'))
    {
        if letter != '"' {
            name.push(letter);
        } else if in_quotes && rest.next_if_eq(&'"').is_some() {
            name.push('"');
        } else {
            in_quotes = !in_quotes;
        }
        if name.len() > BYTES_MAX {
            return Err(ValueError {
                detail: Some("Identifier must be less than 64 characters.".to_owned()),
                ..ValueError::new("42622", "identifier too long")
            });
        }
    }
    while rest.next_if(|letter| letter.is_whitespace()).is_some() {}
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(role: RoleId) -> String {
        match role.0 {
            10 => "controller".to_owned(),
            1 => "a b".to_owned(),
            2 => "x\"y".to_owned(),
            3 => "_ok9".to_owned(),
            other => other.to_string(),
        }
    }

    fn role(name: &str) -> Option<RoleId> {
        [10, 1, 2, 3].map(RoleId).into_iter().find(|role| name_of(*role) == name)
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "controller=arwdDxt/controller",
            "=r/controller",
            "\"a b\"=r*w/_ok9",
            "\"x\"\"y\"=X*U*C*T*c*/\"a b\"",
            "_ok9=r/controller",
        ] {
            let item = parse(text, &role).expect(text);
            assert_eq!(written(&item, &name_of).as_deref(), Some(text));
        }
    }

    #[test]
    fn subject_requests_have_no_letter() {
        let item = |privileges| AclItem {
            grantee: Some(RoleId(3)),
            grantor: RoleId::FIRST,
            privileges,
            grantable: Privileges::NONE,
        };
        assert_eq!(written(&item(REQUESTS), &name_of), None);
        let both = REQUESTS.and(Privilege::Select.into());
        assert_eq!(written(&item(both), &name_of).as_deref(), Some("_ok9=r/controller"));
    }

    #[test]
    fn what_is_none_is_refused_as_postgresql_refuses_it() {
        for (text, code, message) in [
            ("foo", "22P02", "unrecognized key word: \"foo\""),
            ("_ok9=q/controller", "22P02", "invalid mode character: must be one of \"arwdDxtXUCTcsA\""),
            ("nobody=r/controller", "42704", "role \"nobody\" does not exist"),
            ("_ok9=r/", "22P02", "a name must follow the \"/\" sign"),
            ("_ok9=r/controller x", "22P02", "extra garbage at the end of the ACL specification"),
            ("group _ok9 r", "22P02", "missing \"=\" sign"),
        ] {
            let error = parse(text, &role).expect_err(text);
            assert_eq!((error.code, &*error.message), (code, message), "{text}");
        }
    }
}
