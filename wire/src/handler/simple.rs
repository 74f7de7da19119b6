//! The simple protocol: a string of statements, run one after the other as one implicit transaction.

use super::reruns::Run;
use super::subscription::ToldAs;
use super::{Handler, Stop};
use crate::encode::{Bare, command_tag, row_description};
use crate::types::{Format, Formats};
use engine::protocol::{CopyFormat, KnownText, Prepared, Response, RowStream, Sent, Subscribed};
use repr::Datum;
use std::sync::Arc;

/// How far a statement was run.
enum Ran {
    /// To its end, with its command tag.
    Through(Option<String>),
    /// To where changes are told.
    Subscribed(Box<Subscribed>, Option<CopyFormat>),
}

impl Handler<'_> {
    /// Runs a query string. The last statement's work is committed before it is acknowledged.
    pub(super) async fn query(&mut self, text: &str) -> Result<(), Stop> {
        // As PostgreSQL: a simple query ends the unnamed statement and portal.
        self.session.close_statement("");
        self.portals.remove("");
        let unlearned = match self.session.known(text, Sent::ToRun) {
            KnownText::Statement(prepared, parameters) => return self.run(prepared, parameters, false).await,
            KnownText::Unlearned(unlearned) => Some(unlearned),
            KnownText::Text(_) | KnownText::Nothing => None,
        };
        let statements = self.session.read(text)?;
        // What is said of the text itself comes before what its statements give.
        self.feed_notices()?;
        let count = statements.len();
        if count == 0 {
            self.feed_bare(Bare::Empty);
        }
        for (index, statement) in statements.into_iter().enumerate() {
            let prepared = self.session.prepare_sent(statement, text)?;
            if let (Some(unlearned), 1) = (&unlearned, count) {
                self.session.learn(unlearned, &prepared);
            }
            self.run(prepared, Arc::from([]), index + 1 < count).await?;
        }
        Ok(())
    }

    /// Runs a statement of a query string.
    async fn run(&mut self, prepared: Arc<Prepared>, parameters: Arc<[Datum]>, more: bool) -> Result<(), Stop> {
        self.watch_statement(&prepared);
        let before = self.session.status();
        let mut runs = self.runs(&prepared, more);
        let ran = loop {
            let outcome = self.run_statement(&prepared, parameters.clone(), more, runs.next()).await;
            if let Some(outcome) = self.outcome(&mut runs, outcome) {
                break outcome?;
            }
        };
        let tag = match ran {
            Ran::Through(tag) => tag,
            Ran::Subscribed(subscribed, format) => {
                // Thousands may be told at once: what only running needed goes.
                drop((prepared, parameters, runs));
                self.watched = None;
                let formats = Formats::All(Format::Text);
                let told = match &format {
                    Some(format) => ToldAs::Copy(format),
                    None => {
                        self.connection.feed(row_description(subscribed.columns(), &formats))?;
                        ToldAs::Rows(&formats)
                    }
                };
                let tag = self.subscription(subscribed, told).await?;
                if !more {
                    self.session.complete()?;
                }
                Some(tag)
            }
        };
        self.leave_transaction(before);
        self.watch_tag(tag.as_deref().unwrap_or_default());
        self.watch_ends();
        match tag {
            Some(tag) => self.feed_complete(&tag)?,
            None => self.feed_bare(Bare::Empty),
        }
        Ok(())
    }

    /// Runs a statement, and commits unless more follow.
    async fn run_statement(
        &mut self,
        prepared: &Arc<Prepared>,
        parameters: Arc<[Datum]>,
        more: bool,
        run: Run,
    ) -> Result<Ran, Stop> {
        if let Some(fetch) = self.session.fetch_of_portal(prepared)
            && let Some(tag) = self.fetch_from_portal(&fetch).await?
        {
            return Ok(Ran::Through(Some(tag)));
        }
        let response = self.execute_run(prepared, parameters, more, run)?;
        let tag = match response {
            Response::Empty => None,
            Response::Complete(tag) => Some(tag),
            Response::Rows(stream) => Some(self.send_result(stream).await?),
            Response::CopyIn(copy) => Some(self.copy_in(copy).await?),
            Response::CopyOut(stream, format) => Some(self.copy_out(stream, &format).await?),
            Response::Subscribed(subscribed, format) => return Ok(Ran::Subscribed(subscribed, format)),
        };
        if !more {
            self.session.complete()?;
        }
        Ok(Ran::Through(tag))
    }

    async fn send_result(&mut self, mut stream: RowStream) -> Result<String, Stop> {
        let formats = Formats::All(Format::Text);
        self.connection.feed(row_description(&stream.columns, &formats))?;
        let sent = self.send_rows(&mut stream, &formats, None).await?;
        Ok(command_tag(&stream.tag, sent.rows).into_owned())
    }
}
