//! COPY as part of the conversation: the client's messages in, the engine's rows out.

use super::stream::{Pace, cancelled};
use super::{Handler, Stop};
use crate::copy::{RowDecoder, RowEncoder, announced};
use crate::decode::{Body, Frame, MESSAGE_BYTES_MAX};
use crate::encode::command_tag;
use crate::error::{WireError, protocol_violation};
use crate::types::text::TextContext;
use engine::SqlError;
use engine::protocol::{CopyFormat, CopyIn, CopyLayout, RowStream};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};
use repr::encoding::Decoding;
use repr::{Encoding, poll};
use std::time::Duration;

/// So long a client is silent before what it has sent is written.
const SILENCE: Duration = Duration::from_millis(20);
/// So many bytes are read together, of messages that are here already.
const FED_BYTES_MAX: usize = 64 << 10;
/// How often a COPY that waits for its client looks whether it is cancelled.
const CANCEL_ROUND: Duration = Duration::from_millis(100);

impl Handler<'_> {
    /// Takes the client's rows until it is done; gives the command tag.
    pub(super) async fn copy_in(&mut self, mut copy: Box<CopyIn>) -> Result<String, Stop> {
        let format = announced(copy.format()).code();
        let formats = vec![format; copy.columns().len()];
        let columns = column_count(formats.len())?;
        let response = CopyInResponse::new(format as i8, columns, formats);
        self.connection.feed(PgWireBackendMessage::CopyInResponse(response))?;
        self.flush().await?;
        let (context, encoding) = coded(self.session.text_context(), copy.format());
        let mut reading = Decoding::new(encoding);
        let mut decoder = RowDecoder::new(copy.table(), copy.columns(), copy.format());
        let mut fed = 0;
        loop {
            let frame = match self.connection.arrived(MESSAGE_BYTES_MAX)? {
                // Clients send a message a line: what is here by now is read together.
                Some(frame) if fed == 0 || frame.kind == b'd' && fed < FED_BYTES_MAX => frame,
                arrived => {
                    if std::mem::take(&mut fed) > 0 {
                        self.push_rows(&mut copy, &mut decoder, false, &context)?;
                    }
                    self.copy_frame(&mut copy, arrived)?
                }
            };
            match frame.kind {
                b'd' => {
                    copy.receive(frame.body()?.len());
                    fed += frame.body()?.len().max(1);
                    match reading.is_same() {
                        true => decoder.feed(frame.body()?),
                        false => decoder.feed(reading.read(frame.body()?, false).map_err(SqlError::from)?.as_bytes()),
                    }
                }
                b'c' => {
                    if !reading.is_same() {
                        decoder.feed(reading.read(&[], true).map_err(SqlError::from)?.as_bytes());
                    }
                    self.push_rows(&mut copy, &mut decoder, true, &context)?;
                    return Ok(self.session.finish_copy(&mut copy)?);
                }
                b'f' => {
                    let reason = Body::new(frame.body()?).string()?.to_string();
                    return Err(SqlError::new("57014", format!("COPY from stdin failed: {reason}")).into());
                }
                // libpq sends a Sync right behind Execute, before it knows that it is to copy.
                b'H' | b'S' => {}
                b'X' => return Err(WireError::Gone.into()),
                kind => {
                    let message = format!("unexpected message type 0x{kind:02X} during COPY from stdin");
                    return Err(protocol_violation(message).into());
                }
            }
        }
    }

    /// The next message, which may have arrived, or 57014 if a cancel request comes first. While the client is silent its rows are written, so that it hears
    /// of those that cannot be.
    fn copy_frame(&mut self, copy: &mut CopyIn, mut arrived: Option<Frame>) -> Result<Frame, Stop> {
        let mut round = SILENCE;
        loop {
            if self.registration.flag.is_cancelled() {
                return Err(cancelled().into());
            }
            if let Some(frame) = arrived.take() {
                return Ok(frame);
            }
            if let Some(frame) = self.connection.frame_now(MESSAGE_BYTES_MAX, round)? {
                return Ok(frame);
            }
            self.session.write_so_far(copy)?;
            round = CANCEL_ROUND;
        }
    }

    fn push_rows(
        &mut self,
        copy: &mut CopyIn,
        decoder: &mut RowDecoder,
        finished: bool,
        context: &TextContext,
    ) -> Result<(), SqlError> {
        let _overseen = self.session.oversee();
        poll::unwinds_to(|| {
            while let Some(row) = decoder.row(finished, context)? {
                poll::step()?;
                self.session.copy_row(copy, row).map_err(|error| decoder.at_line(error))?;
            }
            Ok(())
        })
    }

    /// Sends the rows as lines; gives the command tag.
    pub(super) async fn copy_out(&mut self, mut stream: RowStream, format: &CopyFormat) -> Result<String, Stop> {
        self.announce_copy_out(stream.columns.len(), format)?;
        let (context, encoding) = coded(self.session.text_context(), format);
        let mut encoder = RowEncoder::new(&stream.columns, format);
        let out = self.connection.outgoing();
        let start = out.len();
        encoder.header(out)?;
        line_in(encoding, out, start)?;
        self.connection.seal();
        let mut pace = Pace::new();
        let mut rows = 0;
        loop {
            let sent = self.send_some(&mut stream, u64::MAX, |row, out| {
                let start = out.len();
                encoder.row(row, &context, out)?;
                line_in(encoding, out, start)
            })?;
            rows += sent.rows;
            if sent.ended {
                break;
            }
            if self.is_due(&mut pace) {
                self.flush().await?;
            }
        }
        encoder.end(self.connection.outgoing())?;
        self.connection.seal();
        self.connection.feed(PgWireBackendMessage::CopyDone(CopyDone::new()))?;
        Ok(command_tag(&stream.tag, rows).into_owned())
    }

    /// Says that rows of so many columns will come, and in which form.
    pub(super) fn announce_copy_out(&mut self, columns: usize, format: &CopyFormat) -> Result<(), Stop> {
        let code = announced(format).code();
        let response = CopyOutResponse::new(code as i8, column_count(columns)?, vec![code; columns]);
        Ok(self.connection.feed(PgWireBackendMessage::CopyOutResponse(response))?)
    }
}

/// How values are written and read, and in which encoding lines are as a whole.
fn coded(context: TextContext, format: &CopyFormat) -> (TextContext, Encoding) {
    let encoding = format.content.encoding.unwrap_or(context.encoding);
    match format.layout {
        CopyLayout::Binary => (TextContext { encoding, ..context }, Encoding::UTF8),
        CopyLayout::Text | CopyLayout::Csv => (TextContext { encoding: Encoding::UTF8, ..context }, encoding),
    }
}

/// Puts the CopyData message that begins at `start`, if there is one, into an encoding. On an error nothing of it remains.
fn line_in(encoding: Encoding, out: &mut Vec<u8>, start: usize) -> Result<(), SqlError> {
    const HEAD_BYTES: usize = 5;
    if encoding.is_same() || out.len() <= start + HEAD_BYTES {
        return Ok(());
    }
    let line = out.split_off(start + HEAD_BYTES);
    let text = String::from_utf8(line).map_err(|_| SqlError::new("XX000", "text is not in UTF-8"));
    match text.and_then(|text| Ok(encoding.encode(&text)?.into_owned())) {
        Ok(line) => {
            let length = u32::try_from(line.len() + 4)
                .map_err(|_| SqlError::new("54000", "row is too large for the protocol"))?;
            out[start + 1..start + HEAD_BYTES].copy_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&line);
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

fn column_count(columns: usize) -> Result<i16, SqlError> {
    i16::try_from(columns).map_err(|_| SqlError::new("54011", "too many columns for COPY"))
}
