//! The extended protocol: prepared statements, portals, and one implicit transaction up to each Sync.
//!
//! A portal that was not read to its end keeps the engine's iterator. Numbers that the client sends only ever bound a
//! loop. Portals die with their transaction; statements live until closed.

use super::portals::{Portal, PortalState, charge};
use super::reruns::Run;
use super::subscription::ToldAs;
use super::{Handler, Stop};
use crate::encode::{self, Bare, command_tag, row_description};
use crate::error::{WireError, error_response, protocol_violation};
use crate::types::{Format, Formats, binary, format_of, formats, text};
use engine::SqlError;
use engine::protocol::{
    KnownText, Prepared, Response, ResultColumns, RowStream, Sent, TransactionStatus, differ, result_changed,
};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::ParameterDescription;
use pgwire::messages::extendedquery::{Bind, Close, Describe, Execute, Parse};
use repr::{Datum, ScalarType};
use std::sync::Arc;

impl Handler<'_> {
    pub(super) fn parse(&mut self, message: Parse) -> Result<(), Stop> {
        let name = message.name.unwrap_or_default();
        let mut unlearned = None;
        if name.is_empty() {
            self.session.close_statement("");
            let (prepared, parameters) = match self.session.known(&message.query, Sent::ToKeep(&message.type_oids)) {
                KnownText::Statement(prepared, parameters) => (Some(prepared), Some(parameters)),
                KnownText::Text(prepared) => (Some(prepared), None),
                KnownText::Unlearned(new) => {
                    unlearned = Some(new);
                    (None, None)
                }
                KnownText::Nothing => (None, None),
            };
            if let Some(prepared) = prepared {
                self.watch_statement(&prepared);
                self.session.keep_unnamed(prepared, parameters);
                self.feed_bare(Bare::Parsed);
                return Ok(());
            }
        } else {
            self.session.may_keep()?;
        }
        let mut statements = self.session.read(&message.query)?;
        self.feed_notices()?;
        if statements.len() > 1 {
            return Err(SqlError::new("42601", "cannot insert multiple commands into a prepared statement").into());
        }
        let prepared = match statements.pop() {
            None => None,
            Some(statement) => {
                let types =
                    message.type_oids.iter().map(|&oid| self.parameter_type(oid)).collect::<Result<Vec<_>, _>>()?;
                let prepared = self.session.prepare_to_keep(statement, &types, (&name, &message.query))?;
                self.watch_statement(&prepared);
                if let Some(unlearned) = unlearned {
                    self.session.learn(&unlearned, &prepared);
                }
                Some(prepared)
            }
        };
        self.session.keep_statement(&name, prepared)?;
        self.feed_bare(Bare::Parsed);
        Ok(())
    }

    fn parameter_type(&self, oid: u32) -> Result<Option<ScalarType>, SqlError> {
        if oid == 0 || oid == ScalarType::Unknown.oid() {
            return Ok(None);
        }
        match self.session.type_by_oid(oid) {
            Some(scalar) => Ok(Some(scalar)),
            None => Err(SqlError::new("42704", format!("type with OID {oid} does not exist"))),
        }
    }

    pub(super) fn bind(&mut self, message: Bind) -> Result<(), Stop> {
        let name = message.portal_name.unwrap_or_default();
        let statement_name = message.statement_name.unwrap_or_default();
        let stored = self.session.stored_statement(&statement_name)?;
        self.portals.make_way(&name)?;
        if let Some(prepared) = &stored.prepared {
            self.watch_statement(prepared);
        }
        let types = stored.param_types();
        if !name.is_empty() {
            self.session.may_keep()?;
        }
        let codes = &message.parameter_format_codes;
        let values = &message.parameters;
        if codes.len() > 1 && codes.len() != values.len() {
            return Err(protocol_violation(format!(
                "bind message has {} parameter formats but {} parameters",
                codes.len(),
                values.len()
            ))
            .into());
        }
        if values.len() != types.len() {
            return Err(protocol_violation(format!(
                "bind message supplies {} parameters, but prepared statement \"{statement_name}\" requires {}",
                values.len(),
                types.len()
            ))
            .into());
        }
        let columns = self.session.bind_columns(&stored)?;
        let overseen = self.session.oversee();
        let context = self.session.text_context();
        let mut parameters = Vec::with_capacity(values.len());
        for (index, (value, scalar)) in values.iter().zip(types).enumerate() {
            parameters.push(match value {
                None => Datum::Null,
                Some(bytes) => match format_of(codes, index)? {
                    Format::Text => text::decode(bytes, scalar, &context)?,
                    Format::Binary => binary::decode(bytes, scalar, &context).map_err(|error| {
                        if error.code == "22P03" {
                            return SqlError {
                                message: format!("{} in bind parameter {}", error.message, index + 1),
                                ..error
                            };
                        }
                        error
                    })?,
                },
            });
        }
        drop(overseen);
        let codes = message.result_column_format_codes;
        let formats = match &columns {
            Some(columns) => formats(columns.list.len(), &codes)?,
            // None yet.
            None => Formats::Each(Arc::from([])),
        };
        let bytes = values.iter().flatten().map(|value| value.len()).sum();
        let parameters = stored.literals.clone().unwrap_or_else(|| parameters.into());
        let bytes = charge(parameters.len(), bytes);
        let (state, described) = (PortalState::Ready, false);
        let portal = Portal { stored, parameters, codes, formats, state, columns, described, bytes };
        self.portals.insert(&name, Box::new(portal))?;
        self.feed_bare(Bare::Bound);
        Ok(())
    }

    pub(super) fn describe(&mut self, message: &Describe) -> Result<(), Stop> {
        self.session.check_going_on()?;
        let name = message.name.as_deref().unwrap_or_default();
        if message.target_type == b'S' {
            let stored = self.session.stored_statement(name)?;
            if stored.prepared.as_ref().is_some_and(|prepared| prepared.columns.is_some()) {
                self.session.refuse_failed_block()?;
            }
            let oids = stored.param_oids().to_vec();
            self.connection.feed(PgWireBackendMessage::ParameterDescription(ParameterDescription::new(oids)))?;
            let columns = match &stored.prepared {
                Some(prepared) => self.session.result_columns(prepared)?,
                None => None,
            };
            if stored.is_late() {
                stored.tell(columns.as_ref().map(|columns| columns.list.clone()));
            }
            self.describe_columns(columns.as_deref(), &Formats::All(Format::Text))?;
        } else {
            match self.portals.get_mut(name) {
                Some(portal) => {
                    portal.described = true;
                    let (columns, formats) = (portal.columns.clone(), portal.formats.clone());
                    if columns.is_some() {
                        self.session.refuse_failed_block()?;
                    }
                    // Some drivers keep it for all that they bind of the statement.
                    if portal.stored.is_late() {
                        portal.stored.tell(columns.as_ref().map(|columns| columns.list.clone()));
                    }
                    self.describe_columns(columns.as_deref(), &formats)?;
                }
                // A cursor of SQL's is a portal too: psycopg looks at its columns in this way.
                None => {
                    let columns = self.session.cursor_columns(name).ok_or_else(|| no_portal(name))?;
                    self.connection.feed(row_description(&columns, &Formats::All(Format::Text)))?;
                }
            }
        }
        Ok(())
    }

    fn describe_columns(&mut self, columns: Option<&ResultColumns>, formats: &Formats) -> Result<(), WireError> {
        let Some(columns) = columns else {
            self.feed_bare(Bare::NoData);
            return Ok(());
        };
        let Formats::All(format) = formats else {
            return self.connection.feed(row_description(&columns.list, formats));
        };
        let described = &columns.described[usize::from(format.code() == 1)];
        if let Some(described) = described.get() {
            self.connection.append(|out| out.extend_from_slice(described));
            return Ok(());
        }
        let start = self.connection.outgoing().len();
        self.connection.feed(row_description(&columns.list, formats))?;
        described.get_or_init(|| self.connection.outgoing()[start..].into());
        Ok(())
    }

    pub(super) fn close(&mut self, message: &Close) -> Result<(), Stop> {
        let name = message.name.as_deref().unwrap_or_default();
        if message.target_type == b'S' {
            self.session.close_statement(name);
        } else if self.portals.remove(name).is_none() {
            // One of SQL's, maybe.
            self.session.close_cursor(name);
        }
        self.feed_bare(Bare::Closed);
        Ok(())
    }

    pub(super) async fn execute(&mut self, message: &Execute) -> Result<(), Stop> {
        let name = message.name.as_deref().unwrap_or_default();
        // Out of the map while it runs: an error leaves no half-read portal behind.
        let Some(mut portal) = self.portals.remove(name) else {
            // An error has closed it, and not for good where the transaction goes back to a savepoint.
            self.session.refuse_failed_block()?;
            return Err(no_portal(name).into());
        };
        let before = self.session.status();
        self.run_portal(name, &mut portal, message.max_rows).await?;
        let ended = before != TransactionStatus::Idle && self.session.status() == TransactionStatus::Idle;
        self.leave_transaction(before);
        if !ended {
            self.portals.insert(name, portal)?;
        }
        Ok(())
    }

    async fn run_portal(&mut self, name: &str, portal: &mut Portal, max_rows: i32) -> Result<(), Stop> {
        let Some(prepared) = portal.stored.prepared.clone() else {
            self.feed_bare(Bare::Empty);
            return Ok(());
        };
        self.watch_statement(&prepared);
        let stream = match std::mem::replace(&mut portal.state, PortalState::Done(None)) {
            PortalState::Suspended(stream) => {
                self.session.check_not_ended()?;
                stream
            }
            PortalState::Done(Some(tag)) => {
                self.feed_complete(&command_tag(&tag, 0))?;
                portal.state = PortalState::Done(Some(tag));
                return Ok(());
            }
            PortalState::Done(None) => {
                return Err(SqlError::new("55000", format!("portal \"{name}\" cannot be run")).into());
            }
            PortalState::Ready => {
                let mut runs = self.runs(&prepared, false);
                loop {
                    let outcome = self.start_portal(portal, &prepared, max_rows, runs.next()).await;
                    if let Some(outcome) = self.outcome(&mut runs, outcome) {
                        return outcome;
                    }
                }
            }
        };
        self.send_portal(portal, stream, max_rows).await
    }

    /// Runs a portal that was not run before, or was taken back.
    async fn start_portal(
        &mut self,
        portal: &mut Portal,
        prepared: &Arc<Prepared>,
        max_rows: i32,
        run: Run,
    ) -> Result<(), Stop> {
        // Of FETCH the client was told that it gives no rows.
        if let Some(fetch) = self.session.fetch_of_portal(prepared).filter(|fetch| fetch.is_move)
            && let Some(tag) = self.fetch_from_portal(&fetch).await?
        {
            return Ok(self.feed_complete(&tag)?);
        }
        if portal.stored.is_late() {
            self.check_told(portal, prepared)?;
        }
        let response = self.execute_run(prepared, portal.parameters.clone(), false, run)?;
        let tag = match response {
            Response::Rows(stream) => return self.send_portal(portal, stream, max_rows).await,
            Response::Empty => {
                self.feed_bare(Bare::Empty);
                return Ok(());
            }
            Response::Complete(tag) => tag,
            Response::CopyIn(copy) => self.copy_in(copy).await?,
            Response::CopyOut(stream, format) => self.copy_out(stream, &format).await?,
            Response::Subscribed(subscribed, format) => {
                self.watched = None;
                let told = match &format {
                    Some(format) => ToldAs::Copy(format),
                    None if max_rows > 0 => return Err(subscribed_in_parts().into()),
                    None => {
                        if !portal.formats.fit(subscribed.columns().len()) {
                            portal.formats = formats(subscribed.columns().len(), &portal.codes)?;
                        }
                        ToldAs::Rows(&portal.formats)
                    }
                };
                self.subscription(subscribed, told).await?
            }
        };
        self.watch_tag(&tag);
        Ok(self.feed_complete(&tag)?)
    }

    /// Before EXECUTE or FETCH runs: 0A000 if its rows are others than the client was told last, as the statement or cursor that it
    /// names was made anew. PostgreSQL describes a portal as it was when it was bound, and sends the rows all the same.
    fn check_told(&self, portal: &Portal, prepared: &Prepared) -> Result<(), SqlError> {
        let told = match portal.described {
            true => Some(portal.columns.as_ref().map(|columns| columns.list.clone())),
            false => portal.stored.told(),
        };
        let Some(told) = told else { return Ok(()) };
        let now = self.session.late_columns(&prepared.statement);
        match (&told, &now) {
            // What it names is gone: that is its own error.
            (Some(_), None) => Ok(()),
            _ if differ(told.as_deref(), now.as_deref()) => Err(result_changed()),
            _ => Ok(()),
        }
    }

    async fn send_portal(&mut self, portal: &mut Portal, mut stream: RowStream, max_rows: i32) -> Result<(), Stop> {
        // Zero and, as in PostgreSQL, whatever is below it mean all rows.
        if !portal.formats.fit(stream.columns.len()) {
            portal.formats = formats(stream.columns.len(), &portal.codes)?;
        }
        let limit = u64::try_from(max_rows).ok().filter(|&rows| rows > 0);
        let sent = self.send_rows(&mut stream, &portal.formats, limit).await?;
        self.watch_rows(sent.rows);
        if sent.ended {
            self.feed_complete(&command_tag(&stream.tag, sent.rows))?;
            portal.state = PortalState::Done(Some(stream.tag));
        } else {
            self.feed_notices()?;
            self.feed_bare(Bare::Suspended);
            portal.state = PortalState::Suspended(stream);
        }
        Ok(())
    }

    pub(super) async fn sync(&mut self) -> Result<(), WireError> {
        self.skipping = false;
        self.session.ends_statement();
        if self.connection.can_hand_over() {
            let told = self.watch_apart();
            match self.session.complete_apart() {
                Ok(Some(apart)) => {
                    self.portals.clear();
                    let mut answer = self.connection.hand_over();
                    let commits = apart.commits();
                    apart.commit(move |answered| {
                        told();
                        if let Some(error) = answered.error() {
                            if !commits {
                                answer.discard();
                            }
                            answer.feed(error_response(error));
                        }
                        answer.append(|out| encode::ready(TransactionStatus::Idle, out));
                        answer.send(move || drop(answered));
                    });
                    self.session.rests(TransactionStatus::Idle);
                    return Ok(());
                }
                Ok(None) => {}
                Err(error) => self.report(error)?,
            }
        }
        if let Err(error) = self.session.settle_owed() {
            self.connection.discard();
            self.report(error)?;
        }
        if let Err(error) = self.session.complete() {
            self.report(error)?;
        }
        self.watch_ends();
        if self.session.status() == TransactionStatus::Idle {
            self.portals.clear();
        }
        self.ready().await
    }
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new("34000", format!("portal \"{name}\" does not exist"))
}

fn subscribed_in_parts() -> SqlError {
    SqlError::unsupported("SUBSCRIBE with a limit of rows")
        .hint("Use DECLARE name CURSOR FOR SUBSCRIBE (query), and FETCH as many rows as you like.")
}
