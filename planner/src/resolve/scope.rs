//! Which names mean which columns: the rows in scope, and what is said when a name fits none or several.

use super::calls::Call;
use super::system_columns::is_system_column;
use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::{Hir, HirColumn, HirExpr};
use repr::types::RecordType;
use repr::{ColumnType, Datum, RelationId, ScalarType};
use sqlparser::ast::{Ident, ObjectName};

/// A FROM item: its rows, and the names they have.
#[derive(Debug)]
pub(super) struct FromItem {
    pub(super) hir: Hir,
    pub(super) tables: Vec<Binding>,
    pub(super) columns: Vec<Visible>,
}

/// What a name of FROM stands for, as row locks tell it apart.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A table, a view, a catalog relation.
    Relation,
    Sequence,
    Subquery,
    With,
    Function,
    /// The columns that a join is by, under a name of their own.
    Using,
    /// A join with an alias, and what it hides.
    Join(Vec<Binding>),
}

/// One row that expressions can refer to: a FROM clause, or the part of it that a LATERAL item may see.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Relations by their names.
    pub(super) tables: Vec<Binding>,
    /// Columns by unqualified name, in the order of `*`.
    pub(super) columns: Vec<Visible>,
    /// Whether and when it can be seen.
    pub(super) visibility: Visibility,
    /// Calls that are computed over this row as a whole: aggregates, windows, sets.
    pub(super) calls: Vec<Call>,
    /// Which of them may stand here.
    pub(super) clause: Clause,
    /// Columns referred to outside aggregates, with where, for grouping errors.
    pub(super) references: Vec<(usize, Option<u32>)>,
    /// WINDOW definitions.
    pub(super) windows: Vec<(String, sqlparser::ast::WindowSpec)>,
    /// Where its one table's `xmax` stands, which is known of rows that an INSERT has just written.
    pub(super) xmax: Option<usize>,
}

/// When a frame's columns can be named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Visibility {
    /// Always.
    #[default]
    Always,
    /// Only inside LATERAL items: not now.
    LateralHidden,
    /// Only inside LATERAL items: now.
    LateralOpen,
}

/// Which part of a statement is being resolved, as errors name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Clause {
    #[default]
    Other,
    SelectList,
    Where,
    Having,
    GroupBy,
    OrderBy,
    DistinctOn,
    JoinOn,
    FromFunction,
    Limit,
    Offset,
    Values,
    Returning,
    UpdateSet,
    CheckConstraint,
    IndexPredicate,
    IndexExpression,
    ColumnDefault,
    ColumnGenerated,
    Transform,
    CopyWhere,
    MergeWhen,
    Policy,
    ExecuteParameters,
    AggregateArguments,
    AggregateFilter,
    WindowArguments,
    WindowDefinition,
}

impl Clause {
    /// As in "aggregate functions are not allowed in …".
    pub(super) fn describe(self) -> &'static str {
        match self {
            Clause::Other => "this context",
            Clause::SelectList => "SELECT",
            Clause::Where => "WHERE",
            Clause::Having => "HAVING",
            Clause::GroupBy => "GROUP BY",
            Clause::OrderBy => "ORDER BY",
            Clause::DistinctOn => "DISTINCT ON",
            Clause::JoinOn => "JOIN conditions",
            Clause::FromFunction => "functions in FROM",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Values => "VALUES",
            Clause::Returning => "RETURNING",
            Clause::UpdateSet => "UPDATE",
            Clause::CheckConstraint => "check constraints",
            Clause::IndexPredicate => "index predicates",
            Clause::IndexExpression => "index expressions",
            Clause::ColumnDefault => "DEFAULT expressions",
            Clause::ColumnGenerated => "column generation expressions",
            Clause::Transform => "transform expressions",
            Clause::CopyWhere => "COPY FROM WHERE conditions",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::Policy => "policy expressions",
            Clause::ExecuteParameters => "EXECUTE parameters",
            Clause::AggregateArguments => "aggregate function calls",
            Clause::AggregateFilter => "FILTER",
            Clause::WindowArguments => "window function calls",
            Clause::WindowDefinition => "window definitions",
        }
    }

    pub(super) fn allows_aggregates(self) -> bool {
        match self {
            Clause::SelectList
            | Clause::Having
            | Clause::OrderBy
            | Clause::DistinctOn
            | Clause::WindowArguments
            | Clause::WindowDefinition => true,
            Clause::Other
            | Clause::Where
            | Clause::GroupBy
            | Clause::JoinOn
            | Clause::FromFunction
            | Clause::Limit
            | Clause::Offset
            | Clause::Values
            | Clause::Returning
            | Clause::UpdateSet
            | Clause::CheckConstraint
            | Clause::IndexPredicate
            | Clause::IndexExpression
            | Clause::ColumnDefault
            | Clause::ColumnGenerated
            | Clause::Transform
            | Clause::CopyWhere
            | Clause::MergeWhen
            | Clause::Policy
            | Clause::ExecuteParameters
            | Clause::AggregateArguments
            | Clause::AggregateFilter => false,
        }
    }

    pub(super) fn allows_windows(self) -> bool {
        matches!(self, Clause::SelectList | Clause::OrderBy | Clause::DistinctOn)
    }

    pub(super) fn allows_sets(self) -> bool {
        matches!(self, Clause::SelectList | Clause::OrderBy | Clause::DistinctOn | Clause::GroupBy)
    }
}

/// A relation in FROM.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    /// Its alias, or its name.
    pub(super) name: String,
    /// Its schema, if it has no alias.
    pub(super) schema: Option<String>,
    /// The name that an alias hides.
    pub(super) hidden_name: Option<String>,
    /// The table that it is.
    pub(super) relation: Option<RelationId>,
    /// Its columns.
    pub(super) columns: Vec<Visible>,
    /// The columns with the row keys of its tables, where rows are locked or written.
    pub(super) row_keys: Vec<(RelationId, usize)>,
    /// What stands in FROM.
    pub(super) source: Source,
    /// A function whose one result has a name of its own: the whole row is that value.
    pub(super) is_scalar: bool,
    /// The column that is NULL just where an outer join found no row of it: there the whole row is NULL.
    pub(super) presence: Option<Presence>,
    /// The composite type that its rows are of, if they are of a created one.
    pub(super) row_type: Option<RecordType>,
}

/// A column that is never NULL in a relation's own rows.
#[derive(Clone, Debug)]
pub(super) struct Presence {
    /// Where in the row.
    pub(super) index: usize,
    pub(super) column_type: ColumnType,
}

impl Binding {
    /// Columns under a name, of no relation that is stored.
    pub(super) fn of(name: impl Into<String>, columns: Vec<Visible>) -> Binding {
        Binding {
            name: name.into(),
            schema: None,
            hidden_name: None,
            relation: None,
            columns,
            row_keys: Vec::new(),
            source: Source::Relation,
            is_scalar: false,
            presence: None,
            row_type: None,
        }
    }
}

/// A column that can be named.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    pub(super) name: String,
    /// Where in the row.
    pub(super) index: usize,
    pub(super) column_type: ColumnType,
    /// The stored column that it is.
    pub(super) origin: Option<(RelationId, usize)>,
}

impl Binding {
    /// Whether it has a column of that name.
    pub(super) fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// Moves all columns `by` places to the right.
    pub(super) fn offset(&mut self, by: usize) {
        for column in &mut self.columns {
            column.index += by;
        }
        self.row_keys.iter_mut().for_each(|(_, key)| *key += by);
        if let Some(presence) = &mut self.presence {
            presence.index += by;
        }
    }
}

impl Frame {
    pub(super) fn clause(mut self, clause: Clause) -> Self {
        self.clause = clause;
        self
    }

    /// The qualified name of a position, for messages.
    pub(super) fn qualified_name(&self, index: usize) -> String {
        for table in &self.tables {
            if let Some(column) = table.columns.iter().find(|column| column.index == index) {
                return format!("{}.{}", table.name, column.name);
            }
        }
        self.columns.iter().find(|column| column.index == index).map_or_else(String::new, |column| column.name.clone())
    }
}

/// An identifier's name as PostgreSQL folds it: unquoted to lower case.
pub(super) fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => truncated(ident.value.clone()),
        None => truncated(ident.value.to_lowercase()),
    }
}

/// Cut to NAMEDATALEN - 1 bytes.
fn truncated(mut name: String) -> String {
    const BYTES_MAX: usize = 63;
    if name.len() > BYTES_MAX {
        let mut end = BYTES_MAX;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
    }
    name
}

impl Resolver<'_> {
    /// Frames that can be seen, innermost first, with their levels.
    pub(super) fn visible_frames(&self) -> impl Iterator<Item = (usize, &Frame)> {
        self.frames.iter().rev().enumerate().filter(|(_, frame)| frame.visibility != Visibility::LateralHidden)
    }

    pub(super) fn reference(&mut self, level: usize, visible: &Visible, position: Option<u32>) -> Typed {
        let frame_index = self.frames.len() - 1 - level;
        self.frames[frame_index].references.push((visible.index, position));
        self.trace_read(visible.origin);
        self.needs_column(visible.origin);
        Typed::of(HirExpr::Column(HirColumn::Column { level, index: visible.index }), visible.column_type.clone())
    }

    /// The column of an unqualified name, if there is one.
    pub(super) fn find_column(&mut self, name: &str, position: Option<u32>) -> Result<Option<Typed>, PlanError> {
        let mut found = None;
        for (level, frame) in self.visible_frames() {
            let mut matches = frame.columns.iter().filter(|column| column.name == name);
            if let Some(column) = matches.next() {
                if matches.next().is_some() {
                    return Err(
                        PlanError::new("42702", format!("column reference \"{name}\" is ambiguous")).at(position)
                    );
                }
                found = Some((level, column.clone()));
                break;
            }
        }
        Ok(found.map(|(level, column)| self.reference(level, &column, position)))
    }

    /// An unqualified name in an expression: a column, else a whole row.
    pub(super) fn resolve_name(&mut self, ident: &Ident) -> Result<Typed, PlanError> {
        let name = fold(ident);
        let position = self.at(ident.span);
        // Words that name no column unless they are quoted.
        if ident.quote_style.is_none() && matches!(name.as_str(), "current_schema" | "current_catalog" | "current_role")
        {
            return self.keyword(&name);
        }
        if ident.quote_style.is_none() && name == "default" {
            return Err(PlanError::new("42601", "DEFAULT is not allowed in this context").at(position));
        }
        let column = self.find_column(&name, position)?;
        if let Some(column) = &column {
            self.trace_column(ident, &name, column, true);
        }
        if let Some(value) = self.column_or_variable(&name, column, position)? {
            return Ok(value);
        }
        let whole = self.visible_frames().find_map(|(level, frame)| {
            frame.tables.iter().find(|table| table.name == name).map(|table| (level, table.clone()))
        });
        if let Some((level, table)) = whole {
            return self.whole_row(level, &table, position);
        }
        if let Some((level, relation)) = self.having_system_column(&name, position)? {
            return self.system_column(&name, level, relation, position);
        }
        Err(self.unknown_column(&name, position))
    }

    /// `table.column`, `schema.table.column`.
    pub(super) fn resolve_qualified(&mut self, parts: &[Ident]) -> Result<Typed, PlanError> {
        let (column, qualifier) = match parts {
            [qualifier @ .., column] if !qualifier.is_empty() => (column, qualifier),
            [column] => return self.resolve_name(column),
            _ => return Err(PlanError::new("42601", "improper qualified name")),
        };
        let position = self.at(parts[0].span);
        let Some((level, table)) = self.find_table(qualifier)? else {
            // `column.field` of a composite column.
            if let [root] = qualifier
                && let Some(base) = self.find_column(&fold(root), position)?
                && matches!(base.scalar(), ScalarType::Record(_))
            {
                return self.field(base, &fold(column), position);
            }
            if let Some(value) = self.qualified_variable(parts)? {
                return Ok(value);
            }
            return Err(self.missing_table(qualifier));
        };
        let name = fold(column);
        let mut matches = table.columns.iter().filter(|candidate| candidate.name == name);
        if let Some(visible) = matches.next() {
            if matches.next().is_some() {
                return Err(PlanError::new("42702", format!("column reference \"{name}\" is ambiguous")).at(position));
            }
            let typed = self.reference(level, visible, position);
            self.trace_qualifier(qualifier, &table.name);
            self.trace_column(column, &name, &typed, false);
            return Ok(typed);
        }
        if let Some(relation) = table.relation.filter(|relation| self.has_system_columns(*relation))
            && is_system_column(&name)
        {
            return self.system_column(&name, level, relation, position);
        }
        if let Some(value) = self.qualified_variable(parts)? {
            return Ok(value);
        }
        let error = PlanError::new("42703", format!("column {}.{name} does not exist", table.name)).at(position);
        Err(match self.similar(&name, Some(&table.name)) {
            Some(hint) => error.hint(hint),
            None => error,
        })
    }

    /// The relation that a qualifier names, with its level.
    pub(super) fn find_table(&self, qualifier: &[Ident]) -> Result<Option<(usize, Binding)>, PlanError> {
        let (schema, name) = match qualifier {
            [name] => (None, fold(name)),
            [.., schema, name] => (Some(fold(schema)), fold(name)),
            [] => return Ok(None),
        };
        let position = self.at(qualifier[0].span);
        for (level, frame) in self.visible_frames() {
            let mut matches =
                frame.tables.iter().filter(|table| table.name == name && (schema.is_none() || table.schema == schema));
            if let Some(table) = matches.next() {
                if matches.next().is_some() {
                    return Err(
                        PlanError::new("42P09", format!("table reference \"{name}\" is ambiguous")).at(position)
                    );
                }
                return Ok(Some((level, table.clone())));
            }
        }
        Ok(None)
    }

    /// A relation's row as one composite value.
    pub(super) fn whole_row(
        &mut self,
        level: usize,
        table: &Binding,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        if table.is_scalar {
            return Ok(self.reference(level, &table.columns[0], position));
        }
        // A table's row has the table's names, whatever its columns are called here.
        let own = table.relation.and_then(|relation| self.catalog.table(relation));
        let name = |column: &Visible| match (own, column.origin) {
            (Some(own), Some((relation, index))) if relation == own.id => own.columns[index].name.clone(),
            _ => column.name.clone(),
        };
        let fields: Vec<(String, ScalarType)> =
            table.columns.iter().map(|column| (name(column), column.column_type.scalar.clone())).collect();
        let items = table.columns.iter().map(|column| self.reference(level, column, position).expr).collect();
        // Where not all columns are seen, it is no row of the table's.
        let is_own = |row: &RecordType| row.iter().map(|(name, _)| name).eq(fields.iter().map(|(name, _)| name));
        let row_type = table.row_type.clone().or_else(|| own?.row_type().filter(is_own));
        let scalar = ScalarType::Record(row_type.unwrap_or_else(|| fields.into()));
        let record = HirExpr::Record(items, scalar.clone());
        let Some(Presence { index, column_type }) = &table.presence else {
            return Ok(Typed::new(record, scalar));
        };
        let column = HirExpr::Column(HirColumn::Column { level, index: *index });
        let present = Typed::of(column, column_type.clone());
        let present = self.call_named("IS NOT NULL", vec![present], position)?.expr;
        let absent = Box::new(HirExpr::Literal(Datum::Null, ColumnType::nullable(scalar.clone())));
        let row = HirExpr::Case { branches: vec![(present, record)], otherwise: absent, result: scalar.clone() };
        Ok(Typed::new(row, scalar))
    }

    /// `table.*` as an operand: the whole row.
    pub(super) fn starred_row(&mut self, name: &ObjectName) -> Result<Typed, PlanError> {
        let parts: Vec<Ident> = name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
        let position = parts.first().and_then(|ident| self.at(ident.span));
        match self.find_table(&parts)? {
            Some((level, table)) => self.whole_row(level, &table, position),
            None => match parts.as_slice() {
                [column] => match self.find_column(&fold(column), position)? {
                    Some(value) if matches!(value.scalar(), ScalarType::Record(_)) => Ok(value),
                    Some(_) | None => Err(self.missing_table(&parts)),
                },
                _ => Err(self.missing_table(&parts)),
            },
        }
    }

    /// `table.*` among the fields of a row: its columns.
    pub(super) fn starred_fields(&mut self, name: &ObjectName) -> Result<Vec<Typed>, PlanError> {
        let parts: Vec<Ident> = name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
        if self.find_table(&parts)?.is_some() {
            return Ok(self.table_star(&parts)?.into_iter().map(|(_, typed)| typed).collect());
        }
        let value = self.starred_row(name)?;
        let ScalarType::Record(fields) = value.scalar().clone() else { return Ok(vec![value]) };
        (0..fields.len()).map(|index| self.field_at(value.clone(), index)).collect()
    }

    /// All columns of `*`, of the innermost frame.
    pub(super) fn star(&mut self, position: Option<u32>) -> Vec<(Visible, Typed)> {
        let columns = self.frames.last().map(|frame| frame.columns.clone()).unwrap_or_default();
        columns
            .into_iter()
            .map(|column| {
                let typed = self.reference(0, &column, position);
                (column, typed)
            })
            .collect()
    }

    /// All columns of `table.*`.
    pub(super) fn table_star(&mut self, qualifier: &[Ident]) -> Result<Vec<(Visible, Typed)>, PlanError> {
        let Some((level, table)) = self.find_table(qualifier)? else {
            return match self.qualified_variable(qualifier)? {
                Some(record) => self.fields_of(record),
                None => Err(self.missing_table(qualifier)),
            };
        };
        let position = self.at(qualifier[0].span);
        Ok(table
            .columns
            .into_iter()
            .map(|column| {
                let typed = self.reference(level, &column, position);
                (column, typed)
            })
            .collect())
    }

    /// All fields of a record that is a variable's.
    fn fields_of(&mut self, record: Typed) -> Result<Vec<(Visible, Typed)>, PlanError> {
        let ScalarType::Record(fields) = record.scalar().clone() else {
            let label = self.type_label(record.scalar());
            return Err(PlanError::new("42809", format!("type {label} is not composite")));
        };
        let mut found = Vec::with_capacity(fields.len());
        for (index, (name, _)) in fields.iter().enumerate() {
            let value = self.field_at(record.clone(), index)?;
            let column_type = value.column_type.clone();
            found.push((Visible { name: name.clone(), index, column_type, origin: None }, value));
        }
        Ok(found)
    }

    /// 42P01 for a qualifier that names nothing in FROM.
    pub(super) fn missing_table(&self, qualifier: &[Ident]) -> PlanError {
        let Some(last) = qualifier.last() else {
            return PlanError::new("42601", "improper qualified name");
        };
        let name = fold(last);
        let position = self.at(qualifier[0].span);
        let hidden_lateral = self.frames.iter().any(|frame| {
            frame.visibility == Visibility::LateralHidden && frame.tables.iter().any(|table| table.name == name)
        });
        if hidden_lateral {
            return PlanError::new("42P01", format!("invalid reference to FROM-clause entry for table \"{name}\""))
                .detail(format!(
                    "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
                ))
                .at(position);
        }
        let aliased = self
            .frames
            .iter()
            .rev()
            .flat_map(|frame| &frame.tables)
            .find(|table| table.hidden_name.as_ref() == Some(&name));
        match aliased {
            Some(table) => {
                PlanError::new("42P01", format!("invalid reference to FROM-clause entry for table \"{name}\""))
                    .hint(format!("Perhaps you meant to reference the table alias \"{}\".", table.name))
            }
            None => PlanError::new("42P01", format!("missing FROM-clause entry for table \"{name}\"")),
        }
        .at(position)
    }

    /// 42703 for an unqualified name.
    pub(super) fn unknown_column(&self, name: &str, position: Option<u32>) -> PlanError {
        let error = PlanError::new("42703", format!("column \"{name}\" does not exist")).at(position);
        let hidden = self
            .frames
            .iter()
            .rev()
            .filter(|frame| frame.visibility == Visibility::LateralHidden)
            .flat_map(|frame| &frame.tables)
            .find(|table| table.columns.iter().any(|column| column.name == name));
        if let Some(table) = hidden {
            return error.detail(format!(
                "There is a column named \"{name}\" in table \"{}\", but it cannot be referenced from this part of the query.",
                table.name
            ));
        }
        match self.similar(name, None) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// "Perhaps you meant …": at most two columns whose names are within three edits and half their length.
    fn similar(&self, name: &str, only_table: Option<&str>) -> Option<String> {
        const DISTANCE_MAX: usize = 3;
        let mut best = DISTANCE_MAX + 1;
        let mut candidates: Vec<String> = Vec::new();
        for (_, frame) in self.visible_frames() {
            for table in &frame.tables {
                if only_table.is_some_and(|only| only != table.name) {
                    continue;
                }
                for column in &table.columns {
                    let distance = edit_distance(name, &column.name);
                    if distance > DISTANCE_MAX || distance > column.name.chars().count() / 2 || distance > best {
                        continue;
                    }
                    if distance < best {
                        best = distance;
                        candidates.clear();
                    }
                    candidates.push(format!("\"{}.{}\"", table.name, column.name));
                }
            }
        }
        match candidates.as_slice() {
            [one] => Some(format!("Perhaps you meant to reference the column {one}.")),
            [one, two] => Some(format!("Perhaps you meant to reference the column {one} or the column {two}.")),
            _ => None,
        }
    }
}

/// Levenshtein's distance.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[right.len()]
}
