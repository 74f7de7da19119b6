//! Of shapes in the plane: making them, moving them, where they lie to each other, how large they are.

use super::arguments::{float, int4, truth, wrong};
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use repr::geometry::relations::{
    area, bounds, circle_of, contains, crosses, is_at_most, is_equal, is_less, is_same_point, is_same_polygon, length,
    middle, slope,
};
use repr::geometry::{Point, checked};
use repr::{Datum, Geometry, ScalarType, ValueError, poll};
use std::f64::consts::PI;
use std::sync::Arc;

/// How many corners a circle has as a polygon, unless it is said.
const CIRCLE_CORNERS: i32 = 12;

fn shape(arg: &Datum) -> Result<&Geometry, ValueError> {
    match arg {
        Datum::Geometry(shape) => Ok(shape),
        _ => Err(wrong("a shape")),
    }
}

fn point(arg: &Datum) -> Result<Point, ValueError> {
    match shape(arg)? {
        Geometry::Point(point) => Ok(*point),
        _ => Err(wrong("a point")),
    }
}

/// The corners of a box: the upper right one and the lower left one.
fn corners(arg: &Datum) -> Result<[Point; 2], ValueError> {
    match shape(arg)? {
        Geometry::Box(corners) => Ok(*corners),
        _ => Err(wrong("a box")),
    }
}

fn circle(arg: &Datum) -> Result<(Point, f64), ValueError> {
    match shape(arg)? {
        Geometry::Circle(center, radius) => Ok((*center, *radius)),
        _ => Err(wrong("a circle")),
    }
}

fn segment(arg: &Datum) -> Result<[Point; 2], ValueError> {
    match shape(arg)? {
        Geometry::Lseg(ends) => Ok(*ends),
        _ => Err(wrong("a line segment")),
    }
}

/// The points of a path or a polygon, and whether they close.
fn points(arg: &Datum) -> Result<(bool, &[Point]), ValueError> {
    match shape(arg)? {
        Geometry::Path(closed, points) => Ok((*closed, points)),
        Geometry::Polygon(points) => Ok((true, points)),
        _ => Err(wrong("a path or a polygon")),
    }
}

fn made(shape: Geometry) -> Answer {
    Ok(Datum::Geometry(Arc::new(shape)))
}

fn made_point(point: Point) -> Answer {
    made(Geometry::Point(point))
}

fn number(value: f64) -> Answer {
    Ok(Datum::Float8(value))
}

/// A radius that is none, as PostgreSQL has it in a text: of no number it lets it through.
fn made_circle(center: Point, radius: f64) -> Answer {
    made(Geometry::Circle(center, radius))
}

fn plus(a: Point, b: Point) -> Result<Point, ValueError> {
    Ok(Point::new(checked(a.x + b.x, &[a.x, b.x])?, checked(a.y + b.y, &[a.y, b.y])?))
}

fn minus(a: Point, b: Point) -> Result<Point, ValueError> {
    Ok(Point::new(checked(a.x - b.x, &[a.x, b.x])?, checked(a.y - b.y, &[a.y, b.y])?))
}

fn product(a: f64, b: f64) -> Result<f64, ValueError> {
    let value = checked(a * b, &[a, b])?;
    if value == 0.0 && a != 0.0 && b != 0.0 {
        return Err(ValueError::new("22003", "value out of range: underflow"));
    }
    Ok(value)
}

fn quotient(a: f64, b: f64) -> Result<f64, ValueError> {
    if b == 0.0 && !a.is_nan() {
        return Err(ValueError::new("22012", "division by zero"));
    }
    let value = checked(a / b, &[a])?;
    if value == 0.0 && a != 0.0 && !b.is_infinite() {
        return Err(ValueError::new("22003", "value out of range: underflow"));
    }
    Ok(value)
}

/// As complex numbers are multiplied: turned and made larger.
fn times(a: Point, b: Point) -> Result<Point, ValueError> {
    let (xx, yy, xy, yx) = (product(a.x, b.x)?, product(a.y, b.y)?, product(a.x, b.y)?, product(a.y, b.x)?);
    Ok(Point::new(checked(xx - yy, &[xx, yy])?, checked(xy + yx, &[xy, yx])?))
}

fn over(a: Point, b: Point) -> Result<Point, ValueError> {
    let square = product(b.x, b.x)? + product(b.y, b.y)?;
    let (xx, yy, yx, xy) = (product(a.x, b.x)?, product(a.y, b.y)?, product(a.y, b.x)?, product(a.x, b.y)?);
    Ok(Point::new(quotient(checked(xx + yy, &[xx, yy])?, square)?, quotient(checked(yx - xy, &[yx, xy])?, square)?))
}

type Motion = fn(Point, Point) -> Result<Point, ValueError>;

/// A shape whose points are moved by one.
fn moved(args: &[Datum], motion: Motion) -> Answer {
    let by = point(&args[1])?;
    made(match shape(&args[0])? {
        Geometry::Point(own) => Geometry::Point(motion(*own, by)?),
        Geometry::Box([high, low]) => Geometry::of_corners(motion(*high, by)?, motion(*low, by)?),
        Geometry::Path(closed, own) => {
            let each = own.iter().map(|own| {
                poll::step()?;
                motion(*own, by)
            });
            Geometry::Path(*closed, each.collect::<Result<_, _>>()?)
        }
        Geometry::Circle(center, radius) => Geometry::Circle(motion(*center, by)?, *radius),
        Geometry::Lseg(_) | Geometry::Line(_) | Geometry::Polygon(_) => return Err(wrong("a shape that is moved")),
    })
}

/// A circle that is turned and made larger or smaller about the origin.
fn scaled_circle(args: &[Datum], motion: Motion, radius_by: fn(f64, f64) -> Result<f64, ValueError>) -> Answer {
    let ((center, radius), by) = (circle(&args[0])?, point(&args[1])?);
    let factor = by.distance(Point::new(0.0, 0.0))?;
    made_circle(motion(center, by)?, radius_by(radius, factor)?)
}

/// A path of the points of two; of a closed one there is none.
fn joined(args: &[Datum]) -> Answer {
    let ((one_closes, one), (other_closes, other)) = (points(&args[0])?, points(&args[1])?);
    if one_closes || other_closes {
        return Ok(Datum::Null);
    }
    made(Geometry::Path(false, one.iter().chain(other).copied().collect()))
}

/// What a shape is as one of another type.
pub(crate) fn reshaped(value: &Datum, to: &ScalarType) -> Answer {
    made(match (shape(value)?, to) {
        (Geometry::Point(own), ScalarType::Box) => Geometry::Box([*own, *own]),
        (Geometry::Lseg([a, b]) | Geometry::Box([a, b]), ScalarType::Point) => Geometry::Point(middle(*a, *b)?),
        (Geometry::Polygon(own), ScalarType::Point) => Geometry::Point(circle_of(own)?.0),
        (Geometry::Circle(center, _), ScalarType::Point) => Geometry::Point(*center),
        (Geometry::Box(ends), ScalarType::Lseg) => Geometry::Lseg(*ends),
        (Geometry::Box([high, low]), ScalarType::Polygon) => {
            let (upper_left, lower_right) = (Point::new(low.x, high.y), Point::new(high.x, low.y));
            Geometry::Polygon([*low, upper_left, *high, lower_right].into())
        }
        (Geometry::Box([high, low]), ScalarType::Circle) => {
            let center = middle(*high, *low)?;
            Geometry::Circle(center, center.distance(*high)?)
        }
        (Geometry::Path(true, own), ScalarType::Polygon) => Geometry::Polygon(own.clone()),
        (Geometry::Path(false, _), ScalarType::Polygon) => {
            return Err(ValueError::new("22023", "open path cannot be converted to polygon"));
        }
        (Geometry::Polygon(own), ScalarType::Path) => Geometry::Path(true, own.clone()),
        (Geometry::Polygon(own), ScalarType::Box) => Geometry::Box(bounds(own)),
        (Geometry::Polygon(own), ScalarType::Circle) => {
            let (center, radius) = circle_of(own)?;
            Geometry::Circle(center, radius)
        }
        (Geometry::Circle(center, radius), ScalarType::Box) => {
            let half = radius / std::f64::consts::SQRT_2;
            let by = Point::new(half, half);
            Geometry::Box([plus(*center, by)?, minus(*center, by)?])
        }
        (Geometry::Circle(center, radius), ScalarType::Polygon) => cornered(*center, *radius, CIRCLE_CORNERS)?,
        _ => return Err(wrong("a shape that is one of that type")),
    })
}

/// A circle as a polygon of so many corners.
fn cornered(center: Point, radius: f64, count: i32) -> Result<Geometry, ValueError> {
    if is_equal(radius, 0.0) {
        return Err(ValueError::new("0A000", "cannot convert circle with radius zero to polygon"));
    }
    if count < 2 {
        return Err(ValueError::new("22023", "must request at least 2 points"));
    }
    // A fourth of what a statement may hold, as PostgreSQL says of what does not fit.
    if count as usize >= i32::MAX as usize / size_of::<Point>() {
        return Err(ValueError::new("54000", "too many points requested"));
    }
    poll::room(count as usize * size_of::<Point>())?;
    let step = 2.0 * PI / f64::from(count);
    let corners = (0..count).map(|at| {
        poll::step()?;
        let angle = step * f64::from(at);
        Ok(Point::new(center.x - radius * angle.cos(), center.y + radius * angle.sin()))
    });
    Ok(Geometry::Polygon(corners.collect::<Result<_, ValueError>>()?))
}

/// A box as far as two shapes reach, which have bounds.
fn reach(arg: &Datum) -> Result<[Point; 2], ValueError> {
    Ok(match shape(arg)? {
        Geometry::Point(own) => [*own, *own],
        Geometry::Box(corners) => *corners,
        Geometry::Circle(center, radius) => {
            let by = Point::new(*radius, *radius);
            [plus(*center, by)?, minus(*center, by)?]
        }
        Geometry::Lseg(_) | Geometry::Line(_) | Geometry::Path(..) | Geometry::Polygon(_) => {
            return Err(wrong("a point, a box or a circle"));
        }
    })
}

/// Whether this holds of how far two shapes reach.
fn placed(args: &[Datum], holds: fn([Point; 2], [Point; 2]) -> bool) -> Answer {
    truth(holds(reach(&args[0])?, reach(&args[1])?))
}

fn shared(args: &[Datum]) -> Answer {
    let ([high, low], [other_high, other_low]) = (corners(&args[0])?, corners(&args[1])?);
    if !overlap([high, low], [other_high, other_low]) {
        return Ok(Datum::Null);
    }
    let high = Point::new(high.x.min(other_high.x), high.y.min(other_high.y));
    made(Geometry::Box([high, Point::new(low.x.max(other_low.x), low.y.max(other_low.y))]))
}

/// Whether a segment is in a box, or goes through one of its sides.
fn meets([from, to]: [Point; 2], [high, low]: [Point; 2]) -> Result<bool, ValueError> {
    if !overlap(bounds(&[from, to]), [high, low]) {
        return Ok(false);
    }
    let shape = Geometry::Box([high, low]);
    if contains(&shape, from)? || contains(&shape, to)? {
        return Ok(true);
    }
    let (upper_left, lower_right) = (Point::new(low.x, high.y), Point::new(high.x, low.y));
    for side in [[low, upper_left], [upper_left, high], [high, lower_right], [lower_right, low]] {
        if crosses([from, to], side)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn overlap([high, low]: [Point; 2], [other_high, other_low]: [Point; 2]) -> bool {
    is_at_most(low.x, other_high.x)
        && is_at_most(other_low.x, high.x)
        && is_at_most(low.y, other_high.y)
        && is_at_most(other_low.y, high.y)
}

/// Whether the first box has the second within.
fn surrounds([high, low]: [Point; 2], [inner_high, inner_low]: [Point; 2]) -> bool {
    is_at_most(inner_high.x, high.x)
        && is_at_most(low.x, inner_low.x)
        && is_at_most(inner_high.y, high.y)
        && is_at_most(low.y, inner_low.y)
}

/// Whether the first circle has the second within.
fn rounds(outer: &Datum, inner: &Datum) -> Answer {
    let ((outer, radius), (inner, inner_radius)) = (circle(outer)?, circle(inner)?);
    truth(is_at_most(outer.distance(inner)?, radius - inner_radius))
}

/// How far two circles are from each other; nothing if they touch.
fn apart(center: Point, other: Point, radii: f64) -> Answer {
    let distance = center.distance(other)? - radii;
    number(if distance < 0.0 { 0.0 } else { distance })
}

fn box_area(arg: &Datum) -> Result<f64, ValueError> {
    let [high, low] = corners(arg)?;
    product(high.x - low.x, high.y - low.y)
}

fn circle_area(arg: &Datum) -> Result<f64, ValueError> {
    let (_, radius) = circle(arg)?;
    product(product(radius, radius)?, PI)
}

fn length_of(arg: &Datum) -> Result<f64, ValueError> {
    let [from, to] = segment(arg)?;
    from.distance(to)
}

fn count(arg: &Datum) -> Result<f64, ValueError> {
    Ok(points(arg)?.1.len() as f64)
}

fn same(args: &[Datum]) -> Answer {
    truth(match (shape(&args[0])?, shape(&args[1])?) {
        (Geometry::Point(one), Geometry::Point(other)) => is_same_point(*one, *other),
        (Geometry::Box(one), Geometry::Box(other)) | (Geometry::Lseg(one), Geometry::Lseg(other)) => {
            is_same_point(one[0], other[0]) && is_same_point(one[1], other[1])
        }
        (Geometry::Circle(one, radius), Geometry::Circle(other, other_radius)) => {
            (radius.is_nan() && other_radius.is_nan() || is_equal(*radius, *other_radius))
                && is_same_point(*one, *other)
        }
        (Geometry::Polygon(one), Geometry::Polygon(other)) => is_same_polygon(one, other)?,
        _ => return Err(wrong("two shapes of one type")),
    })
}

/// The comparisons by one measure of shapes: those that are nearly the same are equal.
macro_rules! compared {
    ($shape:literal, $measure:expr) => {
        [
            strict(concat!("<(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                truth(is_less($measure(&a[0])?, $measure(&a[1])?))
            }),
            strict(concat!(">(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                truth(is_less($measure(&a[1])?, $measure(&a[0])?))
            }),
            strict(concat!("<=(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                truth(is_at_most($measure(&a[0])?, $measure(&a[1])?))
            }),
            strict(concat!(">=(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                truth(is_at_most($measure(&a[1])?, $measure(&a[0])?))
            }),
        ]
    };
}

/// Where two shapes of one type lie to each other.
macro_rules! beside {
    ($shape:literal) => {
        [
            strict(concat!("<<(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                placed(a, |[high, _], [_, low]| is_less(high.x, low.x))
            }),
            strict(concat!(">>(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                placed(a, |[_, low], [high, _]| is_less(high.x, low.x))
            }),
            strict(concat!("<<|(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                placed(a, |[high, _], [_, low]| is_less(high.y, low.y))
            }),
            strict(concat!("|>>(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                placed(a, |[_, low], [high, _]| is_less(high.y, low.y))
            }),
        ]
    };
}

/// How far two shapes of one type reach, compared.
macro_rules! reaching {
    ($shape:literal) => {
        [
            strict(concat!("&<(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                placed(a, |[one, _], [other, _]| is_at_most(one.x, other.x))
            }),
            strict(concat!("&>(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                placed(a, |[_, one], [_, other]| is_at_most(other.x, one.x))
            }),
            strict(concat!("&<|(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                placed(a, |[one, _], [other, _]| is_at_most(one.y, other.y))
            }),
            strict(concat!("|&>(", $shape, ", ", $shape, ") bool"), |_, a, _| {
                placed(a, |[_, one], [_, other]| is_at_most(other.y, one.y))
            }),
        ]
    };
}

/// A shape that has a point, and a point that is in a shape.
macro_rules! containing {
    ($shape:literal) => {
        [
            strict(concat!("@>(", $shape, ", point) bool"), |_, a, _| truth(contains(shape(&a[0])?, point(&a[1])?)?)),
            strict(concat!("<@(point, ", $shape, ") bool"), |_, a, _| truth(contains(shape(&a[1])?, point(&a[0])?)?)),
        ]
    };
}

pub(super) static COMPARISONS: [[FunctionDefinition; 4]; 4] = [
    compared!("box", box_area),
    compared!("circle", circle_area),
    compared!("lseg", length_of),
    compared!("path", count),
];

pub(super) static PLACES: [[FunctionDefinition; 4]; 5] =
    [beside!("point"), beside!("box"), beside!("circle"), reaching!("box"), reaching!("circle")];

pub(super) static CONTAINING: [[FunctionDefinition; 2]; 4] =
    [containing!("box"), containing!("circle"), containing!("polygon"), containing!("path")];

pub(super) const OPERATORS: &[FunctionDefinition] = &[
    strict("+(point, point) point", |_, a, _| moved(a, plus)),
    strict("-(point, point) point", |_, a, _| moved(a, minus)),
    strict("*(point, point) point", |_, a, _| moved(a, times)),
    strict("/(point, point) point", |_, a, _| moved(a, over)),
    strict("+(box, point) box", |_, a, _| moved(a, plus)),
    strict("-(box, point) box", |_, a, _| moved(a, minus)),
    strict("*(box, point) box", |_, a, _| moved(a, times)),
    strict("/(box, point) box", |_, a, _| moved(a, over)),
    strict("+(path, point) path", |_, a, _| moved(a, plus)),
    strict("-(path, point) path", |_, a, _| moved(a, minus)),
    strict("*(path, point) path", |_, a, _| moved(a, times)),
    strict("/(path, point) path", |_, a, _| moved(a, over)),
    strict("+(path, path) path", |_, a, _| joined(a)),
    strict("+(circle, point) circle", |_, a, _| moved(a, plus)),
    strict("-(circle, point) circle", |_, a, _| moved(a, minus)),
    strict("*(circle, point) circle", |_, a, _| scaled_circle(a, times, product)),
    strict("/(circle, point) circle", |_, a, _| scaled_circle(a, over, quotient)),
    strict("~=(point, point) bool", |_, a, _| same(a)),
    strict("~=(box, box) bool", |_, a, _| same(a)),
    strict("~=(circle, circle) bool", |_, a, _| same(a)),
    strict("~=(polygon, polygon) bool", |_, a, _| same(a)),
    strict("=(box, box) bool", |_, a, _| truth(is_equal(box_area(&a[0])?, box_area(&a[1])?))),
    strict("=(circle, circle) bool", |_, a, _| truth(is_equal(circle_area(&a[0])?, circle_area(&a[1])?))),
    strict("=(path, path) bool", |_, a, _| truth(is_equal(count(&a[0])?, count(&a[1])?))),
    strict("=(lseg, lseg) bool", |_, a, _| same(a)),
    strict("<>(lseg, lseg) bool", |_, a, _| same(a).and_then(|same| truth(same == Datum::Bool(false)))),
    strict("<>(point, point) bool", |_, a, _| truth(!is_same_point(point(&a[0])?, point(&a[1])?))),
    strict("<>(circle, circle) bool", |_, a, _| truth(!is_equal(circle_area(&a[0])?, circle_area(&a[1])?))),
    strict("<->(point, point) float8", |_, a, _| number(point(&a[0])?.distance(point(&a[1])?)?)),
    strict("<->(box, box) float8", |_, a, _| {
        let ([high, low], [other_high, other_low]) = (corners(&a[0])?, corners(&a[1])?);
        number(middle(high, low)?.distance(middle(other_high, other_low)?)?)
    }),
    strict("<->(circle, circle) float8", |_, a, _| {
        let ((center, radius), (other, other_radius)) = (circle(&a[0])?, circle(&a[1])?);
        apart(center, other, radius + other_radius)
    }),
    strict("<->(point, circle) float8", |_, a, _| {
        let (center, radius) = circle(&a[1])?;
        apart(center, point(&a[0])?, radius)
    }),
    strict("<->(circle, point) float8", |_, a, _| {
        let (center, radius) = circle(&a[0])?;
        apart(center, point(&a[1])?, radius)
    }),
    strict("<@(point, lseg) bool", |_, a, _| truth(contains(shape(&a[1])?, point(&a[0])?)?)),
    strict("<@(point, line) bool", |_, a, _| truth(contains(shape(&a[1])?, point(&a[0])?)?)),
    strict("@>(box, box) bool", |_, a, _| placed(a, surrounds)),
    strict("<@(box, box) bool", |_, a, _| placed(a, |inner, outer| surrounds(outer, inner))),
    strict("@>(circle, circle) bool", |_, a, _| rounds(&a[0], &a[1])),
    strict("<@(circle, circle) bool", |_, a, _| rounds(&a[1], &a[0])),
    strict("&&(box, box) bool", |_, a, _| placed(a, overlap)),
    strict("&&(circle, circle) bool", |_, a, _| {
        let ((center, radius), (other, other_radius)) = (circle(&a[0])?, circle(&a[1])?);
        truth(is_at_most(center.distance(other)?, radius + other_radius))
    }),
    strict("<^(point, point) bool", |_, a, _| placed(a, |[high, _], [_, low]| is_less(high.y, low.y))),
    strict(">^(point, point) bool", |_, a, _| placed(a, |[_, low], [high, _]| is_less(high.y, low.y))),
    strict("<^(box, box) bool", |_, a, _| placed(a, |[high, _], [_, low]| is_at_most(high.y, low.y))),
    strict(">^(box, box) bool", |_, a, _| placed(a, |[_, low], [high, _]| is_at_most(high.y, low.y))),
    strict("?#(box, box) bool", |_, a, _| placed(a, overlap)),
    strict("?#(lseg, lseg) bool", |_, a, _| truth(crosses(segment(&a[0])?, segment(&a[1])?)?)),
    strict("?#(lseg, box) bool", |_, a, _| truth(meets(segment(&a[0])?, corners(&a[1])?)?)),
    strict("#(box, box) box", |_, a, _| shared(a)),
    strict("#(path) int4", |_, a, _| Ok(Datum::Int4(points(&a[0])?.1.len() as i32))),
    strict("#(polygon) int4", |_, a, _| Ok(Datum::Int4(points(&a[0])?.1.len() as i32))),
    strict("?-(point, point) bool", |_, a, _| truth(is_equal(point(&a[0])?.y, point(&a[1])?.y))),
    strict("?|(point, point) bool", |_, a, _| truth(is_equal(point(&a[0])?.x, point(&a[1])?.x))),
    strict("?-(lseg) bool", |_, a, _| segment(&a[0]).and_then(|[from, to]| truth(is_equal(from.y, to.y)))),
    strict("?|(lseg) bool", |_, a, _| segment(&a[0]).and_then(|[from, to]| truth(is_equal(from.x, to.x)))),
    strict("@-@(lseg) float8", |_, a, _| number(length_of(&a[0])?)),
    strict("@-@(path) float8", |_, a, _| points(&a[0]).and_then(|(closed, points)| number(length(points, closed)?))),
    strict("@@(lseg) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("@@(box) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("@@(polygon) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("@@(circle) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
];

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("area(box) float8", |_, a, _| number(box_area(&a[0])?)),
    strict("area(circle) float8", |_, a, _| number(circle_area(&a[0])?)),
    strict("area(path) float8", |_, a, _| match points(&a[0])? {
        (true, points) => number(area(points)?),
        (false, _) => Ok(Datum::Null),
    }),
    strict("bound_box(box, box) box", |_, a, _| {
        let ([one, two], [three, four]) = (corners(&a[0])?, corners(&a[1])?);
        made(Geometry::Box(bounds(&[one, two, three, four])))
    }),
    strict("box(circle) box", |_, a, _| reshaped(&a[0], &ScalarType::Box)),
    strict("box(point) box", |_, a, _| reshaped(&a[0], &ScalarType::Box)),
    strict("box(point, point) box", |_, a, _| made(Geometry::of_corners(point(&a[0])?, point(&a[1])?))),
    strict("box(polygon) box", |_, a, _| reshaped(&a[0], &ScalarType::Box)),
    strict("center(box) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("center(circle) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("circle(box) circle", |_, a, _| reshaped(&a[0], &ScalarType::Circle)),
    strict("circle(point, float8) circle", |_, a, _| made_circle(point(&a[0])?, float(&a[1])?)),
    strict("circle(polygon) circle", |_, a, _| reshaped(&a[0], &ScalarType::Circle)),
    strict("diagonal(box) lseg", |_, a, _| reshaped(&a[0], &ScalarType::Lseg)),
    strict("diameter(circle) float8", |_, a, _| number(product(circle(&a[0])?.1, 2.0)?)),
    strict("height(box) float8", |_, a, _| corners(&a[0]).and_then(|[high, low]| number(high.y - low.y))),
    strict("isclosed(path) bool", |_, a, _| truth(points(&a[0])?.0)),
    strict("isopen(path) bool", |_, a, _| truth(!points(&a[0])?.0)),
    strict("length(lseg) float8", |_, a, _| number(length_of(&a[0])?)),
    strict("length(path) float8", |_, a, _| points(&a[0]).and_then(|(closed, points)| number(length(points, closed)?))),
    strict("line(point, point) line", |_, a, _| made(Geometry::of_two_points(point(&a[0])?, point(&a[1])?)?)),
    strict("lseg(box) lseg", |_, a, _| reshaped(&a[0], &ScalarType::Lseg)),
    strict("lseg(point, point) lseg", |_, a, _| made(Geometry::Lseg([point(&a[0])?, point(&a[1])?]))),
    strict("npoints(path) int4", |_, a, _| Ok(Datum::Int4(points(&a[0])?.1.len() as i32))),
    strict("npoints(polygon) int4", |_, a, _| Ok(Datum::Int4(points(&a[0])?.1.len() as i32))),
    strict("path(polygon) path", |_, a, _| reshaped(&a[0], &ScalarType::Path)),
    strict("pclose(path) path", |_, a, _| made(Geometry::Path(true, points(&a[0])?.1.into()))),
    strict("point(box) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("point(circle) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("point(float8, float8) point", |_, a, _| made_point(Point::new(float(&a[0])?, float(&a[1])?))),
    strict("point(lseg) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("point(polygon) point", |_, a, _| reshaped(&a[0], &ScalarType::Point)),
    strict("polygon(box) polygon", |_, a, _| reshaped(&a[0], &ScalarType::Polygon)),
    strict("polygon(circle) polygon", |_, a, _| reshaped(&a[0], &ScalarType::Polygon)),
    strict("polygon(int4, circle) polygon", |_, a, _| {
        let (center, radius) = circle(&a[1])?;
        made(cornered(center, radius, int4(&a[0])?)?)
    }),
    strict("polygon(path) polygon", |_, a, _| reshaped(&a[0], &ScalarType::Polygon)),
    strict("popen(path) path", |_, a, _| made(Geometry::Path(false, points(&a[0])?.1.into()))),
    strict("radius(circle) float8", |_, a, _| number(circle(&a[0])?.1)),
    strict("slope(point, point) float8", |_, a, _| number(slope(point(&a[0])?, point(&a[1])?)?)),
    strict("width(box) float8", |_, a, _| corners(&a[0]).and_then(|[high, low]| number(high.x - low.x))),
];
