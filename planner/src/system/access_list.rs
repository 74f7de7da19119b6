//! Access lists as PostgreSQL writes them, `alice=arw*/controller`: to catalog relations, and to functions that read them.
//!
//! Subject requests have no letter: PostgreSQL's tools could not read one. They stand in information_schema alone.

use super::SystemRelation;
use crate::catalog::{Acl, AclItem, ObjectClass, Privilege, Privileges, REQUESTS, RoleId, RoleKind};
use repr::{Datum, ValueError, poll};
use std::iter::Peekable;
use std::str::Chars;

/// All letters of PostgreSQL's; the last two are of settings, on which nothing is granted here.
const LETTERS: &str = "arwdDxtXUCTcsA";

/// What `acldefault` gives for settings: SET and ALTER SYSTEM.
const ON_SETTINGS: &str = "sA";
const NAMES_ON_SETTINGS: [&str; 2] = ["SET", "ALTER SYSTEM"];

/// An entry of a list: a value of `aclitem`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// To whom; everybody, if none.
    pub(crate) grantee: Option<RoleId>,
    /// By whom.
    pub(crate) grantor: RoleId,
    /// What, in the order of the letters, and whether it may be granted on.
    granted: Vec<(char, bool)>,
}

impl Entry {
    /// With what it grants by letters, and what may be granted on.
    fn of_letters(grantee: Option<RoleId>, grantor: RoleId, granted: &str, grantable: &str) -> Entry {
        let letters = LETTERS.chars().filter(|letter| granted.contains(*letter));
        let granted = letters.map(|letter| (letter, grantable.contains(letter))).collect();
        Entry { grantee, grantor, granted }
    }

    /// Of one privilege by its name.
    ///
    /// # Errors
    /// 22023 for a name that none has.
    pub(crate) fn of_name(
        grantee: Option<RoleId>,
        grantor: RoleId,
        name: &str,
        is_grantable: bool,
    ) -> Result<Entry, ValueError> {
        let named = |(_, known): &(char, &str)| known.eq_ignore_ascii_case(name);
        let of_settings = ON_SETTINGS.chars().zip(NAMES_ON_SETTINGS).find(named).map(|(letter, _)| letter);
        let known = || Privilege::by_name(name).filter(|_| name.trim() == name)?.letter();
        let unknown = || ValueError::new("22023", format!("unrecognized privilege type: \"{name}\""));
        let letter = of_settings.or_else(known).ok_or_else(unknown)?.to_string();
        Ok(Entry::of_letters(grantee, grantor, &letter, if is_grantable { &letter } else { "" }))
    }

    /// Of what was granted here.
    fn of(item: &AclItem) -> Entry {
        let letters = |privileges: Privileges| privileges.iter().filter_map(Privilege::letter).collect::<String>();
        let granted = letters(item.privileges.and(item.grantable));
        Entry::of_letters(item.grantee, item.grantor, &granted, &letters(item.grantable))
    }

    /// As it is written. A role that is not there is its number.
    pub(crate) fn written(&self, name_of: &dyn Fn(RoleId) -> String) -> String {
        let mut text = self.grantee.map_or_else(String::new, |grantee| quoted(&name_of(grantee)));
        text.push('=');
        for (letter, is_grantable) in &self.granted {
            text.push(*letter);
            if *is_grantable {
                text.push('*');
            }
        }
        text.push('/');
        text.push_str(&quoted(&name_of(self.grantor)));
        text
    }

    /// Whether it grants all that another one does, between the same two.
    pub(crate) fn contains(&self, other: &Entry) -> bool {
        let has = |(wanted, on): &(char, bool)| self.granted.iter().any(|(own, own_on)| own == wanted && own_on >= on);
        (self.grantee, self.grantor) == (other.grantee, other.grantor) && other.granted.iter().all(has)
    }

    /// What it grants, by names, and whether that may be granted on.
    pub(crate) fn privileges(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.granted.iter().map(|(letter, is_grantable)| {
            let of_settings = ON_SETTINGS.chars().zip(NAMES_ON_SETTINGS).find(|(own, _)| own == letter);
            let known =
                || Privilege::ALL.into_iter().find(|known| known.letter() == Some(*letter)).map(Privilege::name);
            (of_settings.map(|(_, name)| name).or_else(known).unwrap_or_default(), *is_grantable)
        })
    }
}

/// An entry as it is written; none if there is nothing in it that has a letter.
pub(crate) fn written(item: &AclItem, name_of: &dyn Fn(RoleId) -> String) -> Option<String> {
    let entry = Entry::of(item);
    (!entry.granted.is_empty()).then(|| entry.written(name_of))
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
        "p" => {
            let entry = Entry::of_letters(Some(owner), owner, ON_SETTINGS, "");
            return Ok(vec![Datum::text(entry.written(name_of))]);
        }
        other => return Err(ValueError::new("XX000", format!("unrecognized objtype abbreviation: {other}"))),
    };
    Ok(entries(&acl, name_of))
}

/// Reads an entry.
///
/// # Errors
/// 22P02 for what is none, 42704 for a role that is not there: PostgreSQL's.
pub(crate) fn parse(text: &str, role: &dyn Fn(&str) -> Option<RoleId>) -> Result<Entry, ValueError> {
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
    let (granted, grantable) = letters(&mut rest)?;
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
        true => Ok(Entry::of_letters(grantee, grantor, &granted, &grantable)),
        false => Err(invalid("extra garbage at the end of the ACL specification".to_owned())),
    }
}

/// The letters of what is granted, and of those with a star behind them.
fn letters(rest: &mut Peekable<Chars<'_>>) -> Result<(String, String), ValueError> {
    let (mut granted, mut grantable) = (String::new(), String::new());
    while let Some(letter) = rest.next_if(|letter| letter.is_ascii_alphabetic() || *letter == '*') {
        poll::step()?;
        if letter == '*' {
            grantable.extend(granted.chars().next_back());
        } else if LETTERS.contains(letter) {
            granted.push(letter);
        } else {
            let message = format!("invalid mode character: must be one of \"{LETTERS}\"");
            return Err(ValueError::new("22P02", message));
        }
    }
    Ok((granted, grantable))
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
            "_ok9=r*sA*/controller",
            "=/controller",
        ] {
            assert_eq!(parse(text, &role).expect(text).written(&name_of), text);
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
