//! Geometric values as text: `(1,2)`, `[(1,2),(3,4)]`, `{1,-1,0}`, `<(1,2),3>`, with the spellings that PostgreSQL reads beside.

use super::{GeometricType, Geometry, Point, relations};
use crate::text::{TextContext, format_float8, format_rounded, parse_float8};
use crate::{ValueError, poll};

/// What is left of a text that is read from left to right.
struct Text<'a> {
    kind: GeometricType,
    whole: &'a str,
    rest: &'a str,
}

impl Geometry {
    /// Reads a value of that kind.
    ///
    /// # Errors
    /// 22P02 for what is none, 22003 for a number that is out of range.
    pub fn parse(kind: GeometricType, text: &str) -> Result<Geometry, ValueError> {
        let mut read = Text { kind, whole: text, rest: text };
        match kind {
            GeometricType::Point => {
                let point = read.pair()?;
                read.end()?;
                Ok(Geometry::Point(point))
            }
            GeometricType::Lseg => {
                let (points, _) = read.points(2, true)?;
                read.end()?;
                Ok(Geometry::Lseg([points[0], points[1]]))
            }
            GeometricType::Box => {
                let (points, _) = read.points(2, false)?;
                read.end()?;
                Ok(Geometry::of_corners(points[0], points[1]))
            }
            GeometricType::Line => read.line(),
            GeometricType::Path => read.path(),
            GeometricType::Polygon => {
                let count = read.count()?;
                let (points, _) = read.points(count, false)?;
                read.end()?;
                Ok(Geometry::Polygon(points.into()))
            }
            GeometricType::Circle => read.circle(),
        }
    }

    /// Appends its text.
    pub(crate) fn write(&self, out: &mut String, context: &TextContext) {
        match self {
            Geometry::Point(point) => write_point(out, *point, context),
            Geometry::Lseg(points) => write_points(out, points, ("[", "]"), context),
            Geometry::Box(points) => write_points(out, points, ("", ""), context),
            Geometry::Line(factors) => {
                out.push('{');
                for (at, factor) in factors.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    write_number(out, *factor, context);
                }
                out.push('}');
            }
            Geometry::Path(false, points) => write_points(out, points, ("[", "]"), context),
            Geometry::Path(true, points) | Geometry::Polygon(points) => write_points(out, points, ("(", ")"), context),
            Geometry::Circle(center, radius) => {
                out.push('<');
                write_point(out, *center, context);
                out.push(',');
                write_number(out, *radius, context);
                out.push('>');
            }
        }
    }
}

fn write_number(out: &mut String, value: f64, context: &TextContext) {
    if context.extra_float_digits > 0 {
        return out.push_str(&format_float8(value));
    }
    out.push_str(&format_rounded(value, (15 + context.extra_float_digits).max(1) as usize));
}

fn write_point(out: &mut String, point: Point, context: &TextContext) {
    out.push('(');
    write_number(out, point.x, context);
    out.push(',');
    write_number(out, point.y, context);
    out.push(')');
}

fn write_points(out: &mut String, points: &[Point], (open, close): (&str, &str), context: &TextContext) {
    out.push_str(open);
    for (at, point) in points.iter().enumerate() {
        poll::step_or_unwind();
        out.push_str(if at > 0 { "," } else { "" });
        write_point(out, *point, context);
    }
    out.push_str(close);
}

fn is_blank(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\u{b}'
}

impl Text<'_> {
    fn invalid(&self) -> ValueError {
        ValueError::new("22P02", format!("invalid input syntax for type {}: \"{}\"", self.kind.name(), self.whole))
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    /// Passes over a character, if it is the next.
    fn passes(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, character: char) -> Result<(), ValueError> {
        if self.passes(character) { Ok(()) } else { Err(self.invalid()) }
    }

    fn end(&self) -> Result<(), ValueError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.invalid()) }
    }

    /// A number and the blanks around it.
    fn number(&mut self) -> Result<f64, ValueError> {
        poll::step()?;
        self.blanks();
        let is_delimiter = |c: char| is_blank(c) || matches!(c, ',' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>');
        let end = self.rest.find(is_delimiter).unwrap_or(self.rest.len());
        let value = parse_float8(&self.rest[..end]);
        let value = value.map_err(|error| if error.code == "22003" { error } else { self.invalid() })?;
        self.rest = &self.rest[end..];
        self.blanks();
        Ok(value)
    }

    /// `(x,y)` or `x,y`
    fn pair(&mut self) -> Result<Point, ValueError> {
        self.blanks();
        let is_delimited = self.passes('(');
        let x = self.number()?;
        self.expect(',')?;
        let y = self.number()?;
        if is_delimited {
            self.expect(')')?;
            self.blanks();
        }
        Ok(Point::new(x, y))
    }

    /// So many points, all of them in parentheses, in brackets, which say that they are open, or in nothing.
    fn points(&mut self, count: usize, may_be_open: bool) -> Result<(Vec<Point>, bool), ValueError> {
        self.blanks();
        let is_open = self.passes('[');
        let mut depth = usize::from(is_open);
        if is_open && !may_be_open {
            return Err(self.invalid());
        }
        if !is_open && let Some(within) = self.rest.strip_prefix('(') {
            let within = within.trim_start_matches(is_blank);
            // Around all of them, unless the only one is that of the first point.
            if within.starts_with('(') || self.rest.rfind('(') == Some(0) {
                depth = 1;
                self.rest = within;
            }
        }
        let mut points = Vec::new();
        for _ in 0..count {
            points.push(self.pair()?);
            self.passes(',');
        }
        while depth > 0 {
            if !(self.passes(')') || is_open && depth == 1 && self.passes(']')) {
                return Err(self.invalid());
            }
            depth -= 1;
            self.blanks();
        }
        Ok((points, is_open))
    }

    /// How many points there are, by the commas.
    fn count(&self) -> Result<usize, ValueError> {
        let commas = self.whole.bytes().filter(|byte| *byte == b',').count();
        if commas % 2 == 1 { Ok(commas.div_ceil(2)) } else { Err(self.invalid()) }
    }

    fn line(&mut self) -> Result<Geometry, ValueError> {
        self.blanks();
        if !self.passes('{') {
            let (points, _) = self.points(2, true)?;
            self.end()?;
            let of_points = Geometry::of_two_points(points[0], points[1]);
            return of_points
                .map_err(|error| if error.code == "22023" { ValueError { code: "22P02", ..error } } else { error });
        }
        let a = self.number()?;
        self.expect(',')?;
        let b = self.number()?;
        self.expect(',')?;
        let c = self.number()?;
        self.expect('}')?;
        self.blanks();
        self.end()?;
        if relations::is_zero(a) && relations::is_zero(b) {
            return Err(ValueError::new("22P02", "invalid line specification: A and B cannot both be zero"));
        }
        Ok(Geometry::Line([a, b, c]))
    }

    fn path(&mut self) -> Result<Geometry, ValueError> {
        let count = self.count()?;
        self.blanks();
        let is_wrapped = self.rest.rfind('(') == Some(0) && self.passes('(');
        let (points, is_open) = self.points(count, true)?;
        if is_wrapped {
            self.expect(')')?;
            self.blanks();
        }
        self.end()?;
        Ok(Geometry::Path(!is_open, points.into()))
    }

    fn circle(&mut self) -> Result<Geometry, ValueError> {
        self.blanks();
        let mut is_wrapped = false;
        let is_angled = self.passes('<');
        if !is_angled && let Some(within) = self.rest.strip_prefix('(') {
            let within = within.trim_start_matches(is_blank);
            if within.starts_with('(') {
                is_wrapped = true;
                self.rest = within;
            }
        }
        let center = self.pair()?;
        self.passes(',');
        let radius = self.number()?;
        // That of no number is let through.
        if radius < 0.0 {
            return Err(self.invalid());
        }
        if is_angled || is_wrapped {
            if !(self.passes(')') || is_angled && self.passes('>')) {
                return Err(self.invalid());
            }
            self.blanks();
        }
        self.end()?;
        Ok(Geometry::Circle(center, radius))
    }
}
