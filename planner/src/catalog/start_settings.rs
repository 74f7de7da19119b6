//! What sessions start with, by ALTER DATABASE … SET and ALTER ROLE … SET.

use super::{Catalog, DatabaseId};
use serde::{Deserialize, Serialize};

/// Whose sessions start with something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartScope {
    /// In which database; in all, if none.
    pub database: Option<DatabaseId>,
    /// The login; everybody, if none.
    pub role: Option<String>,
}

impl StartScope {
    fn holds(&self, database: DatabaseId, role: &str) -> bool {
        self.database.is_none_or(|own| own == database) && self.role.as_deref().is_none_or(|own| own == role)
    }
}

/// What the sessions of one scope start with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSettings {
    /// Whose they are.
    pub scope: StartScope,
    /// Names and values as they were written, in the order in which they came.
    pub values: Vec<(String, String)>,
}

impl Catalog {
    /// What a login starts with in a database: the later ones prevail.
    pub fn start_settings_of(&self, database: DatabaseId, role: &str) -> Vec<&StartSettings> {
        let mut found: Vec<_> = self.start_settings.iter().filter(|found| found.scope.holds(database, role)).collect();
        found.sort_by_key(|found| (found.scope.role.is_some(), found.scope.database.is_some()));
        found
    }

    /// Sets or takes out one of them.
    pub(crate) fn change_start_setting(&mut self, scope: StartScope, name: &str, value: Option<String>) {
        let place = match self.start_settings.iter().position(|found| found.scope == scope) {
            Some(place) => place,
            None => {
                self.start_settings.push(StartSettings { scope, values: Vec::new() });
                self.start_settings.len() - 1
            }
        };
        let values = &mut self.start_settings[place].values;
        let known = values.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        match (known, value) {
            (Some(known), Some(value)) => values[known].1 = value,
            (Some(known), None) => drop(values.remove(known)),
            (None, Some(value)) => values.push((name.to_owned(), value)),
            (None, None) => {}
        }
        self.start_settings.retain(|found| !found.values.is_empty());
    }
}
