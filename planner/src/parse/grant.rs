//! GRANT, REVOKE, ALTER DEFAULT PRIVILEGES, REASSIGN OWNED and DROP OWNED.

use super::definition::RoutineKind;
use super::grammar::Grammar;
use super::rights::{
    AlterDefaultPrivileges, Grant, GrantRoles, GrantedObjects, GrantedPrivilege, RightsStatement, RoleName,
};
use super::statement::{DropBehavior, Identifier, Statement};
use crate::catalog::{ObjectClass, Privilege};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

/// A word, or two, with columns behind it: a privilege or a role.
struct Item {
    name: Identifier,
    columns: Vec<Identifier>,
}

/// What stands between GRANT or REVOKE and ON, TO or FROM.
enum Granted {
    All(Vec<Identifier>),
    Items(Vec<Item>),
}

fn rights(statement: RightsStatement) -> Statement {
    Statement::Rights(Box::new(statement))
}

impl Grammar<'_, '_> {
    /// Behind GRANT.
    pub(super) fn grant(&mut self) -> Result<Statement, PlanError> {
        self.granting(true, false)
    }

    /// Behind REVOKE.
    pub(super) fn revoke(&mut self) -> Result<Statement, PlanError> {
        let option = self.eat(&["GRANT", "OPTION", "FOR"]) || self.eat(&["ADMIN", "OPTION", "FOR"]);
        self.granting(false, option)
    }

    fn granting(&mut self, grants: bool, option_only: bool) -> Result<Statement, PlanError> {
        let is_name = |word: &str| !self.word_is(1, word);
        let is_purpose = self.word_is(0, "PURPOSE") && ["TO", "FROM", "ON"].into_iter().all(is_name);
        if is_purpose && matches!(self.parser.peek_nth_token_ref(1).token, Token::Word(_)) {
            self.take(1);
            return self.grant_purposes(grants);
        }
        let granted = self.granted()?;
        if self.eat(&["ON"]) {
            return self.grant_on(grants, option_only, granted);
        }
        let Granted::Items(items) = granted else { return Err(self.unexpected()) };
        if items.iter().any(|item| !item.columns.is_empty()) {
            return Err(self.unexpected());
        }
        self.expect(&[if grants { "TO" } else { "FROM" }])?;
        let members = self.list(Self::role_name)?;
        let mut statement = GrantRoles {
            grants,
            roles: items.into_iter().map(|item| item.name).collect(),
            members,
            admin: option_only,
            grantor: None,
            behavior: DropBehavior::Restrict,
        };
        if grants && self.eat(&["WITH", "ADMIN"]) {
            self.eat_one_of(&["OPTION", "TRUE"]).ok_or_else(|| self.unexpected())?;
            statement.admin = true;
        }
        statement.grantor = self.granted_by()?;
        if !grants {
            statement.behavior = self.behavior();
        }
        Ok(rights(RightsStatement::GrantRoles(statement)))
    }

    /// As `alter_group` has it.
    pub(super) fn granted_roles(&mut self, grants: bool, roles: Vec<Identifier>, members: Vec<RoleName>) -> Statement {
        let (admin, grantor, behavior) = (false, None, DropBehavior::Restrict);
        rights(RightsStatement::GrantRoles(GrantRoles { grants, roles, members, admin, grantor, behavior }))
    }

    fn granted_by(&mut self) -> Result<Option<RoleName>, PlanError> {
        if self.eat(&["GRANTED", "BY"]) { self.role_name().map(Some) } else { Ok(None) }
    }

    fn granted(&mut self) -> Result<Granted, PlanError> {
        if self.eat(&["ALL"]) {
            self.eat(&["PRIVILEGES"]);
            return self.optional_columns().map(Granted::All);
        }
        let items = self.list(|grammar| {
            // All that a subject may ask for.
            if ["TO", "FROM"].iter().all(|word| !grammar.word_is(2, word)) && grammar.eat(&["GDPR", "ALL"]) {
                grammar.eat(&["PRIVILEGES"]);
                let position = grammar.position();
                let name = |privilege: &Privilege| Identifier { name: privilege.name().to_lowercase(), position };
                let requests = [Privilege::GdprGet, Privilege::GdprExport, Privilege::GdprForget];
                return Ok(requests
                    .iter()
                    .map(|privilege| Item { name: name(privilege), columns: Vec::new() })
                    .collect());
            }
            let position = grammar.position();
            let quoted =
                matches!(&grammar.parser.peek_token_ref().token, Token::Word(word) if word.quote_style.is_some());
            let mut name = grammar.any_word()?;
            if name == "gdpr" && !quoted && !grammar.word_is(0, "TO") && !grammar.word_is(0, "FROM") {
                name = format!("{name} {}", grammar.any_word()?);
            }
            let name = Identifier { name: super::grammar::truncate(&name), position };
            Ok(vec![Item { name, columns: grammar.optional_columns()? }])
        })?;
        Ok(Granted::Items(items.into_iter().flatten().collect()))
    }

    fn grant_on(&mut self, grants: bool, option_only: bool, granted: Granted) -> Result<Statement, PlanError> {
        let objects = match self.granted_objects()? {
            Ok(objects) => objects,
            Err(refused) => return Ok(refused),
        };
        self.expect(&[if grants { "TO" } else { "FROM" }])?;
        let grantees = self.list(Self::grantee)?;
        let (privileges, all_columns) = named(granted)?;
        let option = option_only || grants && self.eat(&["WITH", "GRANT", "OPTION"]);
        let grantor = self.granted_by()?;
        let behavior = if grants { DropBehavior::Restrict } else { self.behavior() };
        let grant = Grant { grants, privileges, all_columns, objects, grantees, option, grantor, behavior };
        Ok(rights(RightsStatement::Grant(grant)))
    }

    pub(super) fn grantee(&mut self) -> Result<RoleName, PlanError> {
        self.eat(&["GROUP"]);
        self.role_name()
    }

    /// On what; or the statement that is refused by name.
    fn granted_objects(&mut self) -> Result<Result<GrantedObjects, Statement>, PlanError> {
        if self.eat(&["ALL"]) {
            let position = self.position();
            let class = match &*self.any_word()? {
                "tables" => ObjectClass::Table,
                "sequences" => ObjectClass::Sequence,
                "functions" | "procedures" | "routines" => ObjectClass::Function,
                _ => return Err(PlanError::new("42601", "syntax error in GRANT").at(Some(position))),
            };
            self.expect(&["IN", "SCHEMA"])?;
            return Ok(Ok(GrantedObjects::AllInSchemas(class, self.list(Self::identifier)?)));
        }
        if self.eat(&["SEQUENCE"]) {
            return Ok(Ok(GrantedObjects::Sequences(self.list(Self::object_name)?)));
        }
        if self.eat(&["DATABASE"]) {
            return Ok(Ok(GrantedObjects::Databases(self.list(Self::identifier)?)));
        }
        if self.eat(&["SCHEMA"]) {
            return Ok(Ok(GrantedObjects::Schemas(self.list(Self::identifier)?)));
        }
        if self.eat(&["TYPE"]) || self.eat(&["DOMAIN"]) {
            return Ok(Ok(GrantedObjects::Types(self.list(Self::object_name)?)));
        }
        const ROUTINES: [(&str, RoutineKind); 3] = [
            ("FUNCTION", RoutineKind::Function),
            ("PROCEDURE", RoutineKind::Procedure),
            ("ROUTINE", RoutineKind::Routine),
        ];
        let is_table = self.word_is(1, "TO") || self.word_is(1, "FROM");
        if let Some((_, kind)) = ROUTINES.into_iter().find(|(word, _)| !is_table && self.word_is(0, word)) {
            self.take(1);
            return Ok(Ok(GrantedObjects::Routines(kind, self.list(Self::routine_name)?)));
        }
        const REFUSED: [&str; 6] = ["LANGUAGE", "LARGE", "TABLESPACE", "FOREIGN", "PARAMETER", "DIRECTORY"];
        // A table may be called so, too.
        let is_named = |word: &&&str| self.word_is(0, word) && !self.word_is(1, "TO") && !self.word_is(1, "FROM");
        if let Some(word) = REFUSED.iter().find(is_named) {
            return Ok(Err(self.unsupported(&format!("privileges on a {}", word.to_lowercase()))));
        }
        self.eat(&["TABLE"]);
        Ok(Ok(GrantedObjects::Relations(self.list(Self::object_name)?)))
    }

    /// Behind ALTER DEFAULT PRIVILEGES.
    pub(super) fn alter_default_privileges(&mut self) -> Result<Statement, PlanError> {
        let (mut roles, mut schemas) = (Vec::new(), Vec::new());
        loop {
            if self.eat(&["FOR", "ROLE"]) || self.eat(&["FOR", "USER"]) {
                roles = self.list(Self::role_name)?;
            } else if self.eat(&["IN", "SCHEMA"]) {
                schemas = self.list(Self::identifier)?;
            } else {
                break;
            }
        }
        let grants = match self.eat_one_of(&["GRANT", "REVOKE"]) {
            Some(word) => word == "GRANT",
            None => return Err(self.unexpected()),
        };
        let mut option = !grants && self.eat(&["GRANT", "OPTION", "FOR"]);
        let (privileges, columns) = named(self.granted()?)?;
        let of_columns = privileges.iter().flatten().any(|item| !item.columns.is_empty());
        if of_columns || !columns.is_empty() {
            return Err(PlanError::new("0LP01", "default privileges cannot be set for columns"));
        }
        self.expect(&["ON"])?;
        let class = match self.eat_one_of(&["TABLES", "SEQUENCES", "FUNCTIONS", "ROUTINES", "TYPES", "SCHEMAS"]) {
            Some("TABLES") => ObjectClass::Table,
            Some("SEQUENCES") => ObjectClass::Sequence,
            Some("FUNCTIONS" | "ROUTINES") => ObjectClass::Function,
            Some("TYPES") => ObjectClass::Type,
            Some("SCHEMAS") => ObjectClass::Schema,
            Some(_) | None => return Err(self.unexpected()),
        };
        self.expect(&[if grants { "TO" } else { "FROM" }])?;
        let grantees = self.list(Self::grantee)?;
        option |= grants && self.eat(&["WITH", "GRANT", "OPTION"]);
        if !grants {
            self.behavior();
        }
        let privileges = privileges.map(|items| items.into_iter().map(|item| item.privilege).collect());
        Ok(rights(RightsStatement::AlterDefaultPrivileges(AlterDefaultPrivileges {
            roles,
            schemas,
            class,
            privileges,
            grants,
            grantees,
            option,
        })))
    }

    /// Behind REASSIGN OWNED BY.
    pub(super) fn reassign_owned(&mut self) -> Result<Statement, PlanError> {
        let from = self.list(Self::role_name)?;
        self.expect(&["TO"])?;
        Ok(rights(RightsStatement::ReassignOwned(from, self.role_name()?)))
    }

    /// Behind DROP OWNED BY.
    pub(super) fn drop_owned(&mut self) -> Result<Statement, PlanError> {
        let roles = self.list(Self::role_name)?;
        Ok(rights(RightsStatement::DropOwned(roles, self.behavior())))
    }
}

/// The privileges of a list; none is ALL, with its columns.
fn named(granted: Granted) -> Result<(Option<Vec<GrantedPrivilege>>, Vec<Identifier>), PlanError> {
    let items = match granted {
        Granted::All(columns) => return Ok((None, columns)),
        Granted::Items(items) => items,
    };
    let privileges =
        items.into_iter().map(|Item { name, columns }| match Privilege::by_name(&name.name) {
            Some(privilege) => Ok(GrantedPrivilege { privilege, columns }),
            None => Err(PlanError::new("42601", format!("unrecognized privilege type \"{}\"", name.name))
                .at(Some(name.position))),
        });
    Ok((Some(privileges.collect::<Result<_, _>>()?), Vec::new()))
}
