//! CREATE, ALTER and DROP OPERATOR, by PostgreSQL's rules.

use super::change::DefinitionChange;
use crate::catalog::routine::type_oid;
use crate::catalog::{NamespaceId, ObjectClass, Operator, OperatorHints, Privilege, ResultKind};
use crate::error::PlanError;
use crate::parse::statement::{DropBehavior, ObjectName, TypeName};
use crate::parse::type_definition::{
    AlterOperator, CreateOperator, OperatorAttribute, OperatorChange, OperatorName, OperatorStatement,
};
use crate::resolve::polymorphic;
use crate::resolve::types::data_type;
use crate::scalar::registry;
use crate::system::builtin::{self, function, type_name};
use repr::{ColumnType, Id, ScalarType};
use std::sync::Arc;

const BOOLEAN: Id = 16;
/// What estimators are given and what they give: `internal`, `oid`, `internal`, then `integer`, or `smallint` and `internal`.
const OF_RESTRICTION: [Id; 4] = [2281, 26, 2281, 23];
const OF_JOIN: [Id; 5] = [2281, 26, 2281, 21, 2281];

fn invalid(message: impl Into<String>) -> PlanError {
    PlanError::new("42P13", message)
}

/// The operands of an operator.
type Operands = (Option<ColumnType>, ColumnType);

fn operand_oids((left, right): &Operands) -> (Id, Id) {
    (left.as_ref().map_or(0, type_oid), type_oid(right))
}

/// `!=` is another name of `<>`.
fn symbol(name: &ObjectName) -> &str {
    if name.name == "!=" { "<>" } else { &name.name }
}

impl DefinitionChange<'_> {
    pub(super) fn operator_statement(&mut self, statement: &OperatorStatement) -> Result<&'static str, PlanError> {
        match statement {
            OperatorStatement::Create(create) => self.create_operator(create),
            OperatorStatement::Alter(alter) => self.alter_operator(alter),
            OperatorStatement::Drop { if_exists, operators, behavior } => {
                self.drop_operators(*if_exists, operators, *behavior)
            }
        }
    }

    fn create_operator(&mut self, create: &CreateOperator) -> Result<&'static str, PlanError> {
        let namespace = self.place_of_operator(&create.name)?;
        for attribute in &create.unknown {
            self.notice("42601", format!("operator attribute \"{attribute}\" not recognized"));
        }
        let (function, operands) = self.operator_terms(create)?;
        let (routine, result) = self.operator_function(function, &operands)?;
        self.require_plain_result(routine)?;
        let hints = OperatorHints {
            restrict: self.estimator(create.estimators.restrict.as_ref(), &OF_RESTRICTION, "restriction")?,
            join: self.estimator(create.estimators.join.as_ref(), &OF_JOIN, "join")?,
            hashes: create.joins.hashes,
            merges: create.joins.merges,
            ..OperatorHints::default()
        };
        require_fitting(create, &hints, operands.0.is_some(), result == BOOLEAN)?;
        let name = symbol(&create.name).to_owned();
        let shell =
            self.catalog.operators_in(namespace, &name).find(|found| found.operands() == operand_oids(&operands));
        let shell = shell.map(|found| (found.id, found.routine != 0, found.hints.clone()));
        let id = match &shell {
            Some((_, true, _)) => {
                return Err(PlanError::new("42723", format!("operator {name} already exists")));
            }
            Some((id, false, _)) => {
                self.require_owner(*id, "operator", &name)?;
                *id
            }
            None => self.next_id(),
        };
        let (left, right) = operands;
        let mut operator = Operator { id, name, namespace, left, right, routine, hints };
        if let Some((.., known)) = shell {
            (operator.hints.commutator, operator.hints.negator) = (known.commutator, known.negator);
        }
        self.catalog.operators.insert(id, Arc::new(operator.clone()));
        self.link_commutator(&operator, create.commutator.as_ref())?;
        self.link_negator(&operator, create.negator.as_ref())?;
        self.require_unheard_of(&operator)?;
        Ok("CREATE OPERATOR")
    }

    fn place_of_operator(&self, name: &ObjectName) -> Result<NamespaceId, PlanError> {
        self.place_of_type(name).map_err(|error| match error.code {
            "0A000" => PlanError::unsupported("an operator in a temporary schema"),
            _ => error,
        })
    }

    fn operator_terms<'c>(&self, create: &'c CreateOperator) -> Result<(&'c ObjectName, Operands), PlanError> {
        let Some(function) = &create.function else { return Err(invalid("operator function must be specified")) };
        let left = create.arguments.left.as_ref().map(|left| self.operand(left)).transpose()?;
        let right = create.arguments.right.as_ref().map(|right| self.operand(right)).transpose()?;
        match (left, right) {
            (None, None) => Err(invalid("operator argument types must be specified")),
            (Some(_), None) => Err(invalid("operator right argument type must be specified")
                .detail("Postfix operators are not supported.")),
            (left, Some(right)) => Ok((function, (left, right))),
        }
    }

    /// An operand's type, without its length and the like.
    fn operand(&self, written: &TypeName) -> Result<ColumnType, PlanError> {
        let text = written.data_type.to_string().to_lowercase();
        if polymorphic::is_name(text.trim_start_matches("pg_catalog.")) {
            return Err(PlanError::unsupported(format!("an operator over the polymorphic type {text}"))
                .hint("Create one for each type that it stands between."));
        }
        let found =
            data_type(&written.data_type, self.scope()).map_err(|error| PlanError { position: None, ..error })?;
        if found.domain != 0 {
            return Err(PlanError::unsupported("an operator over a domain")
                .hint("Create it over the type that the domain is of: values of the domain are of that type, too."));
        }
        Ok(ColumnType { modifier: -1, nullable: true, ..found })
    }

    /// The function of just these arguments, and what it gives.
    fn operator_function(&self, name: &ObjectName, operands: &Operands) -> Result<(Id, Id), PlanError> {
        name.require_own(&self.path)?;
        let types: Vec<Id> = operands.0.iter().chain([&operands.1]).map(type_oid).collect();
        if name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog")
            && let Some(found) = function::by_name(&name.name).find(|found| found.arguments == types)
        {
            if !registry::is_callable(found.name, &found.arguments) || ScalarType::from_oid(found.result).is_none() {
                return Err(PlanError::unsupported(format!("an operator that calls {}", found.signature())));
            }
            return Ok((found.oid, found.result));
        }
        if let Some(schema) = &name.schema {
            self.scope().require_namespace(schema)?;
        }
        let there = self.scope().routines(name.schema.as_deref(), &name.name);
        let found = there.into_iter().find(|found| !found.is_procedure && found.input_types() == types);
        let Some(found) = found else {
            let shown: Vec<String> = operands
                .0
                .iter()
                .chain([&operands.1])
                .map(|of| crate::catalog::routine::spelled(of, self.scope()))
                .collect();
            let message = format!("function {}({}) does not exist", name.dotted(), shown.join(", "));
            return Err(PlanError::new("42883", message));
        };
        if !self.holds(ObjectClass::Function, found.id, Privilege::Execute) {
            return Err(PlanError::denied(found.noun(), &found.name));
        }
        let result = match &found.result.kind {
            ResultKind::Value(own) => type_oid(own),
            ResultKind::Record | ResultKind::Void | ResultKind::Trigger | ResultKind::EventTrigger => 0,
        };
        Ok((found.id, result))
    }

    /// 0A000 for a function that gives a set, or no value of one type.
    fn require_plain_result(&self, routine: Id) -> Result<(), PlanError> {
        let Some(found) = self.catalog.routines.get(&routine) else { return Ok(()) };
        match (&found.result.kind, found.result.is_set) {
            (ResultKind::Value(_), false) => Ok(()),
            _ => Err(PlanError::unsupported("an operator whose function gives a set, or no value of one type")
                .hint("Call the function by its name.")),
        }
    }

    /// An estimator of PostgreSQL's, which are all there are; 0 for none.
    fn estimator(&self, name: Option<&ObjectName>, takes: &[Id], kind: &str) -> Result<Id, PlanError> {
        let Some(name) = name else { return Ok(0) };
        name.require_own(&self.path)?;
        let searched = name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
        // That of joins may do without its last argument.
        let is_meant = |found: &&function::Function| {
            found.arguments == takes || takes.len() == OF_JOIN.len() && found.arguments == takes[..4]
        };
        let Some(found) = function::by_name(&name.name).filter(|_| searched).find(is_meant) else {
            let types: Vec<String> = takes.iter().filter_map(|id| type_name(*id)).collect();
            let message = format!("function {}({}) does not exist", name.dotted(), types.join(", "));
            return Err(PlanError::new("42883", message));
        };
        match found.result {
            701 => Ok(found.oid),
            _ => Err(invalid(format!("{kind} estimator function {} must return type double precision", name.dotted()))),
        }
    }

    /// The commutator has the operands the other way round; it may be the operator itself.
    fn link_commutator(&mut self, operator: &Operator, name: Option<&ObjectName>) -> Result<(), PlanError> {
        let (Some(name), Some(left)) = (name, operator.left.clone()) else { return Ok(()) };
        let other = self.linked(operator, name, (Some(operator.right.clone()), left), true)?;
        self.edit_operator(operator.id).hints.commutator = other;
        if let Some(found) = self.catalog.operators.get(&other)
            && found.hints.commutator == 0
        {
            self.edit_operator(other).hints.commutator = operator.id;
        }
        Ok(())
    }

    fn link_negator(&mut self, operator: &Operator, name: Option<&ObjectName>) -> Result<(), PlanError> {
        let Some(name) = name else { return Ok(()) };
        let operands = (operator.left.clone(), operator.right.clone());
        let other = self.linked(operator, name, operands, false)?;
        self.edit_operator(operator.id).hints.negator = other;
        if let Some(found) = self.catalog.operators.get(&other)
            && found.hints.negator == 0
        {
            self.edit_operator(other).hints.negator = operator.id;
        }
        Ok(())
    }

    /// The operator that another names; a shell of it where there is none yet.
    fn linked(
        &mut self,
        of: &Operator,
        name: &ObjectName,
        operands: Operands,
        is_commutator: bool,
    ) -> Result<Id, PlanError> {
        name.require_own(&self.path)?;
        let is_own = |found: &Operator| found.id == of.id;
        if let Some(found) = self.found_operator(name, operand_oids(&operands)) {
            let id = match found {
                KnownOperator::BuiltIn(id) => id,
                KnownOperator::Created(found) if is_own(&found) && !is_commutator => {
                    return Err(invalid("operator cannot be its own negator or sort operator"));
                }
                KnownOperator::Created(found) => {
                    let is_controller = self.catalog.is_controller(self.path.actor().role);
                    if !is_controller && !is_own(&found) {
                        self.require_owner(found.id, "operator", &name.dotted())?;
                    }
                    found.id
                }
            };
            // Of PostgreSQL's own nobody changes anything, and only who keeps the database may name one.
            return match self.catalog.operators.contains_key(&id) || self.catalog.is_controller(self.path.actor().role)
            {
                true => Ok(id),
                false => Err(PlanError::new("42501", format!("must be owner of operator {}", name.dotted()))),
            };
        }
        let namespace = self.place_of_operator(name)?;
        if !self.catalog.is_controller(self.path.actor().role)
            && !self.holds(ObjectClass::Schema, namespace.0, Privilege::Create)
        {
            return Err(PlanError::denied("schema", self.catalog.namespace_name(namespace).unwrap_or_default()));
        }
        let id = self.next_id();
        let (left, right) = operands;
        let (name, hints) = (symbol(name).to_owned(), OperatorHints::default());
        self.catalog.operators.insert(id, Arc::new(Operator { id, name, namespace, left, right, routine: 0, hints }));
        Ok(id)
    }

    /// 0A000 where a text that the catalog keeps would mean the new operator, and meant another.
    fn require_unheard_of(&self, operator: &Operator) -> Result<(), PlanError> {
        match self.uses_of_operator(operator).into_iter().next() {
            None => Ok(()),
            Some(found) => {
                let shown = self.operator_line(operator);
                Err(PlanError::new("0A000", format!("{shown} would change what {} means", found.line)).hint(format!(
                    "Write OPERATOR(pg_catalog.{}) there, or create the operator in another schema.",
                    operator.name
                )))
            }
        }
    }

    fn edit_operator(&mut self, id: Id) -> &mut Operator {
        Arc::make_mut(self.catalog.operators.get_mut(&id).expect("ids come from this catalog"))
    }

    /// `operator symbol(left,right)`
    pub(super) fn operator_line(&self, operator: &Operator) -> String {
        format!("operator {}", operator.called(&self.scope().spelled_operator(operator), self.scope()))
    }

    fn found_operator(&self, name: &ObjectName, operands: (Id, Id)) -> Option<KnownOperator> {
        let name_of = symbol(name);
        let created = self.scope().operators(name.schema.as_deref(), name_of);
        let created = created.into_iter().find(|found| found.operands() == operands).map(Arc::clone);
        let searched = name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
        let built_in = builtin::operator_over(name_of, operands).filter(|_| searched);
        match (created, built_in) {
            (Some(found), None) => Some(KnownOperator::Created(found)),
            (Some(found), Some(_)) if self.scope().is_before_built_in(found.namespace) => {
                Some(KnownOperator::Created(found))
            }
            (_, built_in) => built_in.map(KnownOperator::BuiltIn),
        }
    }

    /// What is called so, if it is there.
    fn operator_by_name(&self, operator: &OperatorName) -> Result<Option<KnownOperator>, PlanError> {
        let OperatorName { name, arguments } = operator;
        name.require_own(&self.path)?;
        let Some(right) = &arguments.right else {
            return Err(PlanError::new("42883", "postfix operators are not supported"));
        };
        let oid = |written: &TypeName| -> Result<Id, PlanError> {
            let found = data_type(&written.data_type, self.scope());
            found.map(|found| type_oid(&found)).map_err(|error| PlanError { position: None, ..error })
        };
        let left = arguments.left.as_ref().map(oid).transpose()?.unwrap_or_default();
        Ok(self.found_operator(name, (left, oid(right)?)))
    }

    fn no_operator(&self, operator: &OperatorName) -> PlanError {
        let shown = |written: &TypeName| {
            let found = data_type(&written.data_type, self.scope());
            found.map_or_else(
                |_| written.data_type.to_string(),
                |of| crate::catalog::routine::spelled(&of, self.scope()),
            )
        };
        let left = operator.arguments.left.as_ref().map(|left| format!("{} ", shown(left))).unwrap_or_default();
        let right = operator.arguments.right.as_ref().map(shown).unwrap_or_default();
        PlanError::new("42883", format!("operator does not exist: {left}{} {right}", operator.name.dotted()))
    }

    /// A created operator that must be there.
    pub(super) fn operator_named(&self, operator: &OperatorName) -> Result<Id, PlanError> {
        match self.operator_by_name(operator)? {
            Some(KnownOperator::Created(found)) => Ok(found.id),
            Some(KnownOperator::BuiltIn(_)) => {
                Err(PlanError::new("42501", format!("must be owner of operator {}", operator.name.dotted())))
            }
            None => Err(self.no_operator(operator)),
        }
    }

    fn drop_operators(
        &mut self,
        if_exists: bool,
        operators: &[OperatorName],
        behavior: DropBehavior,
    ) -> Result<&'static str, PlanError> {
        let mut dropped = Vec::new();
        for operator in operators {
            match self.operator_by_name(operator) {
                Ok(Some(KnownOperator::Created(found))) => dropped.push(found),
                Ok(Some(KnownOperator::BuiltIn(id))) => {
                    let shown = builtin::operators().get(&id).map(|row| {
                        let operand = |column| type_name(row.id(column)).unwrap_or_else(|| "NONE".to_owned());
                        format!("{}({},{})", row.text("oprname"), operand("oprleft"), operand("oprright"))
                    });
                    let shown = shown.unwrap_or_default();
                    let message = format!("cannot drop operator {shown} because it is required by the database system");
                    return Err(PlanError::new("2BP01", message));
                }
                Ok(None) if if_exists => {
                    let schema = operator.name.schema.as_ref();
                    if let Some(Err(error)) = schema.map(|schema| self.scope().require_namespace(schema)) {
                        self.notice("00000", format!("{error}, skipping"));
                        continue;
                    }
                    self.notice("00000", format!("operator {} does not exist, skipping", operator.name.dotted()));
                }
                Ok(None) => return Err(self.no_operator(operator)),
                Err(error) if if_exists && error.code == "42704" => {
                    self.notice("00000", format!("{error}, skipping"));
                }
                Err(error) => return Err(error),
            }
        }
        for operator in dropped {
            if self.catalog.operators.contains_key(&operator.id) {
                self.drop_users_of_operator(&operator, behavior == DropBehavior::Cascade)?;
                self.remove_operator(operator.id);
            }
        }
        Ok("DROP OPERATOR")
    }

    /// Refuses, or drops the views that use it.
    pub(super) fn drop_users_of_operator(&mut self, operator: &Operator, cascade: bool) -> Result<(), PlanError> {
        let shown = self.operator_line(operator);
        let views = self.views_among(&shown, self.uses_of_operator(operator), "operator")?;
        self.drop_dependents(&shown, Vec::new(), views, &std::collections::BTreeSet::new(), cascade)
    }

    pub(super) fn remove_operator(&mut self, id: Id) {
        self.catalog.operators.remove(&id);
        self.catalog.comments.remove(&id);
        let linked: Vec<Id> = self
            .catalog
            .operators
            .values()
            .filter(|found| found.hints.commutator == id || found.hints.negator == id)
            .map(|found| found.id)
            .collect();
        for other in linked {
            let hints = &mut self.edit_operator(other).hints;
            for link in [&mut hints.commutator, &mut hints.negator] {
                *link = if *link == id { 0 } else { *link };
            }
        }
    }

    fn alter_operator(&mut self, alter: &AlterOperator) -> Result<&'static str, PlanError> {
        let id = self.operator_named(&alter.operator)?;
        let operator = Arc::clone(&self.catalog.operators[&id]);
        match &alter.change {
            OperatorChange::Owner(owner) => {
                let owner = self.role(owner)?;
                self.give(id, "operator", &operator.name, owner)?;
            }
            OperatorChange::Schema(schema) => {
                let to = self.destination(schema)?;
                if to != operator.namespace {
                    self.move_operator(&operator, to)?;
                }
            }
            OperatorChange::Estimators(changes) => self.set_estimators(&operator, changes)?,
        }
        Ok("ALTER OPERATOR")
    }

    fn move_operator(&mut self, operator: &Operator, to: NamespaceId) -> Result<(), PlanError> {
        if self.catalog.operators_in(to, &operator.name).any(|found| found.operands() == operator.operands()) {
            let (left, right) = operator.operands();
            let message = "duplicate key value violates unique constraint \"pg_operator_oprname_l_r_n_index\"";
            return Err(PlanError::new("23505", message).detail(format!(
                "Key (oprname, oprleft, oprright, oprnamespace)=({}, {left}, {right}, {}) already exists.",
                operator.name, to.0
            )));
        }
        if let Some(found) = self.uses_of_operator(operator).into_iter().next() {
            let shown = self.operator_line(operator);
            return Err(PlanError::new("0A000", format!("cannot move {shown} because {} uses it", found.line))
                .hint("Drop that first, and create it again then."));
        }
        self.edit_operator(operator.id).namespace = to;
        let moved = Arc::clone(&self.catalog.operators[&operator.id]);
        self.require_unheard_of(&moved)
    }

    fn set_estimators(&mut self, operator: &Operator, changes: &[OperatorAttribute]) -> Result<(), PlanError> {
        let mut hints = operator.hints.clone();
        for OperatorAttribute { name, function } in changes {
            match name.name.as_str() {
                "restrict" => hints.restrict = self.estimator(function.as_ref(), &OF_RESTRICTION, "restriction")?,
                "join" => hints.join = self.estimator(function.as_ref(), &OF_JOIN, "join")?,
                fixed @ ("leftarg" | "rightarg" | "function" | "procedure" | "commutator" | "negator" | "hashes"
                | "merges") => {
                    return Err(PlanError::new("42601", format!("operator attribute \"{fixed}\" cannot be changed")));
                }
                other => {
                    return Err(PlanError::new("42601", format!("operator attribute \"{other}\" not recognized")));
                }
            }
        }
        let joins = hints.join != operator.hints.join && hints.join != 0;
        if joins && operator.left.is_none() {
            return Err(invalid("only binary operators can have join selectivity"));
        }
        let result = self.catalog.routines.get(&operator.routine).map(|found| match &found.result.kind {
            ResultKind::Value(own) => type_oid(own),
            _ => 0,
        });
        let result = result.or_else(|| function::by_id(operator.routine).map(|found| found.result));
        if result != Some(BOOLEAN) && (hints.restrict != 0 || hints.join != 0) {
            let kind = if hints.restrict == 0 { "join" } else { "restriction" };
            return Err(invalid(format!("only boolean operators can have {kind} selectivity")));
        }
        self.edit_operator(operator.id).hints = hints;
        Ok(())
    }
}

/// What a symbol and its operands are.
enum KnownOperator {
    /// PostgreSQL's own.
    BuiltIn(Id),
    /// Somebody's.
    Created(Arc<Operator>),
}

/// 42P13 for what cannot be said of an operator with one operand, or of one that gives no truth value.
fn require_fitting(
    create: &CreateOperator,
    hints: &OperatorHints,
    is_binary: bool,
    is_boolean: bool,
) -> Result<(), PlanError> {
    let of_two = [
        (create.commutator.is_some(), "have commutators"),
        (hints.join != 0, "have join selectivity"),
        (hints.merges, "merge join"),
        (hints.hashes, "hash"),
    ];
    if let Some((_, what)) = of_two.iter().find(|(said, _)| *said && !is_binary) {
        return Err(invalid(format!("only binary operators can {what}")));
    }
    let of_truth = [
        (create.negator.is_some(), "have negators"),
        (hints.restrict != 0, "have restriction selectivity"),
        (hints.join != 0, "have join selectivity"),
        (hints.merges, "merge join"),
        (hints.hashes, "hash"),
    ];
    if let Some((_, what)) = of_truth.iter().find(|(said, _)| *said && !is_boolean) {
        return Err(invalid(format!("only boolean operators can {what}")));
    }
    // SQL's own forms (IN, BETWEEN, LIKE, USING) compare by these.
    const COMPARISONS: [&str; 12] = ["=", "<>", "<", "<=", ">", ">=", "~", "!~", "~~", "!~~", "~~*", "!~~*"];
    if !is_boolean && is_binary && COMPARISONS.contains(&symbol(&create.name)) {
        return Err(PlanError::unsupported(format!("an operator {} that gives no truth value", create.name.name)));
    }
    Ok(())
}
