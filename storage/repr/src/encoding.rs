//! Encodings of text that clients speak: their names, and how text is written in them. Inside all text is UTF-8.
//!
//! Names, aliases, numbers and messages are PostgreSQL's. The tables are `encoding_rs`'s; where what it calls an encoding of ISO
//! is one of Windows, the range that differs is taken as ISO has it.

use crate::ValueError;
use encoding_rs as rs;
use encoding_rs::{DecoderResult, EncoderResult};
use std::borrow::Cow;
use std::fmt;

/// One of PostgreSQL's encodings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static Known);

/// What is known of one.
struct Known {
    /// `pg_char_to_encoding`
    number: i32,
    name: &'static str,
    /// Other names, in lower case, of letters and digits alone.
    aliases: &'static [&'static str],
    tables: Tables,
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Known {}

#[derive(Clone, Copy)]
enum Tables {
    /// As text is inside.
    Same,
    /// By these tables.
    Of(&'static rs::Encoding),
    /// The same, but that bytes from 0x80 to 0x9f are the control characters of these numbers.
    Iso(&'static rs::Encoding),
    /// A byte is the character of its number.
    Latin1,
    /// There are none here.
    None,
}

const fn known(number: i32, name: &'static str, aliases: &'static [&'static str], tables: Tables) -> Known {
    Known { number, name, aliases, tables }
}

static KNOWN: &[Known] = &[
    known(0, "SQL_ASCII", &["sqlascii"], Tables::Same),
    known(1, "EUC_JP", &["eucjp"], Tables::Of(rs::EUC_JP)),
    known(2, "EUC_CN", &["euccn"], Tables::Of(rs::GBK)),
    known(3, "EUC_KR", &["euckr"], Tables::Of(rs::EUC_KR)),
    known(4, "EUC_TW", &["euctw"], Tables::None),
    known(5, "EUC_JIS_2004", &["eucjis2004"], Tables::None),
    known(6, "UTF8", &["utf8", "unicode"], Tables::Same),
    known(7, "MULE_INTERNAL", &["muleinternal"], Tables::None),
    known(8, "LATIN1", &["latin1", "iso88591"], Tables::Latin1),
    known(9, "LATIN2", &["latin2", "iso88592"], Tables::Of(rs::ISO_8859_2)),
    known(10, "LATIN3", &["latin3", "iso88593"], Tables::Of(rs::ISO_8859_3)),
    known(11, "LATIN4", &["latin4", "iso88594"], Tables::Of(rs::ISO_8859_4)),
    known(12, "LATIN5", &["latin5", "iso88599"], Tables::Iso(rs::WINDOWS_1254)),
    known(13, "LATIN6", &["latin6", "iso885910"], Tables::Of(rs::ISO_8859_10)),
    known(14, "LATIN7", &["latin7", "iso885913"], Tables::Of(rs::ISO_8859_13)),
    known(15, "LATIN8", &["latin8", "iso885914"], Tables::Of(rs::ISO_8859_14)),
    known(16, "LATIN9", &["latin9", "iso885915"], Tables::Of(rs::ISO_8859_15)),
    known(17, "LATIN10", &["latin10", "iso885916"], Tables::Of(rs::ISO_8859_16)),
    known(18, "WIN1256", &["win1256", "windows1256"], Tables::Of(rs::WINDOWS_1256)),
    known(19, "WIN1258", &["win1258", "windows1258", "abc", "tcvn", "tcvn5712", "vscii"], Tables::Of(rs::WINDOWS_1258)),
    known(20, "WIN866", &["win866", "windows866", "alt"], Tables::Of(rs::IBM866)),
    known(21, "WIN874", &["win874", "windows874"], Tables::Of(rs::WINDOWS_874)),
    known(22, "KOI8R", &["koi8r", "koi8"], Tables::Of(rs::KOI8_R)),
    known(23, "WIN1251", &["win1251", "windows1251", "win"], Tables::Of(rs::WINDOWS_1251)),
    known(24, "WIN1252", &["win1252", "windows1252"], Tables::Of(rs::WINDOWS_1252)),
    known(25, "ISO_8859_5", &["iso88595"], Tables::Of(rs::ISO_8859_5)),
    known(26, "ISO_8859_6", &["iso88596"], Tables::Of(rs::ISO_8859_6)),
    known(27, "ISO_8859_7", &["iso88597"], Tables::Of(rs::ISO_8859_7)),
    known(28, "ISO_8859_8", &["iso88598"], Tables::Of(rs::ISO_8859_8)),
    known(29, "WIN1250", &["win1250", "windows1250"], Tables::Of(rs::WINDOWS_1250)),
    known(30, "WIN1253", &["win1253", "windows1253"], Tables::Of(rs::WINDOWS_1253)),
    known(31, "WIN1254", &["win1254", "windows1254"], Tables::Of(rs::WINDOWS_1254)),
    known(32, "WIN1255", &["win1255", "windows1255"], Tables::Of(rs::WINDOWS_1255)),
    known(33, "WIN1257", &["win1257", "windows1257"], Tables::Of(rs::WINDOWS_1257)),
    known(34, "KOI8U", &["koi8u"], Tables::Of(rs::KOI8_U)),
    known(35, "SJIS", &["sjis", "mskanji", "shiftjis", "win932", "windows932"], Tables::Of(rs::SHIFT_JIS)),
    known(36, "BIG5", &["big5", "win950", "windows950"], Tables::Of(rs::BIG5)),
    known(37, "GBK", &["gbk", "win936", "windows936"], Tables::Of(rs::GBK)),
    known(38, "UHC", &["uhc", "win949", "windows949"], Tables::Of(rs::EUC_KR)),
    known(39, "GB18030", &["gb18030"], Tables::Of(rs::GB18030)),
    known(40, "JOHAB", &["johab"], Tables::None),
    known(41, "SHIFT_JIS_2004", &["shiftjis2004"], Tables::None),
];

impl Encoding {
    /// What all text is in inside.
    pub const UTF8: Encoding = Encoding(&KNOWN[6]);

    /// The encoding of that name: letters and digits alone count, whatever their case.
    pub fn named(name: &str) -> Option<Encoding> {
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let letters = letters.to_ascii_lowercase();
        KNOWN.iter().find(|known| known.aliases.contains(&letters.as_str())).map(Encoding)
    }

    /// The encoding of that number.
    pub fn numbered(number: i32) -> Option<Encoding> {
        KNOWN.iter().find(|known| known.number == number).map(Encoding)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Its number.
    pub fn number(self) -> i32 {
        self.0.number
    }

    /// Whether text can be written in it here.
    pub fn is_supported(self) -> bool {
        !matches!(self.0.tables, Tables::None)
    }

    /// Whether text is written in it as it stands.
    pub fn is_same(self) -> bool {
        matches!(self.0.tables, Tables::Same)
    }

    /// What bytes of it say.
    ///
    /// # Errors
    /// 22021 for bytes that are none of its characters, 22P05 for a character that has no equal, 0A000 if there are no tables.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, ValueError> {
        if bytes.is_ascii() && self.is_supported() {
            return Encoding::checked(bytes).map(Cow::Borrowed);
        }
        match self.0.tables {
            Tables::Same => Encoding::checked(bytes).map(Cow::Borrowed),
            Tables::Latin1 => Ok(Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect())),
            Tables::Iso(tables) => {
                let mut text = String::with_capacity(bytes.len() * 2);
                for byte in bytes {
                    match byte {
                        0x80..=0x9f => text.push(char::from(*byte)),
                        _ => text.push_str(&self.read(tables, std::slice::from_ref(byte))?),
                    }
                }
                Ok(Cow::Owned(text))
            }
            Tables::Of(tables) => self.read(tables, bytes).map(Cow::Owned),
            Tables::None => Err(self.unsupported()),
        }
    }

    /// Text in it.
    ///
    /// # Errors
    /// 22P05 for a character that it has not, 0A000 if there are no tables.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, ValueError> {
        if text.is_ascii() && self.is_supported() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        match self.0.tables {
            Tables::Same => Ok(Cow::Borrowed(text.as_bytes())),
            Tables::Latin1 => {
                let byte = |character: char| u8::try_from(u32::from(character)).map_err(|_| self.has_no(character));
                text.chars().map(byte).collect::<Result<_, _>>().map(Cow::Owned)
            }
            Tables::Iso(tables) => {
                let mut bytes = Vec::with_capacity(text.len());
                for character in text.chars() {
                    match character {
                        '\u{80}'..='\u{9f}' => bytes.push(u8::try_from(u32::from(character)).unwrap_or(b'?')),
                        _ => {
                            let written = self.write(tables, character.encode_utf8(&mut [0; 4]))?;
                            // There the control characters are.
                            if written.iter().any(|byte| (0x80..=0x9f).contains(byte)) {
                                return Err(self.has_no(character));
                            }
                            bytes.extend(written);
                        }
                    }
                }
                Ok(Cow::Owned(bytes))
            }
            Tables::Of(tables) => self.write(tables, text).map(Cow::Owned),
            Tables::None => Err(self.unsupported()),
        }
    }

    fn read(self, tables: &'static rs::Encoding, bytes: &[u8]) -> Result<String, ValueError> {
        let mut decoder = tables.new_decoder_without_bom_handling();
        let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(bytes.len() * 4);
        let mut text = String::with_capacity(room);
        let (result, read) = decoder.decode_to_string_without_replacement(bytes, &mut text, true);
        match result {
            DecoderResult::InputEmpty if self.has_holes() => match text.chars().find(|found| is_control(*found)) {
                Some(hole) => Err(self.has_no_equal(&[u8::try_from(u32::from(hole)).unwrap_or(b'?')])),
                None => Ok(text),
            },
            DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok(text),
            DecoderResult::Malformed(length, after) => {
                let end = read.saturating_sub(usize::from(after));
                let start = end.saturating_sub(usize::from(length));
                Err(self.invalid(&bytes[start..end]))
            }
        }
    }

    fn write(self, tables: &'static rs::Encoding, text: &str) -> Result<Vec<u8>, ValueError> {
        if self.has_holes()
            && let Some(hole) = text.chars().find(|character| is_control(*character))
        {
            return Err(self.has_no(hole));
        }
        let mut encoder = tables.new_encoder();
        let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len()).unwrap_or(text.len() * 4);
        let mut bytes = Vec::with_capacity(room);
        match encoder.encode_from_utf8_to_vec_without_replacement(text, &mut bytes, true).0 {
            EncoderResult::InputEmpty | EncoderResult::OutputFull => Ok(bytes),
            EncoderResult::Unmappable(character) => Err(self.has_no(character)),
        }
    }

    /// Whether bytes from 0x80 on that stand for nothing are read as control characters by the tables.
    fn has_holes(self) -> bool {
        self.0.name.starts_with("WIN12") || self.0.name == "WIN874"
    }

    /// Text that was sent as it stands inside, or 22021 naming the first bytes that are not UTF-8.
    pub fn checked(bytes: &[u8]) -> Result<&str, ValueError> {
        std::str::from_utf8(bytes).map_err(|error| {
            let start = error.valid_up_to();
            // As PostgreSQL: as many bytes as the first of them announces.
            let announced = match bytes[start] {
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF7 => 4,
                _ => 1,
            };
            let end = (start + announced).min(bytes.len());
            Encoding::UTF8.invalid(&bytes[start..end])
        })
    }

    fn invalid(self, bytes: &[u8]) -> ValueError {
        ValueError::new("22021", format!("invalid byte sequence for encoding \"{}\": {}", self.name(), shown(bytes)))
    }

    fn has_no(self, character: char) -> ValueError {
        let bytes = shown(character.encode_utf8(&mut [0; 4]).as_bytes());
        let message = format!(
            "character with byte sequence {bytes} in encoding \"UTF8\" has no equivalent in encoding \"{}\"",
            self.name()
        );
        ValueError::new("22P05", message)
    }

    fn has_no_equal(self, bytes: &[u8]) -> ValueError {
        let message = format!(
            "character with byte sequence {} in encoding \"{}\" has no equivalent in encoding \"UTF8\"",
            shown(bytes),
            self.name()
        );
        ValueError::new("22P05", message)
    }

    /// 0A000
    pub fn unsupported(self) -> ValueError {
        let mut error = ValueError::new("0A000", format!("encoding {} is not supported", self.name()));
        error.hint = Some("Use UTF8.".to_owned());
        error
    }
}

/// Reads text that comes in pieces, cut anywhere.
pub struct Decoding {
    of: Encoding,
    decoder: Option<rs::Decoder>,
}

impl Decoding {
    /// From the first byte.
    pub fn new(of: Encoding) -> Self {
        let decoder = match of.0.tables {
            Tables::Of(tables) => Some(tables.new_decoder_without_bom_handling()),
            Tables::Same | Tables::Iso(_) | Tables::Latin1 | Tables::None => None,
        };
        Decoding { of, decoder }
    }

    /// Whether bytes are what they say as they stand.
    pub fn is_same(&self) -> bool {
        self.of.is_same()
    }

    /// What the next piece says; the beginning of a character waits for the rest of it, unless the piece is the last.
    ///
    /// # Errors
    /// Those of `Encoding::decode`.
    pub fn read(&mut self, bytes: &[u8], last: bool) -> Result<String, ValueError> {
        let Some(decoder) = &mut self.decoder else { return self.of.decode(bytes).map(Cow::into_owned) };
        let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(bytes.len() * 4);
        let mut text = String::with_capacity(room);
        let (result, read) = decoder.decode_to_string_without_replacement(bytes, &mut text, last);
        if let DecoderResult::Malformed(length, after) = result {
            let end = read.saturating_sub(usize::from(after));
            return Err(self.of.invalid(&bytes[end.saturating_sub(usize::from(length))..end]));
        }
        match text.chars().find(|found| self.of.has_holes() && is_control(*found)) {
            Some(hole) => Err(self.of.has_no_equal(&[u8::try_from(u32::from(hole)).unwrap_or(b'?')])),
            None => Ok(text),
        }
    }
}

fn is_control(character: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&character)
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

impl Default for Encoding {
    fn default() -> Self {
        Encoding::UTF8
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, KNOWN};

    fn of(name: &str) -> Encoding {
        Encoding::named(name).expect(name)
    }

    #[test]
    fn names_are_postgresqls() {
        for (given, name) in [
            ("latin1", "LATIN1"),
            ("ISO-8859-1", "LATIN1"),
            ("iso_8859_15", "LATIN9"),
            ("Windows-1252", "WIN1252"),
            ("unicode", "UTF8"),
            ("Shift_JIS", "SJIS"),
            ("'utf-8'", "UTF8"),
        ] {
            assert_eq!(of(given).name(), name);
        }
        assert!(Encoding::named("latin").is_none());
        for (place, known) in KNOWN.iter().enumerate() {
            assert_eq!(usize::try_from(known.number), Ok(place), "{}", known.name);
        }
    }

    #[test]
    fn text_comes_back_from_every_encoding() {
        for (name, text, bytes) in [
            ("latin1", "é\u{80}ÿ", &b"\xe9\x80\xff"[..]),
            ("latin9", "€", b"\xa4"),
            ("latin5", "ğ\u{85}", b"\xf0\x85"),
            ("win1252", "€é", b"\x80\xe9"),
            ("sjis", "日本", b"\x93\xfa\x96\x7b"),
            ("euc_jp", "日本", b"\xc6\xfc\xcb\xdc"),
            ("utf8", "日", "日".as_bytes()),
            ("koi8r", "Д", b"\xe4"),
        ] {
            assert_eq!(of(name).encode(text).expect(name), bytes, "{name}");
            assert_eq!(of(name).decode(bytes).expect(name), text, "{name}");
        }
    }

    #[test]
    fn what_has_no_equal_is_told_by_its_bytes() {
        let refused = |name: &str, text: &str| of(name).encode(text).expect_err(name);
        let error = refused("latin1", "a€");
        assert_eq!(error.code, "22P05");
        assert_eq!(
            error.message,
            "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
        );
        assert_eq!(refused("latin5", "€").code, "22P05");
        assert_eq!(refused("euc_tw", "€").code, "0A000");
        let unread = |name: &str, bytes: &[u8]| of(name).decode(bytes).map(|_| ()).expect_err(name);
        assert_eq!(
            unread("win1252", b"\x81").message,
            "character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\""
        );
        assert_eq!(unread("euc_jp", b"a\xff").message, "invalid byte sequence for encoding \"EUC_JP\": 0xff");
        assert_eq!(unread("utf8", b"a\xff").message, "invalid byte sequence for encoding \"UTF8\": 0xff");
    }
}
