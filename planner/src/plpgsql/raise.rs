//! RAISE: what is said to the client, or the error that a body ends with.

use super::Expression;
use super::conditions::{conditions_named, is_known_code};
use super::source::BodyReader;
use crate::error::PlanError;

/// RAISE
#[derive(Clone, Debug, PartialEq)]
pub struct Raise {
    /// How grave it is; none raises again what is being handled.
    pub level: Option<RaiseLevel>,
    /// A condition by name, or a SQLSTATE.
    pub condition: Option<String>,
    /// The message, with a `%` for each value.
    pub format: Option<String>,
    /// The values.
    pub values: Vec<Expression>,
    /// What is said behind USING.
    pub options: Vec<(RaiseOption, Expression)>,
}

/// How grave it is what RAISE says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaiseLevel {
    /// DEBUG
    Debug,
    /// LOG
    Log,
    /// INFO
    Info,
    /// NOTICE
    Notice,
    /// WARNING
    Warning,
    /// EXCEPTION: an error.
    Exception,
}

/// What RAISE says behind USING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaiseOption {
    /// ERRCODE
    Code,
    /// MESSAGE
    Message,
    /// DETAIL
    Detail,
    /// HINT
    Hint,
    /// COLUMN
    Column,
    /// CONSTRAINT
    Constraint,
    /// DATATYPE
    DataType,
    /// TABLE
    Table,
    /// SCHEMA
    Schema,
}

/// The words for levels; without one it is an exception.
const LEVELS: [(&str, RaiseLevel); 6] = [
    ("debug", RaiseLevel::Debug),
    ("log", RaiseLevel::Log),
    ("info", RaiseLevel::Info),
    ("notice", RaiseLevel::Notice),
    ("warning", RaiseLevel::Warning),
    ("exception", RaiseLevel::Exception),
];

/// The words behind USING.
const OPTIONS: [(&str, RaiseOption); 9] = [
    ("errcode", RaiseOption::Code),
    ("message", RaiseOption::Message),
    ("detail", RaiseOption::Detail),
    ("hint", RaiseOption::Hint),
    ("column", RaiseOption::Column),
    ("constraint", RaiseOption::Constraint),
    ("datatype", RaiseOption::DataType),
    ("table", RaiseOption::Table),
    ("schema", RaiseOption::Schema),
];

impl RaiseOption {
    /// As it is written.
    pub fn word(self) -> &'static str {
        OPTIONS.iter().find(|(_, option)| *option == self).map_or("", |(word, _)| word)
    }
}

impl BodyReader<'_> {
    /// Behind RAISE, up to its semicolon, which is taken.
    pub(super) fn raise(&mut self, _line: u32) -> Result<Raise, PlanError> {
        let mut raise = Raise { level: None, condition: None, format: None, values: Vec::new(), options: Vec::new() };
        if self.symbol(";") {
            return Ok(raise);
        }
        let level = LEVELS.iter().find(|(word, _)| self.words(&[word]));
        raise.level = Some(level.map_or(RaiseLevel::Exception, |(_, level)| *level));
        let ends = |reader: &Self, place: usize| {
            reader.is_symbol(place, ",") || reader.is_symbol(place, ";") || reader.is_word(place, "using")
        };
        if let Some(format) = self.string() {
            while self.symbol(",") {
                raise.values.push(self.expression(ends)?);
            }
            let wanted = format.replace("%%", "").matches('%').count();
            if wanted != raise.values.len() {
                let what = if wanted < raise.values.len() { "many" } else { "few" };
                return Err(PlanError::new("42601", format!("too {what} parameters specified for RAISE")));
            }
            raise.format = Some(format);
        } else if self.words(&["sqlstate"]) {
            let code = self.string().ok_or_else(|| self.unexpected())?;
            if code.len() != 5 || !code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
                return Err(PlanError::new("42601", "invalid SQLSTATE code"));
            }
            raise.condition = Some(code);
        } else if !self.is_word(0, "using") && !self.is_symbol(0, ";") {
            let name = self.word_text()?;
            if conditions_named(&name).next().is_none() {
                return Err(PlanError::new("42704", format!("unrecognized exception condition \"{name}\"")));
            }
            raise.condition = Some(name);
        }
        if self.words(&["using"]) {
            loop {
                let option = OPTIONS.iter().find(|(word, _)| self.words(&[word]));
                let Some((_, option)) = option else {
                    return Err(PlanError::new("42601", "unrecognized RAISE statement option"));
                };
                if !self.symbol("=") && !self.symbol(":=") {
                    return Err(PlanError::new("42601", "syntax error, expected \"=\""));
                }
                raise.options.push((*option, self.expression(ends)?));
                if !self.symbol(",") {
                    break;
                }
            }
        }
        self.expect(";")?;
        Ok(raise)
    }
}

/// The format with a value for each `%`; `%%` is one.
pub fn filled(format: &str, values: &[Option<String>]) -> String {
    let mut values = values.iter();
    let parts = format.split("%%").map(|part| {
        let mut pieces = part.split('%');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            text.push_str(values.next().and_then(Option::as_deref).unwrap_or("<NULL>"));
            text.push_str(piece);
        }
        text
    });
    parts.collect::<Vec<_>>().join("%")
}

/// The SQLSTATE that a condition or a written SQLSTATE means.
pub fn code_of(written: &str) -> Option<String> {
    let is_code =
        |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if is_code(written) || is_known_code(written) {
        return Some(written.to_owned());
    }
    conditions_named(written).next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn formats_are_filled_in_their_order() {
        let values = [Some("a%".to_owned()), None];
        assert_eq!(filled("100%% of % and %%%", &values), "100% of a% and %<NULL>");
        assert_eq!(filled("none", &[]), "none");
    }
}
