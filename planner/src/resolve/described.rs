//! INSERT, UPDATE and DELETE of pg_description, which those who keep the database may write: a query of the rows that go and of
//! those that come.
//!
//! ```text
//! UPDATE pg_description SET objoid = 7 WHERE objoid = 5
//!   ─▶ SELECT objoid, classoid, objsubid, 7, classoid, objsubid, description FROM pg_description WHERE objoid = 5
//!   ─▶ the session's definition (`ddl::description`): a row names the comment of an object, or is kept for itself
//! ```

use super::Resolver;
use super::outputs::Outputs;
use super::relation::{NamedRelation, Stored};
use super::scope::fold;
use super::statement::Resolved;
use crate::error::PlanError;
use crate::parse::definition::DescriptionVerb;
use crate::parse::{parse_expression, parse_query};
use crate::system::comments::PG_DESCRIPTION;
use sqlparser::ast::{
    self, AssignmentTarget, Expr, FromTable, Ident, ObjectName, Select, SelectItem, SetExpr, TableFactor, TableObject,
    TableWithJoins, UpdateTableFromKind,
};

/// The columns, by the types that values become.
const COLUMNS: [(&str, &str); 4] =
    [("objoid", "pg_catalog.oid"), ("classoid", "pg_catalog.oid"), ("objsubid", "integer"), ("description", "text")];

/// What the parts of a write are.
struct Written<'q> {
    verb: DescriptionVerb,
    from: Vec<TableWithJoins>,
    selection: Option<Expr>,
    /// The row that goes: what it is called by.
    alias: Option<String>,
    /// Values of the row that comes, by column.
    values: Vec<(String, Expr)>,
    returning: &'q Option<Vec<SelectItem>>,
}

impl Resolver<'_> {
    /// The statement, if it writes pg_description and whoever asks may.
    pub(super) fn description_write(&mut self, sql: &ast::Statement) -> Result<Option<Resolved>, PlanError> {
        let name = match sql {
            ast::Statement::Insert(insert) => match &insert.table {
                TableObject::TableName(name) => name,
                _ => return Ok(None),
            },
            ast::Statement::Update(update) => match &update.table.relation {
                TableFactor::Table { name, args: None, .. } => name,
                _ => return Ok(None),
            },
            ast::Statement::Delete(delete) => match target(&delete.from) {
                Some(TableFactor::Table { name, args: None, .. }) => name,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let is_last = |part: &ast::ObjectNamePart| part.as_ident().is_some_and(|ident| fold(ident) == "pg_description");
        if !name.0.last().is_some_and(is_last) || !self.is_description(name)? {
            return Ok(None);
        }
        if !self.catalog.is_controller(self.session.path.actor().role) {
            return Ok(None);
        }
        self.of_role = true;
        let written = written(sql)?;
        if written.returning.is_some() {
            return Err(PlanError::unsupported("RETURNING of pg_description"));
        }
        let verb = written.verb;
        let query = query_of(written)?;
        let query = self.query(&query, Outputs::Settled)?;
        Ok(Some(Resolved::Described { verb, query: Box::new(query) }))
    }

    fn is_description(&mut self, name: &ObjectName) -> Result<bool, PlanError> {
        let ctes = std::mem::take(&mut self.ctes.in_scope);
        let found = self.find_relation(name);
        self.ctes.in_scope = ctes;
        Ok(matches!(found?, NamedRelation::Stored(Stored { id, is_system: true, .. }) if id.0 == PG_DESCRIPTION))
    }
}

fn target(from: &FromTable) -> Option<&TableFactor> {
    let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = from;
    match tables.as_slice() {
        [only] if only.joins.is_empty() => Some(&only.relation),
        _ => None,
    }
}

fn called(factor: &TableFactor) -> String {
    match factor {
        TableFactor::Table { alias: Some(alias), .. } => fold(&alias.name),
        _ => "pg_description".to_owned(),
    }
}

fn plain(relation: &TableFactor) -> TableWithJoins {
    TableWithJoins { relation: relation.clone(), joins: Vec::new() }
}

fn written(sql: &ast::Statement) -> Result<Written<'_>, PlanError> {
    let unsupported = |what: &str| Err(PlanError::unsupported(format!("{what} of pg_description")));
    match sql {
        ast::Statement::Update(update) => {
            let mut from = vec![plain(&update.table.relation)];
            if let Some(UpdateTableFromKind::AfterSet(more)) = &update.from {
                from.extend(more.iter().cloned());
            }
            let mut values = Vec::new();
            for assignment in &update.assignments {
                let AssignmentTarget::ColumnName(name) = &assignment.target else {
                    return unsupported("an UPDATE of several columns at once");
                };
                values.push((column(name)?, assignment.value.clone()));
            }
            let alias = Some(called(&update.table.relation));
            let (selection, returning) = (update.selection.clone(), &update.returning);
            Ok(Written { verb: DescriptionVerb::Update, from, selection, alias, values, returning })
        }
        ast::Statement::Delete(delete) => {
            let Some(relation) = target(&delete.from) else { return unsupported("a DELETE of several tables") };
            let mut from = vec![plain(relation)];
            from.extend(delete.using.iter().flatten().cloned());
            let (selection, returning) = (delete.selection.clone(), &delete.returning);
            let (alias, values) = (Some(called(relation)), Vec::new());
            Ok(Written { verb: DescriptionVerb::Delete, from, selection, alias, values, returning })
        }
        ast::Statement::Insert(insert) => {
            let Some(source) = insert.source.as_ref().filter(|_| insert.on.is_none()) else {
                return unsupported("ON CONFLICT, or DEFAULT VALUES,");
            };
            let names = match insert.columns.as_slice() {
                [] => COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect(),
                columns => columns.iter().map(column).collect::<Result<Vec<_>, _>>()?,
            };
            let columns = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
            // The rows that come, under the columns' names.
            let mut template = parse_query(&format!("SELECT 1 FROM (SELECT 1) AS \"excluded\" ({columns})"))?;
            let select = select_of(&mut template)?;
            if let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation)
            {
                subquery.clone_from(source);
            }
            let (from, values) = (std::mem::take(&mut select.from), of_names("excluded", &names));
            Ok(Written {
                verb: DescriptionVerb::Insert,
                from,
                selection: None,
                alias: None,
                values,
                returning: &insert.returning,
            })
        }
        _ => unsupported("this statement"),
    }
}

fn of_names(table: &str, names: &[String]) -> Vec<(String, Expr)> {
    let value = |name: &String| (name.clone(), column_of(table, name));
    names.iter().map(value).collect()
}

fn column_of(table: &str, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![Ident::with_quote('"', table), Ident::with_quote('"', name)])
}

/// A column of pg_description.
fn column(name: &ObjectName) -> Result<String, PlanError> {
    let written = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    match COLUMNS.iter().any(|(known, _)| *known == written) {
        true => Ok(written),
        false => {
            let message = format!("column \"{written}\" of relation \"pg_description\" does not exist");
            Err(PlanError::new("42703", message))
        }
    }
}

fn select_of(query: &mut ast::Query) -> Result<&mut Select, PlanError> {
    match &mut *query.body {
        SetExpr::Select(select) => Ok(select),
        _ => Err(PlanError::new("XX000", "a template is a SELECT")),
    }
}

/// The keys of the rows that go, then those that come; NULL for what there is none of.
fn query_of(written: Written<'_>) -> Result<Box<ast::Query>, PlanError> {
    let mut query = parse_query("SELECT 1 FROM pg_description")?;
    let select = select_of(&mut query)?;
    let null = || parse_expression("NULL");
    let mut outputs = Vec::with_capacity(7);
    for (name, to) in &COLUMNS[..3] {
        let old = written.alias.as_ref().map_or_else(null, |alias| Ok(column_of(alias, name)))?;
        outputs.push(cast(old, to)?);
    }
    for (name, to) in COLUMNS {
        let given = written.values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let new = match (given, &written.alias, written.verb) {
            (Some(value), ..) => value,
            (None, Some(alias), DescriptionVerb::Update) => column_of(alias, name),
            (None, ..) => null()?,
        };
        outputs.push(cast(new, to)?);
    }
    select.projection = outputs.into_iter().map(SelectItem::UnnamedExpr).collect();
    select.from = written.from;
    select.selection = written.selection;
    Ok(query)
}

fn cast(value: Expr, to: &str) -> Result<Expr, PlanError> {
    let mut cast = parse_expression(&format!("CAST(NULL AS {to})"))?;
    if let Expr::Cast { expr, .. } = &mut cast {
        **expr = value;
    }
    Ok(cast)
}
