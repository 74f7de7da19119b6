//! `dogwood mask`: a dump for test systems, with pseudonyms in the place of what is personal.
//!
//! ```text
//! the dump, once  ─▶ lint::Reader ─▶ engine::masking: which columns, and how
//! the dump, again ─▶ statements as they are ──────────────────────────────▶ the masked dump
//!                └─▶ rows of COPY ─▶ each value: itself, or its pseudonym ─┘
//! ```
//! Reads the definitions first: foreign keys stand behind the rows. Needs no server and no folder. What it cannot mask it refuses, and
//! then writes nothing.

use crate::copy::decode::unescaped;
use crate::copy::encode::escape;
use crate::import::dump::{Dump, Piece};
use crate::import::left_out::DumpedObject;
use crate::import::{Source, is_copy_in};
use crate::lint::Reader;
use engine::lint::LintedSchema;
use engine::masking::{Judged, Mask, Masks, Pseudonyms};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A key that is made and thrown away.
const KEY_BYTES: usize = 32;
/// A shorter one could be guessed.
const KEY_BYTES_MIN: usize = 16;
/// Columns of types that are not here are of this one, which nobody's columns are of: their values have no pseudonyms.
const UNKNOWN_TYPE: &str = "name";

/// What is masked, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct Masking {
    /// What somebody has decided of columns.
    pub judged: Judged,
    /// A file with the key; else one that nobody keeps.
    pub key: Option<PathBuf>,
    /// Security labels are left out, for databases that know no provider `dogwood`.
    pub without_labels: bool,
    /// The dump: text, an archive or a folder of pg_dump.
    pub file: PathBuf,
    /// Where the masked one goes.
    pub to: PathBuf,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Masked {
    columns: usize,
    rows: u64,
    kept: Vec<(String, &'static str)>,
}

/// Masks a dump.
///
/// # Errors
/// Why it cannot be masked. Then there is no masked dump.
pub fn run(masking: &Masking) -> Result<Masked, String> {
    if masking.file == Path::new("-") {
        return Err("the dump is read twice: name a file".to_owned());
    }
    let reader = definitions(&masking.file)?;
    let masks = Masks::of(&reader.schema, &masking.judged);
    let refused: Vec<String> = reader.needed().chain(masks.refused.iter().cloned()).collect();
    if !refused.is_empty() {
        return Err(refused.join("\n"));
    }
    let key = match &masking.key {
        Some(file) => fs::read(file).map_err(|error| format!("could not read \"{}\": {error}", file.display()))?,
        None => crate::auth::random::<KEY_BYTES>().map_err(|error| format!("no key could be made: {error}"))?.to_vec(),
    };
    if key.len() < KEY_BYTES_MIN {
        return Err(format!("a key has at least {KEY_BYTES_MIN} bytes"));
    }
    let mut writer = DumpWriter { reader: &reader, masks: &masks, pseudonyms: Pseudonyms::new(&key), rows: 0 };
    let failed = |error: io::Error| error.to_string();
    let mut source = Source::open(&masking.file)?;
    if masking.to == Path::new("-") {
        let out = &mut BufWriter::new(io::stdout().lock());
        writer.write(&mut Dump::new(&mut source.text), masking.without_labels, out)?;
        out.flush().map_err(failed)?;
    } else {
        // A part of it would be taken for all of it.
        let part = masking.to.with_extension("part");
        let written = File::create(&part).map_err(failed).and_then(|file| {
            let mut out = BufWriter::new(file);
            writer.write(&mut Dump::new(&mut source.text), masking.without_labels, &mut out)?;
            out.into_inner().map_err(|error| error.to_string())?.sync_all().map_err(failed)
        });
        let done = written.and_then(|()| fs::rename(&part, &masking.to).map_err(failed));
        if done.is_err() {
            drop(fs::remove_file(&part));
        }
        done.map_err(|error| format!("could not write \"{}\": {error}", masking.to.display()))?;
    }
    let rows = writer.rows;
    source.end()?;
    Ok(Masked { columns: masks.count(), rows, kept: masks.kept })
}

fn definitions(file: &Path) -> Result<Reader, String> {
    let mut source = Source::open(file)?;
    let mut reader = Reader::default();
    (reader.schema, reader.stand_in) = (LintedSchema::of_dump(), Some(UNKNOWN_TYPE));
    reader
        .read(&mut Dump::new(&mut source.text))
        .map_err(|error| format!("could not read \"{}\": {error}", file.display()))?;
    source.end()?;
    reader.schema.settle().map_err(|error| format!("its annotations: {}", error.message))?;
    Ok(reader)
}

struct DumpWriter<'d> {
    reader: &'d Reader,
    masks: &'d Masks,
    pseudonyms: Pseudonyms,
    rows: u64,
}

impl DumpWriter<'_> {
    fn write(
        &mut self,
        dump: &mut Dump<impl io::BufRead>,
        without_labels: bool,
        out: &mut impl Write,
    ) -> Result<(), String> {
        let failed = |error: io::Error| error.to_string();
        while let Some(piece) = dump.next().map_err(failed)? {
            let (line, text) = match piece {
                Piece::Command(_, command) => {
                    writeln!(out, "{command}").map_err(failed)?;
                    continue;
                }
                Piece::Statement(line, text) => (line, text),
            };
            let subject = DumpedObject::of(&text);
            if without_labels && subject.command.starts_with("SECURITY") {
                continue;
            }
            self.refuse(line, &text, &subject)?;
            writeln!(out, "{text};").map_err(failed)?;
            if is_copy_in(&text) {
                let masks = self.masks.of_copy(&self.reader.schema, &text);
                let masks = masks.map_err(|error| format!("line {line}: {}", error.message))?;
                let masks = masks.ok_or_else(|| format!("line {line}: a COPY of another kind than pg_dump's"))?;
                self.rows(dump, &masks, out)?;
            }
        }
        Ok(())
    }

    /// Rows that come otherwise are not masked, and so not let through.
    fn refuse(&self, line: u64, text: &str, subject: &DumpedObject) -> Result<(), String> {
        let first = subject.command.split(' ').next().unwrap_or_default();
        if matches!(first, "INSERT" | "UPDATE" | "MERGE") {
            return Err(format!("line {line}: rows in INSERT are not masked: dump without --inserts"));
        }
        if first == "COPY" && !is_copy_in(text) {
            return Err(format!("line {line}: a COPY of another kind than pg_dump's"));
        }
        if first == "SELECT" && text.contains("lowrite(") {
            return Err(format!("line {line}: large objects are not masked: dump with --no-blobs"));
        }
        Ok(())
    }

    fn rows(
        &mut self,
        dump: &mut Dump<impl io::BufRead>,
        masks: &[Option<&Mask>],
        out: &mut impl Write,
    ) -> Result<(), String> {
        let failed = |error: io::Error| error.to_string();
        let mut text = Vec::new();
        loop {
            let line = dump.line() + 1;
            let Some(row) = dump.row().map_err(failed)? else { break };
            let row = std::str::from_utf8(row).map_err(|_| format!("line {line}: not in UTF-8"))?;
            let row = row.strip_suffix('\n').unwrap_or(row);
            let values: Vec<&str> = if masks.is_empty() { vec![row] } else { row.split('\t').collect() };
            if !masks.is_empty() && values.len() != masks.len() {
                return Err(format!("line {line}: a row of {} values for {} columns", values.len(), masks.len()));
            }
            for (place, value) in values.into_iter().enumerate() {
                if place > 0 {
                    out.write_all(b"\t").map_err(failed)?;
                }
                match masks.get(place).copied().flatten().filter(|_| value != "\\N") {
                    None => out.write_all(value.as_bytes()).map_err(failed)?,
                    Some(mask) => {
                        // The value itself is told to nobody.
                        let not_of_type = || format!("line {line}: value {} is not of its type", place + 1);
                        let plain = String::from_utf8(unescaped(value.as_bytes())).map_err(|_| not_of_type())?;
                        let masked = self.pseudonyms.of(mask, &plain).map_err(|_| not_of_type())?;
                        text.clear();
                        match masked {
                            None => text.extend_from_slice(b"\\N"),
                            Some(masked) => escape(masked.as_bytes(), b'\t', &mut text),
                        }
                        out.write_all(&text).map_err(failed)?;
                    }
                }
            }
            out.write_all(b"\n").map_err(failed)?;
            self.rows += 1;
        }
        out.write_all(b"\\.\n").map_err(failed)
    }
}

impl fmt::Display for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (column, why) in &self.kept {
            writeln!(f, "as it is: {column}: {why}")?;
        }
        write!(f, "masked: {} columns, {} rows looked at", self.columns, self.rows)
    }
}
