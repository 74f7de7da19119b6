//! Reads CREATE and ALTER of functions and procedures, CALL and DO. A body is a string here.

use super::definition::RoutineKind;
use super::grammar::Grammar;
use super::statement::{Identifier, ObjectName, Statement};
use super::type_definition::{
    AlterRoutine, Call, CreateRoutine, DoBlock, ParameterDefinition, Returns, RoutineChange, RoutineOptions,
    WrittenType,
};
use crate::catalog::ParameterMode;
use crate::error::PlanError;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, Word};

/// What a clause makes of the options.
type Refused = Option<&'static str>;

impl Grammar<'_, '_> {
    /// CREATE [OR REPLACE] FUNCTION | PROCEDURE; nothing if it is another statement.
    pub(super) fn create_routine(&mut self) -> Result<Option<Statement>, PlanError> {
        let replace = self.words_are(&["CREATE", "OR", "REPLACE"]);
        let at = if replace { 3 } else { 1 };
        let is_procedure = self.word_is(at, "PROCEDURE");
        if !is_procedure && !self.word_is(at, "FUNCTION") {
            return Ok(None);
        }
        self.take(at + 1);
        let name = self.object_name()?;
        let mut parameters = self.routine_parameters()?;
        let mut returns = None;
        if !is_procedure && self.eat(&["RETURNS"]) {
            if self.words_are(&["TABLE"]) {
                self.take(1);
                parameters.extend(self.table_columns()?);
                returns = Some(Returns { of: None, is_set: true });
            } else {
                let is_set = self.eat(&["SETOF"]);
                returns = Some(Returns { of: Some(self.written_type()?), is_set });
            }
        }
        let mut options = RoutineOptions::default();
        while !self.at_end() {
            if let Some(refused) = self.routine_option(&mut options, true)? {
                return Ok(Some(self.unsupported(refused)));
            }
        }
        let create = CreateRoutine { replace, is_procedure, name, parameters, returns, options };
        Ok(Some(Statement::CreateRoutine(Box::new(create))))
    }

    fn routine_parameters(&mut self) -> Result<Vec<ParameterDefinition>, PlanError> {
        self.expect_token(&Token::LParen)?;
        if self.eat_token(&Token::RParen) {
            return Ok(Vec::new());
        }
        let parameters = self.list(Self::parameter)?;
        self.expect_token(&Token::RParen)?;
        Ok(parameters)
    }

    /// `[mode] [name] [mode] type [DEFAULT expression]`
    fn parameter(&mut self) -> Result<ParameterDefinition, PlanError> {
        let mut mode = self.parameter_mode();
        let (name, of) = match self.lone_type()? {
            Some(of) => (None, of),
            None => {
                let name = self.parameter_name()?;
                mode = mode.or_else(|| self.parameter_mode());
                (Some(name), self.written_type()?)
            }
        };
        let has_default = self.eat(&["DEFAULT"]) || self.eat_token(&Token::Eq) || self.eat_token(&Token::Assignment);
        let default = if has_default { Some(self.expression()?) } else { None };
        Ok(ParameterDefinition { mode: mode.unwrap_or_default(), name, of, default })
    }

    fn parameter_mode(&mut self) -> Option<ParameterMode> {
        // `in` is reserved; the others may be names, which a type follows.
        if self.eat(&["IN", "OUT"]) {
            return Some(ParameterMode::InOut);
        }
        let is_last = |n: usize| matches!(self.parser.peek_nth_token_ref(n).token, Token::Comma | Token::RParen);
        if is_last(1) {
            return None;
        }
        Some(match self.eat_one_of(&["IN", "OUT", "INOUT", "VARIADIC"])? {
            "IN" => ParameterMode::In,
            "OUT" => ParameterMode::Out,
            "INOUT" => ParameterMode::InOut,
            _ => ParameterMode::Variadic,
        })
    }

    /// A name, which may be a word that is one of SQL's elsewhere.
    fn parameter_name(&mut self) -> Result<Identifier, PlanError> {
        let quoted = |word: &Word| word.quote_style.is_some();
        // Words of SQL's own forms name nothing, as in PostgreSQL's grammar.
        const FORMS: [&str; 8] = ["between", "coalesce", "greatest", "least", "nullif", "row", "values", "setof"];
        if let Token::Word(word) = &self.parser.peek_token_ref().token
            && !quoted(word)
            && FORMS.iter().any(|form| word.value.eq_ignore_ascii_case(form))
        {
            return Err(self.unexpected());
        }
        self.identifier()
    }

    /// A type that no name stands before.
    fn lone_type(&mut self) -> Result<Option<WrittenType>, PlanError> {
        let position = self.position();
        let alone = self.parser.maybe_parse(|parser| {
            let data_type = parser.parse_data_type()?;
            let next = parser.peek_token_ref();
            let is_default = |word: &Word| word.value.eq_ignore_ascii_case("default");
            match &next.token {
                Token::Comma | Token::RParen | Token::Eq | Token::Assignment => Ok(data_type),
                Token::Word(word) if is_default(word) => Ok(data_type),
                _ => parser.expected_ref("the end of an argument", next),
            }
        });
        let alone = alone.map_err(|error| self.error(&error))?;
        Ok(alone.map(|data_type| WrittenType::Named(super::statement::TypeName { data_type, position })))
    }

    /// `type`, `table.column%TYPE`
    fn written_type(&mut self) -> Result<WrittenType, PlanError> {
        let mut place = 0;
        while matches!(self.parser.peek_nth_token_ref(place).token, Token::Word(_))
            && self.parser.peek_nth_token_ref(place + 1).token == Token::Period
        {
            place += 2;
        }
        let of_column = place > 0
            && self.parser.peek_nth_token_ref(place + 1).token == Token::Mod
            && self.word_is(place + 2, "TYPE");
        if of_column {
            let (table, column) = self.column_name()?;
            self.take(2);
            return Ok(WrittenType::OfColumn(table, column));
        }
        self.type_name().map(WrittenType::Named)
    }

    fn table_columns(&mut self) -> Result<Vec<ParameterDefinition>, PlanError> {
        self.expect_token(&Token::LParen)?;
        let columns = self.list(|grammar| {
            let name = Some(grammar.parameter_name()?);
            let of = grammar.written_type()?;
            Ok(ParameterDefinition { mode: ParameterMode::Table, name, of, default: None })
        })?;
        self.expect_token(&Token::RParen)?;
        Ok(columns)
    }

    /// One clause of CREATE or ALTER; what is refused of it by name.
    fn routine_option(&mut self, options: &mut RoutineOptions, creates: bool) -> Result<Refused, PlanError> {
        if creates && self.eat(&["LANGUAGE"]) {
            options.language = Some(self.language()?);
        } else if creates && self.eat(&["AS"]) {
            options.text = Some(self.string()?);
            if self.eat_token(&Token::Comma) {
                let refused = Some("a function of a shared library");
                return Ok(refused);
            }
        } else if creates && (self.word_is(0, "RETURN") || self.words_are(&["BEGIN", "ATOMIC"])) {
            let refused = Some("a function whose body is no string");
            return Ok(refused);
        } else if let Some(word) = self.eat_one_of(&["IMMUTABLE", "STABLE", "VOLATILE"]) {
            options.volatility = word.to_lowercase().chars().next();
        } else if self.eat(&["STRICT"]) || self.eat(&["RETURNS", "NULL", "ON", "NULL", "INPUT"]) {
            options.strict = Some(true);
        } else if self.eat(&["CALLED", "ON", "NULL", "INPUT"]) {
            options.strict = Some(false);
        } else if self.eat(&["NOT", "LEAKPROOF"]) {
            options.leakproof = Some(false);
        } else if self.eat(&["LEAKPROOF"]) {
            options.leakproof = Some(true);
        } else if self.eat(&["PARALLEL"]) {
            options.parallel = Some(self.parallel()?);
        } else if self.eat(&["COST"]) {
            options.estimates.cost = Some(self.estimate()?);
        } else if self.eat(&["ROWS"]) {
            options.estimates.rows = Some(self.estimate()?);
        } else {
            return self.rare_option(options);
        }
        Ok(None)
    }

    fn rare_option(&mut self, options: &mut RoutineOptions) -> Result<Refused, PlanError> {
        if self.eat(&["SET"]) {
            let name = self.setting_name()?;
            if self.eat(&["FROM", "CURRENT"]) {
                let refused = Some("SET … FROM CURRENT of a function");
                return Ok(refused);
            }
            let values = self.setting_values()?;
            options.settings.push((Some(name), values));
        } else if self.eat(&["RESET"]) {
            let name = if self.eat(&["ALL"]) { None } else { Some(self.setting_name()?) };
            options.settings.push((name, None));
        } else if self.eat(&["EXTERNAL", "SECURITY", "DEFINER"]) || self.eat(&["SECURITY", "DEFINER"]) {
            let refused = Some("SECURITY DEFINER");
            return Ok(refused);
        } else if self.eat(&["EXTERNAL", "SECURITY", "INVOKER"]) || self.eat(&["SECURITY", "INVOKER"]) {
        } else if self.eat(&["WINDOW"]) {
            let refused = Some("a window function of one's own");
            return Ok(refused);
        } else if self.eat(&["SUPPORT"]) {
            let refused = Some("SUPPORT of a function");
            return Ok(refused);
        } else if self.eat(&["TRANSFORM"]) {
            let refused = Some("TRANSFORM of a function");
            return Ok(refused);
        } else {
            return Err(self.unexpected());
        }
        Ok(None)
    }

    fn parallel(&mut self) -> Result<char, PlanError> {
        let word = self.any_word()?;
        match &*word {
            "safe" => Ok('s'),
            "restricted" => Ok('r'),
            "unsafe" => Ok('u'),
            _ => Err(PlanError::new("22023", "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE")),
        }
    }

    fn estimate(&mut self) -> Result<String, PlanError> {
        let (_, text) = self.run_with_text(|parser| parser.parse_number_value())?;
        Ok(text)
    }

    /// Behind ALTER, if it is a function, a procedure or a routine.
    pub(super) fn alter_routine(&mut self) -> Result<Option<Statement>, PlanError> {
        const KINDS: [(&str, RoutineKind); 3] = [
            ("FUNCTION", RoutineKind::Function),
            ("PROCEDURE", RoutineKind::Procedure),
            ("ROUTINE", RoutineKind::Routine),
        ];
        let Some((_, kind)) = KINDS.into_iter().find(|(word, _)| self.words_are(&["ALTER", word])) else {
            return Ok(None);
        };
        self.take(2);
        let routine = self.routine_name()?;
        let change = if self.eat(&["RENAME", "TO"]) {
            RoutineChange::Rename(self.identifier()?)
        } else if self.eat(&["OWNER", "TO"]) {
            RoutineChange::Owner(self.role_name()?)
        } else if self.eat(&["SET", "SCHEMA"]) {
            RoutineChange::Schema(self.identifier()?)
        } else if self.word_is(0, "DEPENDS") || self.words_are(&["NO", "DEPENDS"]) {
            return Ok(Some(self.unsupported("DEPENDS ON EXTENSION")));
        } else {
            let mut options = RoutineOptions::default();
            loop {
                if let Some(refused) = self.routine_option(&mut options, false)? {
                    return Ok(Some(self.unsupported(refused)));
                }
                self.eat(&["RESTRICT"]);
                if self.at_end() {
                    break;
                }
            }
            RoutineChange::Options(Box::new(options))
        };
        Ok(Some(Statement::AlterRoutine(Box::new(AlterRoutine { kind, routine, change }))))
    }

    /// Behind CALL.
    pub(super) fn call(&mut self) -> Result<Statement, PlanError> {
        let position = self.position();
        let name: ObjectName = self.object_name()?;
        let parts = [name.database, name.schema, Some(name.name)].into_iter().flatten();
        let ident = |part: String| ast::ObjectNamePart::Identifier(ast::Ident::with_quote('"', part));
        let written = ast::ObjectName(parts.map(ident).collect());
        if !self.next_is(&Token::LParen) {
            return Err(self.unexpected());
        }
        match self.run(|parser| parser.parse_function(written))? {
            ast::Expr::Function(function) => Ok(Statement::Call(Box::new(Call { function, position }))),
            _ => Err(self.unexpected()),
        }
    }

    /// Behind DO.
    pub(super) fn anonymous_block(&mut self) -> Result<Statement, PlanError> {
        let mut language = self.block_language()?;
        let text = self.string()?;
        if language.is_none() {
            language = self.block_language()?;
        }
        Ok(Statement::Do(Box::new(DoBlock { language, text })))
    }

    fn block_language(&mut self) -> Result<Option<String>, PlanError> {
        if self.eat(&["LANGUAGE"]) { self.language().map(Some) } else { Ok(None) }
    }

    /// A language's name, which may be written as a string.
    fn language(&mut self) -> Result<String, PlanError> {
        let quoted = !matches!(self.parser.peek_token_ref().token, Token::Word(_));
        if quoted { self.string() } else { self.any_word() }
    }
}
