//! `standard_conforming_strings = off`: what a client's text is with it on. Nothing behind this knows of the setting.

use super::Session;
use planner::parse::backslashes::{self, BackslashRules};
use repr::poll;
use state::SqlError;
use state::notice::Notice;

/// Encodings in which a byte of a character may look like a quote.
const OF_CLIENTS_ONLY: [&str; 7] = ["BIG5", "GBK", "GB18030", "JOHAB", "SHIFT_JIS_2004", "SJIS", "UHC"];

impl Session {
    /// The text as it would be with the setting on, if it is off and the text is another then.
    pub(super) fn conforming(&mut self, sql: &str) -> Result<Option<String>, SqlError> {
        if self.conforms(sql) {
            return Ok(None);
        }
        let setting = |name: &str| self.state.lock().settings.show(name).map(|(_, value)| value);
        let quotes = match setting("backslash_quote")?.as_str() {
            "off" => false,
            "on" => true,
            _ => !OF_CLIENTS_ONLY.contains(&setting("client_encoding")?.as_str()),
        };
        let rules = BackslashRules { warn: setting("escape_string_warning")? == "on", quotes };
        let (sql, warnings) = poll::unwinds_to(|| Ok::<_, SqlError>(backslashes::conforming(sql, rules)?))?;
        for (message, hint) in warnings {
            let (message, hint) = (message.to_owned(), Some(hint.to_owned()));
            self.client.notices.push(Notice { hint, ..Notice::new("WARNING", "22P06", message) });
        }
        Ok(Some(sql))
    }

    /// Whether a text is the same with the setting on.
    pub(super) fn conforms(&self, sql: &str) -> bool {
        !backslashes::may_escape(sql)
            || self.state.lock().settings.show("standard_conforming_strings").is_ok_and(|(_, value)| value == "on")
    }
}
