//! What roles the names in certificates are: a file in `pg_ident.conf`'s form.
//!
//! ```text
//! # map    name in the certificate    role
//! staff    ada.lovelace               ada
//! ```

use crate::rules::{BadLine, Word, lines};

/// The maps of a file, in its order.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    mappings: Vec<Mapping>,
}

/// A line of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Where it stands.
    pub(crate) line: usize,
    /// Of which map.
    pub(crate) map: String,
    /// Whoever is called so
    pub(crate) name: String,
    /// may be this role.
    pub(crate) role: String,
}

impl Identities {
    /// Reads a file's text: the maps, or each line that is not understood.
    pub(crate) fn parse(text: &str) -> Result<Identities, Vec<BadLine>> {
        let (mut mappings, mut bad) = (Vec::new(), Vec::new());
        for read in Identities::each(text) {
            match read {
                Ok(mapping) => mappings.push(mapping),
                Err(line) => bad.push(line),
            }
        }
        match bad.is_empty() {
            true => Ok(Identities { mappings }),
            false => Err(bad),
        }
    }

    /// Each line that says something, or why it says nothing.
    pub(crate) fn each(text: &str) -> Vec<Result<Mapping, BadLine>> {
        lines(text).into_iter().map(|read| read.and_then(|(number, fields)| mapping(number, &fields))).collect()
    }

    /// Whether who is called `name` may be a role: by a map, else if it is called the same.
    pub(crate) fn allow(&self, map: Option<&str>, name: &str, role: &str) -> bool {
        match map {
            None => name == role,
            Some(map) => self.mappings.iter().any(|found| found.map == map && found.name == name && found.role == role),
        }
    }

    /// Whether there is a map of that name.
    pub(crate) fn has(&self, map: &str) -> bool {
        self.mappings.iter().any(|found| found.map == map)
    }
}

fn mapping(line: usize, fields: &[Vec<Word>]) -> Result<Mapping, BadLine> {
    let [map, name, role] = fields else {
        let why = if fields.len() < 3 { "missing entry at end of line" } else { "there are more than three entries" };
        return Err(BadLine::new(line, why));
    };
    let [map, name, role] = [map, name, role].map(|field| match field.as_slice() {
        [token] if token.text.starts_with('/') && !token.is_quoted => {
            Err(BadLine::new(line, format!("regular expressions are not supported: \"{}\"", token.text)))
        }
        [token] => Ok(token.text.clone()),
        _ => Err(BadLine::new(line, "multiple values in ident field")),
    });
    Ok(Mapping { line, map: map?, name: name?, role: role? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_roles_by_maps() {
        let read = Identities::parse("# map\nstaff ada.lovelace ada\nstaff \"B C\" bob # two\n").expect("read");
        assert!(read.allow(Some("staff"), "ada.lovelace", "ada") && read.allow(Some("staff"), "B C", "bob"));
        assert!(!read.allow(Some("staff"), "ada.lovelace", "bob") && !read.allow(Some("other"), "ada.lovelace", "ada"));
        assert!(!read.allow(Some("staff"), "ada", "ada"), "a map alone decides");
        assert!(read.allow(None, "ada", "ada") && !read.allow(None, "ada", "Ada"));
        assert!(read.has("staff") && !read.has("other"));
        for (text, why) in [
            ("staff ada", "missing entry at end of line"),
            ("staff a b c", "there are more than three entries"),
            ("staff a,b c", "multiple values in ident field"),
            ("staff /^(.*)@x$ \\1", "regular expressions are not supported: \"/^(.*)@x$\""),
        ] {
            assert_eq!(Identities::parse(text).expect_err("refused"), [BadLine::new(1, why)]);
        }
    }
}
