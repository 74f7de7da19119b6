//! SQL's FETCH and MOVE of a portal that Bind made: to PostgreSQL it is a cursor like any other, one that goes onwards alone.
//!
//! Drivers bind a query under a name, read some of it with Execute, and pass over rows with MOVE.

use super::portals::{Portal, PortalState};
use super::stream::Sent;
use super::{Handler, Stop};
use crate::encode::row_description;
use crate::types::{Format, Formats};
use engine::SqlError;
use engine::protocol::{PortalFetch, Response, RowStream};

impl Handler<'_> {
    /// The command tag of FETCH or MOVE, if what it names is a portal of the protocol's.
    pub(super) async fn fetch_from_portal(&mut self, fetch: &PortalFetch<'_>) -> Result<Option<String>, Stop> {
        if fetch.portal.is_empty() {
            return Ok(None);
        }
        // Out of the map meanwhile: an error leaves no half-read portal behind.
        let Some(mut portal) = self.portals.remove(fetch.portal) else { return Ok(None) };
        self.session.refuse_failed_block()?;
        let rows = self.take_rows(&mut portal, fetch).await?;
        self.portals.insert(fetch.portal, portal)?;
        Ok(Some(format!("{} {rows}", if fetch.is_move { "MOVE" } else { "FETCH" })))
    }

    /// How many rows were sent, or passed over.
    async fn take_rows(&mut self, portal: &mut Portal, fetch: &PortalFetch<'_>) -> Result<u64, Stop> {
        let Some(at_most) = fetch.at_most else {
            return Err(SqlError::new("55000", "cursor can only scan forward")
                .hint("Declare it with SCROLL option to enable backward scan.")
                .into());
        };
        let mut stream = match std::mem::replace(&mut portal.state, PortalState::Done(None)) {
            PortalState::Done(tag) => {
                portal.state = PortalState::Done(tag);
                return Ok(0);
            }
            PortalState::Suspended(stream) => {
                self.session.check_not_ended()?;
                stream
            }
            PortalState::Ready => self.opened(portal, fetch.portal)?,
        };
        let sent = if fetch.is_move {
            self.pass_over(&mut stream, at_most)?
        } else {
            let formats = Formats::All(Format::Text);
            self.connection.feed(row_description(&stream.columns, &formats))?;
            self.send_rows(&mut stream, &formats, Some(at_most)).await?
        };
        portal.state = if sent.ended { PortalState::Done(Some(stream.tag)) } else { PortalState::Suspended(stream) };
        Ok(sent.rows)
    }

    fn pass_over(&mut self, stream: &mut RowStream, at_most: u64) -> Result<Sent, SqlError> {
        let mut rows = 0;
        loop {
            let sent = self.send_some(stream, at_most - rows, |_, _| Ok(()))?;
            rows += sent.rows;
            if sent.ended || rows == at_most {
                return Ok(Sent { rows, ended: sent.ended });
            }
        }
    }

    /// The rows of a portal of which nothing has been read.
    fn opened(&mut self, portal: &Portal, name: &str) -> Result<RowStream, Stop> {
        let refused = || SqlError::new("55000", format!("portal \"{name}\" cannot be run"));
        let prepared = portal.stored.prepared.clone().filter(|prepared| prepared.gives_rows()).ok_or_else(refused)?;
        match self.session.execute(&prepared, portal.parameters.clone(), true)? {
            Response::Rows(stream) => Ok(stream),
            _ => Err(refused().into()),
        }
    }
}
