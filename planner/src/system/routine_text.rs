//! Functions and procedures that somebody created, as SQL writes them.

use crate::catalog::routine::spelled;
use crate::catalog::{Column, DefaultValue, NamespaceId, Parameter, ParameterMode, ResultKind, Routine, Table};
use crate::scalar::quote_identifier;
use crate::system::definition_text::DefinitionText;
use repr::{ColumnType, RelationId};

/// A routine, for a reader.
#[derive(Clone, Copy)]
pub(crate) struct RoutineText<'a> {
    pub(crate) routine: &'a Routine,
    pub(crate) shown: &'a DefinitionText,
}

impl RoutineText<'_> {
    fn type_name(&self, column_type: &ColumnType) -> String {
        spelled(column_type, self.shown.scope())
    }

    fn parameter(&self, parameter: &Parameter, with_default: bool) -> String {
        let mut text = parameter.mode.word().to_owned();
        if let Some(name) = &parameter.name {
            text.push_str(&quote_identifier(name));
            text.push(' ');
        }
        text.push_str(&self.type_name(&parameter.column_type));
        if let Some(default) = self.default(parameter).filter(|_| with_default) {
            text.push_str(&format!(" DEFAULT {default}"));
        }
        text
    }

    /// What stands for a parameter where a call leaves it out.
    pub(crate) fn default(&self, parameter: &Parameter) -> Option<String> {
        let mut column = Column::new("", parameter.column_type.clone());
        column.default = Some(DefaultValue::Expr(parameter.default.clone()?));
        let table = Table::new(RelationId(0), NamespaceId::PUBLIC, "");
        self.shown.default(&table, &column)
    }

    fn list(&self, wanted: impl Fn(&Parameter) -> bool, with_defaults: bool) -> String {
        let all = self.routine.parameters.iter().filter(|parameter| wanted(parameter));
        // PostgreSQL writes IN before the parameters of a procedure.
        let word = |parameter: &Parameter| match (self.routine.is_procedure, parameter.mode) {
            (true, ParameterMode::In) => "IN ",
            _ => "",
        };
        let written = all.map(|parameter| format!("{}{}", word(parameter), self.parameter(parameter, with_defaults)));
        written.collect::<Vec<_>>().join(", ")
    }

    /// `pg_get_function_arguments`
    pub(crate) fn arguments(&self) -> String {
        self.list(|parameter| parameter.mode != ParameterMode::Table, true)
    }

    /// `pg_get_function_identity_arguments`
    pub(crate) fn identity_arguments(&self) -> String {
        let is_procedure = self.routine.is_procedure;
        self.list(
            |parameter| {
                parameter.mode != ParameterMode::Table && (is_procedure || parameter.mode != ParameterMode::Out)
            },
            false,
        )
    }

    /// `pg_get_function_result`; none of a procedure.
    pub(crate) fn result(&self) -> Option<String> {
        if self.routine.is_procedure {
            return None;
        }
        if self.routine.parameters.iter().any(|parameter| parameter.mode == ParameterMode::Table) {
            return Some(format!("TABLE({})", self.list(|parameter| parameter.mode == ParameterMode::Table, false)));
        }
        let set = if self.routine.result.is_set { "SETOF " } else { "" };
        let name = match &self.routine.result.kind {
            ResultKind::Value(own) => self.type_name(own),
            ResultKind::Record => "record".to_owned(),
            ResultKind::Void => "void".to_owned(),
            ResultKind::Trigger => "trigger".to_owned(),
            ResultKind::EventTrigger => "event_trigger".to_owned(),
        };
        Some(format!("{set}{name}"))
    }

    /// `pg_get_functiondef`
    pub(crate) fn definition(&self) -> String {
        let routine = self.routine;
        let word = if routine.is_procedure { "PROCEDURE" } else { "FUNCTION" };
        let name = self.shown.scope().qualified(routine.namespace, &routine.name);
        let mut text = format!("CREATE OR REPLACE {word} {name}({})\n", self.arguments());
        if let Some(result) = self.result() {
            text.push_str(&format!(" RETURNS {result}\n"));
        }
        text.push_str(&format!(" LANGUAGE {}\n", routine.body.language.name()));
        let options = self.options();
        if !options.is_empty() {
            text.push_str(&format!("{options}\n"));
        }
        for (name, value) in &routine.body.settings {
            text.push_str(&format!(" SET {name} TO {}\n", setting(name, value)));
        }
        let mut tag = word.to_lowercase();
        while routine.body.text.contains(&format!("${tag}$")) {
            tag.push('x');
        }
        text.push_str(&format!("AS ${tag}${}${tag}$\n", routine.body.text));
        text
    }

    /// What is not as usual, in PostgreSQL's order.
    fn options(&self) -> String {
        let terms = &self.routine.terms;
        let usual_rows = if self.routine.result.is_set { "1000" } else { "0" };
        let mut options = Vec::new();
        match terms.volatility {
            'i' => options.push("IMMUTABLE".to_owned()),
            's' => options.push("STABLE".to_owned()),
            _ => {}
        }
        match terms.parallel {
            's' => options.push("PARALLEL SAFE".to_owned()),
            'r' => options.push("PARALLEL RESTRICTED".to_owned()),
            _ => {}
        }
        if terms.strict {
            options.push("STRICT".to_owned());
        }
        if terms.leakproof {
            options.push("LEAKPROOF".to_owned());
        }
        if terms.cost != "100" {
            options.push(format!("COST {}", terms.cost));
        }
        if terms.rows != usual_rows {
            options.push(format!("ROWS {}", terms.rows));
        }
        options.iter().map(|option| format!(" {option}")).collect()
    }
}

/// A setting's value as SET reads it: a list's each by itself.
pub(crate) fn setting(name: &str, value: &str) -> String {
    const LISTS: [&str; 2] = ["search_path", "datestyle"];
    let quoted = |value: &str| format!("'{}'", value.replace('\'', "''"));
    match LISTS.contains(&name) {
        true => value.split(',').map(|part| quoted(part.trim().trim_matches('"'))).collect::<Vec<_>>().join(", "),
        false => quoted(value),
    }
}
