//! Statements of PL/pgSQL, one after another.

use super::frame::{BoundCursor, Frame, Mark, Slot};
use super::inner::within_stack;
use crate::session::Session;
use planner::catalog::Table;
use planner::parse::statement::ObjectName;
use planner::plpgsql::{
    Block, BodyStep, Branch, Declaration, Declared, Diagnostic, Expression, Into, NumberedStep, Target, VariableType,
};
use repr::{ColumnType, Datum, ScalarType};
use state::SqlError;
use std::sync::Arc;

/// What comes after a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next one.
    Next,
    /// The end of a loop or block, by its label.
    Exit(Option<String>),
    /// The next round of a loop.
    Continue(Option<String>),
    /// The end of the body.
    Return,
}

impl Session {
    /// Runs a body. Whether it has returned by itself.
    pub(super) fn run_body(&mut self, frame: &mut Frame) -> Result<bool, SqlError> {
        let compiled = frame.compiled.clone();
        match self.inner_block(frame, &compiled.body.block)? {
            Flow::Return => Ok(true),
            Flow::Next => Ok(false),
            Flow::Exit(_) => Err(SqlError::new("42601", "EXIT cannot be used outside a loop, unless it has a label")),
            Flow::Continue(_) => Err(SqlError::new("42601", "CONTINUE cannot be used outside a loop")),
        }
    }

    fn inner_block(&mut self, frame: &mut Frame, block: &Block) -> Result<Flow, SqlError> {
        let mark = frame.mark();
        let outcome = within_stack(|| self.block_within(frame, block, mark));
        frame.back_to(mark);
        match outcome? {
            Flow::Exit(Some(label)) if block.label.as_ref() == Some(&label) => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }

    fn block_within(&mut self, frame: &mut Frame, block: &Block, mark: Mark) -> Result<Flow, SqlError> {
        for declaration in &block.declarations {
            self.declare_name(frame, block.label.as_deref(), declaration, mark)
                .map_err(|error| at_line(error, frame, declaration.line, "statement block"))?;
        }
        if block.handlers.is_empty() {
            return self.lines(frame, &block.statements);
        }
        let name = self.begin_inner_block();
        let failed = match self.lines(frame, &block.statements) {
            Ok(flow) => {
                self.end_inner_block(&name, true)?;
                return Ok(flow);
            }
            Err(error) => error,
        };
        if self.ends_all(&failed) {
            return Err(failed);
        }
        self.end_inner_block(&name, false)?;
        let Some(handler) = block.handlers.iter().find(|handler| catches(&handler.codes, failed.code)) else {
            return Err(failed);
        };
        let text = |text: &str| Slot::of(ColumnType::nullable(ScalarType::Text), Datum::Text(text.into()));
        frame.declare(None, "sqlstate", text(failed.code));
        frame.declare(None, "sqlerrm", text(&failed.message));
        let around = frame.handled.replace(failed);
        let outcome = self.lines(frame, &handler.statements);
        frame.handled = around;
        outcome
    }

    /// A savepoint of the block's own, under a name that nobody else gives.
    fn begin_inner_block(&mut self) -> String {
        let transaction = self.transaction();
        let name = format!("\u{0}block {}", transaction.savepoints());
        transaction.savepoint(name.clone());
        self.state.lock().savepoint();
        name
    }

    fn end_inner_block(&mut self, name: &str, keeps: bool) -> Result<(), SqlError> {
        if !keeps {
            let (position, cursors) = self.transaction().roll_back_to_savepoint(name)?;
            for cursor in cursors {
                self.cursors.open.remove(&cursor);
                self.cursors.subscribed.remove(&cursor);
            }
            self.state.lock().roll_back_to_savepoint(position);
        }
        let position = self.transaction().release_savepoint(name)?;
        self.state.lock().release_savepoint(position);
        Ok(())
    }

    pub(super) fn lines(&mut self, frame: &mut Frame, lines: &[NumberedStep]) -> Result<Flow, SqlError> {
        for line in lines {
            self.control.account.check()?;
            let flow = self.step(frame, line).map_err(|error| match &line.statement {
                BodyStep::Block(_) => error,
                statement => at_line(error, frame, line.number, called(statement)),
            })?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, frame: &mut Frame, line: &NumberedStep) -> Result<Flow, SqlError> {
        match &line.statement {
            BodyStep::Block(block) => return self.inner_block(frame, block),
            BodyStep::If(branches, otherwise) => return self.if_step(frame, branches, otherwise),
            BodyStep::Case { operand, branches, otherwise } => {
                return self.case_step(frame, operand.as_ref(), branches, otherwise.as_deref());
            }
            BodyStep::Loop(_)
            | BodyStep::While(..)
            | BodyStep::ForIntegers(..)
            | BodyStep::ForRows(..)
            | BodyStep::ForCursor(..)
            | BodyStep::ForEach(..) => return self.loop_step(frame, &line.statement),
            BodyStep::Exit { continues, label, condition } => {
                if let Some(condition) = condition
                    && !self.condition(frame, condition)?
                {
                    return Ok(Flow::Next);
                }
                return Ok(if *continues { Flow::Continue(label.clone()) } else { Flow::Exit(label.clone()) });
            }
            BodyStep::Return(value) => return self.return_step(frame, value.as_ref()),
            BodyStep::Assign(target, value) => self.assign_step(frame, target, value)?,
            BodyStep::ReturnNext(value) => self.return_next(frame, value.as_ref())?,
            BodyStep::ReturnQuery(source) => self.return_query(frame, source)?,
            BodyStep::Raise(raise) => self.raise(frame, raise, line.number)?,
            BodyStep::Assert(condition, message) => self.assert_step(frame, condition, message.as_ref())?,
            BodyStep::Sql(text, into) => self.sql_step(frame, text, into.as_ref())?,
            BodyStep::Perform(query) => self.perform(frame, query)?,
            BodyStep::Call(text) => self.call_step(frame, text)?,
            BodyStep::Execute(text, into, using) => self.execute_step(frame, text, into.as_ref(), using)?,
            BodyStep::GetDiagnostics { stacked, items } => self.diagnostics(frame, *stacked, items)?,
            BodyStep::Open(name, opened) => self.open_cursor(frame, name, opened)?,
            BodyStep::Fetch(name, direction, targets) => self.fetch_step(frame, name, direction, targets.as_deref())?,
            BodyStep::Close(name) => self.close_step(frame, name)?,
            BodyStep::Null => {}
            BodyStep::EndTransaction(command) => {
                return Err(SqlError::unsupported(format!("{command} in a function, a procedure or DO"))
                    .hint("End the transaction outside: a body is part of the statement that calls it."));
            }
        }
        Ok(Flow::Next)
    }

    fn if_step(
        &mut self,
        frame: &mut Frame,
        branches: &[Branch],
        otherwise: &[NumberedStep],
    ) -> Result<Flow, SqlError> {
        for (conditions, lines) in branches {
            if self.condition(frame, &conditions[0])? {
                return self.lines(frame, lines);
            }
        }
        self.lines(frame, otherwise)
    }

    fn case_step(
        &mut self,
        frame: &mut Frame,
        operand: Option<&Expression>,
        branches: &[Branch],
        otherwise: Option<&[NumberedStep]>,
    ) -> Result<Flow, SqlError> {
        let operand = operand.map(|operand| self.value(frame, operand)).transpose()?;
        for (conditions, lines) in branches {
            for condition in conditions {
                let holds = match &operand {
                    None => self.condition(frame, condition)?,
                    Some((value, scalar)) => {
                        let (other, from) = self.value(frame, condition)?;
                        let other = self.converted(other, &from, &ColumnType::nullable(scalar.clone()))?;
                        !value.is_null() && !other.is_null() && value.sql_cmp(&other) == std::cmp::Ordering::Equal
                    }
                };
                if holds {
                    return self.lines(frame, lines);
                }
            }
        }
        match otherwise {
            Some(lines) => self.lines(frame, lines),
            None => Err(SqlError::new("20000", "case not found").hint("CASE statement is missing ELSE part.")),
        }
    }

    fn assign_step(&mut self, frame: &mut Frame, target: &Target, value: &Expression) -> Result<(), SqlError> {
        let (value, from) = self.value(frame, value)?;
        self.assign(frame, target, value, &from)
    }

    fn assert_step(
        &mut self,
        frame: &mut Frame,
        condition: &Expression,
        message: Option<&Expression>,
    ) -> Result<(), SqlError> {
        if self.state.lock().settings.get("plpgsql.check_asserts").is_some_and(|value| value == "off") {
            return Ok(());
        }
        if self.condition(frame, condition)? {
            return Ok(());
        }
        let message = message.map(|message| self.text_value(frame, message)).transpose()?.flatten();
        Err(SqlError::new("P0004", message.unwrap_or_else(|| "assertion failed".to_owned())))
    }

    fn perform(&mut self, frame: &mut Frame, query: &Expression) -> Result<(), SqlError> {
        let prepared = self.text_prepared(frame, query)?;
        let done = self.done(&prepared, frame.values(), 0)?;
        frame.row_count = done.count;
        frame.set_found(done.count > 0);
        Ok(())
    }

    fn sql_step(&mut self, frame: &mut Frame, text: &Expression, into: Option<&Into>) -> Result<(), SqlError> {
        let prepared = self.text_prepared(frame, text)?;
        let writes = !starts_with_query(&text.text);
        let params = frame.values();
        self.sql_done(frame, &prepared, params, (into, writes))
    }

    pub(super) fn sql_done(
        &mut self,
        frame: &mut Frame,
        prepared: &Arc<crate::session::plan::Prepared>,
        params: Arc<[Datum]>,
        (into, writes): (Option<&Into>, bool),
    ) -> Result<(), SqlError> {
        let rows_max = match into {
            None => 0,
            // One more tells whether there is one too many.
            Some(into) if into.strict || writes => 2,
            Some(_) => 1,
        };
        let done = self.done(prepared, params, rows_max)?;
        match (into, done.answer) {
            (None, Some(_)) if !writes => {
                return Err(SqlError::new("42601", "query has no destination for result data")
                    .hint("If you want to discard the results of a SELECT, use PERFORM instead."));
            }
            (None, _) => {
                frame.row_count = done.count;
                frame.set_found(done.count > 0);
            }
            (Some(into), Some((columns, rows))) => {
                let found = !rows.is_empty();
                frame.row_count = if writes { done.count } else { i64::from(found) };
                self.into(frame, into, &columns, rows, writes)?;
                frame.set_found(found);
            }
            (Some(_), None) => {
                return Err(SqlError::new("42601", "INTO used with a command that cannot return data"));
            }
        }
        Ok(())
    }

    fn execute_step(
        &mut self,
        frame: &mut Frame,
        text: &Expression,
        into: Option<&Into>,
        using: &[Expression],
    ) -> Result<(), SqlError> {
        let (prepared, values) = self.dynamic(frame, text, using)?;
        // FOUND stays what it is.
        let found = frame.find(None, "found").map(|place| frame.slots[place].value.clone());
        let writes = into.is_none() || !starts_with_query(&prepared.text);
        let outcome = self.sql_done(frame, &prepared, values, (into, writes));
        if let (Some(place), Some(found)) = (frame.find(None, "found"), found) {
            frame.slots[place].value = found;
        }
        outcome
    }

    /// CALL: what comes out goes into the variables that were given for it.
    fn call_step(&mut self, frame: &mut Frame, text: &Expression) -> Result<(), SqlError> {
        let prepared = self.text_prepared(frame, text)?;
        let done = self.done(&prepared, frame.values(), 1)?;
        let Some((columns, rows)) = done.answer else { return Ok(()) };
        let targets = self.call_targets(frame, &prepared, columns.len())?;
        self.assign_row(frame, &targets, &columns, rows.into_iter().next())
    }

    fn diagnostics(
        &mut self,
        frame: &mut Frame,
        stacked: bool,
        items: &[(Target, Diagnostic)],
    ) -> Result<(), SqlError> {
        if stacked && frame.handled.is_none() {
            return Err(SqlError::new("0Z002", "GET STACKED DIAGNOSTICS cannot be used outside an exception handler"));
        }
        for (target, item) in items {
            let text = |text: Option<String>| (Datum::Text(text.unwrap_or_default().into()), ScalarType::Text);
            let handled = frame.handled.clone();
            let of = |field: fn(SqlError) -> Option<String>| text(handled.clone().and_then(field));
            let (value, scalar) = match item {
                Diagnostic::RowCount => (Datum::Int8(frame.row_count), ScalarType::Int8),
                Diagnostic::RoutineOid => {
                    let oid = frame.compiled.routine.as_ref().map_or(0, |routine| routine.id);
                    (Datum::Oid(oid), ScalarType::Oid)
                }
                Diagnostic::Context => text(Some(context_line(frame, 0, "GET DIAGNOSTICS"))),
                Diagnostic::ReturnedCode => of(|error| Some(error.code.to_owned())),
                Diagnostic::Message => of(|error| Some(error.message)),
                Diagnostic::Detail => of(|error| error.detail),
                Diagnostic::Hint => of(|error| error.hint),
                Diagnostic::ExceptionContext => of(|error| error.context),
                Diagnostic::Column => of(|error| error.object.column),
                Diagnostic::Constraint => of(|error| error.object.constraint),
                Diagnostic::DataType => of(|error| error.object.datatype),
                Diagnostic::Table => of(|error| error.object.table),
                Diagnostic::Schema => of(|error| error.object.schema),
            };
            self.assign(frame, target, value, &scalar)?;
        }
        Ok(())
    }

    fn declare_name(
        &mut self,
        frame: &mut Frame,
        label: Option<&str>,
        declaration: &Declaration,
        mark: Mark,
    ) -> Result<(), SqlError> {
        let name = &declaration.name;
        if frame.is_declared(mark, name) {
            return Err(SqlError::new("42601", format!("duplicate declaration at or near \"{name}\"")));
        }
        match &declaration.kind {
            Declared::Alias(path) => {
                let place = match path.as_slice() {
                    [label, name] => frame.find(Some(label), name),
                    [name] => frame.find(None, name),
                    _ => None,
                };
                let missing = || SqlError::new("42704", format!("variable \"{}\" does not exist", path.join(".")));
                frame.name(label, name, place.ok_or_else(missing)?);
            }
            Declared::Variable { of, constant, not_null, value } => {
                let mut slot = match self.variable_type(frame, of)? {
                    Some(own) => Slot::of(own, Datum::Null),
                    None => Slot::record(),
                };
                slot.not_null = *not_null;
                let given = value.as_ref().map(|value| self.value(frame, value)).transpose()?;
                let place = frame.declare(label, name, slot);
                match given {
                    Some((value, from)) => self.assign_slot(frame, place, value, &from)?,
                    // The type may be a domain that has no NULL.
                    None => {
                        let own = frame.slots[place].column_type.clone();
                        if own.is_some_and(|own| own.domain != 0) {
                            self.assign_slot(frame, place, Datum::Null, &ScalarType::Unknown)?;
                        }
                    }
                }
                frame.slots[place].constant = *constant;
            }
            Declared::Cursor { parameters, query, scroll } => {
                let own = self.cursor_type();
                let place = frame.declare(label, name, Slot::of(own, Datum::Text(name.as_str().into())));
                let mut typed = Vec::with_capacity(parameters.len());
                for (parameter, of) in parameters {
                    let own = self.variable_type(frame, of)?;
                    typed.push((parameter.clone(), own.unwrap_or_else(|| ColumnType::nullable(ScalarType::Text))));
                }
                let names = frame.known_names();
                let (query, scroll) = (query.clone(), *scroll);
                let cursor = BoundCursor { place, parameters: typed, query, scroll, names };
                frame.cursors.push(cursor);
            }
        }
        Ok(())
    }

    /// The type of a cursor's variable.
    pub(super) fn cursor_type(&self) -> ColumnType {
        ColumnType::nullable(ScalarType::Refcursor)
    }

    /// The type that a declaration means; none of `record`.
    fn variable_type(&self, frame: &Frame, of: &VariableType) -> Result<Option<ColumnType>, SqlError> {
        let seen = self.seen();
        match of {
            VariableType::Record => Ok(None),
            VariableType::Named(text) => Ok(Some(planner::plan_type_text(text, seen.scope())?)),
            VariableType::RowOf(path) => {
                let table = self.table_of(path)?;
                Ok(Some(row_of(&table)))
            }
            VariableType::OfName(path) => {
                let variable = match path.as_slice() {
                    [name] => frame.find(None, name),
                    [label, name] => frame.find(Some(label), name),
                    _ => None,
                };
                if let Some(place) = variable {
                    return Ok(frame.slots[place].column_type.clone());
                }
                let Some((column, table)) = path.split_last().filter(|(_, table)| !table.is_empty()) else {
                    return Err(SqlError::new("42601", format!("variable \"{}\" does not exist", path.join("."))));
                };
                let found = self.table_of(table)?;
                match found.column_by_name(column) {
                    Some((_, found)) => Ok(Some(ColumnType { nullable: true, ..found.column_type.clone() })),
                    None => {
                        let message = format!("column \"{column}\" of relation \"{}\" does not exist", found.name);
                        Err(SqlError::new("42703", message))
                    }
                }
            }
        }
    }

    fn table_of(&self, path: &[String]) -> Result<Arc<Table>, SqlError> {
        let (name, before) = path.split_last().ok_or_else(|| SqlError::new("42601", "a name is missing"))?;
        let named = ObjectName { database: None, schema: before.last().cloned(), name: name.clone(), position: 1 };
        let catalog = self.catalog();
        let found = self.table_named(&catalog, &named)?.map(Arc::clone);
        found.ok_or_else(|| SqlError::new("42P01", format!("relation \"{}\" does not exist", path.join("."))))
    }
}

/// The type of a table's or view's rows.
fn row_of(table: &Table) -> ColumnType {
    let fields = || -> Vec<(String, ScalarType)> {
        table.live_columns().map(|(_, column)| (column.name.clone(), column.column_type.scalar.clone())).collect()
    };
    let record = table.row_type().unwrap_or_else(|| fields().into());
    ColumnType::nullable(ScalarType::Record(record))
}

/// Whether a handler is for an error: of a class by its first two characters, of all but two by OTHERS.
fn catches(codes: &[String], code: &str) -> bool {
    if codes.is_empty() {
        return !matches!(code, "57014" | "P0004");
    }
    codes.iter().any(|wanted| wanted == code || wanted.ends_with("000") && wanted[..2] == code[..2])
}

fn starts_with_query(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    // What WITH leads to is known by what stands in it.
    let writes = || {
        let lower = text.to_lowercase();
        ["insert", "update", "delete", "merge"].iter().any(|word| lower.contains(word))
    };
    match word.to_lowercase().as_str() {
        "select" | "values" | "table" | "show" | "explain" => true,
        "with" => !writes(),
        _ => false,
    }
}

/// What messages call a statement.
fn called(statement: &BodyStep) -> &'static str {
    match statement {
        BodyStep::Block(_) => "statement block",
        BodyStep::Assign(..) => "assignment",
        BodyStep::If(..) => "IF",
        BodyStep::Case { .. } => "CASE",
        BodyStep::Loop(_) => "LOOP",
        BodyStep::While(..) => "WHILE",
        BodyStep::ForIntegers(..) => "FOR with integer loop variable",
        BodyStep::ForRows(_, planner::plpgsql::QuerySource::Static(_), _) => "FOR over SELECT rows",
        BodyStep::ForRows(..) => "FOR over EXECUTE statement",
        BodyStep::ForCursor(..) => "FOR over cursor",
        BodyStep::ForEach(..) => "FOREACH over array",
        BodyStep::Exit { continues: true, .. } => "CONTINUE",
        BodyStep::Exit { .. } => "EXIT",
        BodyStep::Return(_) => "RETURN",
        BodyStep::ReturnNext(_) => "RETURN NEXT",
        BodyStep::ReturnQuery(_) => "RETURN QUERY",
        BodyStep::Raise(_) => "RAISE",
        BodyStep::Assert(..) => "ASSERT",
        BodyStep::Sql(..) => "SQL statement",
        BodyStep::Perform(_) => "PERFORM",
        BodyStep::Call(_) => "CALL",
        BodyStep::Execute(..) => "EXECUTE",
        BodyStep::GetDiagnostics { .. } => "GET DIAGNOSTICS",
        BodyStep::Open(..) => "OPEN",
        BodyStep::Fetch(_, _, None) => "MOVE",
        BodyStep::Fetch(..) => "FETCH",
        BodyStep::Close(_) => "CLOSE",
        BodyStep::Null => "NULL",
        BodyStep::EndTransaction(command) => command,
    }
}

/// `PL/pgSQL function f(integer) line 3 at RAISE`
pub(super) fn context_line(frame: &Frame, line: u32, statement: &str) -> String {
    let of = match &frame.compiled.routine {
        Some(routine) => {
            let types = routine.inputs().map(|parameter| parameter.column_type.scalar.format_type(-1));
            format!("{}({})", routine.name, types.collect::<Vec<_>>().join(","))
        }
        None => "inline_code_block".to_owned(),
    };
    format!("PL/pgSQL function {of} line {line} at {statement}")
}

/// The error with the line at which it happened.
fn at_line(error: SqlError, frame: &Frame, line: u32, statement: &str) -> SqlError {
    let own = context_line(frame, line, statement);
    // A loop or a branch around the statement says nothing more of the same body.
    let body = own.split(" line ").next().unwrap_or_default().to_owned();
    let context = match error.context {
        Some(before) if before.lines().last().is_some_and(|last| last.starts_with(&body)) => before,
        Some(before) => format!("{before}\n{own}"),
        None => own,
    };
    SqlError { context: Some(context), position: None, ..error }
}
