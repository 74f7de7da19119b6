//! COPY (SUBSCRIBE …): what the engine tells, to the client as it comes, and nothing at all while it tells nothing.
//!
//! Between changes the conversation is parked. A change that several clients are told in the same form is encoded once.

use super::copy::{TEXT, column_count};
use super::{Handler, Stop};
use crate::copy::encode::CopyEncoder;
use crate::types::text::TextContext;
use engine::protocol::{AnswerRow, Changed, CopyFormat, OutputColumn, Readiness, Subscribed, Told};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::CopyOutResponse;
use std::convert::Infallible;
use std::future::poll_fn;
use std::task::Poll;

/// A change as lines, and what they depend on beside it.
struct Lines {
    format: CopyFormat,
    context: TextContext,
    bytes: Vec<u8>,
}

impl Handler<'_> {
    /// Tells the client what changes, until the subscription's own end, which is an error.
    pub(super) async fn subscription(
        &mut self,
        subscribed: Box<Subscribed>,
        format: &CopyFormat,
    ) -> Result<Infallible, Stop> {
        let ended = self.tell(subscribed, format).await;
        // What comes next may block.
        self.connection.leave().await;
        ended
    }

    async fn tell(&mut self, mut subscribed: Box<Subscribed>, format: &CopyFormat) -> Result<Infallible, Stop> {
        let formats = vec![0; subscribed.columns().len()];
        let columns = column_count(formats.len())?;
        self.connection.feed(PgWireBackendMessage::CopyOutResponse(CopyOutResponse::new(TEXT, columns, formats)))?;
        let mut encoder = ChangeEncoder::new(&subscribed, format, self.session.text_context());
        encoder.lines.header(self.connection.outgoing())?;
        self.connection.seal();
        loop {
            self.check_cancelled()?;
            match subscribed.tell()? {
                Some(Told::Row(row)) => {
                    encoder.lines.row(&AnswerRow::Values(&row), &encoder.context, self.connection.outgoing())?;
                }
                Some(Told::Changed(changed)) => encoder.change(&changed, self.connection.outgoing())?,
                None => {
                    self.connection.flush().await?;
                    subscribed.sent();
                    self.connection.park().await?;
                    let readiness = poll_fn(|context| Poll::Ready(subscribed.ready(context.waker()))).await;
                    if let Readiness::Quiet { until } = readiness {
                        self.connection.until_woken(until).await?;
                    }
                }
            }
            self.connection.seal();
            if self.connection.wants_flush() {
                self.connection.flush().await?;
                subscribed.sent();
                if self.connection.line().place.is_parked() {
                    // Others share the thread.
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

struct ChangeEncoder<'a> {
    lines: CopyEncoder,
    format: &'a CopyFormat,
    context: TextContext,
    /// Whether another session would write the same.
    shareable: bool,
}

impl<'a> ChangeEncoder<'a> {
    fn new(subscribed: &Subscribed, format: &'a CopyFormat, context: TextContext) -> Self {
        let columns: &[OutputColumn] = subscribed.columns();
        let shareable = !columns.iter().any(|column| column.column_type.scalar.names_things());
        ChangeEncoder { lines: CopyEncoder::new(columns, format), format, context, shareable }
    }

    fn change(&mut self, changed: &Changed, out: &mut Vec<u8>) -> Result<(), Stop> {
        if self.shareable
            && let Some(made) = changed.made::<Lines>()
            && made.format == *self.format
            && writes_alike(&made.context, &self.context)
        {
            out.extend_from_slice(&made.bytes);
            return Ok(());
        }
        let start = out.len();
        for row in changed.rows() {
            self.lines.row(&AnswerRow::Values(&row), &self.context, out)?;
        }
        if self.shareable {
            let context = || TextContext { catalog: None, ..self.context.clone() };
            changed.leave(|| Lines { format: self.format.clone(), context: context(), bytes: out[start..].to_vec() });
        }
        Ok(())
    }
}

/// Whether both write every value alike that is not a name in the catalog.
fn writes_alike(one: &TextContext, other: &TextContext) -> bool {
    one.zone == other.zone
        && one.extra_float_digits == other.extra_float_digits
        && one.bytea_output == other.bytea_output
        && one.date_style == other.date_style
        && one.interval_style == other.interval_style
}
