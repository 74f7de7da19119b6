//! Messages to a client whose encoding is not UTF-8: their strings, but for those of rows.
//!
//! A character that the client has not is a question mark: a message about it must arrive. In rows it is an error instead,
//! which `types` gives.

use bytes::BufMut;
use repr::Encoding;

/// Puts the strings of the message that begins at `start` into an encoding.
pub fn transcode(out: &mut Vec<u8>, start: usize, encoding: Encoding) {
    let Some(&kind) = out.get(start) else { return };
    if !matches!(kind, b'E' | b'N' | b'T' | b'A' | b'S') || out[start..].is_ascii() && kind != b'T' {
        return;
    }
    let message = out.split_off(start);
    let mut rest = &message[5.min(message.len())..];
    out.extend_from_slice(&[kind, 0, 0, 0, 0]);
    match kind {
        // Fields, each with its code, and a zero behind the last.
        b'E' | b'N' => {
            while let Some((&code, more)) = rest.split_first().filter(|(code, _)| **code != 0) {
                out.put_u8(code);
                rest = string(more, encoding, out);
            }
            out.put_slice(rest);
        }
        // A name, and what is known of the column.
        b'T' => {
            const KNOWN_BYTES: usize = 18;
            let columns = rest.get(..2).map_or(0, |count| u16::from_be_bytes([count[0], count[1]]));
            rest = copied(rest, 2, out);
            for _ in 0..columns {
                rest = string(rest, encoding, out);
                rest = copied(rest, KNOWN_BYTES, out);
            }
            out.put_slice(rest);
        }
        // Who it is from stands before it.
        b'A' => {
            rest = copied(rest, 4, out);
            rest = string(rest, encoding, out);
            string(rest, encoding, out);
        }
        _ => {
            rest = string(rest, encoding, out);
            string(rest, encoding, out);
        }
    }
    let length = u32::try_from(out.len() - start - 1).unwrap_or(u32::MAX);
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

fn copied<'m>(rest: &'m [u8], count: usize, out: &mut Vec<u8>) -> &'m [u8] {
    let (taken, rest) = rest.split_at(count.min(rest.len()));
    out.put_slice(taken);
    rest
}

/// One string with the zero behind it.
fn string<'m>(rest: &'m [u8], encoding: Encoding, out: &mut Vec<u8>) -> &'m [u8] {
    let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
    let text = String::from_utf8_lossy(&rest[..end]);
    match encoding.encode(&text) {
        Ok(bytes) => out.put_slice(&bytes),
        Err(_) => {
            for character in text.chars() {
                let bytes = encoding.encode(character.encode_utf8(&mut [0; 4])).map(|bytes| bytes.into_owned());
                out.put_slice(&bytes.unwrap_or_else(|_| b"?".to_vec()));
            }
        }
    }
    out.put_u8(0);
    rest.get(end + 1..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::transcode;
    use repr::Encoding;

    #[test]
    fn strings_change_and_lengths_with_them() {
        let latin = Encoding::named("latin1").expect("it is known");
        let mut out = b"before".to_vec();
        let body = "Mé€\0\0".as_bytes();
        out.push(b'E');
        out.extend_from_slice(&u32::try_from(body.len() + 4).expect("short").to_be_bytes());
        out.extend_from_slice(body);
        transcode(&mut out, 6, latin);
        assert_eq!(&out[6..], b"E\0\0\0\x09M\xe9?\0\0");
    }
}
