//! Points, line segments, lines, boxes, paths, polygons and circles of the plane.
//!
//! Where the text of a value is read and written is `text`, what is asked of two of them `relations`. Coordinates are compared as
//! PostgreSQL compares them: those that differ by no more than a millionth are equal. None of these types has an order of its own.

pub mod relations;
mod text;

use crate::float_order::float_cmp;
use crate::{ScalarType, ValueError};

/// What two coordinates may differ by and be equal.
const EPSILON: f64 = 1e-6;

/// A place in the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
}

/// A value of one of the geometric types.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// point
    Point(Point),
    /// lseg: from one point to another
    Lseg([Point; 2]),
    /// line: where `a`x + `b`y + `c` = 0
    Line([f64; 3]),
    /// box: its upper right corner and its lower left one
    Box([Point; 2]),
    /// path: whether its end is its beginning, and its points
    Path(bool, Box<[Point]>),
    /// polygon: its corners
    Polygon(Box<[Point]>),
    /// circle: its centre and its radius
    Circle(Point, f64),
}

/// Which of the types a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometricType {
    /// point
    Point,
    /// lseg
    Lseg,
    /// line
    Line,
    /// box
    Box,
    /// path
    Path,
    /// polygon
    Polygon,
    /// circle
    Circle,
}

/// The kinds by their codes in bytes.
const KINDS: [GeometricType; 7] = [
    GeometricType::Point,
    GeometricType::Lseg,
    GeometricType::Line,
    GeometricType::Box,
    GeometricType::Path,
    GeometricType::Polygon,
    GeometricType::Circle,
];

impl GeometricType {
    /// Which of them a type is, if it is one.
    pub fn of(scalar: &ScalarType) -> Option<GeometricType> {
        KINDS.into_iter().find(|kind| kind.scalar() == *scalar)
    }

    /// As the type of columns.
    pub fn scalar(self) -> ScalarType {
        match self {
            GeometricType::Point => ScalarType::Point,
            GeometricType::Lseg => ScalarType::Lseg,
            GeometricType::Line => ScalarType::Line,
            GeometricType::Box => ScalarType::Box,
            GeometricType::Path => ScalarType::Path,
            GeometricType::Polygon => ScalarType::Polygon,
            GeometricType::Circle => ScalarType::Circle,
        }
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            GeometricType::Point => "point",
            GeometricType::Lseg => "lseg",
            GeometricType::Line => "line",
            GeometricType::Box => "box",
            GeometricType::Path => "path",
            GeometricType::Polygon => "polygon",
            GeometricType::Circle => "circle",
        }
    }
}

impl Point {
    /// A point.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    /// How far another one is.
    pub fn distance(self, other: Point) -> Result<f64, ValueError> {
        hypotenuse(checked(self.x - other.x, &[self.x, other.x])?, checked(self.y - other.y, &[self.y, other.y])?)
    }
}

/// A sum, difference or product of numbers: what is infinite though they are not has overflowed.
pub fn checked(value: f64, of: &[f64]) -> Result<f64, ValueError> {
    if value.is_infinite() && !of.iter().any(|number| number.is_infinite()) {
        return Err(ValueError::new("22003", "value out of range: overflow"));
    }
    Ok(value)
}

/// The side across from the right angle.
fn hypotenuse(x: f64, y: f64) -> Result<f64, ValueError> {
    checked(x.hypot(y), &[x, y])
}

impl Geometry {
    /// Of two corners, in any order.
    pub fn of_corners(one: Point, other: Point) -> Geometry {
        let greater = |a: f64, b: f64| if float_cmp(a, b).is_gt() { (a, b) } else { (b, a) };
        let ((right, left), (top, bottom)) = (greater(one.x, other.x), greater(one.y, other.y));
        Geometry::Box([Point::new(right, top), Point::new(left, bottom)])
    }

    /// The line through two points that differ.
    pub fn of_two_points(one: Point, other: Point) -> Result<Geometry, ValueError> {
        if relations::is_same_point(one, other) {
            return Err(ValueError::new("22023", "invalid line specification: must be two distinct points"));
        }
        let slope = relations::slope(one, other)?;
        Geometry::through(one, slope).map(Geometry::Line)
    }

    /// The factors of the line through a point that rises so much.
    fn through(point: Point, slope: f64) -> Result<[f64; 3], ValueError> {
        Ok(if slope.is_infinite() {
            [-1.0, 0.0, point.x]
        } else if slope == 0.0 {
            [0.0, -1.0, point.y]
        } else {
            let product = checked(slope * point.x, &[slope, point.x])?;
            let at_zero = checked(point.y - product, &[point.y, product])?;
            // Not the zero below zero.
            [slope, -1.0, if at_zero == 0.0 { 0.0 } else { at_zero }]
        })
    }

    /// Which type it is of.
    pub fn kind(&self) -> GeometricType {
        match self {
            Geometry::Point(_) => GeometricType::Point,
            Geometry::Lseg(_) => GeometricType::Lseg,
            Geometry::Line(_) => GeometricType::Line,
            Geometry::Box(_) => GeometricType::Box,
            Geometry::Path(..) => GeometricType::Path,
            Geometry::Polygon(_) => GeometricType::Polygon,
            Geometry::Circle(..) => GeometricType::Circle,
        }
    }

    /// About how many bytes it holds beside itself.
    pub fn bytes(&self) -> usize {
        size_of::<Geometry>()
            + match self {
                Geometry::Path(_, points) | Geometry::Polygon(points) => size_of_val::<[Point]>(points),
                _ => 0,
            }
    }

    /// Appends the bytes by which it is sent.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut number = |value: f64| out.extend_from_slice(&value.to_be_bytes());
        match self {
            Geometry::Point(point) => [point.x, point.y].into_iter().for_each(number),
            Geometry::Lseg(points) | Geometry::Box(points) => {
                points.iter().flat_map(|point| [point.x, point.y]).for_each(number);
            }
            Geometry::Line(factors) => factors.iter().copied().for_each(number),
            Geometry::Circle(center, radius) => [center.x, center.y, *radius].into_iter().for_each(&mut number),
            Geometry::Path(closed, points) => {
                out.push(u8::from(*closed));
                encode_points(points, out);
            }
            Geometry::Polygon(points) => encode_points(points, out),
        }
    }

    /// Reads what `encode` wrote, or a client.
    ///
    /// # Errors
    /// 08P01 for too few bytes, 22P03 for what is no value of that kind.
    pub fn decode(kind: GeometricType, bytes: &[u8]) -> Result<Geometry, ValueError> {
        let mut reader = Reader { bytes };
        let found = match kind {
            GeometricType::Point => Geometry::Point(reader.point()?),
            GeometricType::Lseg => Geometry::Lseg([reader.point()?, reader.point()?]),
            GeometricType::Box => Geometry::of_corners(reader.point()?, reader.point()?),
            GeometricType::Line => {
                let factors = [reader.number()?, reader.number()?, reader.number()?];
                if relations::is_zero(factors[0]) && relations::is_zero(factors[1]) {
                    let message = "invalid line specification: A and B cannot both be zero";
                    return Err(ValueError::new("22P03", message));
                }
                Geometry::Line(factors)
            }
            GeometricType::Circle => {
                let (center, radius) = (reader.point()?, reader.number()?);
                // That of no number is let through.
                if radius < 0.0 {
                    return Err(ValueError::new("22P03", "invalid radius in external \"circle\" value"));
                }
                Geometry::Circle(center, radius)
            }
            GeometricType::Path => {
                let closed = reader.take::<1>()?[0] != 0;
                Geometry::Path(closed, reader.points(kind)?)
            }
            GeometricType::Polygon => Geometry::Polygon(reader.points(kind)?),
        };
        if reader.bytes.is_empty() { Ok(found) } else { Err(ValueError::new("22P03", "incorrect binary data format")) }
    }

    /// Appends its bytes as a row has them: its kind, then as they are sent.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        out.push(self.kind() as u8);
        self.encode(out);
    }

    /// Reads what `pack` wrote.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Geometry> {
        let (kind, rest) = bytes.split_first()?;
        Geometry::decode(*KINDS.get(usize::from(*kind))?, rest).ok()
    }
}

fn encode_points(points: &[Point], out: &mut Vec<u8>) {
    out.extend_from_slice(&(points.len() as i32).to_be_bytes());
    for point in points {
        out.extend_from_slice(&point.x.to_be_bytes());
        out.extend_from_slice(&point.y.to_be_bytes());
    }
}

/// The bytes that are still to be read.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], ValueError> {
        let few = || ValueError::new("08P01", "insufficient data left in message");
        let (taken, rest) = self.bytes.split_first_chunk::<LENGTH>().ok_or_else(few)?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<f64, ValueError> {
        self.take().map(f64::from_be_bytes)
    }

    fn point(&mut self) -> Result<Point, ValueError> {
        Ok(Point::new(self.number()?, self.number()?))
    }

    /// As many points as the number before them says.
    fn points(&mut self, kind: GeometricType) -> Result<Box<[Point]>, ValueError> {
        let count = i32::from_be_bytes(self.take()?);
        if count <= 0 || count as usize >= i32::MAX as usize / size_of::<Point>() {
            let message = format!("invalid number of points in external \"{}\" value", kind.name());
            return Err(ValueError::new("22P03", message));
        }
        // Nothing is reserved on the word of a count.
        (0..count).map(|_| self.point()).collect()
    }
}
