//! SUBSCRIBE: what the engine tells, to the client as it comes, and nothing at all while it tells nothing.
//!
//! Between changes the conversation is parked. A change that several clients are told in the same form by COPY is encoded once.

use super::{Handler, Stop};
use crate::copy::RowEncoder;
use crate::encode::data_row;
use crate::types::Formats;
use crate::types::text::TextContext;
use engine::protocol::{AnswerRow, Changed, CopyFormat, OutputColumn, Readiness, Subscribed, Told};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::CopyDone;
use repr::Datum;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// In what a subscription is told.
#[derive(Clone, Copy)]
pub(super) enum ToldAs<'a> {
    /// Lines of COPY.
    Copy(&'a CopyFormat),
    /// Rows of a result.
    Rows(&'a Formats),
}

/// A change as lines, and what they depend on beside it.
struct Lines {
    format: CopyFormat,
    context: TextContext,
    bytes: Vec<u8>,
}

impl Handler<'_> {
    /// Tells the client what changes, until the subscription's own end: mostly an error, else its command tag.
    pub(super) async fn subscription(&mut self, subscribed: Box<Subscribed>, told: ToldAs<'_>) -> Result<String, Stop> {
        self.settle_owed()?;
        let ended = self.tell(subscribed, told).await;
        // What comes next may block.
        self.connection.leave().await;
        ended
    }

    async fn tell(&mut self, mut subscribed: Box<Subscribed>, told: ToldAs<'_>) -> Result<String, Stop> {
        if let ToldAs::Copy(format) = told {
            self.announce_copy_out(subscribed.columns().len(), format)?;
        }
        let mut encoder = ChangeEncoder::new(&subscribed, told, self.session.text_context());
        encoder.header(self.connection.outgoing())?;
        self.connection.seal();
        loop {
            self.check_cancelled()?;
            match subscribed.tell()? {
                Some(Told::Row(row)) => encoder.row(&row, self.connection.outgoing())?,
                Some(Told::Changed(changed)) => encoder.change(&changed, self.connection.outgoing())?,
                Some(Told::End) => {
                    encoder.end(self.connection.outgoing())?;
                    self.connection.seal();
                    self.connection.flush().await?;
                    subscribed.sent();
                    let word = match told {
                        ToldAs::Copy(_) => {
                            self.connection.feed(PgWireBackendMessage::CopyDone(CopyDone::new()))?;
                            "COPY"
                        }
                        ToldAs::Rows(_) => "SUBSCRIBE",
                    };
                    return Ok(format!("{word} {}", encoder.rows));
                }
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
                if self.connection.socket().place.is_parked() {
                    // Others share the thread.
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

struct ChangeEncoder<'a> {
    written: Written<'a>,
    context: TextContext,
    /// How many rows were told.
    rows: u64,
}

/// How rows are written.
enum Written<'a> {
    /// As lines; `shareable`: another session would write the same.
    Lines { lines: RowEncoder, format: &'a CopyFormat, shareable: bool },
    /// As rows of a result.
    Rows { columns: Arc<[OutputColumn]>, formats: &'a Formats },
}

impl<'a> ChangeEncoder<'a> {
    fn new(subscribed: &Subscribed, told: ToldAs<'a>, context: TextContext) -> Self {
        let columns = subscribed.columns();
        let written = match told {
            ToldAs::Copy(format) => Written::Lines {
                lines: RowEncoder::new(columns, format),
                format,
                shareable: !columns.iter().any(|column| column.column_type.scalar.names_things()),
            },
            ToldAs::Rows(formats) => Written::Rows { columns: columns.clone(), formats },
        };
        ChangeEncoder { written, context, rows: 0 }
    }

    fn header(&mut self, out: &mut Vec<u8>) -> Result<(), Stop> {
        match &mut self.written {
            Written::Lines { lines, .. } => Ok(lines.header(out)?),
            Written::Rows { .. } => Ok(()),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Stop> {
        match &mut self.written {
            Written::Lines { lines, .. } => Ok(lines.end(out)?),
            Written::Rows { .. } => Ok(()),
        }
    }

    fn row(&mut self, row: &[Datum], out: &mut Vec<u8>) -> Result<(), Stop> {
        self.rows += 1;
        let row = AnswerRow::Values(row);
        match &mut self.written {
            Written::Lines { lines, .. } => Ok(lines.row(&row, &self.context, out)?),
            Written::Rows { columns, formats } => Ok(data_row(&row, columns, formats, &self.context, out)?),
        }
    }

    fn change(&mut self, changed: &Changed, out: &mut Vec<u8>) -> Result<(), Stop> {
        let shared = match self.written {
            Written::Lines { format, shareable: true, ref lines } if lines.is_under_way() => Some(format),
            Written::Lines { .. } | Written::Rows { .. } => None,
        };
        if let (Some(format), Some(made)) = (shared, changed.made::<Lines>())
            && made.format == *format
            && writes_alike(&made.context, &self.context)
        {
            self.rows += changed.count();
            out.extend_from_slice(&made.bytes);
            return Ok(());
        }
        let start = out.len();
        for row in changed.rows() {
            self.row(&row, out)?;
        }
        if let Some(format) = shared {
            let context = || TextContext { catalog: None, ..self.context.clone() };
            changed.leave(|| Lines { format: format.clone(), context: context(), bytes: out[start..].to_vec() });
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
