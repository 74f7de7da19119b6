//! A file's lines as fields of words, as PostgreSQL reads `pg_hba.conf` and `pg_ident.conf`.
//!
//! Words stand apart by blanks; a comma continues a field. `"…"` makes a word of what stands in it, and keeps it from being a
//! keyword. `#` begins a comment, and a backslash at a line's end continues it.

use std::fmt;

/// Longest file that is read.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 20;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Without its quotes.
    pub(crate) text: String,
    /// It began with one.
    pub(crate) is_quoted: bool,
}

/// A line that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// Which.
    pub(crate) line: usize,
    /// Why.
    pub(crate) why: String,
}

impl BadLine {
    pub(crate) fn new(line: usize, why: impl Into<String>) -> BadLine {
        BadLine { line, why: why.into() }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// A line's number and its fields.
pub(crate) type Line = (usize, Vec<Vec<Word>>);

/// The lines that say something, by the number of their first.
pub(crate) fn lines(text: &str) -> Vec<Result<Line, BadLine>> {
    let (mut read, mut begun) = (Vec::new(), None::<(usize, String)>);
    let mut take = |number: usize, line: &str| match fields(line) {
        Ok(fields) if fields.is_empty() => {}
        Ok(fields) => read.push(Ok((number, fields))),
        Err(why) => read.push(Err(BadLine::new(number, why))),
    };
    for (index, line) in text.lines().enumerate() {
        let (number, mut whole) = begun.take().unwrap_or((index + 1, String::new()));
        if let Some(continued) = line.strip_suffix('\\') {
            whole.push_str(continued);
            begun = Some((number, whole));
            continue;
        }
        whole.push_str(line);
        take(number, &whole);
    }
    if let Some((number, whole)) = begun {
        take(number, &whole);
    }
    read
}

fn fields(line: &str) -> Result<Vec<Vec<Word>>, String> {
    let mut fields: Vec<Vec<Word>> = Vec::new();
    let mut characters = line.chars().peekable();
    // Whether the next word belongs to the field before it.
    let mut goes_on = false;
    loop {
        while characters.next_if(|&c| c.is_ascii_whitespace() || c == ',').is_some() {}
        if characters.next_if(|&c| c == '#').is_some() || characters.peek().is_none() {
            return Ok(fields);
        }
        let token = word(&mut characters)?;
        if !token.is_quoted && token.text.starts_with('@') {
            return Err(format!("other files cannot be included (\"{}\"); list the names here", token.text));
        }
        match fields.last_mut().filter(|_| goes_on) {
            Some(field) => field.push(token),
            None => fields.push(vec![token]),
        }
        goes_on = characters.next_if_eq(&',').is_some();
    }
}

fn word(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Word, String> {
    let mut token = Word { text: String::new(), is_quoted: characters.peek() == Some(&'"') };
    let mut within = false;
    while let Some(&c) = characters.peek() {
        if !within && (c.is_ascii_whitespace() || c == ',' || c == '#') {
            break;
        }
        characters.next();
        match c {
            '"' if within && characters.next_if_eq(&'"').is_some() => token.text.push('"'),
            '"' => within = !within,
            other => token.text.push(other),
        }
    }
    match within {
        true => Err("a quotation mark is not closed".to_string()),
        false => Ok(token),
    }
}
