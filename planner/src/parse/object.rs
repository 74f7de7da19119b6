//! Reads definitions by their first words: CREATE, ALTER, DROP, TRUNCATE, and what is refused by name.

use super::grammar::Grammar;
use super::rights::RightsStatement;
use super::statement::{DropBehavior, Identifier, ObjectKind, ObjectName, Statement};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// CREATE, ALTER, DROP, TRUNCATE, REFRESH; `None` for what sqlparser reads (roles).
    pub(super) fn definition_statement(&mut self) -> Result<Option<Statement>, PlanError> {
        if self.word_is(0, "CREATE") {
            return self.create();
        }
        if self.word_is(0, "ALTER") {
            return self.alter();
        }
        if self.word_is(0, "DROP") {
            return self.drop_objects().map(Some);
        }
        if self.eat(&["TRUNCATE"]) {
            self.eat(&["TABLE"]);
            let tables = self.list(Self::table_with_children)?;
            let restart_identity = self.eat(&["RESTART", "IDENTITY"]);
            if !restart_identity {
                self.eat(&["CONTINUE", "IDENTITY"]);
            }
            return Ok(Some(Statement::Truncate { tables, restart_identity, behavior: self.behavior() }));
        }
        if self.word_is(0, "REFRESH") {
            return self.refresh().map(Some);
        }
        if self.eat(&["DO"]) {
            return self.anonymous_block().map(Some);
        }
        if self.eat(&["GRANT"]) {
            return self.grant().map(Some);
        }
        if self.eat(&["REVOKE"]) {
            return self.revoke().map(Some);
        }
        if self.eat(&["REASSIGN", "OWNED", "BY"]) {
            return self.reassign_owned().map(Some);
        }
        if self.eat(&["CALL"]) {
            return self.call().map(Some);
        }
        const REFUSED: [&str; 2] = ["LOAD", "IMPORT"];
        if let Some(word) = REFUSED.iter().find(|word| self.word_is(0, word)) {
            return Ok(Some(self.unsupported(word)));
        }
        Ok(None)
    }

    /// Behind DROP of what has its name within a table: `[IF EXISTS] name ON table`.
    pub(super) fn dropped_of_table(&mut self) -> Result<(bool, Identifier, ObjectName), PlanError> {
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let name = self.identifier()?;
        self.expect(&["ON"])?;
        let table = self.object_name()?;
        self.behavior();
        Ok((if_exists, name, table))
    }

    /// What may follow CREATE in PostgreSQL, and is refused by name.
    const REFUSED_OF_CREATE: [&'static str; 18] = [
        "RULE",
        "AGGREGATE",
        "OPERATOR",
        "CAST",
        "COLLATION",
        "CONVERSION",
        "EVENT",
        "FOREIGN",
        "SERVER",
        "LANGUAGE",
        "TRUSTED",
        "PUBLICATION",
        "SUBSCRIPTION",
        "STATISTICS",
        "TABLESPACE",
        "TEXT",
        "TRANSFORM",
        "ACCESS",
    ];

    pub(super) fn create(&mut self) -> Result<Option<Statement>, PlanError> {
        if let Some(view) = self.create_view()? {
            return Ok(Some(view));
        }
        if let Some(routine) = self.create_routine()? {
            return Ok(Some(routine));
        }
        if let Some(trigger) = self.create_trigger()? {
            return Ok(Some(trigger));
        }
        if !self.is_operator_class(1) && self.eat(&["CREATE", "OPERATOR"]) {
            return self.create_operator().map(Some);
        }
        let mut skip = 1;
        let mut temporary = false;
        while ["TEMP", "TEMPORARY", "GLOBAL", "LOCAL", "UNLOGGED"].iter().any(|word| self.word_is(skip, word)) {
            temporary |= self.word_is(skip, "TEMP") || self.word_is(skip, "TEMPORARY");
            skip += 1;
        }
        let data_subject = self.word_is(skip, "DATA_SUBJECT");
        let table = skip + usize::from(data_subject);
        if data_subject || self.word_is(table, "TABLE") {
            self.take(table);
            self.expect(&["TABLE"])?;
            return self.create_table(temporary, data_subject).map(Some);
        }
        if self.word_is(skip, "SEQUENCE") {
            self.take(skip + 1);
            return self.create_sequence(temporary).map(Some);
        }
        if self.eat(&["CREATE", "INDEX"]) {
            return self.create_index(false).map(Some);
        }
        if self.eat(&["CREATE", "UNIQUE", "INDEX"]) {
            return self.create_index(true).map(Some);
        }
        if self.eat(&["CREATE", "TYPE"]) {
            return self.create_type().map(Some);
        }
        if self.eat(&["CREATE", "DOMAIN"]) {
            return self.create_domain().map(Some);
        }
        if self.eat(&["CREATE", "EXTENSION"]) {
            return self.create_extension().map(Some);
        }
        if self.eat(&["CREATE", "DATABASE"]) {
            return self.create_database().map(Some);
        }
        if self.eat(&["CREATE", "SCHEMA"]) {
            return self.create_schema().map(Some);
        }
        if let Some(rights) = self.create_rights()? {
            return Ok(Some(rights));
        }
        let or_replace = if self.words_are(&["CREATE", "OR", "REPLACE"]) { 3 } else { skip };
        match Self::REFUSED_OF_CREATE.iter().find(|word| self.word_is(or_replace, word)) {
            Some(word) => Ok(Some(self.unsupported(&format!("CREATE {word}")))),
            None => {
                self.take(or_replace);
                Err(self.unexpected())
            }
        }
    }

    /// CREATE of roles, policies and purposes.
    fn create_rights(&mut self) -> Result<Option<Statement>, PlanError> {
        if self.eat(&["CREATE", "POLICY"]) {
            return self.create_policy().map(Some);
        }
        if self.eat(&["CREATE", "PURPOSE"]) {
            return self.create_purpose().map(Some);
        }
        if self.eat(&["CREATE", "HOLD"]) {
            return self.create_hold().map(Some);
        }
        if self.eat(&["CREATE", "ROLE"]) || self.eat(&["CREATE", "GROUP"]) {
            return self.create_role(false).map(Some);
        }
        if self.words_are(&["CREATE", "USER"]) && !self.word_is(2, "MAPPING") {
            self.take(2);
            return self.create_role(true).map(Some);
        }
        Ok(None)
    }

    /// What may follow ALTER in PostgreSQL, and is refused by name.
    const REFUSED_OF_ALTER: [&'static str; 18] = [
        "TRIGGER",
        "EXTENSION",
        "RULE",
        "AGGREGATE",
        "OPERATOR",
        "COLLATION",
        "EVENT",
        "FOREIGN",
        "SERVER",
        "LANGUAGE",
        "PUBLICATION",
        "SUBSCRIPTION",
        "SYSTEM",
        "STATISTICS",
        "LARGE",
        "CONVERSION",
        "TABLESPACE",
        "TEXT",
    ];

    fn alter(&mut self) -> Result<Option<Statement>, PlanError> {
        if let Some(routine) = self.alter_routine()? {
            return Ok(Some(routine));
        }
        if !self.is_operator_class(1) && self.eat(&["ALTER", "OPERATOR"]) {
            return self.alter_operator().map(Some);
        }
        if self.eat(&["ALTER", "TABLE"]) {
            return self.alter_table().map(Some);
        }
        if self.eat(&["ALTER", "DATABASE"]) {
            return self.alter_database().map(Some);
        }
        if self.eat(&["ALTER", "TYPE"]) {
            return self.alter_type().map(Some);
        }
        if self.eat(&["ALTER", "DOMAIN"]) {
            return self.alter_domain().map(Some);
        }
        if self.eat(&["ALTER", "SEQUENCE"]) {
            let if_exists = self.eat(&["IF", "EXISTS"]);
            let name = self.object_name()?;
            if let Some(statement) = self.rename_or_nothing(ObjectKind::Sequence, if_exists, &name)? {
                return Ok(Some(statement));
            }
            let options = self.sequence_options()?;
            return Ok(Some(Statement::AlterSequence { if_exists, name, options }));
        }
        if self.eat(&["ALTER", "ROLE"]) || self.eat(&["ALTER", "USER"]) {
            return self.alter_role().map(Some);
        }
        if self.eat(&["ALTER", "POLICY"]) {
            return self.alter_policy().map(Some);
        }
        if self.eat(&["ALTER", "GROUP"]) {
            return self.alter_group().map(Some);
        }
        if self.eat(&["ALTER", "DEFAULT", "PRIVILEGES"]) {
            return self.alter_default_privileges().map(Some);
        }
        const KINDS: [(&[&str], ObjectKind); 4] = [
            (&["ALTER", "INDEX"], ObjectKind::Index),
            (&["ALTER", "VIEW"], ObjectKind::View),
            (&["ALTER", "MATERIALIZED", "VIEW"], ObjectKind::MaterializedView),
            (&["ALTER", "SCHEMA"], ObjectKind::Schema),
        ];
        for (words, kind) in KINDS {
            if self.eat(words) {
                let if_exists = self.eat(&["IF", "EXISTS"]);
                let name = self.object_name()?;
                let materialized = kind == ObjectKind::MaterializedView;
                if (materialized || kind == ObjectKind::View)
                    && let Some(statement) = self.alter_view(materialized, if_exists, &name)?
                {
                    return Ok(Some(statement));
                }
                return match self.rename_or_nothing(kind, if_exists, &name)? {
                    Some(statement) => Ok(Some(statement)),
                    None => Ok(Some(self.unsupported(&format!("this form of {}", words.join(" "))))),
                };
            }
        }
        match Self::REFUSED_OF_ALTER.iter().find(|word| self.word_is(1, word)) {
            Some(word) => Ok(Some(self.unsupported(&format!("ALTER {word}")))),
            None => {
                self.take(1);
                Err(self.unexpected())
            }
        }
    }

    /// RENAME TO, OWNER TO, SET SCHEMA, SET (…): of sequences, indexes, views.
    pub(super) fn rename_or_nothing(
        &mut self,
        kind: ObjectKind,
        if_exists: bool,
        name: &super::statement::ObjectName,
    ) -> Result<Option<Statement>, PlanError> {
        if self.eat(&["RENAME", "TO"]) {
            let new_name = self.identifier()?;
            return Ok(Some(Statement::Rename { kind, if_exists, name: name.clone(), new_name }));
        }
        if kind != ObjectKind::Schema && kind != ObjectKind::Index && self.eat(&["SET", "SCHEMA"]) {
            let schema = self.identifier()?;
            return Ok(Some(Statement::SetSchema { kind, if_exists, name: name.clone(), schema }));
        }
        let nothing = Statement::AlterNothing { kind, if_exists, name: name.clone() };
        if self.eat(&["OWNER", "TO"]) {
            let owner = self.role_name()?;
            let change = RightsStatement::ChangeOwner { kind, if_exists, name: name.clone(), owner };
            return Ok(Some(Statement::Rights(Box::new(change))));
        }
        if self.words_are(&["SET", "LOGGED"]) || self.words_are(&["SET", "UNLOGGED"]) {
            self.take(2);
            return Ok(Some(nothing));
        }
        if (self.word_is(0, "SET") || self.word_is(0, "RESET"))
            && self.parser.peek_nth_token_ref(1).token == Token::LParen
        {
            self.take(1);
            self.skip_parenthesized()?;
            return Ok(Some(nothing));
        }
        Ok(None)
    }

    fn drop_objects(&mut self) -> Result<Statement, PlanError> {
        self.expect(&["DROP"])?;
        if self.eat(&["DATABASE"]) {
            return self.drop_database();
        }
        let Some(kind) = self.object_kind() else {
            if !self.words_are(&["USER", "MAPPING"]) && self.eat_one_of(&["ROLE", "USER", "GROUP"]).is_some() {
                return self.drop_roles();
            }
            if self.eat(&["OWNED", "BY"]) {
                return self.drop_owned();
            }
            if self.eat(&["PURPOSE"]) {
                return self.drop_purposes();
            }
            if self.eat(&["HOLD"]) {
                return self.drop_holds();
            }
            if self.eat(&["POLICY"]) {
                return self.drop_policy();
            }
            if !self.is_operator_class(0) && self.eat(&["OPERATOR"]) {
                return self.drop_operators();
            }
            if let Some(statement) = self.drop_routine()? {
                return Ok(statement);
            }
            const REFUSED: [&str; 11] = [
                "RULE",
                "OPERATOR",
                "CAST",
                "COLLATION",
                "EVENT",
                "FOREIGN",
                "SERVER",
                "LANGUAGE",
                "PUBLICATION",
                "SUBSCRIPTION",
                "STATISTICS",
            ];
            return match REFUSED.iter().find(|word| self.word_is(0, word)) {
                Some(word) => Ok(self.unsupported(&format!("DROP {word}"))),
                None => Err(self.unexpected()),
            };
        };
        let concurrently = kind == ObjectKind::Index && self.eat(&["CONCURRENTLY"]);
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let names = self.list(Self::object_name)?;
        Ok(Statement::Drop { kind, if_exists, names, concurrently, behavior: self.behavior() })
    }

    /// CASCADE or RESTRICT.
    pub(super) fn behavior(&mut self) -> DropBehavior {
        match self.eat_one_of(&["CASCADE", "RESTRICT"]) {
            Some("CASCADE") => DropBehavior::Cascade,
            Some(_) | None => DropBehavior::Restrict,
        }
    }

    /// Takes n tokens.
    pub(super) fn take(&mut self, count: usize) {
        (0..count).for_each(|_| self.parser.advance_token());
    }

    /// Passes over the rest of a statement that is refused by name.
    pub(super) fn unsupported(&mut self, command: &str) -> Statement {
        while !self.at_end() {
            self.parser.advance_token();
        }
        Statement::Unsupported { command: command.to_string() }
    }
}
