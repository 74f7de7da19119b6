//! Rows of pg_description that those who keep the database take away and put there: the comments of objects, or rows that name no
//! object and are kept for themselves.

use super::change::DefinitionChange;
use crate::catalog::own_tables::is_own;
use crate::catalog::{Class, DescriptionKey, LooseComment};
use crate::error::PlanError;
use crate::parse::definition::DescriptionChange;
use crate::system::comments::{self, PG_CLASS};
use repr::{ColumnIndex, Id, RelationId};
use std::collections::BTreeSet;

/// What a row of pg_description is about.
enum About {
    /// A table, a view, or one of its columns.
    Relation(RelationId, Option<ColumnIndex>),
    /// Another object that has a comment.
    Object(Id),
    /// Nothing that there is.
    Nothing,
}

impl DefinitionChange<'_> {
    /// All rows go before any comes, so that keys may be exchanged.
    pub(super) fn change_descriptions(&mut self, changes: &[DescriptionChange]) -> Result<&'static str, PlanError> {
        if !self.catalog.is_controller(self.path.actor().role) {
            return Err(crate::resolve::dml::system_catalog("pg_description"));
        }
        let mut gone = BTreeSet::new();
        for key in changes.iter().filter_map(|change| change.old) {
            if gone.insert(key) {
                self.take_description(key)?;
            }
        }
        let mut done = BTreeSet::new();
        for change in changes.iter().filter(|change| change.old.is_none_or(|key| done.insert(key))) {
            if let Some((key, text)) = &change.new {
                self.put_description(*key, text)?;
            }
        }
        Ok("COMMENT")
    }

    fn take_description(&mut self, key: DescriptionKey) -> Result<(), PlanError> {
        let home = self.path.home();
        let before = self.catalog.loose_comments.len();
        self.catalog.loose_comments.retain(|found| found.database != home || found.key != key);
        if self.catalog.loose_comments.len() < before {
            return Ok(());
        }
        match self.described(key)? {
            About::Relation(id, column) => self.describe(id, column, None)?,
            About::Object(id) => {
                self.catalog.comments.remove(&id);
            }
            About::Nothing => {}
        }
        if self.has_description(key) {
            return Err(PlanError::unsupported("taking away a comment that the server comes with"));
        }
        Ok(())
    }

    fn put_description(&mut self, key: DescriptionKey, text: &str) -> Result<(), PlanError> {
        if self.has_description(key) {
            let DescriptionKey { object, class, part } = key;
            let message = "duplicate key value violates unique constraint \"pg_description_o_c_o_index\"";
            return Err(PlanError::new("23505", message)
                .detail(format!("Key (objoid, classoid, objsubid)=({object}, {class}, {part}) already exists.")));
        }
        match self.described(key)? {
            About::Relation(id, column) => self.describe(id, column, Some(text)),
            About::Object(id) => {
                self.catalog.comments.insert(id, text.to_owned());
                Ok(())
            }
            About::Nothing => {
                let database = self.path.home();
                self.catalog.loose_comments.push(LooseComment { database, key, text: text.to_owned() });
                self.catalog.loose_comments.sort();
                Ok(())
            }
        }
    }

    /// A relation's comment, with what its tags annotate.
    fn describe(&mut self, id: RelationId, column: Option<ColumnIndex>, text: Option<&str>) -> Result<(), PlanError> {
        if is_own(id.0) {
            return Err(crate::resolve::dml::system_catalog(&self.get(id).name));
        }
        self.comment_on_relation(id, column, text)?;
        let text = text.map(str::to_owned);
        match column {
            None => self.edit(id).comment = text,
            Some(column) => self.edit(id).columns[column].comment = text,
        }
        Ok(())
    }

    fn has_description(&self, key: DescriptionKey) -> bool {
        let home = self.path.home();
        let is_it = |found: comments::Comment<'_>| {
            (found.object, found.class) == (key.object, key.class) && usize::try_from(key.part) == Ok(found.number)
        };
        self.catalog.loose_comments.iter().any(|found| found.database == home && found.key == key)
            || comments::comments(&self.catalog).into_iter().any(is_it)
            || key.part == 0 && crate::system::builtin::description(key.class, key.object).is_some()
    }

    /// 0A000 for an object of PostgreSQL's own.
    fn described(&self, key: DescriptionKey) -> Result<About, PlanError> {
        let DescriptionKey { object, class, part } = key;
        let column = usize::try_from(part).ok().and_then(|part| part.checked_sub(1));
        if class == PG_CLASS {
            return match (self.catalog.class_by_oid(object), column) {
                (Some(Class::Relation(table)), None) if part == 0 => Ok(About::Relation(table.id, None)),
                (Some(Class::Relation(table)), Some(column))
                    if table.live_columns().any(|(place, _)| place == column) =>
                {
                    Ok(About::Relation(table.id, Some(column)))
                }
                (Some(Class::System(_)), _) => Err(built_in()),
                (Some(Class::Sequence(_) | Class::Index(..)), None) if part == 0 => Ok(About::Object(object)),
                _ => Ok(About::Nothing),
            };
        }
        if part != 0 {
            return Ok(About::Nothing);
        }
        if comments::is_built_in(class, object) {
            return Err(built_in());
        }
        match comments::class_of_object(&self.catalog, object) == Some(class) {
            true => Ok(About::Object(object)),
            false => Ok(About::Nothing),
        }
    }
}

fn built_in() -> PlanError {
    PlanError::unsupported("another comment of an object that the server comes with")
}
